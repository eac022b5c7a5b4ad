"""What was deleted stays so, also where the catalog is lost before a sweep has taken the fragments."""

import pytest

from support import s3
from support.gateway import Gateway
from support.payload import KIB, Stream

pytestmark = pytest.mark.own
BUCKET = "suite"


@pytest.fixture
def gateway(tmp_path):
    # Nothing is swept in the meantime.
    own = Gateway(tmp_path / "own", store={"grace": "1h", "sweep_every": "1h", "list_every": "1h"})
    yield own
    own.kill()


def put(client, key, seed):
    client.put_object(Bucket=BUCKET, Key=key, Body=Stream(seed, 20 * KIB).read())


def is_there(client, key, seed):
    return s3.read(client, BUCKET, key) == Stream(seed, 20 * KIB).read()


def keys(client, bucket=BUCKET):
    return [entry["Key"] for entry in client.list_objects_v2(Bucket=bucket).get("Contents", [])]


def rebuild(gateway):
    """Loses the catalog and makes it again."""
    return gateway.rebuild(), gateway.endpoint().client()


def delete_some(client):
    """Every way in which a key ends; what is left of it."""
    client.create_bucket(Bucket=BUCKET)
    client.create_bucket(Bucket="gone")
    for seed, key in enumerate(["kept", "deleted", "overwritten", "moved", "one", "two", "again"]):
        put(client, key, seed)
    client.delete_object(Bucket=BUCKET, Key="deleted")
    put(client, "overwritten", 20)
    # What the copy shares with its source stays at the nodes, and tells of the source.
    client.copy_object(Bucket=BUCKET, Key="copy", CopySource={"Bucket": BUCKET, "Key": "moved"})
    client.delete_object(Bucket=BUCKET, Key="moved")
    client.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "one"}, {"Key": "two"}]})
    for seed in (30, 31):
        client.delete_object(Bucket=BUCKET, Key="again")
        put(client, "again", seed)
    client.delete_bucket(Bucket="gone")
    return {"kept": 0, "overwritten": 20, "copy": 3, "again": 31}


def is_as_left(client, left):
    assert keys(client) == sorted(left)
    assert all(is_there(client, key, seed) for key, seed in left.items())
    assert [bucket["Name"] for bucket in client.list_buckets()["Buckets"]] == [BUCKET]


def test_what_was_deleted_is_not_found_again(gateway):
    left = delete_some(gateway.start().endpoint().client())
    # The second time the deletions are known from the first rebuild alone.
    for _ in range(2):
        report, client = rebuild(gateway)
        assert (report["objects"], report["deletions"]) == (len(left), 5), report
        is_as_left(client, left)
    for key in list(left):
        client.delete_object(Bucket=BUCKET, Key=key)
    client.delete_bucket(Bucket=BUCKET)
    _, client = rebuild(gateway)
    assert client.list_buckets()["Buckets"] == []


def test_keys_are_deleted_although_too_few_nodes_can_tell_of_it(gateway):
    client = gateway.start().endpoint().client()
    left = delete_some(client)
    for node in (1, 2, 3):
        gateway.remove_node(node)
    client.delete_object(Bucket=BUCKET, Key="kept")
    assert keys(client) == sorted(set(left) - {"kept"})
