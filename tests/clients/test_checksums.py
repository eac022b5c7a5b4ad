"""Bodies are checked against everything the client says of them."""

import hashlib

import pytest

from support import raw, s3
from support.payload import MIB, Stream

MISMATCH = ("BadDigest", "XAmzContentChecksumMismatch", "InvalidRequest")
algorithms = pytest.mark.parametrize("algorithm", raw.ALGORITHMS)


def put(endpoint, bucket, body, *, headers=None, payload=raw.UNSIGNED, sent=None, key="k"):
    request = raw.Request(endpoint, "PUT", f"/{bucket}/{key}", headers=headers, payload=payload)
    return request.send(body if sent is None else sent)


def nothing_at(client, bucket, key="k"):
    return key not in s3.keys(client, bucket)


@algorithms
@pytest.mark.parametrize("size", [0, 1, 70_000, 8 * MIB + 1])
def test_boto3_sends_and_reads_checksums(client, bucket, seed, algorithm, size):
    body = Stream(seed, size).read()
    sent = client.put_object(Bucket=bucket, Key="k", Body=body, ChecksumAlgorithm=algorithm)
    wanted = raw.checksum(algorithm, body)
    assert sent[f"Checksum{algorithm}"] == wanted
    # boto3 compares while it reads.
    got = client.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert got[f"Checksum{algorithm}"] == wanted
    assert got["Body"].read() == body
    assert client.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")["ChecksumType"] == "FULL_OBJECT"


@algorithms
def test_a_right_checksum_in_a_header_is_taken(endpoint, client, bucket, algorithm):
    name, body = f"x-amz-checksum-{algorithm.lower()}", b"body" * 10_000
    answer = put(endpoint, bucket, body, headers={name: raw.checksum(algorithm, body)})
    assert answer.status == 200, answer
    assert s3.read(client, bucket, "k") == body


@algorithms
def test_a_wrong_checksum_in_a_header_is_refused(endpoint, client, bucket, algorithm):
    name, body = f"x-amz-checksum-{algorithm.lower()}", b"body" * 10_000
    answer = put(endpoint, bucket, body, headers={name: raw.checksum(algorithm, body + b"!")})
    assert (answer.status, answer.code in MISMATCH) == (400, True), answer
    assert nothing_at(client, bucket)


@algorithms
def test_a_checksum_that_is_none_is_refused(endpoint, client, bucket, algorithm):
    name = f"x-amz-checksum-{algorithm.lower()}"
    for bad in ("AAAA", "not base64!"):
        answer = put(endpoint, bucket, b"body", headers={name: bad})
        assert answer.status == 400, answer
    assert nothing_at(client, bucket)


def trailing(algorithm, body, value):
    name = f"x-amz-checksum-{algorithm.lower()}"
    headers = {
        "content-encoding": "aws-chunked",
        "x-amz-decoded-content-length": str(len(body)),
        "x-amz-trailer": name,
    }
    return headers, {name: value}


@algorithms
@pytest.mark.parametrize("size", [0, 1, 200_000])
def test_a_trailing_checksum_is_checked(endpoint, client, bucket, seed, algorithm, size):
    body = Stream(seed, size).read()
    payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
    headers, trailer = trailing(algorithm, body, raw.checksum(algorithm, body + b"!"))
    answer = put(endpoint, bucket, body, headers=headers, payload=payload, sent=raw.unsigned_chunks(body, trailer))
    assert (answer.status, answer.code in MISMATCH) == (400, True), answer
    assert nothing_at(client, bucket)
    headers, trailer = trailing(algorithm, body, raw.checksum(algorithm, body))
    answer = put(endpoint, bucket, body, headers=headers, payload=payload, sent=raw.unsigned_chunks(body, trailer))
    assert answer.status == 200, answer
    got = client.get_object(Bucket=bucket, Key="k")
    assert got["Body"].read() == body
    # What the transfer was wrapped in is not the object's encoding.
    assert got.get("ContentEncoding", "") == ""


