"""Inventories of buckets, as boto3 asks for them."""

import csv
import gzip
import hashlib
import io
import json
import time
import urllib.parse

import pytest
from botocore.exceptions import ClientError

from support import s3
from support.gateway import Gateway
from support.packs import PACKS, must_be_clean

pytestmark = pytest.mark.own
SOURCE, TARGET = "shop", "lists"
WAIT_SECONDS_MAX = 60
FIELDS = ["Size", "ETag", "IsMultipartUploaded", "EncryptionStatus", "ObjectLockLegalHoldStatus"]


@pytest.fixture(params=[{}, PACKS], ids=["alone", "packs"])
def gateway(tmp_path, request):
    own = Gateway(tmp_path / "own", pool=request.param, store={"inventory_every": "200ms"})
    yield own.start()
    own.kill()


def configuration(name, versions="Current", prefix=None, fields=FIELDS, frequency="Daily"):
    wanted = {
        "Destination": {"S3BucketDestination": {"Bucket": f"arn:aws:s3:::{TARGET}", "Format": "CSV", "Prefix": "of"}},
        "IsEnabled": True,
        "Id": name,
        "IncludedObjectVersions": versions,
        "OptionalFields": fields,
        "Schedule": {"Frequency": frequency},
    }
    return wanted | ({"Filter": {"Prefix": prefix}} if prefix else {})


def inventory(client, name):
    """The manifest that comes, and its rows by column."""
    folder = f"of/{SOURCE}/{name}/"
    until = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        found = [one["Key"] for one in client.list_objects_v2(Bucket=TARGET, Prefix=folder).get("Contents", [])]
        whole = [key for key in found if key.endswith("/manifest.checksum")]
        if whole:
            break
        assert time.monotonic() < until, found
        time.sleep(0.1)
    assert len(whole) == 1

    def read(key):
        return client.get_object(Bucket=TARGET, Key=key)["Body"].read()

    text = read(whole[0].replace(".checksum", ".json"))
    assert read(whole[0]).decode() == hashlib.md5(text).hexdigest()
    manifest = json.loads(text)
    columns, rows = manifest["fileSchema"].split(", "), []
    for file in manifest["files"]:
        data = read(file["key"])
        assert (len(data), hashlib.md5(data).hexdigest()) == (file["size"], file["MD5checksum"])
        for row in csv.reader(io.StringIO(gzip.decompress(data).decode())):
            rows.append(dict(zip(columns, row, strict=True)))
    return manifest, rows


def test_what_a_bucket_has_is_listed_in_another(gateway):
    client = gateway.endpoint().client()
    for bucket in (SOURCE, TARGET):
        client.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=bucket == SOURCE)
    keys = [f"k/{at:04}" for at in range(1200)] + ["other \" é,", "parts"]
    for key in keys[:-1]:
        client.put_object(Bucket=SOURCE, Key=key, Body=key.encode())
    client.put_object(Bucket=SOURCE, Key="k/0007", Body=b"x", ServerSideEncryption="AES256")
    client.put_object_legal_hold(Bucket=SOURCE, Key="k/0008", LegalHold={"Status": "ON"})
    client.delete_object(Bucket=SOURCE, Key="k/0009")
    upload = client.create_multipart_upload(Bucket=SOURCE, Key="parts")["UploadId"]
    part = client.upload_part(Bucket=SOURCE, Key="parts", UploadId=upload, PartNumber=1, Body=b"part")
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    client.complete_multipart_upload(Bucket=SOURCE, Key="parts", UploadId=upload, MultipartUpload=parts)
    for wanted in (configuration("now"), configuration("all", "All", "k/", frequency="Weekly")):
        client.put_bucket_inventory_configuration(Bucket=SOURCE, Id=wanted["Id"], InventoryConfiguration=wanted)

    manifest, rows = inventory(client, "now")
    assert manifest["sourceBucket"] == SOURCE
    assert manifest["destinationBucket"] == f"arn:aws:s3:::{TARGET}"
    assert [urllib.parse.unquote(row["Key"]) for row in rows] == sorted(set(keys) - {"k/0009"}, key=str.encode)
    listed = {
        one["Key"]: (str(one["Size"]), one["ETag"].strip('"'))
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=SOURCE)
        for one in page["Contents"]
    }
    assert {urllib.parse.unquote(row["Key"]): (row["Size"], row["ETag"]) for row in rows} == listed
    by_key = {row["Key"]: row for row in rows}
    assert [by_key[key]["EncryptionStatus"] for key in ("k/0006", "k/0007")] == ["NOT-SSE", "SSE-S3"]
    assert [by_key[key]["IsMultipartUploaded"] for key in ("k/0006", "parts")] == ["false", "true"]
    assert by_key["k/0008"]["ObjectLockLegalHoldStatus"] == "ON"

    _, rows = inventory(client, "all")
    pages = client.get_paginator("list_object_versions").paginate(Bucket=SOURCE, Prefix="k/")
    seen = {(one["Key"], one["VersionId"]) for page in pages for name in ("Versions", "DeleteMarkers") for one in page.get(name, [])}
    assert {(row["Key"], row["VersionId"]) for row in rows} == seen
    assert len(rows) == len(seen) == 1202
    markers = [row for row in rows if row["IsDeleteMarker"] == "true"]
    assert [(row["Key"], row["IsLatest"], row["Size"]) for row in markers] == [("k/0009", "true", "")]
    must_be_clean(gateway)


def test_configurations_are_kept_until_they_are_deleted(gateway):
    client = gateway.endpoint().client()
    for bucket in (SOURCE, TARGET):
        client.create_bucket(Bucket=bucket)
    names = [f"list-{at:03}" for at in range(102)]
    for name in names:
        wanted = configuration(name, fields=["Size"]) | {"IsEnabled": False}
        client.put_bucket_inventory_configuration(Bucket=SOURCE, Id=name, InventoryConfiguration=wanted)
    assert client.get_bucket_inventory_configuration(Bucket=SOURCE, Id="list-007")["InventoryConfiguration"] == (
        configuration("list-007", fields=["Size"]) | {"IsEnabled": False}
    )
    first = client.list_bucket_inventory_configurations(Bucket=SOURCE)
    assert first["IsTruncated"] and len(first["InventoryConfigurationList"]) == 100
    token = first["NextContinuationToken"]
    second = client.list_bucket_inventory_configurations(Bucket=SOURCE, ContinuationToken=token)
    assert [one["Id"] for one in second["InventoryConfigurationList"]] == names[100:]
    gateway.kill()
    gateway.start()
    client.delete_bucket_inventory_configuration(Bucket=SOURCE, Id="list-007")
    with pytest.raises(ClientError) as gone:
        client.get_bucket_inventory_configuration(Bucket=SOURCE, Id="list-007")
    assert gone.value.response["Error"]["Code"] == "NoSuchConfiguration"
    with s3.refused("InvalidS3DestinationBucket", status=400):
        wanted = configuration("bad")
        wanted["Destination"]["S3BucketDestination"]["Bucket"] = "arn:aws:s3:::nowhere"
        client.put_bucket_inventory_configuration(Bucket=SOURCE, Id="bad", InventoryConfiguration=wanted)
    assert "Contents" not in client.list_objects_v2(Bucket=TARGET), "none is enabled"
