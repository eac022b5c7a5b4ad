"""Rules by which objects grow old: what clients see of them, with days that last a second."""

import email.utils
import time

import pytest
from botocore.exceptions import ClientError

from support import s3
from support.gateway import Gateway
from support.packs import PACKS, must_be_clean

pytestmark = pytest.mark.own
BUCKET = "ageing"
WAIT_SECONDS_MAX = 60


@pytest.fixture(params=[{}, PACKS], ids=["alone", "packs"])
def gateway(tmp_path, request):
    rules = {"lifecycle_every": "200ms", "lifecycle_day": "1s"}
    own = Gateway(tmp_path / "own", pool=request.param, store=rules)
    yield own.start()
    own.kill()


def follow(client, *rules):
    rules = [{"ID": f"rule{at}", "Status": "Enabled"} | rule for at, rule in enumerate(rules)]
    client.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration={"Rules": rules})
    return rules


def keys(client):
    return [found["Key"] for found in client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def versions(client):
    page = client.list_object_versions(Bucket=BUCKET)
    return len(page.get("Versions", [])), len(page.get("DeleteMarkers", []))


def wait_for(wanted, look):
    until = time.monotonic() + WAIT_SECONDS_MAX
    while (found := look()) != wanted:
        assert time.monotonic() < until, f"{found} instead of {wanted}"
        time.sleep(0.2)


def test_rules_are_handed_back_as_they_were_put(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    with pytest.raises(ClientError) as none:
        client.get_bucket_lifecycle_configuration(Bucket=BUCKET)
    assert none.value.response["Error"]["Code"] == "NoSuchLifecycleConfiguration"
    tags = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "é @ ="}]
    rules = follow(
        client,
        {"Prefix": "old/", "Expiration": {"Days": 31}},
        {"Filter": {}, "NoncurrentVersionExpiration": {"NoncurrentDays": 2, "NewerNoncurrentVersions": 5}},
        {"Filter": {"And": {"Prefix": "p & <é", "Tags": tags, "ObjectSizeLessThan": 9}}, "Expiration": {"Days": 120}},
        {"Filter": {"Prefix": "up"}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 200}},
        {"Filter": {"Prefix": "m"}, "Expiration": {"ExpiredObjectDeleteMarker": True}},
    )
    assert client.get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"] == rules
    gateway.kill()
    gateway.start()
    client = gateway.endpoint().client()
    assert client.get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"] == rules
    client.delete_bucket_lifecycle(Bucket=BUCKET)
    assert s3.status_of(client.get_bucket_lifecycle_configuration, Bucket=BUCKET) == 404


def test_objects_expire_and_what_is_beside_them_stays(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    follow(
        client,
        {"Filter": {"Prefix": "p/"}, "Expiration": {"Days": 1}},
        {"Filter": {"Tag": {"Key": "gone", "Value": "soon"}}, "Expiration": {"Days": 2}},
    )
    for at in range(30):
        client.put_object(Bucket=BUCKET, Key=f"p/{at}", Body=b"x" * at * 700)
    client.put_object(Bucket=BUCKET, Key="tagged", Body=b"x", Tagging="gone=soon")
    client.put_object(Bucket=BUCKET, Key="stays", Body=b"x" * 100, Tagging="gone=never")
    wait_for(["stays"], lambda: keys(client))
    assert s3.read(client, BUCKET, "stays") == b"x" * 100
    client.delete_bucket_lifecycle(Bucket=BUCKET)
    client.put_object(Bucket=BUCKET, Key="p/later", Body=b"x")
    time.sleep(3)
    assert keys(client) == ["p/later", "stays"], "no rule any more"
    must_be_clean(gateway)


def test_versions_go_one_after_another_and_the_marker_last(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    for at in range(8):
        client.put_object(Bucket=BUCKET, Key="k", Body=f"{at}".encode())
    follow(client, {"Filter": {}, "NoncurrentVersionExpiration": {"NoncurrentDays": 1, "NewerNoncurrentVersions": 3}})
    wait_for((4, 0), lambda: versions(client))
    assert s3.read(client, BUCKET, "k") == b"7"
    follow(client, {"Filter": {}, "Expiration": {"Days": 1}})
    wait_for((4, 1), lambda: versions(client))
    assert keys(client) == []
    follow(
        client,
        {"Filter": {}, "NoncurrentVersionExpiration": {"NoncurrentDays": 1}},
        {"Filter": {}, "Expiration": {"ExpiredObjectDeleteMarker": True}},
    )
    wait_for((0, 0), lambda: versions(client))
    client.delete_bucket(Bucket=BUCKET)
    must_be_clean(gateway)


def test_uploads_end(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    for key in ("a/1", "b/1"):
        upload = client.create_multipart_upload(Bucket=BUCKET, Key=key)["UploadId"]
        client.upload_part(Bucket=BUCKET, Key=key, UploadId=upload, PartNumber=1, Body=b"x" * 5000)
    follow(client, {"Filter": {"Prefix": "a/"}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}})

    def left():
        return [found["Key"] for found in client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]

    wait_for(["b/1"], left)


def test_answers_tell_when_an_object_expires(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    follow(client, {"Filter": {"Prefix": "p"}, "Expiration": {"Days": 4000}})
    body, now = b"x" * 200, time.time()
    put = client.put_object(Bucket=BUCKET, Key="p", Body=body)
    answers = [put, client.head_object(Bucket=BUCKET, Key="p"), client.get_object(Bucket=BUCKET, Key="p")]
    for answer in answers:
        date, rule = answer["Expiration"].split(", rule-id=")
        assert rule == '"rule0"'
        date = email.utils.parsedate_to_datetime(date.removeprefix('expiry-date="').removesuffix('"'))
        assert 4000 <= (date.timestamp() - now) / 86_400 < 4001.1
    assert "Expiration" not in client.put_object(Bucket=BUCKET, Key="q", Body=body)
