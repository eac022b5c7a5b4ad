"""Byte ranges."""

import pytest

from support import s3
from support.payload import KIB, MIB, Stream

SIZE = 17 * MIB + 1234


@pytest.fixture(scope="module")
def whole():
    return Stream(7, SIZE).read()


@pytest.fixture(scope="module")
def long_object(client, whole):
    bucket = s3.fresh_name()
    client.create_bucket(Bucket=bucket)
    client.put_object(Bucket=bucket, Key="long", Body=whole)
    client.put_object(Bucket=bucket, Key="empty", Body=b"")
    yield bucket
    s3.empty(client, bucket)
    client.delete_bucket(Bucket=bucket)


STRIP = 2 * MIB
RANGES = [
    (0, 0),
    (0, SIZE - 1),
    (1, 1),
    (SIZE - 1, SIZE - 1),
    (STRIP - 1, STRIP),
    (STRIP, STRIP),
    (8 * MIB - 1, 8 * MIB),
    (8 * MIB - 1, 16 * MIB),
    (8 * MIB, 16 * MIB - 1),
    (3 * MIB + 17, 3 * MIB + 17 + 100 * KIB),
    (5, 17 * MIB),
]


@pytest.mark.parametrize("first,last", RANGES)
def test_a_range_is_that_of_the_whole(client, long_object, whole, first, last):
    got = client.get_object(Bucket=long_object, Key="long", Range=f"bytes={first}-{last}")
    assert got["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert got["ContentRange"] == f"bytes {first}-{last}/{SIZE}"
    assert got["ContentLength"] == last - first + 1
    assert got["Body"].read() == whole[first : last + 1]


def test_ranges_past_the_end_are_cut(client, long_object, whole):
    got = client.get_object(Bucket=long_object, Key="long", Range=f"bytes={SIZE - 10}-{SIZE + 999}")
    assert got["ContentRange"] == f"bytes {SIZE - 10}-{SIZE - 1}/{SIZE}"
    assert got["Body"].read() == whole[-10:]
    got = client.get_object(Bucket=long_object, Key="long", Range=f"bytes={SIZE - 10}-")
    assert got["Body"].read() == whole[-10:]


def test_suffixes_count_from_the_end(client, long_object, whole):
    for length in (1, 1000, 9 * MIB):
        got = client.get_object(Bucket=long_object, Key="long", Range=f"bytes=-{length}")
        assert got["Body"].read() == whole[-length:]
    got = client.get_object(Bucket=long_object, Key="long", Range=f"bytes=-{SIZE * 2}")
    assert got["ContentLength"] == SIZE


@pytest.mark.parametrize("bad", [f"bytes={SIZE}-", f"bytes={SIZE}-{SIZE + 5}", "bytes=-0"])
def test_ranges_that_hold_nothing_are_refused(client, long_object, bad):
    with s3.refused("InvalidRange", status=416):
        client.get_object(Bucket=long_object, Key="long", Range=bad)


def test_an_empty_object_has_no_ranges(client, long_object):
    with s3.refused("InvalidRange", status=416):
        client.get_object(Bucket=long_object, Key="empty", Range="bytes=0-0")
    assert s3.read(client, long_object, "empty") == b""


@pytest.mark.parametrize("odd", ["bytes=9-3", "lines=1-2", "bytes=a-b"])
def test_what_is_no_range_gets_the_whole(client, long_object, odd):
    got = client.get_object(Bucket=long_object, Key="long", Range=odd)
    assert (got["ResponseMetadata"]["HTTPStatusCode"], got["ContentLength"]) == (200, SIZE)
    got["Body"].close()


def test_heads_have_ranges_too(client, long_object):
    got = client.head_object(Bucket=long_object, Key="long", Range="bytes=10-19")
    assert (got["ContentLength"], got["ContentRange"]) == (10, f"bytes 10-19/{SIZE}")


def test_parts_are_ranges(client, bucket):
    upload = client.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    bodies = [Stream(1, 5 * MIB + 1).read(), Stream(2, 5 * MIB).read(), b"the end"]
    parts = []
    for number, body in enumerate(bodies, 1):
        sent = client.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=number, Body=body)
        parts.append({"PartNumber": number, "ETag": sent["ETag"]})
    client.complete_multipart_upload(
        Bucket=bucket, Key="k", UploadId=upload, MultipartUpload={"Parts": parts}
    )
    for number, body in enumerate(bodies, 1):
        got = client.get_object(Bucket=bucket, Key="k", PartNumber=number)
        assert (got["PartsCount"], got["Body"].read()) == (3, body)
        assert client.head_object(Bucket=bucket, Key="k", PartNumber=number)["ContentLength"] == len(body)
    with s3.refused("InvalidPartNumber", "InvalidPart", "InvalidRange", status=416):
        client.get_object(Bucket=bucket, Key="k", PartNumber=4)
