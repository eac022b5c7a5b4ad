"""Users, keys and policies made by commands, and temporary keys, as boto3 asks for them."""

import json
import os
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

import boto3
import botocore.config
import pytest

from support import s3
from support.gateway import ACCESS_KEY, Gateway

pytestmark = pytest.mark.own
# A gateway takes what is changed within a second.
TAKEN_WITHIN = 10
ROLE = "arn:aws:iam::ripstop:role/any-role"


@pytest.fixture
def shared(tmp_path):
    own = Gateway(tmp_path / "own")
    own.start()
    yield own
    own.kill()


@pytest.fixture
def bucket(shared):
    name = s3.fresh_name()
    root = shared.endpoint().client()
    root.create_bucket(Bucket=name)
    root.put_object(Bucket=name, Key="k", Body=b"theirs")
    return name


def told(shared, *words, status=0, text=None):
    """What the program says to a command about the gateway's users."""
    kind, *rest = words
    command = [shared.binary, kind, rest[0], "--config", str(shared.config), *rest[1:]]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def new_key(shared, user):
    """A new key of a user, from the file that the command writes it to."""
    file = pathlib.Path(shared.folder) / f"key-{os.urandom(4).hex()}"
    access_key = told(shared, "key", "add", user, "--to", str(file)).strip()
    assert file.stat().st_mode & 0o777 == 0o600
    keys = keys_in(file)
    assert keys["aws_access_key_id"] == access_key
    return keys


def keys_in(file):
    pairs = dict(line.split(" = ") for line in file.read_text().splitlines() if " = " in line)
    return {name: pairs[name] for name in ("aws_access_key_id", "aws_secret_access_key")}


def policy(*statements):
    made = [{"Effect": effect, "Action": actions, "Resource": resource} for effect, actions, resource in statements]
    return json.dumps({"Version": "2012-10-17", "Statement": made})


def client(shared, service, keys, **config):
    settings = {"retries": {"total_max_attempts": 1}, "s3": {"addressing_style": "path"}, "signature_version": "s3v4"}
    if service != "s3":
        settings.pop("signature_version")
    return boto3.session.Session().client(
        service,
        endpoint_url=shared.endpoint().url,
        region_name=shared.endpoint().region,
        config=botocore.config.Config(**(settings | config)),
        **keys,
    )


def soon(check):
    """Until a check holds."""
    end = time.monotonic() + TAKEN_WITHIN
    while not check():
        assert time.monotonic() < end, "it was not taken"
        time.sleep(0.1)


def session(answer):
    keys = answer["Credentials"]
    return {
        "aws_access_key_id": keys["AccessKeyId"],
        "aws_secret_access_key": keys["SecretAccessKey"],
        "aws_session_token": keys["SessionToken"],
    }


def root_keys(shared):
    endpoint = shared.endpoint()
    return {"aws_access_key_id": endpoint.access_key, "aws_secret_access_key": endpoint.secret_key}


def may_read(shared, keys, bucket):
    try:
        client(shared, "s3", keys).get_object(Bucket=bucket, Key="k")
        return True
    except botocore.exceptions.ClientError:
        return False


def test_a_user_comes_may_what_policies_say_and_goes(shared, bucket):
    read = policy(("Allow", "s3:GetObject", f"arn:aws:s3:::{bucket}/*"))
    told(shared, "policy", "put", "read", "-", text=read)
    assert told(shared, "policy", "get", "read").strip() == read
    told(shared, "user", "add", "ann", "--policy", "read")
    keys = new_key(shared, "ann")
    soon(lambda: may_read(shared, keys, bucket))
    ann = client(shared, "s3", keys)
    with s3.refused("AccessDenied", status=403):
        ann.put_object(Bucket=bucket, Key="k", Body=b"x")
    shown = told(shared, "user", "list")
    assert "ann: policies read" in shown and keys["aws_access_key_id"] in shown
    assert keys["aws_secret_access_key"] not in shown
    listed = [key for key in json.loads(shared.ask("/keys")[1])["keys"] if key["user"] == "ann"]
    assert [key["policies"] for key in listed] == [["read"]]

    told(shared, "policy", "put", "write", "-", text=policy(("Allow", "s3:PutObject", "*")))
    told(shared, "policy", "attach", "write", "ann")

    def may_write():
        try:
            return ann.put_object(Bucket=bucket, Key="new", Body=b"x") is not None
        except botocore.exceptions.ClientError:
            return False

    soon(may_write)
    assert "attached to ann" in told(shared, "policy", "remove", "write", status=2)
    told(shared, "policy", "detach", "write", "ann")
    soon(lambda: not may_write())
    told(shared, "key", "disable", keys["aws_access_key_id"])
    soon(lambda: not may_read(shared, keys, bucket))
    told(shared, "key", "enable", keys["aws_access_key_id"])
    soon(lambda: may_read(shared, keys, bucket))
    told(shared, "user", "remove", "ann")
    soon(lambda: not may_read(shared, keys, bucket))
    with s3.refused("InvalidAccessKeyId", status=403):
        ann.get_object(Bucket=bucket, Key="k")
    assert "there is no user" in told(shared, "user", "remove", "ann", status=2)


