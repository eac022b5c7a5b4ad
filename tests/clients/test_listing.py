"""Listings, versions 1 and 2, against a model that lists in Python."""

import random

import pytest

from support import s3

KEYS = sorted(
    [
        "a",
        "a/",
        "a/b",
        "a/b/c",
        "a/c",
        "a b/x",
        "b",
        "b/1/2/3",
        "b//double",
        "c%2Fc",
        "d+e/f",
        "ü/ö",
        "z&<>\"'",
        *(f"many/{i:03}" for i in range(40)),
        *(f"many-{i:02}/x" for i in range(20)),
    ],
    key=lambda key: key.encode(),
)


@pytest.fixture(scope="module")
def listed(client):
    bucket = s3.fresh_name()
    client.create_bucket(Bucket=bucket)
    for key in KEYS:
        client.put_object(Bucket=bucket, Key=key, Body=key.encode())
    yield bucket
    s3.empty(client, bucket)
    client.delete_bucket(Bucket=bucket)


def model(prefix="", delimiter="", after=""):
    """Keys and rolled-up prefixes, merged in byte order, as (name, is_prefix)."""
    out = []
    for key in KEYS:
        if not key.startswith(prefix):
            continue
        rest = key[len(prefix) :]
        rolled = delimiter and delimiter in rest
        name = prefix + rest[: rest.index(delimiter) + len(delimiter)] if rolled else key
        if name.encode() > after.encode() and (name, bool(rolled)) not in out:
            out.append((name, bool(rolled)))
    return out


def entries(page):
    found = [(c["Key"], False) for c in page.get("Contents", [])]
    found += [(p["Prefix"], True) for p in page.get("CommonPrefixes", [])]
    return sorted(found, key=lambda entry: entry[0].encode())


def pages_v2(client, bucket, **arguments):
    token = {}
    for _ in range(200):
        page = client.list_objects_v2(Bucket=bucket, **arguments, **token)
        assert page["KeyCount"] == len(entries(page))
        yield page
        if not page["IsTruncated"]:
            assert "NextContinuationToken" not in page
            return
        token = {"ContinuationToken": page["NextContinuationToken"]}
    raise AssertionError("the listing does not end")


def pages_v1(client, bucket, **arguments):
    marker = {}
    for _ in range(200):
        page = client.list_objects(Bucket=bucket, **arguments, **marker)
        yield page
        if not page["IsTruncated"]:
            return
        # Without a delimiter S3 leaves the next marker to the client.
        last = page.get("NextMarker") or page["Contents"][-1]["Key"]
        marker = {"Marker": last}
    raise AssertionError("the listing does not end")


CASES = [
    {},
    {"Prefix": "a"},
    {"Prefix": "a/"},
    {"Delimiter": "/"},
    {"Prefix": "a/", "Delimiter": "/"},
    {"Prefix": "many", "Delimiter": "/"},
    {"Prefix": "b/", "Delimiter": "/"},
    {"Prefix": "absent"},
    {"Delimiter": "b"},
    {"Prefix": "many", "Delimiter": "-0"},
    {"Prefix": "ü", "Delimiter": "/"},
]


@pytest.mark.parametrize("page", [1, 3, 7, 1000])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_pages_add_up_to_the_model(client, listed, case, page):
    wanted = model(case.get("Prefix", ""), case.get("Delimiter", ""))
    for pages in (pages_v1, pages_v2):
        got = []
        for one in pages(client, listed, MaxKeys=page, **case):
            found = entries(one)
            assert len(found) <= page
            got += found
        assert got == wanted, pages.__name__


@pytest.mark.parametrize("after", ["", "a", "a/b", "b", "many/020", "many0", "zzz", "ü/ö"])
def test_a_listing_starts_after(client, listed, after):
    page = client.list_objects_v2(Bucket=listed, StartAfter=after)
    assert entries(page) == model(after=after)
    assert entries(client.list_objects(Bucket=listed, Marker=after)) == model(after=after)


def test_random_listings_equal_the_model(client, listed, seed):
    dice = random.Random(seed)
    for _ in range(60):
        prefix = dice.choice(KEYS)[: dice.randrange(4)]
        delimiter = dice.choice(["", "/", "/", "-", "many", "b"])
        page = dice.randint(1, 12)
        got = []
        for one in pages_v2(client, listed, Prefix=prefix, Delimiter=delimiter, MaxKeys=page):
            got += entries(one)
        assert got == model(prefix, delimiter), (prefix, delimiter, page, seed)


def test_entries_say_what_the_objects_are(client, listed):
    for entry in client.list_objects_v2(Bucket=listed, Prefix="many/00")["Contents"]:
        head = client.head_object(Bucket=listed, Key=entry["Key"])
        assert entry["ETag"] == head["ETag"]
        assert entry["Size"] == head["ContentLength"] == len(entry["Key"])
        # A listing tells milliseconds, a header only seconds.
        assert entry["LastModified"].replace(microsecond=0) == head["LastModified"]


def test_keys_are_encoded_on_demand(client, listed):
    page = client.list_objects_v2(Bucket=listed, Prefix="z&", EncodingType="url")
    assert page["EncodingType"] == "url"
    assert [c["Key"] for c in page["Contents"]] in (["z%26%3C%3E%22%27"], ["z&<>\"'"], ["z%26%3C%3E%22'"])


def test_no_keys_wanted_gives_none(client, listed):
    page = client.list_objects_v2(Bucket=listed, MaxKeys=0)
    assert entries(page) == []
    assert page["IsTruncated"] is False


def test_bad_listings_are_refused(client, listed):
    with s3.refused("InvalidArgument", status=400):
        client.list_objects_v2(Bucket=listed, MaxKeys=-1)
    with s3.refused("InvalidArgument", status=400):
        client.list_objects_v2(Bucket=listed, EncodingType="base64")


def test_a_listing_follows_writes(client, bucket):
    assert s3.keys(client, bucket) == []
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert s3.keys(client, bucket) == ["k"]
    client.delete_object(Bucket=bucket, Key="k")
    assert s3.keys(client, bucket) == []
