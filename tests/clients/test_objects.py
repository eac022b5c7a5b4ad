"""Metadata, standard headers, tags, copies, deletions, keys, and what is not there."""

import hashlib

import pytest
from botocore.handlers import validate_bucket_name

from support import s3
from support.payload import MIB, Stream, digest, digest_of

HEADERS = {
    "ContentType": "text/plain; charset=utf-8",
    "CacheControl": "max-age=60, public",
    "ContentDisposition": 'attachment; filename="a b.txt"',
    "ContentEncoding": "x-own",
    "ContentLanguage": "de-AT",
}


def test_headers_and_metadata_come_back(client, bucket):
    metadata = {"color": "blue", "empty": "", "spaced": "a  b", "upper-case": "MiXed"}
    client.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata=metadata, **HEADERS)
    for got in (client.get_object(Bucket=bucket, Key="k"), client.head_object(Bucket=bucket, Key="k")):
        assert got["Metadata"] == metadata
        assert {name: got[name] for name in HEADERS} == HEADERS
        assert got["AcceptRanges"] == "bytes"
        assert got["ETag"] == f'"{hashlib.md5(b"x").hexdigest()}"'


def test_the_content_type_has_a_default(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert client.head_object(Bucket=bucket, Key="k")["ContentType"] in (
        "binary/octet-stream",
        "application/octet-stream",
    )


def test_a_get_may_override_headers(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x", **HEADERS)
    got = client.get_object(
        Bucket=bucket,
        Key="k",
        ResponseContentType="image/png",
        ResponseCacheControl="no-store",
        ResponseContentDisposition="inline",
    )
    assert got["ContentType"] == "image/png"
    assert got["CacheControl"] == "no-store"
    assert got["ContentDisposition"] == "inline"


def test_an_overwrite_leaves_nothing_of_the_old(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"old" * 1000, Metadata={"a": "1"}, Tagging="t=1")
    client.put_object(Bucket=bucket, Key="k", Body=b"new")
    got = client.get_object(Bucket=bucket, Key="k")
    assert (got["Body"].read(), got["Metadata"]) == (b"new", {})
    assert client.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []


def test_too_much_metadata_is_refused(client, bucket):
    with s3.refused("MetadataTooLarge", "InvalidArgument", status=400):
        client.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata={"a": "v" * 3000})
    assert s3.keys(client, bucket) == []


# Tags


def tags(client, bucket, key):
    found = client.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]
    return {tag["Key"]: tag["Value"] for tag in found}


def tag_set(**pairs):
    return {"TagSet": [{"Key": k, "Value": v} for k, v in pairs.items()]}


