"""Multipart uploads."""

import base64
import hashlib

import pytest

from support import raw, s3
from support.payload import MIB, Stream, digest

PART = 5 * MIB


class Upload:
    """One upload, written short."""

    def __init__(self, client, bucket, key, **arguments):
        self.client, self.where = client, {"Bucket": bucket, "Key": key}
        self.id = client.create_multipart_upload(**self.where, **arguments)["UploadId"]
        self.parts = {}

    def put(self, number, body, **arguments):
        sent = self.client.upload_part(
            **self.where, UploadId=self.id, PartNumber=number, Body=body, **arguments
        )
        self.parts[number] = sent["ETag"]
        return sent

    def complete(self, numbers=None, etags=None, **arguments):
        listed = [
            {"PartNumber": n, "ETag": (etags or self.parts)[n]}
            for n in (numbers if numbers is not None else sorted(self.parts))
        ]
        return self.client.complete_multipart_upload(
            **self.where, UploadId=self.id, MultipartUpload={"Parts": listed}, **arguments
        )

    def abort(self):
        self.client.abort_multipart_upload(**self.where, UploadId=self.id)

    def numbers(self):
        listed = self.client.list_parts(**self.where, UploadId=self.id)
        return [part["PartNumber"] for part in listed.get("Parts", [])]


def test_parts_in_any_order_make_one_object(client, bucket, seed):
    bodies = {n: Stream(seed + n, PART + n).read() for n in (1, 2, 7)}
    upload = Upload(client, bucket, "k", Metadata={"a": "1"}, ContentType="text/x")
    for number in (7, 1, 2):
        upload.put(number, bodies[number])
    with s3.refused("NoSuchKey"):
        client.get_object(Bucket=bucket, Key="k")
    done = upload.complete()
    md5s = b"".join(hashlib.md5(bodies[n]).digest() for n in (1, 2, 7))
    assert done["ETag"] == f'"{hashlib.md5(md5s).hexdigest()}-3"'
    got = client.get_object(Bucket=bucket, Key="k")
    assert (got["Metadata"], got["ContentType"], got["ETag"]) == ({"a": "1"}, "text/x", done["ETag"])
    assert digest(got["Body"].iter_chunks(MIB)) == digest(bodies[1] + bodies[2] + bodies[7])


def test_only_the_parts_named_are_used(client, bucket):
    upload = Upload(client, bucket, "k")
    for number, body in ((1, b"a" * PART), (2, b"b" * PART), (3, b"c")):
        upload.put(number, body)
    upload.complete([1, 3])
    assert s3.read(client, bucket, "k") == b"a" * PART + b"c"


def test_a_part_sent_again_replaces_the_first(client, bucket):
    upload = Upload(client, bucket, "k")
    first = upload.put(1, b"first")["ETag"]
    upload.put(1, b"second")
    with s3.refused("InvalidPart", status=400):
        upload.complete(etags={1: first}, numbers=[1])
    upload.complete()
    assert s3.read(client, bucket, "k") == b"second"


def test_bad_completions_are_refused_and_the_upload_goes_on(client, bucket):
    upload = Upload(client, bucket, "k")
    upload.put(1, b"a" * PART)
    upload.put(2, b"small")
    upload.put(3, b"end")
    with s3.refused("EntityTooSmall", status=400):
        upload.complete([1, 2, 3])
    with s3.refused("InvalidPartOrder", status=400):
        upload.complete([3, 1])
    with s3.refused("InvalidPart", status=400):
        upload.complete([1, 4], etags=upload.parts | {4: upload.parts[1]})
    with s3.refused("InvalidPart", status=400):
        upload.complete([1], etags={1: upload.parts[2]})
    with s3.refused("MalformedXML", "InvalidRequest", "InvalidPart", status=400):
        upload.complete([])
    assert upload.numbers() == [1, 2, 3]
    upload.complete([1, 3])
    assert s3.read(client, bucket, "k") == b"a" * PART + b"end"