def signed_put(endpoint, bucket, body, *, trailer=None, headers=None, spoil=None):
    payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" + ("-TRAILER" if trailer else "")
    headers = {
        "content-encoding": "aws-chunked",
        "x-amz-decoded-content-length": str(len(body)),
    } | (headers or {})
    request = raw.Request(endpoint, "PUT", f"/{bucket}/k", headers=headers, payload=payload)
    return request.send(raw.signed_chunks(request, body, trailer, spoil=spoil))


def test_signed_chunks_are_checked(endpoint, client, bucket, seed):
    body = Stream(seed, 200_000).read()
    for spoil in (0, 2, 4):
        answer = signed_put(endpoint, bucket, body, spoil=spoil)
        assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch"), (spoil, answer)
        assert nothing_at(client, bucket)
    assert signed_put(endpoint, bucket, body).status == 200
    assert s3.read(client, bucket, "k") == body


def test_signed_trailers_are_checked(endpoint, client, bucket, seed):
    body = Stream(seed, 200_000).read()
    right, name = raw.checksum("CRC32C", body), "x-amz-checksum-crc32c"
    announced = {"x-amz-trailer": name}
    answer = signed_put(endpoint, bucket, body, trailer={name: right}, headers=announced, spoil="trailer")
    assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch"), answer
    wrong = raw.checksum("CRC32C", b"other")
    answer = signed_put(endpoint, bucket, body, trailer={name: wrong}, headers=announced)
    assert (answer.status, answer.code in MISMATCH) == (400, True), answer
    assert nothing_at(client, bucket)
    assert signed_put(endpoint, bucket, body, trailer={name: right}, headers=announced).status == 200
    assert s3.read(client, bucket, "k") == body


def test_the_hash_of_the_body_is_checked(endpoint, client, bucket):
    body = b"body" * 10_000
    wrong = hashlib.sha256(b"other").hexdigest()
    answer = put(endpoint, bucket, body, payload=wrong)
    assert (answer.status, answer.code) == (400, "XAmzContentSHA256Mismatch"), answer
    assert nothing_at(client, bucket)
    assert put(endpoint, bucket, body, payload=hashlib.sha256(body).hexdigest()).status == 200


def test_the_md5_of_the_body_is_checked(endpoint, client, bucket):
    answer = put(endpoint, bucket, b"body", headers={"content-md5": raw.content_md5(b"other")})
    assert (answer.status, answer.code) == (400, "BadDigest"), answer
    answer = put(endpoint, bucket, b"body", headers={"content-md5": "short"})
    assert (answer.status, answer.code) == (400, "InvalidDigest"), answer
    assert nothing_at(client, bucket)
    assert put(endpoint, bucket, b"body", headers={"content-md5": raw.content_md5(b"body")}).status == 200


def test_a_failed_overwrite_leaves_the_old(endpoint, client, bucket, seed):
    old = Stream(seed, 9 * MIB).read()
    client.put_object(Bucket=bucket, Key="k", Body=old, Metadata={"a": "1"})
    headers = {"x-amz-checksum-sha256": raw.checksum("SHA256", b"other")}
    assert put(endpoint, bucket, b"new" * 4 * MIB, headers=headers).status == 400
    got = client.get_object(Bucket=bucket, Key="k")
    assert (got["Body"].read() == old, got["Metadata"]) == (True, {"a": "1"})


def test_a_chunked_body_must_have_the_length_announced(endpoint, client, bucket):
    for announced in (9, 11):
        headers = {"content-encoding": "aws-chunked", "x-amz-decoded-content-length": str(announced)}
        sent = raw.unsigned_chunks(b"0123456789")
        payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
        answer = put(endpoint, bucket, b"", headers=headers, payload=payload, sent=sent)
        assert answer.status == 400, answer
    assert nothing_at(client, bucket)