def test_tags_are_set_counted_and_removed(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x", Tagging="a=1&b=two%20words")
    assert tags(client, bucket, "k") == {"a": "1", "b": "two words"}
    assert client.get_object(Bucket=bucket, Key="k")["TagCount"] == 2
    client.put_object_tagging(Bucket=bucket, Key="k", Tagging=tag_set(c="3"))
    assert tags(client, bucket, "k") == {"c": "3"}
    client.delete_object_tagging(Bucket=bucket, Key="k")
    assert tags(client, bucket, "k") == {}
    assert s3.read(client, bucket, "k") == b"x"


def test_bad_tags_are_refused_and_change_nothing(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x", Tagging="a=1")
    eleven = tag_set(**{f"t{i}": "v" for i in range(11)})
    twice = {"TagSet": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}
    for bad in (eleven, twice, tag_set(**{"k" * 129: "v"}), tag_set(k="v" * 257)):
        with s3.refused("InvalidTag", "BadRequest", "InvalidArgument", "MalformedXML", status=400):
            client.put_object_tagging(Bucket=bucket, Key="k", Tagging=bad)
    assert tags(client, bucket, "k") == {"a": "1"}
    with s3.refused("NoSuchKey", status=404):
        client.get_object_tagging(Bucket=bucket, Key="absent")


# Copies


def test_a_copy_takes_attributes_along_or_replaces_them(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata={"a": "1"}, Tagging="t=1", **HEADERS)
    source = {"Bucket": bucket, "Key": "k"}
    client.copy_object(Bucket=bucket, Key="same", CopySource=source, Metadata={"ignored": "yes"})
    got = client.head_object(Bucket=bucket, Key="same")
    assert (got["Metadata"], got["ContentType"]) == ({"a": "1"}, HEADERS["ContentType"])
    assert tags(client, bucket, "same") == {"t": "1"}
    client.copy_object(
        Bucket=bucket,
        Key="other",
        CopySource=source,
        MetadataDirective="REPLACE",
        Metadata={"b": "2"},
        ContentType="image/png",
        TaggingDirective="REPLACE",
        Tagging="u=2",
    )
    got = client.head_object(Bucket=bucket, Key="other")
    assert (got["Metadata"], got["ContentType"]) == ({"b": "2"}, "image/png")
    assert tags(client, bucket, "other") == {"u": "2"}


def test_a_copy_onto_itself_must_change_something(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata={"a": "1"})
    source = {"Bucket": bucket, "Key": "k"}
    with s3.refused("InvalidRequest", status=400):
        client.copy_object(Bucket=bucket, Key="k", CopySource=source)
    client.copy_object(
        Bucket=bucket, Key="k", CopySource=source, MetadataDirective="REPLACE", Metadata={"b": "2"}
    )
    got = client.get_object(Bucket=bucket, Key="k")
    assert (got["Body"].read(), got["Metadata"]) == (b"x", {"b": "2"})


def test_a_copy_outlives_its_source(client, bucket, seed):
    size = 9 * MIB
    client.put_object(Bucket=bucket, Key="k ü/+?", Body=Stream(seed, size), ContentLength=size)
    copied = client.copy_object(Bucket=bucket, Key="c", CopySource={"Bucket": bucket, "Key": "k ü/+?"})
    assert copied["CopyObjectResult"]["ETag"] == client.head_object(Bucket=bucket, Key="c")["ETag"]
    client.put_object(Bucket=bucket, Key="k ü/+?", Body=b"overwritten")
    client.delete_object(Bucket=bucket, Key="k ü/+?")
    assert digest(client.get_object(Bucket=bucket, Key="c")["Body"].iter_chunks(MIB)) == digest_of(seed, size)


def test_a_copy_of_nothing_is_refused(client, bucket):
    with s3.refused("NoSuchKey", status=404):
        client.copy_object(Bucket=bucket, Key="c", CopySource={"Bucket": bucket, "Key": "absent"})
    with s3.refused("NoSuchBucket", status=404):
        client.copy_object(Bucket=bucket, Key="c", CopySource={"Bucket": "suite-no-such", "Key": "k"})


# Deletions


def test_many_are_deleted_at_once(client, bucket):
    names = [f"k{i:04}" for i in range(120)] + ["with <xml> & 'quotes'", "absent"]
    for name in names[:-1]:
        client.put_object(Bucket=bucket, Key=name, Body=b"x")
    client.put_object(Bucket=bucket, Key="stays", Body=b"x")
    objects = [{"Key": name} for name in names]
    answer = client.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    assert sorted(d["Key"] for d in answer["Deleted"]) == sorted(names)
    assert answer.get("Errors", []) == []
    assert s3.keys(client, bucket) == ["stays"]
    answer = client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "stays"}], "Quiet": True})
    assert answer.get("Deleted", []) == []
    assert s3.keys(client, bucket) == []


def test_more_than_a_thousand_at_once_are_refused(client, bucket):
    client.put_object(Bucket=bucket, Key="k0", Body=b"x")
    objects = [{"Key": f"k{i}"} for i in range(1001)]
    with s3.refused("MalformedXML", status=400):
        client.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    assert s3.keys(client, bucket) == ["k0"]