@pytest.mark.parametrize("number", [0, 10001])
def test_part_numbers_have_limits(client, bucket, number):
    upload = Upload(client, bucket, "k")
    with s3.refused("InvalidArgument", status=400):
        upload.put(number, b"x")
    upload.put(10000, b"the last possible")
    upload.complete()
    assert s3.read(client, bucket, "k") == b"the last possible"


def test_an_ended_upload_is_gone(client, bucket):
    done, dropped = Upload(client, bucket, "k"), Upload(client, bucket, "k")
    done.put(1, b"x")
    dropped.put(1, b"y")
    done.complete()
    dropped.abort()
    for upload in (done, dropped):
        with s3.refused("NoSuchUpload", status=404):
            upload.put(2, b"z")
        with s3.refused("NoSuchUpload", status=404):
            upload.numbers()
    with s3.refused("NoSuchUpload", status=404):
        dropped.complete()
    assert s3.read(client, bucket, "k") == b"x"
    assert client.list_multipart_uploads(Bucket=bucket).get("Uploads", []) == []


def test_parts_are_listed_in_pages(client, bucket):
    upload = Upload(client, bucket, "k")
    for number in (1, 2, 30, 400, 9999):
        upload.put(number, bytes(number % 100))
    pages, marker = [], 0
    for _ in range(10):
        page = client.list_parts(**upload.where, UploadId=upload.id, MaxParts=2, PartNumberMarker=marker)
        pages.append([(p["PartNumber"], p["Size"], p["ETag"]) for p in page["Parts"]])
        if not page["IsTruncated"]:
            break
        marker = page["NextPartNumberMarker"]
    assert pages == [
        [(n, n % 100, upload.parts[n]) for n in numbers] for numbers in ((1, 2), (30, 400), (9999,))
    ]
    upload.abort()


def test_uploads_are_listed_in_pages(client, bucket):
    wanted = [("a/1", Upload(client, bucket, "a/1").id), ("b", Upload(client, bucket, "b").id)]
    wanted += sorted(("a/2", Upload(client, bucket, "a/2").id) for _ in range(3))
    listed, markers = [], {}
    for _ in range(10):
        page = client.list_multipart_uploads(Bucket=bucket, MaxUploads=2, **markers)
        listed += [(u["Key"], u["UploadId"]) for u in page["Uploads"]]
        if not page["IsTruncated"]:
            break
        markers = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
    assert sorted(listed) == sorted(wanted)
    assert [key for key, _ in listed] == ["a/1", "a/2", "a/2", "a/2", "b"]
    page = client.list_multipart_uploads(Bucket=bucket, Prefix="a/")
    assert [u["Key"] for u in page["Uploads"]] == ["a/1", "a/2", "a/2", "a/2"]
    page = client.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert [u["Key"] for u in page["Uploads"]] == ["b"]
    assert [p["Prefix"] for p in page["CommonPrefixes"]] == ["a/"]


def test_parts_are_copied_from_objects(client, bucket, seed):
    whole = Stream(seed, 20 * MIB).read()
    client.put_object(Bucket=bucket, Key="source", Body=whole)
    upload = Upload(client, bucket, "k")
    source = {"Bucket": bucket, "Key": "source"}
    ranges = {1: (3 * MIB + 5, 9 * MIB + 4), 2: (0, 20 * MIB - 1), 4: (20 * MIB - 3, 20 * MIB - 1)}
    for number, (first, last) in ranges.items():
        copied = client.upload_part_copy(
            **upload.where,
            UploadId=upload.id,
            PartNumber=number,
            CopySource=source,
            CopySourceRange=f"bytes={first}-{last}",
        )
        upload.parts[number] = copied["CopyPartResult"]["ETag"]
    upload.put(3, b"between" * MIB)
    client.delete_object(Bucket=bucket, Key="source")
    upload.complete()
    pieces = {n: whole[first : last + 1] for n, (first, last) in ranges.items()} | {3: b"between" * MIB}
    got = client.get_object(Bucket=bucket, Key="k")
    assert digest(got["Body"].iter_chunks(MIB)) == digest(b"".join(pieces[n] for n in sorted(pieces)))


