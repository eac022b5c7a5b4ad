"""Conditional reads and writes."""

import datetime
import threading

import pytest

from support import s3

WRONG = '"00000000000000000000000000000000"'


@pytest.fixture
def etag(client, bucket):
    return client.put_object(Bucket=bucket, Key="k", Body=b"old")["ETag"]


def test_reads_follow_their_etag_conditions(client, bucket, etag):
    get = lambda **c: s3.status_of(client.get_object, Bucket=bucket, Key="k", **c)
    assert get(IfMatch=etag) == 200
    assert get(IfMatch="*") == 200
    assert get(IfMatch=WRONG) == 412
    assert get(IfNoneMatch=WRONG) == 200
    assert get(IfNoneMatch=etag) == 304
    assert get(IfNoneMatch="*") == 304
    head = lambda **c: s3.status_of(client.head_object, Bucket=bucket, Key="k", **c)
    assert (head(IfMatch=WRONG), head(IfNoneMatch=etag), head(IfMatch=etag)) == (412, 304, 200)


def test_reads_follow_their_date_conditions(client, bucket, etag):
    when = client.head_object(Bucket=bucket, Key="k")["LastModified"]
    hour = datetime.timedelta(hours=1)
    get = lambda **c: s3.status_of(client.get_object, Bucket=bucket, Key="k", **c)
    assert get(IfModifiedSince=when - hour) == 200
    assert get(IfModifiedSince=when) == 304
    assert get(IfUnmodifiedSince=when) == 200
    assert get(IfUnmodifiedSince=when - hour) == 412
    # An etag that was asked about decides alone.
    assert get(IfMatch=etag, IfUnmodifiedSince=when - hour) == 200
    assert get(IfNoneMatch=etag, IfModifiedSince=when - hour) == 304


def test_a_304_has_the_etag_and_no_body(client, bucket, etag):
    with s3.refused("304", status=304) as caught:
        client.get_object(Bucket=bucket, Key="k", IfNoneMatch=etag)
    assert caught.value.response["ResponseMetadata"]["HTTPHeaders"]["etag"] == etag


def test_writes_only_where_nothing_is(client, bucket, etag):
    client.put_object(Bucket=bucket, Key="new", Body=b"new", IfNoneMatch="*")
    with s3.refused("PreconditionFailed", status=412):
        client.put_object(Bucket=bucket, Key="k", Body=b"new", IfNoneMatch="*")
    assert s3.read(client, bucket, "k") == b"old"


def test_writes_only_over_what_was_read(client, bucket, etag):
    with s3.refused("PreconditionFailed", status=412):
        client.put_object(Bucket=bucket, Key="k", Body=b"new", IfMatch=WRONG)
    assert s3.read(client, bucket, "k") == b"old"
    client.put_object(Bucket=bucket, Key="k", Body=b"new", IfMatch=etag)
    assert s3.read(client, bucket, "k") == b"new"
    with s3.refused("NoSuchKey", status=404):
        client.put_object(Bucket=bucket, Key="absent", Body=b"new", IfMatch=etag)


def test_uploads_complete_conditionally(client, bucket, etag):
    upload = client.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    part = client.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=1, Body=b"new")["ETag"]
    parts = {"Parts": [{"PartNumber": 1, "ETag": part}]}
    complete = lambda **c: client.complete_multipart_upload(
        Bucket=bucket, Key="k", UploadId=upload, MultipartUpload=parts, **c
    )
    with s3.refused("PreconditionFailed", status=412):
        complete(IfNoneMatch="*")
    assert s3.read(client, bucket, "k") == b"old"
    complete(IfMatch=etag)
    assert s3.read(client, bucket, "k") == b"new"


def test_copies_follow_conditions_on_their_source(client, bucket, etag):
    source = {"Bucket": bucket, "Key": "k"}
    copy = lambda **c: s3.status_of(client.copy_object, Bucket=bucket, Key="c", CopySource=source, **c)
    assert copy(CopySourceIfMatch=WRONG) == 412
    assert copy(CopySourceIfNoneMatch=etag) == 412
    assert s3.keys(client, bucket) == ["k"]
    assert copy(CopySourceIfMatch=etag) == 200
    assert copy(CopySourceIfNoneMatch=WRONG) == 200


def test_one_of_many_racing_creators_wins(endpoint, client, bucket):
    clients = [endpoint.client() for _ in range(8)]
    for round_ in range(5):
        start, statuses = threading.Barrier(8), {}

        def create(number):
            start.wait(30)
            statuses[number] = s3.status_of(
                clients[number].put_object, Bucket=bucket, Key=f"r{round_}", Body=bytes([number]), IfNoneMatch="*"
            )

        threads = [threading.Thread(target=create, args=(n,)) for n in range(8)]
        [t.start() for t in threads]
        [t.join(60) for t in threads]
        winners = [n for n, status in statuses.items() if status == 200]
        assert len(winners) == 1, statuses
        assert set(statuses.values()) <= {200, 409, 412}, statuses
        assert s3.read(client, bucket, f"r{round_}") == bytes(winners)
