"""Rights: a key does what it may in the buckets that it may, and a reload gives and takes."""

import json
import signal
import time
import urllib.error
import urllib.request

import pytest
from botocore.exceptions import ClientError

from support import s3
from support.gateway import ACCESS_KEY, Gateway
from support.payload import MIB

pytestmark = pytest.mark.own
READER, WRITER, OWNER, NOBODY = "READER0001", "WRITER0001", "OWNER00001", "NOBODY0001"
SECRETS = {key: f"secret-of-{key}" for key in (READER, WRITER, OWNER, NOBODY)}
RIGHTS = {
    ACCESS_KEY: "administrator",
    READER: {"photos": "read"},
    WRITER: {"photos": ["write"], "inbox-*": ["read", "write"]},
    OWNER: {"own-*": "owner"},
    NOBODY: {},
}


@pytest.fixture
def ruled(tmp_path):
    """A gateway whose keys have rights, with a bucket `photos` that has a photo, and a bucket `public`."""
    own = Gateway(tmp_path / "own", keys=dict(SECRETS))
    own.rights = dict(RIGHTS)
    own.configure()
    own.start()
    administrator = own.endpoint().client()
    for bucket in ("photos", "public", "inbox-1"):
        administrator.create_bucket(Bucket=bucket)
        administrator.put_object(Bucket=bucket, Key="k", Body=b"kept")
    yield own
    own.kill()


def granted(gateway, rights, unsigned=None):
    """Puts these rights into force with a reload."""
    gateway.rights, gateway.unsigned = RIGHTS | rights, unsigned or {}
    gateway.configure()
    done, said = gateway.reload()
    assert done, said
    return said


def denied():
    return s3.refused("AccessDenied", status=403)


def names(client):
    return [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]


