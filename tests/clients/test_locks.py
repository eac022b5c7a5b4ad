"""Object lock: what is locked stays through kills, cleaning and the loss of the catalog, for a client as people have it."""

import datetime
import time

import pytest
from botocore.exceptions import ClientError

from support.gateway import ACCESS_KEY, Gateway
from support.packs import PACKS, must_be_clean

pytestmark = pytest.mark.own
BUCKET = "locked"
SIZES = [0, 300, 5000, 70_000]


@pytest.fixture(params=[{}, PACKS], ids=["alone", "packs"])
def gateway(tmp_path, request):
    own = Gateway(tmp_path / "own", pool=request.param)
    yield own.start()
    own.kill()


def ahead(seconds):
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    return now + datetime.timedelta(seconds=seconds)


def refused(call, code="AccessDenied", **arguments):
    with pytest.raises(ClientError) as refusal:
        call(**arguments)
    assert refusal.value.response["Error"]["Code"] == code


def put(client, key, size, **arguments):
    return client.put_object(Bucket=BUCKET, Key=key, Body=b"x" * size, **arguments)["VersionId"]


def must_stay(client, kept):
    """Each version is refused to whoever deletes it, by itself and in a batch, and still there."""
    for key, version in kept.items():
        refused(client.delete_object, Bucket=BUCKET, Key=key, VersionId=version)
        client.head_object(Bucket=BUCKET, Key=key, VersionId=version)
    objects = [{"Key": key, "VersionId": version} for key, version in kept.items()]
    answer = client.delete_objects(Bucket=BUCKET, Delete={"Objects": objects})
    assert "Deleted" not in answer and {error["Code"] for error in answer["Errors"]} == {"AccessDenied"}


def test_what_is_locked_stays_through_kills_cleaning_and_a_lost_catalog(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET, ObjectLockEnabledForBucket=True)
    assert client.get_bucket_versioning(Bucket=BUCKET)["Status"] == "Enabled"
    kept, free = {}, {}
    for size in SIZES:
        until = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": ahead(3600)}
        kept[f"c{size}"] = put(client, f"c{size}", size, **until)
        kept[f"h{size}"] = put(client, f"h{size}", size, ObjectLockLegalHoldStatus="ON")
        free[f"f{size}"] = put(client, f"f{size}", size)
    rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}
    configuration = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    client.put_object_lock_configuration(Bucket=BUCKET, ObjectLockConfiguration=configuration)
    for size in SIZES:
        kept[f"g{size}"] = put(client, f"g{size}", size)
        free[f"s{size}"] = put(
            client, f"s{size}", size, ObjectLockMode="COMPLIANCE", ObjectLockRetainUntilDate=ahead(2)
        )
    must_stay(client, kept)
    gateway.kill()
    gateway.start()
    client = gateway.endpoint().client()
    must_stay(client, kept)
    # What is free goes, and what is around what stays is cleaned.
    time.sleep(3)
    for key, version in free.items():
        client.delete_object(Bucket=BUCKET, Key=key, VersionId=version)
        refused(client.head_object, code="404", Bucket=BUCKET, Key=key)
    time.sleep(5)
    must_stay(client, kept)
    must_be_clean(gateway)
    gateway.rebuild()
    client = gateway.endpoint().client()
    must_stay(client, kept)
    assert client.get_object_lock_configuration(Bucket=BUCKET)["ObjectLockConfiguration"] == configuration
    status = {"Status": "Suspended"}
    refused(
        client.put_bucket_versioning, code="InvalidBucketState", Bucket=BUCKET, VersioningConfiguration=status
    )
    for size in SIZES:
        client.put_object_legal_hold(Bucket=BUCKET, Key=f"h{size}", LegalHold={"Status": "OFF"})
        for key in (f"h{size}", f"g{size}"):
            client.delete_object(
                Bucket=BUCKET, Key=key, VersionId=kept.pop(key), BypassGovernanceRetention=True
            )
    must_stay(client, kept)
    refused(client.delete_bucket, code="BucketNotEmpty", Bucket=BUCKET)


def test_only_who_owns_a_bucket_passes_governance_by(tmp_path):
    own = Gateway(tmp_path / "own", keys={"WRITER0001": "writersecret00000000"})
    own.rights = {ACCESS_KEY: "administrator", "WRITER0001": {BUCKET: ["read", "write"]}}
    own.configure()
    own.start()
    try:
        owner, writer = own.endpoint().client(), own.endpoint("WRITER0001").client()
        owner.create_bucket(Bucket=BUCKET, ObjectLockEnabledForBucket=True)
        until = {"ObjectLockMode": "GOVERNANCE", "ObjectLockRetainUntilDate": ahead(3600)}
        version = put(writer, "k", 10, **until)
        deletion = {"Bucket": BUCKET, "Key": "k", "VersionId": version}
        refused(writer.delete_object, **deletion, BypassGovernanceRetention=True)
        refused(owner.delete_object, **deletion)
        owner.delete_object(**deletion, BypassGovernanceRetention=True)
    finally:
        own.kill()
