"""Quotas: a bucket holds no more than it may, whatever way it grows, and a reload changes how much that is."""

import concurrent.futures
import contextlib
import json

import pytest
from botocore.exceptions import ClientError

from support import s3
from support.gateway import clean, wait_clean
from support.payload import KIB, MIB

pytestmark = pytest.mark.own


@contextlib.contextmanager
def full(*numbers):
    """The block must be refused for a quota, with these numbers in the message."""
    with s3.refused("QuotaExceeded", status=403) as caught:
        yield
    message = caught.value.response["Error"]["Message"]
    assert all(str(number) in message for number in numbers), message


@pytest.fixture
def limited(gateway):
    """Sets the quotas of the gateway's buckets while it runs; None stands for all that are not named."""

    def limit(quotas):
        gateway.quotas = quotas
        gateway.configure()
        done, said = gateway.reload()
        assert done and "quotas have changed" in said, said
        assert "takes a restart" not in said, said

    return limit


@pytest.fixture
def client(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    return client


def usage(gateway, bucket="suite"):
    status, text = gateway.ask("/buckets")
    assert status == 200, text
    (found,) = [found for found in json.loads(text)["buckets"] if found["name"] == bucket]
    return found["bytes"], found["objects"]


def received(gateway):
    """Bytes of bodies of PutObject that came."""
    rows = [row for row in gateway.metrics().splitlines() if row.startswith("ripstop_received_bytes_total")]
    return sum(float(row.split()[-1]) for row in rows if 'operation="PutObject"' in row)


def test_a_full_bucket_takes_what_makes_it_no_larger(gateway, limited, client):
    limited({"suite": {"bytes": "1 MiB", "objects": 2}})
    put = lambda key, size: client.put_object(Bucket="suite", Key=key, Body=bytes(size))
    put("one", 1000 * KIB)
    with full(MIB):
        put("two", 24 * KIB + 1)
    put("two", 24 * KIB)
    with full(2):
        put("three", 0)
    with full(MIB):
        put("one", 1000 * KIB + 1)
    put("one", 1000 * KIB)
    put("one", 999 * KIB)
    assert usage(gateway) == (1023 * KIB, 2)
    client.put_object_tagging(Bucket="suite", Key="one", Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    client.delete_object(Bucket="suite", Key="one")
    put("three", 1000 * KIB)
    assert usage(gateway) == (MIB, 2)
    assert clean(wait_clean(gateway, 20))


def test_a_refusal_comes_before_the_body_and_leaves_the_connection_in_order(gateway, limited, client):
    limited({"suite": {"bytes": "1 MiB"}})
    before = received(gateway)
    for _ in range(5):
        with full(MIB):
            client.put_object(Bucket="suite", Key="k", Body=bytes(8 * MIB))
        client.put_object(Bucket="suite", Key="small", Body=b"x")
        assert s3.read(client, "suite", "small") == b"x"
    assert received(gateway) - before < MIB, "clients wait to be told to go on"


def test_every_way_to_grow_is_refused(gateway, limited, client):
    client.put_object(Bucket="suite", Key="k", Body=bytes(300 * KIB))
    source = {"Bucket": "suite", "Key": "k"}
    begun = client.create_multipart_upload(Bucket="suite", Key="other")["UploadId"]
    upload = {"Bucket": "suite", "Key": "other", "UploadId": begun}
    part = client.upload_part(PartNumber=1, Body=b"end", **upload)
    limited({"suite": {"bytes": 300 * KIB + 3, "objects": 1}})
    most = 300 * KIB + 3
    with full(most):
        client.copy_object(Bucket="suite", Key="copy", CopySource=source)
    with full(most):
        client.upload_part(PartNumber=2, Body=b"x", **upload)
    with full(most):
        client.upload_part_copy(PartNumber=2, CopySource=source, **upload)
    with full(1):
        client.complete_multipart_upload(
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}, **upload
        )
    with full():
        client.create_multipart_upload(Bucket="suite", Key="new")
    assert usage(gateway) == (most, 1), "the part is still there"
    client.copy_object(Bucket="suite", Key="k", CopySource=source, MetadataDirective="REPLACE")
    client.abort_multipart_upload(**upload)
    again = client.create_multipart_upload(Bucket="suite", Key="k")["UploadId"]
    upload = {"Bucket": "suite", "Key": "k", "UploadId": again}
    part = client.upload_part(PartNumber=1, Body=b"end", **upload)
    client.complete_multipart_upload(
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}, **upload
    )
    assert usage(gateway) == (3, 1)


def test_of_many_that_write_together_as_many_as_fit_are_taken(gateway, limited, client):
    limited({None: {"bytes": 100 * KIB}})

    def put(at):
        try:
            client.put_object(Bucket="suite", Key=f"k{at}", Body=bytes(9 * KIB))
            return None
        except ClientError as error:
            return error.response["Error"]["Code"]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(put, range(40)))
    assert answers.count(None) == 11 and answers.count("QuotaExceeded") == 29, answers
    assert usage(gateway) == (99 * KIB, 11)


def test_quotas_and_what_is_held_survive_a_kill_and_are_shown(gateway, limited, client):
    limited({"suite": {"objects": 2}, None: {"bytes": "1 GiB"}})
    client.create_bucket(Bucket="other")
    for key in ["one", "two"]:
        client.put_object(Bucket="suite", Key=key, Body=b"12345")
    gateway.kill()
    gateway.start()
    with full(2):
        client.put_object(Bucket="suite", Key="three", Body=b"")
    page = json.loads(gateway.ask("/buckets")[1])
    rows = {bucket["name"]: bucket for bucket in page["buckets"]}
    assert (rows["suite"]["bytes"], rows["suite"]["objects_max"], rows["suite"]["bytes_max"]) == (10, 2, None)
    assert (rows["other"]["objects"], rows["other"]["bytes_max"]) == (0, 1 << 30)
    metrics = gateway.metrics()
    assert 'ripstop_bucket_bytes{bucket="suite"} 10' in metrics
    assert 'ripstop_bucket_quota_objects{bucket="suite"} 2' in metrics
    limited({})
    client.put_object(Bucket="suite", Key="three", Body=b"")
