"""Objects that are encrypted before they come to the store: by boto3, against the real program."""

import base64
import hashlib
import stat
import subprocess

import pytest
from boto3.s3.transfer import TransferConfig

from support import s3
from support.payload import KIB, MIB, Stream

CUSTOMER = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": b"k" * 32}
OTHER = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": b"o" * 32}
SOURCE = {f"CopySource{name}": value for name, value in CUSTOMER.items()}
MANAGED = {"ServerSideEncryption": "AES256"}
NAMED = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "aws/s3"}
PARTS = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB)
SECRET = b"in plain text nowhere at all. "


def bucket(client):
    name = s3.fresh_name()
    client.create_bucket(Bucket=name)
    return name


def text(size):
    return (SECRET * (size // len(SECRET) + 1))[:size]


@pytest.mark.parametrize("size", [0, 1, 13, KIB, MIB])
def test_a_clients_key_encrypts_and_decrypts(client, size):
    name, body = bucket(client), Stream(1, size).read()
    put = client.put_object(Bucket=name, Key="k", Body=body, **CUSTOMER)
    md5 = base64.b64encode(hashlib.md5(CUSTOMER["SSECustomerKey"]).digest()).decode()
    assert put["SSECustomerAlgorithm"] == "AES256" and put["SSECustomerKeyMD5"] == md5
    assert s3.read(client, name, "k", **CUSTOMER) == body
    head = client.head_object(Bucket=name, Key="k", **CUSTOMER)
    assert head["ContentLength"] == size and head["SSECustomerKeyMD5"] == md5
    with s3.refused("InvalidRequest", status=400):
        client.get_object(Bucket=name, Key="k")
    with s3.refused("InvalidRequest", status=400):
        client.get_object(Bucket=name, Key="k", **OTHER)
    with s3.refused("400"):
        client.head_object(Bucket=name, Key="k")


@pytest.mark.parametrize("how", [CUSTOMER, MANAGED, NAMED], ids=["customer", "managed", "named"])
def test_large_objects_go_up_in_parts_and_come_down_in_ranges(client, how, tmp_path):
    name, size = bucket(client), 23 * MIB + 17
    client.upload_fileobj(Stream(2, size), name, "k", ExtraArgs=how, Config=PARTS)
    read = how if how is CUSTOMER else {}
    down = tmp_path / "down"
    client.download_file(name, "k", str(down), ExtraArgs=read, Config=PARTS)
    assert down.read_bytes() == Stream(2, size).read()
    whole = down.read_bytes()
    for begin, end in [(0, 0), (65535, 65536), (5 * MIB - 1, 5 * MIB), (4 * MIB, 16 * MIB), (size - 1, size - 1)]:
        part = s3.read(client, name, "k", Range=f"bytes={begin}-{end}", **read)
        assert part == whole[begin : end + 1]
    listed = client.list_objects_v2(Bucket=name)["Contents"]
    assert [entry["Size"] for entry in listed] == [size]


def test_copies_change_how_they_are_encrypted(client):
    name, body = bucket(client), Stream(3, 300 * KIB).read()
    client.put_object(Bucket=name, Key="k", Body=body, **CUSTOMER)
    source = {"Bucket": name, "Key": "k"}
    client.copy_object(Bucket=name, Key="plain", CopySource=source, **SOURCE)
    assert s3.read(client, name, "plain") == body
    copied = client.copy_object(Bucket=name, Key="other", CopySource=source, **SOURCE, **OTHER)
    assert "SSECustomerKeyMD5" in copied
    assert s3.read(client, name, "other", **OTHER) == body
    client.copy_object(Bucket=name, Key="managed", CopySource=source, **SOURCE, **MANAGED)
    got = client.get_object(Bucket=name, Key="managed")
    assert got["ServerSideEncryption"] == "AES256" and got["Body"].read() == body
    assert got["ETag"].strip('"') == hashlib.md5(body).hexdigest()
    with s3.refused("InvalidRequest", status=400):
        client.copy_object(Bucket=name, Key="no", CopySource=source, **MANAGED)


def test_a_bucket_encrypts_by_default(client):
    name = bucket(client)
    with s3.refused("ServerSideEncryptionConfigurationNotFoundError", status=404):
        client.get_bucket_encryption(Bucket=name)
    by_default = {"SSEAlgorithm": "AES256"}
    rules = {"Rules": [{"ApplyServerSideEncryptionByDefault": by_default}]}
    client.put_bucket_encryption(Bucket=name, ServerSideEncryptionConfiguration=rules)
    told = client.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]
    assert told["Rules"][0]["ApplyServerSideEncryptionByDefault"] == by_default
    put = client.put_object(Bucket=name, Key="k", Body=b"bytes")
    assert put["ServerSideEncryption"] == "AES256"
    assert client.head_object(Bucket=name, Key="k")["ServerSideEncryption"] == "AES256"
    client.delete_bucket_encryption(Bucket=name)
    assert "ServerSideEncryption" not in client.put_object(Bucket=name, Key="k", Body=b"bytes")


def test_a_key_that_nobody_has_is_not_found(client):
    name = bucket(client)
    with s3.refused("KMS.NotFoundException", status=400):
        client.put_object(Bucket=name, Key="k", Body=b"", **(NAMED | {"SSEKMSKeyId": "nobodys"}))


def rotated(gateway, *words):
    command = [gateway.binary, "rotate-key", "--config", str(gateway.config), *words]
    subprocess.run(command, cwd=gateway.folder, check=True, capture_output=True, timeout=60)


@pytest.mark.own
def test_no_node_has_plain_bytes_and_a_lost_catalog_loses_nothing(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    ring = gateway.data / "object.keys"
    assert stat.S_IMODE(ring.stat().st_mode) == 0o600
    rotated(gateway, "reports")
    assert gateway.reload()[0]
    reports = NAMED | {"SSEKMSKeyId": "reports"}
    ways = {"customer": CUSTOMER, "managed": MANAGED, "named": reports}
    stored = {}
    for way, how in ways.items():
        for size in [100, 3 * KIB, 200 * KIB]:
            key = f"{way}-{size}"
            stored[key] = (text(size), how if how is CUSTOMER else {})
            client.put_object(Bucket="suite", Key=key, Body=stored[key][0], **how)
    rotated(gateway)
    assert gateway.reload()[0]
    client.put_object(Bucket="suite", Key="later", Body=text(KIB), **MANAGED)
    stored["later"] = (text(KIB), {})
    for file in gateway.fragments():
        held = file.read_bytes()
        assert SECRET not in held and CUSTOMER["SSECustomerKey"] not in held, file
    gateway.rebuild()
    client = gateway.endpoint().client()
    for key, (body, how) in stored.items():
        assert s3.read(client, "suite", key, **how) == body, key
    code, counts = gateway.check()
    assert code == 0, counts
    secret = ring.read_text().split()[-1].rsplit(":")[-1]
    log = gateway.log.read_text()
    assert secret not in log and base64.b64encode(CUSTOMER["SSECustomerKey"]).decode() not in log


@pytest.mark.own
def test_without_its_keys_nothing_starts_and_with_an_empty_file_the_rest_is_served(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="managed", Body=b"bytes", **MANAGED)
    client.put_object(Bucket="suite", Key="plain", Body=b"bytes")
    gateway.stop()
    ring = gateway.data / "object.keys"
    away = ring.rename(ring.with_name("away"))
    with pytest.raises(AssertionError, match="put the copy of it back"):
        gateway.start()
    ring.touch(0o600)
    gateway.start()
    client = gateway.endpoint().client()
    assert s3.read(client, "suite", "plain") == b"bytes"
    with s3.refused("InternalError", status=500):
        client.get_object(Bucket="suite", Key="managed")
    gateway.stop()
    ring.write_text(ring.read_text() + away.read_text())
    gateway.start()
    assert s3.read(gateway.endpoint().client(), "suite", "managed") == b"bytes"


@pytest.mark.own
def test_backups_take_the_keys_along(gateway, tmp_path):
    copy = tmp_path / "copy"
    command = [gateway.binary, "backup", "--config", str(gateway.config), str(copy)]
    done = subprocess.run(command, cwd=gateway.folder, check=True, capture_output=True, text=True, timeout=60)
    keys = tmp_path / "copy.object-keys"
    assert str(keys) in done.stdout
    assert keys.read_bytes() == (gateway.data / "object.keys").read_bytes()
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
