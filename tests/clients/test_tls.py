"""TLS and HTTP/2 on the S3 port; who is let in at the admin port."""

import json
import os
import shutil
import socket
import ssl
import stat
import subprocess

import pytest

from support import raw, s3
from support.gateway import Gateway
from support.payload import MIB, small

pytestmark = pytest.mark.own
TOKEN = "suite-token-0123456789"


@pytest.fixture
def started(tmp_path):
    """Starts gateways, and ends them."""
    if os.environ.get("RIPSTOP_ENDPOINT"):
        pytest.skip("needs a gateway that the suite started itself")
    gateways = []

    def start(**settings):
        gateways.append(Gateway(tmp_path / f"own-{len(gateways)}", **settings))
        return gateways[-1].start()

    yield start
    for gateway in gateways:
        gateway.kill()


@pytest.fixture
def secure(started, authority):
    return started(authority=authority)


def presented(gateway):
    """The certificate that the S3 port shows."""
    trusted = ssl.create_default_context(cafile=gateway.authority.certificate)
    plain = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
    with trusted.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
        return connection.getpeercert(binary_form=True)


def test_objects_in_parts_come_and_go_and_their_location_says_https(secure, seed):
    client, body = secure.endpoint().client(), small(seed, 12 * MIB)
    client.create_bucket(Bucket="bucket")
    upload = client.create_multipart_upload(Bucket="bucket", Key="k")["UploadId"]
    parts = []
    for number, part in enumerate((body[: 6 * MIB], body[6 * MIB :]), start=1):
        put = client.upload_part(Bucket="bucket", Key="k", UploadId=upload, PartNumber=number, Body=part)
        parts.append({"ETag": put["ETag"], "PartNumber": number})
    done = client.complete_multipart_upload(
        Bucket="bucket", Key="k", UploadId=upload, MultipartUpload={"Parts": parts}
    )
    assert done["Location"] == f"https://127.0.0.1:{secure.port}/bucket/k"
    assert s3.read(client, "bucket", "k") == body


def test_curl_speaks_http2(secure, seed, tmp_path):
    curl = shutil.which("curl")
    if curl is None or "HTTP2" not in subprocess.run([curl, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("no curl that speaks HTTP/2")
    client, body = secure.endpoint().client(), small(seed, 9 * MIB)
    client.create_bucket(Bucket="bucket")
    sent, got = tmp_path / "sent", tmp_path / "got"
    sent.write_bytes(body)
    key = {"Bucket": "bucket", "Key": "k"}
    put = client.generate_presigned_url("put_object", Params=key)
    get = client.generate_presigned_url("get_object", Params=key)
    common = [curl, "--silent", "--show-error", "--fail", "--http2", "--max-time", "60"]
    common += ["--cacert", str(secure.authority.certificate), "--write-out", "%{http_version} %{http_code}"]
    for words in (["--upload-file", str(sent), "--output", os.devnull, put], ["--output", str(got), get]):
        done = subprocess.run([*common, *words], capture_output=True, text=True, timeout=90)
        assert done.stdout == "2 200", done
    assert got.read_bytes() == body


def test_plain_http_is_not_answered(secure):
    with socket.create_connection(("127.0.0.1", secure.port), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert not plain.recv(64).startswith(b"HTTP")


def test_another_certificate_is_taken_without_a_restart_and_a_bad_one_is_not(secure, authority):
    first = presented(secure)
    authority.sign(secure.certificate, secure.key)
    assert presented(secure) == first, "nothing happens by itself"
    done, told = secure.reload()
    assert done, told
    second = presented(secure)
    assert second != first
    secure.key.write_text("no key")
    done, told = secure.reload()
    assert not done and "key.pem" in told, told
    assert presented(secure) == second
    client = secure.endpoint().client()
    client.create_bucket(Bucket="bucket")


def test_a_key_that_others_can_read_is_refused(tmp_path, authority):
    own = Gateway(tmp_path / "own", authority=authority)
    own.key.chmod(0o644)
    with pytest.raises(AssertionError, match="can be read by users other than its owner"):
        own.start()


def test_bodies_that_are_not_signed_are_refused_without_tls_if_so_configured(started):
    plain = started(settings={"unsigned_payload_needs_tls": True})
    client = plain.endpoint().client()
    client.create_bucket(Bucket="bucket")
    client.put_object(Bucket="bucket", Key="k", Body=b"signed")
    body = b"unsigned"
    answer = raw.Request(plain.endpoint(), "PUT", "/bucket/k", payload=raw.UNSIGNED).send(body)
    assert (answer.status, answer.code) == (403, "AccessDenied")
    assert s3.read(client, "bucket", "k") == b"signed"


def check(gateway):
    done = subprocess.run(
        [gateway.binary, "check", "--config", str(gateway.config), "--json"], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_an_admin_port_with_token_and_tls_lets_in_who_shows_the_token(started, tmp_path, authority):
    token, certificate, key = tmp_path / "token", tmp_path / "admin.pem", tmp_path / "admin.key"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    authority.sign(certificate, key)
    gateway = started(
        authority=authority,
        settings={
            "admin_token": str(token),
            "admin_tls_certificate": str(certificate),
            "admin_tls_key": str(key),
        },
    )
    assert gateway.ask("/livez")[0] == 200
    for path, method in (("/status", "GET"), ("/metrics", "GET"), ("/check", "POST"), ("/reload", "POST")):
        assert gateway.ask(path, method)[0] == 401
        assert gateway.ask(path, method, token="suite-token-0123456780")[0] == 401
        assert gateway.ask(path, method, token=TOKEN)[0] == 200
    assert check(gateway)["lost"] == 0, "the program's own client shows it"


def test_an_admin_socket_is_its_owners_alone(started, tmp_path):
    path = tmp_path / "admin.sock"
    gateway = started(settings={"admin": f"unix:{path}"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert gateway.ask("/status")[0] == 200
    assert check(gateway)["lost"] == 0
    gateway.kill()
    # What a killed gateway left is no obstacle.
    gateway.start()
    assert gateway.ask("/livez")[0] == 200


def test_addresses_for_others_are_warned_of_unless_they_are_guarded(started, tmp_path, authority):
    gateway = Gateway(tmp_path / "open")
    gateway.settings = {"listen": f"0.0.0.0:{gateway.port}", "admin": f"0.0.0.0:{gateway.admin_port}"}
    gateway.configure()
    try:
        log = gateway.start().log_tail(1 << 20)
    finally:
        gateway.kill()
    for said in ("S3 is served to the network without TLS", "lets in anyone who reaches it", "the admin port is served"):
        assert said in log, log
    log = started(authority=authority).log_tail(1 << 20)
    # Where this machine allows few files, that is said too.
    warned = [line for line in log.splitlines() if "WARN" in line and "ripstop::descriptors" not in line]
    assert not warned, warned
