"""Buckets that keep versions: what clients see of a random history is what a list of all its versions says, after
kills, and after the loss of the catalog too."""

import random
import urllib.parse
import urllib.request

import pytest
from botocore.exceptions import ClientError

from support.gateway import Gateway
from support.packs import PACKS, must_be_clean

pytestmark = pytest.mark.own
BUCKET = "versions"
KEYS = ["a", "b/1", "b/2", "c c", "d%00+"]
SIZES = [0, 1, 300, 5000, 70_000]
STEPS = 150


@pytest.fixture(params=[{}, PACKS], ids=["alone", "packs"])
def gateway(tmp_path, request):
    own = Gateway(tmp_path / "own", pool=request.param)
    yield own.start()
    own.kill()


class History:
    """All versions that each key should have, the oldest first: id, body (none for a delete marker), tags."""

    def __init__(self, client, seed):
        self.client, self.dice = client, random.Random(seed)
        self.held = {key: [] for key in KEYS}
        self.enabled = False

    def configure(self, status):
        configuration = {"Status": status}
        self.client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration=configuration)
        self.enabled = status == "Enabled"

    def add(self, key, version, body, tags=()):
        if version == "null":
            self.held[key] = [held for held in self.held[key] if held[0] != "null"]
        self.held[key].append((version, body, dict(tags)))

    def put(self, key):
        body = self.dice.randbytes(self.dice.choice(SIZES))
        done = self.client.put_object(Bucket=BUCKET, Key=key, Body=body)
        self.add(key, done.get("VersionId", "null"), body)

    def delete(self, key):
        done = self.client.delete_object(Bucket=BUCKET, Key=key)
        assert done["DeleteMarker"]
        self.add(key, done["VersionId"], None)

    def delete_version(self, key):
        if not self.held[key]:
            return
        version, body, _ = picked = self.dice.choice(self.held[key])
        done = self.client.delete_object(Bucket=BUCKET, Key=key, VersionId=version)
        assert done["VersionId"] == version and done.get("DeleteMarker", False) == (body is None)
        self.held[key].remove(picked)

    def tag(self, key):
        tagged = [held for held in self.held[key] if held[1] is not None]
        if tagged:
            version, _, tags = self.dice.choice(tagged)
            tags["step"] = str(self.dice.random())
            tag_set = [{"Key": name, "Value": value} for name, value in tags.items()]
            call = self.client.put_object_tagging
            call(Bucket=BUCKET, Key=key, VersionId=version, Tagging={"TagSet": tag_set})

    def copy(self, key):
        there = [(source, held) for source in KEYS for held in self.held[source] if held[1] is not None]
        if there:
            source, (version, body, tags) = self.dice.choice(there)
            named = {"Bucket": BUCKET, "Key": source, "VersionId": version}
            done = self.client.copy_object(Bucket=BUCKET, Key=key, CopySource=named)
            assert done["CopySourceVersionId"] == version
            self.add(key, done.get("VersionId", "null"), body, tags)

    def run(self, steps):
        acts = [self.put, self.put, self.put, self.delete, self.delete_version, self.tag, self.copy]
        for _ in range(steps):
            if self.dice.random() < 0.05:
                self.configure(self.dice.choice(["Enabled", "Enabled", "Suspended"]))
            self.dice.choice(acts)(self.dice.choice(KEYS))

    def check(self):
        listed = {key: [] for key in KEYS}
        pages = self.client.get_paginator("list_object_versions").paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 3})
        for page in pages:
            found = page.get("Versions", []) + page.get("DeleteMarkers", [])
            for version in found:
                listed[version["Key"]].append((version["VersionId"], version["IsLatest"], "Size" in version))
        for key, held in self.held.items():
            expected = [(version, False, body is not None) for version, body, _ in held]
            expected[-1:] = [(version, True, is_object) for version, _, is_object in expected[-1:]]
            assert sorted(listed[key]) == sorted(expected), key
            for version, body, tags in held:
                self.check_version(key, version, body, tags)
            self.check_latest(key, held[-1] if held else None)
        latest = {key for key, held in self.held.items() if held and held[-1][1] is not None}
        keys = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        assert [entry["Key"] for entry in keys] == sorted(latest)

    def check_version(self, key, version, body, tags):
        named = {"Bucket": BUCKET, "Key": key, "VersionId": version}
        if body is None:
            with pytest.raises(ClientError) as raised:
                self.client.get_object(**named)
            assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 405
            return
        got = self.client.get_object(**named)
        assert got["VersionId"] == version and got["Body"].read() == body
        found = self.client.get_object_tagging(**named)["TagSet"]
        assert {tag["Key"]: tag["Value"] for tag in found} == tags

    def check_latest(self, key, latest):
        if latest is None or latest[1] is None:
            with pytest.raises(ClientError) as raised:
                self.client.get_object(Bucket=BUCKET, Key=key)
            assert raised.value.response["Error"]["Code"] == "NoSuchKey"
        else:
            got = self.client.get_object(Bucket=BUCKET, Key=key)
            assert (got["VersionId"], got["Body"].read()) == latest[:2]


@pytest.mark.parametrize("seed", [1, 2])
def test_versions_are_those_of_a_history_after_kills_and_without_the_catalog(gateway, seed):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    history = History(client, seed)
    for key in KEYS[:2]:
        body = key.encode()
        assert "VersionId" not in client.put_object(Bucket=BUCKET, Key=key, Body=body)
        history.add(key, "null", body)
    history.configure("Enabled")
    history.run(STEPS)
    history.check()
    gateway.kill()
    gateway.start()
    history.run(STEPS // 3)
    history.check()
    must_be_clean(gateway)
    gateway.rebuild()
    history.client = gateway.endpoint().client()
    history.check()
    history.run(STEPS // 3)
    history.check()
    must_be_clean(gateway)


def test_a_bucket_is_emptied_version_by_version(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    history = History(client, 7)
    history.configure("Enabled")
    history.run(60)
    with pytest.raises(ClientError) as raised:
        client.delete_bucket(Bucket=BUCKET)
    assert raised.value.response["Error"]["Code"] == "BucketNotEmpty"
    for page in client.get_paginator("list_object_versions").paginate(Bucket=BUCKET):
        found = page.get("Versions", []) + page.get("DeleteMarkers", [])
        named = [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in found]
        done = client.delete_objects(Bucket=BUCKET, Delete={"Objects": named})
        assert len(done["Deleted"]) == len(named) and "Errors" not in done
    client.delete_bucket(Bucket=BUCKET)


def test_a_version_is_read_with_a_presigned_address(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    history = History(client, 3)
    history.configure("Enabled")
    first = client.put_object(Bucket=BUCKET, Key="k", Body=b"first")["VersionId"]
    client.put_object(Bucket=BUCKET, Key="k", Body=b"second")
    named = {"Bucket": BUCKET, "Key": "k", "VersionId": first}
    address = client.generate_presigned_url("get_object", Params=named)
    assert urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["versionId"] == [first]
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert answer.read() == b"first"
