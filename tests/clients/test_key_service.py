"""Named keys at a key service: by boto3, against the real program and a real OpenBao."""

import json
import re
import subprocess

import pytest
from boto3.s3.transfer import TransferConfig

from support import keys, s3
from support.gateway import Gateway
from support.payload import KIB, MIB, Stream

pytestmark = pytest.mark.own
NAMED = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "reports"}
PARTS = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB)
SECRET = b"in plain text nowhere at all. " * 200


@pytest.fixture
def service(tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    with keys.running(folder) as service:
        service.make_key("reports")
        yield service


def configured(own, service, **more):
    """Has it ask the service, from its next start or reload on."""
    token = own.folder / "kms-token"
    token.write_text(service.token() + "\n")
    token.chmod(0o600)
    own.configure()
    said = {"url": service.url, "token": str(token), "timeout": "500ms"} | more
    lines = ["[kms]", *(f"{key} = {json.dumps(value)}" for key, value in said.items())]
    own.config.write_text(own.config.read_text() + "\n".join(lines) + "\n")
    return token


@pytest.fixture
def own(tmp_path, service):
    own = Gateway(tmp_path / "gateway")
    configured(own, service)
    try:
        yield own.start()
    finally:
        own.kill()


def calls(own, call):
    """How often the service has answered this."""
    row = re.compile(r'^ripstop_kms_calls_total\{(?=.*call="%s")(?=.*outcome="done").*\} (\S+)$' % call, re.M)
    return float(row.search(own.metrics()).group(1))


def test_objects_of_every_size_are_read_and_nothing_plain_is_stored(own, service):
    client = own.endpoint().client()
    client.create_bucket(Bucket="named")
    for size in [0, 1, KIB, MIB]:
        body = Stream(size, size).read()
        put = client.put_object(Bucket="named", Key=f"{size}", Body=body, **NAMED)
        assert (put["ServerSideEncryption"], put["SSEKMSKeyId"]) == ("aws:kms", "reports")
        assert s3.read(client, "named", f"{size}") == body
    size = 23 * MIB + 17
    client.upload_fileobj(Stream(2, size), "named", "parts", ExtraArgs=NAMED, Config=PARTS)
    whole = Stream(2, size).read()
    for begin, end in [(0, 0), (65535, 65536), (5 * MIB - 1, 5 * MIB), (size - 1, size - 1)]:
        assert s3.read(client, "named", "parts", Range=f"bytes={begin}-{end}") == whole[begin : end + 1]
    client.put_object(Bucket="named", Key="secret", Body=SECRET, **NAMED)
    client.copy_object(Bucket="named", Key="copy", CopySource="named/secret", **NAMED)
    for file in own.fragments():
        assert SECRET[:60] not in file.read_bytes(), file
    client.copy_object(Bucket="named", Key="plain", CopySource="named/copy")
    assert "SSEKMSKeyId" not in client.head_object(Bucket="named", Key="plain")
    client.delete_object(Bucket="named", Key="plain")
    service.rotate_key("reports")
    own.kill()
    own.start()
    client = own.endpoint().client()
    assert s3.read(client, "named", "parts") == whole
    assert s3.read(client, "named", "copy") == SECRET
    own.rebuild()
    assert s3.read(own.endpoint().client(), "named", "copy") == SECRET
    log = own.log.read_text()
    assert (own.folder / "kms-token").read_text().strip() not in log


def test_a_bucket_key_spares_calls(own):
    client = own.endpoint().client()
    for name, shared, wanted in [("each", False, 9), ("one", True, 1)]:
        client.create_bucket(Bucket=name)
        by_default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "reports"}
        rule = {"ApplyServerSideEncryptionByDefault": by_default, "BucketKeyEnabled": shared}
        client.put_bucket_encryption(Bucket=name, ServerSideEncryptionConfiguration={"Rules": [rule]})
        before = calls(own, "encrypt")
        for at in range(9):
            put = client.put_object(Bucket=name, Key=f"k{at}", Body=b"bytes")
            assert put["SSEKMSKeyId"] == "reports" and put.get("BucketKeyEnabled", False) is shared
        assert calls(own, "encrypt") - before == wanted


def test_keys_and_tokens_that_are_none_are_refused_in_kms_words(own, service):
    client = own.endpoint().client()
    client.create_bucket(Bucket="named")
    with s3.refused("KMS.NotFoundException", status=400):
        client.put_object(Bucket="named", Key="k", Body=b"", **(NAMED | {"SSEKMSKeyId": "nobodys"}))
    service.make_key("signs", type="ed25519")
    with s3.refused("KMS.InvalidKeyUsageException", status=400):
        client.put_object(Bucket="named", Key="k", Body=b"", **(NAMED | {"SSEKMSKeyId": "signs"}))
    token = own.folder / "kms-token"
    good = token.read_text()
    token.write_text("s.a-token-that-is-nobodys\n")
    client.put_object(Bucket="named", Key="k", Body=b"bytes", **NAMED)
    assert own.reload()[0]
    with s3.refused("AccessDenied", status=403):
        client.put_object(Bucket="named", Key="k", Body=b"", **NAMED)
    # Once it is there it is taken, without a reload.
    token.write_text(good)
    client.put_object(Bucket="named", Key="k", Body=b"bytes", **NAMED)
    assert "a-token-that" not in own.log.read_text()


def test_without_the_service_the_rest_goes_on(own, service):
    client = own.endpoint().client()
    client.create_bucket(Bucket="named")
    client.put_object(Bucket="named", Key="old", Body=b"bytes", **NAMED)
    own.kill()
    own.start()
    client = own.endpoint().client()
    client.put_object(Bucket="named", Key="new", Body=b"bytes", **NAMED)
    with service.hanging():
        assert s3.read(client, "named", "new") == b"bytes"
        with s3.refused("KMS.DependencyTimeoutException", status=503):
            client.get_object(Bucket="named", Key="old")
        client.put_object(Bucket="named", Key="plain", Body=b"bytes")
        assert s3.read(client, "named", "plain") == b"bytes"
        # It starts without, too.
        own.kill()
        own.start()
        client = own.endpoint().client()
        assert s3.read(client, "named", "plain") == b"bytes"
    for key in ["old", "new"]:
        assert s3.read(client, "named", key) == b"bytes"


def test_a_configuration_is_checked_before_it_is_served(own, service):
    def checked():
        command = [own.binary, "check-config", "--config", str(own.config)]
        return subprocess.run(command, cwd=own.folder, capture_output=True, text=True, timeout=60)

    good = checked()
    assert good.returncode == 0 and f"named keys at {service.url}" in good.stdout
    token = own.folder / "kms-token"
    token.chmod(0o644)
    bad = checked()
    assert bad.returncode != 0 and "chmod 600" in bad.stderr, bad.stderr
    assert not own.reload()[0]
    token.chmod(0o600)
    configured(own, service, default_key="reports")
    assert own.reload()[0]
    client = own.endpoint().client()
    client.create_bucket(Bucket="named")
    put = client.put_object(Bucket="named", Key="k", Body=b"bytes", ServerSideEncryption="aws:kms")
    assert put["SSEKMSKeyId"] == "reports"