def test_bad_ranges_of_parts_to_copy_are_refused(client, bucket):
    client.put_object(Bucket=bucket, Key="source", Body=b"x" * 100)
    upload = Upload(client, bucket, "k")
    for bad in ("bytes=0-100", "bytes=200-300", "bytes=5-", "0-5"):
        with s3.refused("InvalidArgument", "InvalidRange", status=None):
            client.upload_part_copy(
                **upload.where,
                UploadId=upload.id,
                PartNumber=1,
                CopySource={"Bucket": bucket, "Key": "source"},
                CopySourceRange=bad,
            )
    with s3.refused("NoSuchKey", status=404):
        client.upload_part_copy(
            **upload.where, UploadId=upload.id, PartNumber=1, CopySource={"Bucket": bucket, "Key": "absent"}
        )
    assert upload.numbers() == []


def test_a_completion_overwrites_and_is_overwritten(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"old")
    upload = Upload(client, bucket, "k")
    upload.put(1, b"part")
    assert s3.read(client, bucket, "k") == b"old"
    upload.complete()
    assert s3.read(client, bucket, "k") == b"part"
    client.put_object(Bucket=bucket, Key="k", Body=b"new")
    assert s3.read(client, bucket, "k") == b"new"


@pytest.mark.parametrize("algorithm", raw.ALGORITHMS)
def test_checksums_of_parts_make_that_of_the_object(client, bucket, algorithm):
    bodies = [b"a" * PART, b"b" * (PART + 1), b"c"]
    field = f"Checksum{algorithm}"
    kind = "FULL_OBJECT" if algorithm == "CRC64NVME" else "COMPOSITE"
    upload = Upload(client, bucket, "k", ChecksumAlgorithm=algorithm, ChecksumType=kind)
    listed = []
    for number, body in enumerate(bodies, 1):
        sent = upload.put(number, body, ChecksumAlgorithm=algorithm)
        assert sent[field] == raw.checksum(algorithm, body)
        listed.append({"PartNumber": number, "ETag": sent["ETag"], field: sent[field]})
    if kind == "FULL_OBJECT":
        wanted = raw.checksum(algorithm, b"".join(bodies))
    else:
        each = b"".join(base64.b64decode(part[field]) for part in listed)
        wanted = raw.checksum(algorithm, each) + f"-{len(bodies)}"
    done = client.complete_multipart_upload(
        **upload.where, UploadId=upload.id, ChecksumType=kind, MultipartUpload={"Parts": listed}
    )
    assert (done[field], done["ChecksumType"]) == (wanted, kind)
    got = client.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert (got[field], got["ChecksumType"]) == (wanted, kind)


def test_a_wrong_checksum_of_a_part_is_refused(client, bucket):
    upload = Upload(client, bucket, "k", ChecksumAlgorithm="SHA256")
    with s3.refused("BadDigest", "XAmzContentChecksumMismatch", status=400):
        upload.put(1, b"body", ChecksumSHA256=raw.checksum("SHA256", b"other"))
    assert upload.numbers() == []
    sent = upload.put(1, b"body", ChecksumAlgorithm="SHA256")
    wrong = raw.checksum("SHA256", b"other")
    with s3.refused("InvalidPart", "BadDigest", status=400):
        client.complete_multipart_upload(
            **upload.where,
            UploadId=upload.id,
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": sent["ETag"], "ChecksumSHA256": wrong}]},
        )
    assert upload.numbers() == [1]


def test_a_bucket_with_uploads_can_be_emptied(client):
    name = s3.fresh_name()
    client.create_bucket(Bucket=name)
    upload = Upload(client, name, "k")
    upload.put(1, b"x")
    upload.abort()
    client.delete_bucket(Bucket=name)
