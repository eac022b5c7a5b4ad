"""Nodes that go away and come back empty."""

import random
import shutil
import time

import pytest

from support import s3
from support.gateway import clean, wait_clean
from support.payload import KIB, MIB, Stream, digest, digest_of

pytestmark = pytest.mark.own
SIZES = [0, 1, 4 * KIB, 300 * KIB, 8 * MIB, 8 * MIB + 1, 20 * MIB]


def fill(client, bucket, prefix, seed):
    """Objects of all sizes: key → (seed, size)."""
    objects = {f"{prefix}/{size}": (seed + size, size) for size in SIZES}
    for key, (one, size) in objects.items():
        client.put_object(Bucket=bucket, Key=key, Body=Stream(one, size), ContentLength=size)
    upload = client.create_multipart_upload(Bucket=bucket, Key=f"{prefix}/parts")["UploadId"]
    whole, parts = Stream(seed, 11 * MIB), []
    for number, size in enumerate((5 * MIB, 6 * MIB), 1):
        sent = client.upload_part(
            Bucket=bucket, Key=f"{prefix}/parts", UploadId=upload, PartNumber=number, Body=whole.read(size)
        )
        parts.append({"PartNumber": number, "ETag": sent["ETag"]})
    client.complete_multipart_upload(
        Bucket=bucket, Key=f"{prefix}/parts", UploadId=upload, MultipartUpload={"Parts": parts}
    )
    client.copy_object(
        Bucket=bucket, Key=f"{prefix}/copy", CopySource={"Bucket": bucket, "Key": f"{prefix}/{300 * KIB}"}
    )
    objects[f"{prefix}/parts"] = (seed, 11 * MIB)
    objects[f"{prefix}/copy"] = objects[f"{prefix}/{300 * KIB}"]
    return objects


def verify(client, bucket, objects):
    """Every object whole, and a range of it."""
    for key, (seed, size) in objects.items():
        got = client.get_object(Bucket=bucket, Key=key)
        assert digest(got["Body"].iter_chunks(MIB)) == digest_of(seed, size), key
        if size > 1:
            first, last = size // 3, size // 3 * 2
            model = Stream(seed, size)
            model.seek(first)
            wanted = model.read(last - first + 1)
            assert s3.read(client, bucket, key, Range=f"bytes={first}-{last}") == wanted, key


def test_two_of_six_nodes_may_go_and_come_back_empty(gateway, seed):
    client, dice = gateway.endpoint().client(), random.Random(seed)
    nodes = dice.sample(range(1, 7), 4)
    client.create_bucket(Bucket="suite")
    objects = fill(client, "suite", "before", seed)
    for node in nodes[:2]:
        gateway.remove_node(node)
    verify(client, "suite", objects)
    objects |= fill(client, "suite", "during", seed + 1)
    client.put_object(Bucket="suite", Key="before/1", Body=b"over")
    client.delete_object(Bucket="suite", Key="before/0")
    assert s3.read(client, "suite", "before/1") == b"over"
    del objects["before/0"], objects["before/1"]
    verify(client, "suite", objects)
    code, counts = gateway.check()
    assert (code, counts["lost"]) == (1, 0), counts
    missed = counts["missing"] + counts["unknown"]
    assert missed > 0, counts

    for node in nodes[:2]:
        gateway.recreate_node(node)
    code, repaired = gateway.check(repair=True)
    assert (code, repaired["lost"]) == (0, 0), repaired
    # What was written meanwhile may be mended by itself; what the nodes had is not.
    assert repaired["repaired"] >= counts["unknown"], (repaired, counts)
    left = wait_clean(gateway, 30)
    assert clean(left), left

    for node in nodes[2:]:
        gateway.remove_node(node)
    verify(client, "suite", objects)
    assert s3.read(client, "suite", "before/1") == b"over"


def test_a_restart_with_nodes_missing_serves_all(gateway, seed):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    objects = fill(client, "suite", "a", seed)
    gateway.stop()
    gateway.remove_node(2)
    gateway.remove_node(5)
    gateway.start()
    verify(client, "suite", objects)
    objects |= fill(client, "suite", "b", seed + 9)
    verify(client, "suite", objects)


def test_with_too_few_nodes_errors_are_clear_and_nothing_changes(gateway, seed):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    objects = fill(client, "suite", "a", seed)
    aside = gateway.folder / "aside"
    aside.mkdir()
    for node in (1, 3, 6):
        gateway.node(node).rename(aside / f"d{node}")
    with s3.refused("ServiceUnavailable", "SlowDown", "InternalError") as caught:
        client.get_object(Bucket="suite", Key=f"a/{8 * MIB}")["Body"].read()
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] in (500, 503)
    with s3.refused("ServiceUnavailable", "SlowDown", "InternalError"):
        client.put_object(Bucket="suite", Key=f"a/{8 * MIB}", Body=b"new")
    for node in (1, 3, 6):
        shutil.move(aside / f"d{node}", gateway.node(node))
    # Nodes that were down are asked again now and then, not at every request.
    for _ in range(100):
        if s3.status_of(client.get_object, Bucket="suite", Key=f"a/{8 * MIB}") == 200:
            break
        time.sleep(0.2)
    verify(client, "suite", objects)
    assert len(s3.keys(client, "suite")) == len(objects)


def test_check_works_while_the_gateway_does_not(gateway, seed):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    objects = fill(client, "suite", "a", seed)
    gateway.stop()
    code, counts = gateway.check(repair=True)
    assert (code, counts["damaged"], counts["lost"]) == (0, 0, 0), counts
    code, counts = gateway.check()
    assert (code, clean(counts)) == (0, True), counts
    assert counts["stripes"] * 6 == counts["fragments"] == len(gateway.fragments())
    for lost in gateway.fragments()[::7]:
        lost.unlink()
    code, counts = gateway.check()
    assert (code, counts["damaged"], counts["lost"]) == (1, 0, 0), counts
    assert counts["missing"] > 0
    code, repaired = gateway.check(repair=True)
    assert (code, repaired["repaired"]) == (0, counts["missing"])
    assert gateway.check()[0] == 0
    gateway.start()
    verify(client, "suite", objects)


def test_foreign_files_are_left_alone(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="k", Body=b"x" * 100_000)
    foreign = [gateway.node(1) / "notes.txt", gateway.fragments()[0].with_name("lost+found")]
    for path in foreign:
        path.write_text("not ours")
    code, counts = gateway.check(repair=True)
    assert (code, clean(counts)) == (0, True), counts
    assert all(path.read_text() == "not ours" for path in foreign)
    assert s3.read(client, "suite", "k") == b"x" * 100_000


def test_deleted_and_overwritten_bytes_leave_the_nodes(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    for round_ in range(3):
        client.put_object(Bucket="suite", Key="k", Body=bytes([round_]) * 3 * MIB)
    client.copy_object(Bucket="suite", Key="copy", CopySource={"Bucket": "suite", "Key": "k"})
    for key in ("k", "copy"):
        assert s3.read(client, "suite", key) == bytes([2]) * 3 * MIB
        client.delete_object(Bucket="suite", Key=key)
    client.delete_bucket(Bucket="suite")
    for _ in range(80):
        if not gateway.fragments():
            break
        time.sleep(0.5)
    assert gateway.fragments() == []
    assert clean(gateway.check()[1])
