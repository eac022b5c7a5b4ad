"""What a client sees of S3's features in a golden folder: versions, locks, keys, checksums, rights, documents."""

import base64
import concurrent.futures
import datetime
import hashlib
import pathlib
import urllib.parse

import botocore.exceptions

from .golden import FOLDER, HEADERS, PREFIXES, READERS, Golden, _plain, sha256, uploads

# The name of a golden folder's archive that holds these.
ARCHIVE = "features.tar.xz"
CUSTOMER = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": b"golden key, of clients: 32 bytes"}
# The same for operations of which boto3 does not know that they take a key.
SPELLED = CUSTOMER | {
    "SSECustomerKey": base64.b64encode(CUSTOMER["SSECustomerKey"]).decode(),
    "SSECustomerKeyMD5": base64.b64encode(hashlib.md5(CUSTOMER["SSECustomerKey"]).digest()).decode(),
}
NAMED = "golden"
LASTING = datetime.datetime(2090, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
# Names of objects, and of uploads, that are encrypted with the client's key begin with one of these.
CUSTOMERS = ("customer/", "way/customer")
# What is told of how an object is kept.
SHOWN = (
    "x-amz-object-lock-mode x-amz-object-lock-retain-until-date x-amz-object-lock-legal-hold "
    "x-amz-server-side-encryption x-amz-server-side-encryption-aws-kms-key-id "
    "x-amz-server-side-encryption-context x-amz-server-side-encryption-bucket-key-enabled "
    "x-amz-server-side-encryption-customer-algorithm x-amz-server-side-encryption-customer-key-md5 "
    "x-amz-website-redirect-location x-amz-version-id"
).split()
ATTRIBUTES = ["ETag", "Checksum", "ObjectParts", "ObjectSize"]
LISTED = ("ETag", "Size", "LastModified", "IsLatest", "Owner")
# A name for each, and what asks for it.
DOCUMENTS = {
    "tags": "get_bucket_tagging",
    "cors": "get_bucket_cors",
    "lifecycle": "get_bucket_lifecycle_configuration",
    "website": "get_bucket_website",
    "logging": "get_bucket_logging",
    "notification": "get_bucket_notification_configuration",
    "encryption": "get_bucket_encryption",
    "block": "get_public_access_block",
    "ownership": "get_bucket_ownership_controls",
    "policy": "get_bucket_policy",
    "lock": "get_object_lock_configuration",
    "acl": "get_bucket_acl",
    "versioning": "get_bucket_versioning",
}


def features():
    """Every golden folder of these."""
    return [Golden(archive) for archive in sorted(pathlib.Path(FOLDER).glob(f"*/{ARCHIVE}"))]


def seen_features(client, without=()):
    """All that a client sees of a store, but for what is in the buckets `without`."""
    found = {}
    for bucket in client.list_buckets()["Buckets"]:
        name = bucket["Name"]
        found[name] = {"created": _plain(bucket["CreationDate"]), "documents": documents(client, name)}
        is_left_out = name in without
        found[name]["versions"] = {} if is_left_out else versions(client, name)
        found[name]["uploads"] = {} if is_left_out else uploads(client, name)
    return found


def documents(client, bucket):
    """What is configured of a bucket: by names, an answer, or the code of an error."""
    found = {}
    for name, call in DOCUMENTS.items():
        try:
            answer = getattr(client, call)(Bucket=bucket)
            found[name] = _plain({field: answer[field] for field in answer if field != "ResponseMetadata"})
        except botocore.exceptions.ClientError as error:
            found[name] = error.response["Error"]["Code"]
    return found


def versions(client, bucket):
    """Versions and delete markers in their order, by key and id."""
    entries = {}
    for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for kind, is_marker in (("Versions", False), ("DeleteMarkers", True)):
            for entry in page.get(kind, []):
                name = f"{urllib.parse.quote(entry['Key'])}?{entry['VersionId']}"
                entries[name] = (entry, is_marker)
    with concurrent.futures.ThreadPoolExecutor(READERS) as readers:
        told = readers.map(lambda found: _version(client, bucket, *found), entries.values())
        return dict(zip(entries, told))


def _version(client, bucket, entry, is_marker):
    told = {"is_marker": is_marker, "listed": _plain([entry.get(field) for field in LISTED])}
    if is_marker:
        return told
    where = {"Bucket": bucket, "Key": entry["Key"], "VersionId": entry["VersionId"]}
    key = customer(entry["Key"])
    got = client.get_object(**where, **key, ChecksumMode="ENABLED")
    body = got["Body"].read()
    head = client.head_object(**where, **key, ChecksumMode="ENABLED")
    assert _headers(head) == _headers(got), f"{where}: HEAD differs from GET"
    attributes = client.get_object_attributes(**where, **(SPELLED if key else {}), ObjectAttributes=ATTRIBUTES)
    acl = client.get_object_acl(**where)
    return told | {
        "length": len(body),
        "sha256": sha256(body),
        "headers": _headers(got),
        "tags": {tag["Key"]: tag["Value"] for tag in client.get_object_tagging(**where)["TagSet"]},
        "attributes": {name: _plain(attributes[name]) for name in ATTRIBUTES if name in attributes},
        "acl": _plain({name: acl[name] for name in ("Owner", "Grants")}),
    }


def customer(key):
    """What opens the object of this key, if its client has to."""
    return CUSTOMER if key.startswith(CUSTOMERS) else {}


def _headers(answer):
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    wanted = (*HEADERS, *SHOWN)
    return {name: headers[name] for name in sorted(headers) if name in wanted or name.startswith(PREFIXES)}