def test_secrets_are_shown_on_a_terminal_or_in_a_file_and_nowhere_else(shared):
    told(shared, "user", "add", "ann")
    said = told(shared, "key", "add", "ann", status=2)
    assert "on a terminal only" in said
    keys = new_key(shared, "ann")
    secret = keys["aws_secret_access_key"]
    assert secret not in told(shared, "user", "list", "--json")
    assert secret not in told(shared, "key", "list")
    assert secret not in shared.log.read_text()
    file = pathlib.Path(shared.data) / "users.json"
    assert file.stat().st_mode & 0o777 == 0o600 and secret in file.read_text()


def test_the_admin_port_changes_users_only_where_it_is_guarded(tmp_path):
    token = tmp_path / "token"
    token.write_text("a-token-of-32-characters-or-more\n")
    token.chmod(0o600)
    guarded = Gateway(tmp_path / "guarded", settings={"admin_token": str(token)})
    open_to_all = Gateway(tmp_path / "open")
    for gateway, status, said in ((guarded, 0, ""), (open_to_all, 2, "only where the admin port has a token")):
        gateway.start()
        try:
            url = f"http://127.0.0.1:{gateway.admin_port}"
            where = ["--url", url] + (["--token", str(token)] if gateway is guarded else [])
            assert said in told(gateway, "user", "add", *where, "ann", status=status)
            if gateway is guarded:
                file = tmp_path / "key"
                told(gateway, "key", "add", *where, "ann", "--to", str(file))
                assert "ann: policies none, keys RS" in told(gateway, "user", "list", *where)
                assert "401" in told(gateway, "user", "list", "--url", url, status=2)
                client(gateway, "s3", root_keys(gateway)).create_bucket(Bucket="given")
                told(gateway, "user", "add", *where, "ben", "--account")
                file = tmp_path / "key-of-ben"
                told(gateway, "key", "add", *where, "ben", "--to", str(file))
                ben = client(gateway, "s3", keys_in(file))
                with s3.refused("AccessDenied", status=403):
                    ben.put_object(Bucket="given", Key="k", Body=b"x")
                told(gateway, "bucket", "give", *where, "given", "--to", "ben")
                ben.put_object(Bucket="given", Key="k", Body=b"x")
                assert [one["Name"] for one in ben.list_buckets()["Buckets"]] == ["given"]
                assert "there is no such account" in told(gateway, "bucket", "give", *where, "given", "--to", "eve", status=2)
                assert "there is no such bucket" in told(gateway, "bucket", "give", *where, "none", status=2)
            else:
                assert "only where the admin port has a token" in told(gateway, "bucket", "give", *where, "b", status=2)
        finally:
            gateway.kill()


def test_a_role_is_assumed_and_its_keys_are_used_in_headers_urls_and_forms(shared, bucket):
    sts = client(shared, "sts", root_keys(shared))
    identity = sts.get_caller_identity()
    assert identity["Arn"] == f"arn:aws:iam::ripstop:user/{ACCESS_KEY}"
    answer = sts.assume_role(RoleArn=ROLE, RoleSessionName="night", DurationSeconds=900)
    assert answer["AssumedRoleUser"]["Arn"].endswith("/night")
    left = answer["Credentials"]["Expiration"].timestamp() - time.time()
    assert 800 < left <= 900
    keys = session(answer)
    temporary = client(shared, "s3", keys)
    assert temporary.get_object(Bucket=bucket, Key="k")["Body"].read() == b"theirs"
    temporary.put_object(Bucket=bucket, Key="chunks", Body=b"x" * 300_000, ChecksumAlgorithm="CRC32")
    for version in ("s3v4", "s3"):
        signer = client(shared, "s3", keys, signature_version=version)
        url = signer.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "k"})
        with urllib.request.urlopen(url, timeout=30) as got:
            assert got.read() == b"theirs"
        token = keys["aws_session_token"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url.replace(token, token[:-2] + "AA"), timeout=30)
        assert b"InvalidToken" in refused.value.read()
    form = client(shared, "s3", keys).generate_presigned_post(bucket, "posted")
    assert form["fields"]["x-amz-security-token"]
    body, boundary = b"", "b0undary"
    for name, value in [*form["fields"].items(), ("file", "posted")]:
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    body += f"--{boundary}--\r\n".encode()
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    with urllib.request.urlopen(urllib.request.Request(form["url"], body, kind), timeout=30) as got:
        assert got.status == 204
    assert temporary.get_object(Bucket=bucket, Key="posted")["Body"].read() == b"posted"