def fetch(url, method="GET", body=None):
    """Status and body of a request without a signature of its own."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body, method=method), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_reader_reads_and_does_no_more(ruled):
    reader = ruled.endpoint(READER).client()
    assert s3.read(reader, "photos", "k") == b"kept"
    assert [found["Key"] for found in reader.list_objects_v2(Bucket="photos")["Contents"]] == ["k"]
    assert names(reader) == ["photos"]
    calls = [
        lambda: reader.put_object(Bucket="photos", Key="k", Body=b"changed"),
        lambda: reader.delete_object(Bucket="photos", Key="k"),
        lambda: reader.delete_objects(Bucket="photos", Delete={"Objects": [{"Key": "k"}]}),
        lambda: reader.copy_object(Bucket="photos", Key="copy", CopySource="photos/k"),
        lambda: reader.create_multipart_upload(Bucket="photos", Key="k"),
        lambda: reader.create_bucket(Bucket="photos-2"),
        lambda: reader.delete_bucket(Bucket="photos"),
        lambda: reader.get_object(Bucket="public", Key="k"),
        lambda: reader.list_objects_v2(Bucket="no-such-bucket"),
    ]
    for call in calls:
        with denied():
            call()
    assert s3.read(ruled.endpoint().client(), "photos", "k") == b"kept"


def test_a_writer_writes_without_reading(ruled):
    writer = ruled.endpoint(WRITER).client()
    writer.put_object(Bucket="photos", Key="new", Body=b"dropped")
    upload = writer.create_multipart_upload(Bucket="photos", Key="large")["UploadId"]
    part = {"Bucket": "photos", "Key": "large", "UploadId": upload}
    etag = writer.upload_part(PartNumber=1, Body=b"x" * MIB, **part)["ETag"]
    parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
    writer.complete_multipart_upload(MultipartUpload=parts, **part)
    for call in (writer.get_object, writer.head_object):
        with pytest.raises(ClientError) as caught:
            call(Bucket="photos", Key="new")
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    # A copy reads its source.
    with denied():
        writer.copy_object(Bucket="inbox-1", Key="copy", CopySource="photos/k")
    writer.copy_object(Bucket="photos", Key="copy", CopySource="inbox-1/k")
    assert s3.read(ruled.endpoint().client(), "photos", "copy") == b"kept"


def test_an_owner_has_buckets_of_its_own(ruled):
    owner = ruled.endpoint(OWNER).client()
    assert names(owner) == []
    owner.create_bucket(Bucket="own-1")
    owner.put_object(Bucket="own-1", Key="k", Body=b"mine")
    assert names(owner) == ["own-1"]
    with denied():
        owner.create_bucket(Bucket="owned")
    owner.delete_object(Bucket="own-1", Key="k")
    owner.delete_bucket(Bucket="own-1")
    nobody = ruled.endpoint(NOBODY).client()
    assert names(nobody) == []
    # Whether there is such a bucket or not, the answer is the same.
    for bucket in ("photos", "no-such-bucket"):
        with denied():
            nobody.list_objects_v2(Bucket=bucket)


def test_a_reload_gives_and_takes_and_a_bad_one_changes_nothing(ruled):
    reader = ruled.endpoint(READER).client()
    url = reader.generate_presigned_url("get_object", Params={"Bucket": "photos", "Key": "k"}, ExpiresIn=600)
    assert fetch(url) == (200, b"kept")
    assert "rights have changed" in granted(ruled, {READER: {"public": "read"}})
    assert s3.read(reader, "public", "k") == b"kept"
    with denied():
        reader.get_object(Bucket="photos", Key="k")
    assert fetch(url)[0] == 403, "a presigned URL may what its key may now"
    ruled.rights[READER] = {"Photos": "read"}
    ruled.configure()
    done, said = ruled.reload()
    assert not done and 'rights of "READER0001"' in said and "line " in said, said
    assert s3.read(reader, "public", "k") == b"kept"
    # By signal, too.
    ruled.rights[READER] = {"photos": "read"}
    ruled.configure()
    ruled.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 10
    while fetch(url)[0] != 200:
        assert time.monotonic() < deadline, "rights are not in force after SIGHUP"
        time.sleep(0.05)
    del ruled.keys[READER], ruled.rights[READER]
    ruled.configure()
    assert ruled.reload()[0]
    with s3.refused("InvalidAccessKeyId", status=403):
        reader.get_object(Bucket="photos", Key="k")
    assert fetch(url)[0] == 403


def test_bad_rights_are_refused_at_the_start(tmp_path):
    own = Gateway(tmp_path / "own", keys=dict(SECRETS))
    own.rights = RIGHTS | {WRITER: {"photos": "all"}}
    own.configure()
    with pytest.raises(AssertionError, match=r'line \d+: rights of "WRITER0001": bucket "photos"'):
        own.start()
    own.rights = {ACCESS_KEY: "administrator"}
    own.configure()
    with pytest.raises(AssertionError, match="are missing"):
        own.start()


def test_without_a_signature_one_bucket_is_read(ruled):
    url = f"http://127.0.0.1:{ruled.port}"
    assert fetch(f"{url}/public/k")[0] == 403
    granted(ruled, {}, unsigned={"public": "read"})
    assert fetch(f"{url}/public/k") == (200, b"kept")
    assert b"<Key>k</Key>" in fetch(f"{url}/public?list-type=2")[1]
    assert fetch(f"{url}/public/none")[0] == 404
    refused = [
        ("/public/k", "PUT", b"changed"),
        ("/public/k", "DELETE", None),
        ("/public", "DELETE", None),
        ("/photos/k", "GET", None),
        ("/no-such-bucket/k", "GET", None),
        ("/", "GET", None),
    ]
    for path, method, body in refused:
        status, text = fetch(url + path, method, body)
        assert status == 403 and b"<Code>AccessDenied</Code>" in text, (path, method, status, text)
    assert s3.read(ruled.endpoint().client(), "public", "k") == b"kept"


def test_the_admin_port_shows_keys_and_rights_and_no_secret(ruled):
    status, text = ruled.ask("/keys")
    assert status == 200
    assert not any(secret in text for secret in SECRETS.values())
    shown = json.loads(text)
    rights = {key["access_key"]: {rule["buckets"]: rule["rights"] for rule in key["rights"]} for key in shown["keys"]}
    assert rights[WRITER] == {"inbox-*": ["read", "write"], "photos": ["write"]}
    assert rights[NOBODY] == {} and shown["unsigned"] == []
    assert [key["access_key"] for key in shown["keys"] if key["administrator"]] == [ACCESS_KEY]


def test_keys_without_a_table_of_rights_may_do_everything(tmp_path):
    own = Gateway(tmp_path / "own", keys=dict(SECRETS)).start()
    try:
        client = own.endpoint(NOBODY).client()
        client.create_bucket(Bucket="any")
        client.put_object(Bucket="any", Key="k", Body=b"x")
        assert names(own.endpoint(READER).client()) == ["any"]
    finally:
        own.kill()