def test_deleting_what_is_not_there_succeeds(client, bucket):
    assert s3.status_of(client.delete_object, Bucket=bucket, Key="absent") == 204


# Keys

KEYS = [
    "a",
    "a b",
    "a+b",
    "a%2Fb",
    "a//b",
    "/leading",
    "trailing/",
    "ünïcödé/日本語/🦀",
    "quote'\"<&>",
    "back\\slash",
    "?query=1#fragment",
    "a=b&c=d;e:f@g,h$i!j*k(l)",
    "new\nline",
    "x" * 1024,
    "é" * 512,
    "...",
    "a/.hidden/..b",
]


def test_weird_keys_are_kept_apart_and_listed(client, bucket):
    for number, key in enumerate(KEYS):
        client.put_object(Bucket=bucket, Key=key, Body=str(number).encode())
    for number, key in enumerate(KEYS):
        assert s3.read(client, bucket, key) == str(number).encode(), key
    assert s3.keys(client, bucket) == sorted(KEYS, key=lambda k: k.encode())
    for key in KEYS:
        client.delete_object(Bucket=bucket, Key=key)
    assert s3.keys(client, bucket) == []


@pytest.mark.parametrize("key", ["x" * 1025, "é" * 513])
def test_too_long_keys_are_refused(client, bucket, key):
    with s3.refused("KeyTooLongError", status=400):
        client.put_object(Bucket=bucket, Key=key, Body=b"x")
    assert s3.keys(client, bucket) == []


# What is not there


def test_what_is_not_there_is_named(client, bucket):
    with s3.refused("NoSuchKey", status=404):
        client.get_object(Bucket=bucket, Key="absent")
    with s3.refused("404", status=404):
        client.head_object(Bucket=bucket, Key="absent")
    with s3.refused("NoSuchBucket", status=404):
        client.get_object(Bucket="suite-no-such", Key="k")
    with s3.refused("NoSuchBucket", status=404):
        client.put_object(Bucket="suite-no-such", Key="k", Body=b"x")
    with s3.refused("NoSuchBucket", status=404):
        client.list_objects_v2(Bucket="suite-no-such")
    with s3.refused("404", status=404):
        client.head_bucket(Bucket="suite-no-such")
    with s3.refused("NoSuchUpload", status=404):
        client.upload_part(Bucket=bucket, Key="k", UploadId="absent", PartNumber=1, Body=b"x")
    with s3.refused("NoSuchUpload", status=404):
        client.abort_multipart_upload(Bucket=bucket, Key="k", UploadId="absent")
    with s3.refused("NoSuchUpload", status=404):
        client.list_parts(Bucket=bucket, Key="k", UploadId="absent")


# Buckets


def test_buckets_are_made_listed_and_removed(client):
    name = s3.fresh_name() + ".with-dots"
    client.create_bucket(Bucket=name)
    assert name in [b["Name"] for b in client.list_buckets()["Buckets"]]
    assert client.head_bucket(Bucket=name)["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert client.get_bucket_location(Bucket=name)["LocationConstraint"] in (None, "us-east-1")
    client.put_object(Bucket=name, Key="k", Body=b"x")
    with s3.refused("BucketNotEmpty", status=409):
        client.delete_bucket(Bucket=name)
    client.delete_object(Bucket=name, Key="k")
    client.delete_bucket(Bucket=name)
    with s3.refused("NoSuchBucket", status=404):
        client.delete_bucket(Bucket=name)


@pytest.mark.parametrize("name", ["ab", "x" * 64, "Upper", "under_score", "-dash", "192.168.1.1", "a..b"])
def test_bad_bucket_names_are_refused(endpoint, name):
    client = endpoint.client()
    client.meta.events.unregister("before-parameter-build.s3", validate_bucket_name)
    with s3.refused("InvalidBucketName", status=400):
        client.create_bucket(Bucket=name)