def test_a_session_is_narrowed_by_its_policy_and_ends_with_its_user(shared, bucket):
    told(shared, "policy", "put", "all", "-", text=policy(("Allow", "s3:*", "*")))
    told(shared, "user", "add", "ann", "--policy", "all")
    permanent = new_key(shared, "ann")
    soon(lambda: may_read(shared, permanent, bucket))
    sts = client(shared, "sts", permanent)
    narrow = policy(("Allow", "s3:GetObject", f"arn:aws:s3:::{bucket}/k"))
    keys = session(sts.assume_role(RoleArn=ROLE, RoleSessionName="night", Policy=narrow))
    temporary = client(shared, "s3", keys)
    assert temporary.get_object(Bucket=bucket, Key="k")["Body"].read() == b"theirs"
    with s3.refused("AccessDenied", status=403):
        temporary.put_object(Bucket=bucket, Key="k", Body=b"x")
    with s3.refused("AccessDenied", status=403):
        temporary.list_objects_v2(Bucket=bucket)
    wide = session(sts.get_session_token(DurationSeconds=900))
    client(shared, "s3", wide).put_object(Bucket=bucket, Key="new", Body=b"x")
    with s3.refused("AccessDenied", status=403):
        client(shared, "sts", wide).get_session_token()
    with s3.refused("InvalidClientTokenId", status=403):
        client(shared, "sts", permanent | {"aws_access_key_id": "NOBODY-HERE"}).get_caller_identity()
    with s3.refused("MalformedPolicyDocument", status=400):
        sts.assume_role(RoleArn=ROLE, RoleSessionName="night", Policy='{"Statement": []}')
    with s3.refused("InvalidToken", status=400):
        client(shared, "s3", keys | {"aws_session_token": "nonsense"}).get_object(Bucket=bucket, Key="k")
    told(shared, "user", "remove", "ann")
    soon(lambda: not may_read(shared, wide, bucket))
    assert not may_read(shared, keys, bucket)


def test_users_and_policies_come_over_from_minio(shared, bucket, tmp_path):
    read_only = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::*"]}]}
    exported = [
        {"status": "success", "policy": "reads", "isGroup": False, "policyInfo": {"PolicyName": "reads", "Policy": read_only}},
        {"status": "success", "accessKey": "minio-ann", "policyName": "reads,consoleAdmin", "userStatus": "enabled"},
        {"status": "success", "accessKey": "minio-bob", "userStatus": "disabled"},
    ]
    text = "\n".join(json.dumps(line, indent=1) for line in exported)
    file = tmp_path / "imported"
    said = told(shared, "user", "import", "-", "--to", str(file), text=text)
    assert "2 users, 1 policies" in said and "policy consoleAdmin of user minio-ann" in said
    profile = file.read_text().split("[minio-ann]")[1].split("[")[0]
    pairs = dict(line.split(" = ") for line in profile.splitlines() if " = " in line)
    keys = {"aws_access_key_id": "minio-ann", "aws_secret_access_key": pairs["aws_secret_access_key"]}
    soon(lambda: may_read(shared, keys, bucket))
    with s3.refused("AccessDenied", status=403):
        client(shared, "s3", keys).put_object(Bucket=bucket, Key="k", Body=b"x")
    shown = told(shared, "user", "list")
    assert "minio-bob: policies none, keys minio-bob (disabled)" in shown
    again = told(shared, "user", "import", "-", "--to", str(tmp_path / "again"), status=2, text=text)
    assert 'there is a user "minio-ann" already' in again
    assert not (tmp_path / "again").exists()
