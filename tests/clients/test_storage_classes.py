"""Classes of storage: what rules move from pool to pool is whole, whatever kills the gateway meanwhile."""

import concurrent.futures
import random
import threading
import time

import pytest

from support import s3
from support.features import seen_features
from support.golden import Store
from support.packs import must_be_clean
from support.payload import Stream

pytestmark = pytest.mark.own
BUCKET = "ageing"
SIZES = (0, 700, 5000, 131_072, 400_000)
WAIT_SECONDS_MAX = 60
KILLS = 6
POOLS = [
    {"name": "hot", "code": [3, 2], "nodes": ["h1", "h2", "h3"]},
    {"name": "cold", "code": [4, 2], "storage_class": "COLD", "nodes": ["c1", "c2", "c3", "c4"]},
]
AGEING = {"lifecycle_every": "100ms", "lifecycle_day": "1s", "clean_every": "300ms", "grace": "3s"}
RULE = {
    "ID": "cool down",
    "Status": "Enabled",
    "Filter": {"ObjectSizeLessThan": 1 << 30},
    "Transitions": [{"Days": 1, "StorageClass": "COLD"}],
    "NoncurrentVersionTransitions": [{"NoncurrentDays": 1, "StorageClass": "COLD"}],
}


@pytest.fixture
def store(tmp_path):
    own = Store(tmp_path / "own", POOLS, store=AGEING | {"move_rate_max": "4 MiB"})
    yield own.start()
    own.kill()


def follow(client, rule):
    client.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration={"Rules": [rule]})


def classes(client):
    found = {}
    for page in client.get_paginator("list_object_versions").paginate(Bucket=BUCKET):
        found |= {(it["Key"], it["VersionId"]): it["StorageClass"] for it in page.get("Versions", [])}
    return found


def fill(client, seed):
    """Objects of every size, some with versions before them, encrypted, locked, in parts; their bodies."""
    client.create_bucket(Bucket=BUCKET, ObjectLockEnabledForBucket=True)
    bodies = {}
    hows = {"plain": {}, "sealed": {"ServerSideEncryption": "AES256"}, "held": {"ObjectLockLegalHoldStatus": "ON"}}
    for how, more in hows.items():
        for size in SIZES:
            for version in range(2):
                body = Stream(seed + len(bodies), size).read()
                put = client.put_object(Bucket=BUCKET, Key=f"{how}/{size}", Body=body, Tagging="a=b", **more)
                bodies[f"{how}/{size}", put["VersionId"]] = body
    return bodies


def must_be_all_there(client, bodies):
    for (key, version), body in bodies.items():
        assert s3.read(client, BUCKET, key, VersionId=version) == body, (key, version)


def without_class(shown):
    """What a client sees, but for the rules that were put since."""
    return {name: bucket | {"documents": None} for name, bucket in shown.items()}


def test_what_is_moved_by_rules_is_whole_through_kills_a_lost_catalog_and_the_loss_of_the_first_pool(store, seed):
    client = store.endpoint().client()
    bodies = fill(client, seed)
    before, draw = without_class(seen_features(client)), random.Random(seed)
    follow(client, RULE)
    for _ in range(KILLS):
        time.sleep(draw.uniform(0.1, 1.2))
        store.kill()
        store.start()
        must_be_all_there(client, bodies)
    until = time.monotonic() + WAIT_SECONDS_MAX
    while set(classes(client).values()) != {"COLD"}:
        assert time.monotonic() < until, classes(client)
        time.sleep(0.2)
    assert without_class(seen_features(client)) == before, "but for its class everything is as it was"
    head = client.head_object(Bucket=BUCKET, Key="plain/5000")
    assert head["StorageClass"] == "COLD"
    must_be_clean(store)
    store.rebuild()
    assert set(classes(client).values()) == {"COLD"}
    assert without_class(seen_features(client)) == before
    store.stop()
    for node in POOLS[0]["nodes"]:
        store.remove_node(node)
    store.start()
    must_be_all_there(client, bodies)


def test_readers_and_writers_meanwhile_see_no_difference(store, seed):
    client = store.endpoint().client()
    bodies, over = fill(client, seed), threading.Event()
    follow(client, RULE)

    def read(number):
        count, draw, own = 0, random.Random(seed + number), store.endpoint().client()
        while not over.is_set():
            key, version = draw.choice(list(bodies))
            assert s3.read(own, BUCKET, key, VersionId=version) == bodies[key, version], (key, version)
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(3) as readers:
        reading = [readers.submit(read, number) for number in range(3)]
        until = time.monotonic() + WAIT_SECONDS_MAX
        while set(classes(client).values()) != {"COLD"} and time.monotonic() < until:
            tags = [{"Key": "at", "Value": str(time.monotonic_ns())}]
            client.put_object_tagging(Bucket=BUCKET, Key="plain/5000", Tagging={"TagSet": tags})
            assert client.get_object_tagging(Bucket=BUCKET, Key="plain/5000")["TagSet"] == tags
            time.sleep(0.05)
        over.set()
        assert all(done.result() > 0 for done in reading)
    assert set(classes(client).values()) == {"COLD"}
    client.delete_object(Bucket=BUCKET, Key="plain/5000")
    must_be_clean(store)


def test_a_class_is_asked_for_and_a_copy_onto_itself_goes_back(store):
    client = store.endpoint().client()
    client.create_bucket(Bucket="asked")
    client.put_object(Bucket="asked", Key="k", Body=b"x" * 70_000, StorageClass="COLD")
    assert client.head_object(Bucket="asked", Key="k")["StorageClass"] == "COLD"
    with s3.refused("InvalidStorageClass", status=400):
        client.put_object(Bucket="asked", Key="k", Body=b"", StorageClass="GLACIER")
    where = {"Bucket": "asked", "Key": "k"}
    client.copy_object(**where, CopySource=where, StorageClass="STANDARD")
    assert "StorageClass" not in client.head_object(**where)
    assert s3.read(client, **{"bucket": "asked", "key": "k"}) == b"x" * 70_000
