"""The program itself: first start, configuration, credentials, admin port, rebuilding."""

import os
import pty
import re
import select
import signal
import stat
import subprocess
import time
import urllib.request

import pytest

from support import s3
from support.gateway import ACCESS_KEY, SECRET_KEY, Gateway, clean, free_port
from support.payload import KIB, MIB, Stream, digest, digest_of

pytestmark = pytest.mark.own
SECONDS_MAX = 60


def run(*words, folder, **arguments):
    return subprocess.run(
        [os.environ["RIPSTOP_BIN"], *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env={k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))},
        **arguments,
    )


def test_the_first_start_makes_its_own_credentials_and_keeps_them(tmp_path):
    port, admin = free_port(), free_port()
    log, shown = open(tmp_path / "log", "wb"), open(tmp_path / "shown", "wb")
    command = [os.environ["RIPSTOP_BIN"], "serve", "--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin}"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))}
    seen = []
    for life in range(2):
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=shown, stderr=log)
        try:
            file = tmp_path / "ripstop-data" / "credentials"
            deadline = time.monotonic() + SECONDS_MAX
            while time.monotonic() < deadline and process.poll() is None:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{admin}/readyz", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.05)
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            pairs = dict(re.findall(r'^(\w+) *= *"([^"]*)"', file.read_text(), re.M))
            endpoint = s3.Endpoint(f"http://127.0.0.1:{port}", pairs["access_key"], pairs["secret_key"])
            client = endpoint.client()
            if life == 0:
                client.create_bucket(Bucket="suite")
                client.put_object(Bucket="suite", Key="k", Body=b"x")
            assert s3.read(client, "suite", "k") == b"x"
            seen.append(pairs)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS_MAX)
    log.close(), shown.close()
    assert seen[0] == seen[1]
    assert len(seen[0]["secret_key"]) >= 32
    # What is written to no terminal stays in some log: it says where the secret is, and not the secret.
    assert seen[0]["secret_key"] not in (tmp_path / "log").read_text(errors="replace")
    shown = (tmp_path / "shown").read_text()
    assert seen[0]["secret_key"] not in shown and "ripstop-data/credentials" in shown
    assert sorted(p.name for p in (tmp_path / "ripstop-data" / "nodes").iterdir()) == [f"d{i}" for i in range(1, 7)]


def test_on_a_terminal_the_first_start_shows_the_credentials_once(tmp_path):
    ours, its = pty.openpty()
    command = [os.environ["RIPSTOP_BIN"], "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))}
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=its, stderr=log)
    os.close(its)
    try:
        shown, deadline = b"", time.monotonic() + SECONDS_MAX
        while b"aws s3 mb" not in shown and time.monotonic() < deadline:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 4096)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS_MAX)
        os.close(ours)
    kept = (tmp_path / "ripstop-data" / "credentials").read_text()
    secret = dict(re.findall(r'^(\w+) *= *"([^"]*)"', kept, re.M))["secret_key"]
    assert shown.decode().count(secret) == 1
    assert secret not in (tmp_path / "log").read_text(errors="replace")


def test_help_and_version_are_there(tmp_path):
    assert run("--version", folder=tmp_path).stdout.startswith("ripstop ")
    for words in (["--help"], ["serve", "--help"], ["check", "--help"], ["rebuild", "--help"], ["check-config", "--help"]):
        done = run(*words, folder=tmp_path)
        assert (done.returncode, "Usage" in done.stdout) == (0, True), words


@pytest.mark.parametrize(
    "bad,named",
    [
        ("[gateway]\nlisten = 5\n", "listen"),
        ("[gateway]\nno_such_key = 1\n", "no_such_key"),
        ('[[pool]]\nname = "default"\ncode = [3, 4]\n', "code"),
        ('[[pool]]\nname = "default"\n[[node]]\nname = "d1"\npool = "other"\nkind = "directory"\npath = "x"\n', "other"),
        ('[store]\ngrace = "soon"\n', "grace"),
        ("this is not TOML\n", "line 1"),
        ("[gateway]\nconnections_max = 0\n", "gateway.connections_max is 0"),
        ("[gateway]\nconnections_max = 9000000000000000000\n", "from 1 to 1000000"),
        ('[store]\nmemory_max = "16000000 TiB"\n', "from 1 MiB to 1 TiB"),
    ],
)
def test_bad_configuration_is_refused_with_the_key_named(tmp_path, bad, named):
    (tmp_path / "bad.toml").write_text(bad)
    for command in ("check-config", "serve"):
        done = run(command, "--config", "bad.toml", folder=tmp_path)
        assert done.returncode not in (0, 101) and done.returncode > 0, done
        assert named in done.stderr + done.stdout, done


def test_good_configuration_is_told_so(tmp_path):
    gateway = Gateway(tmp_path / "own")
    assert run("check-config", "--config", str(gateway.config), folder=tmp_path).returncode == 0


def test_a_data_folder_has_one_gateway(gateway):
    done = run("serve", "--config", str(gateway.config), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", folder=gateway.folder)
    assert done.returncode > 0, done
    assert gateway.ready()


def test_secrets_are_in_no_log_and_no_metric(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="k", Body=b"x")
    url = client.generate_presigned_url("get_object", Params={"Bucket": "suite", "Key": "k"})
    urllib.request.urlopen(url).close()
    signature = re.search("Signature=([0-9a-f]{64})", url).group(1)
    told = gateway.log_tail(10_000_000) + gateway.metrics()
    assert SECRET_KEY not in told
    assert signature not in told


def test_metrics_are_in_the_exposition_format(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="k", Body=b"x" * MIB)
    s3.read(client, "suite", "k")
    lines = [line for line in gateway.metrics().splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[a-zA-Z_:][\w:]*(\{.*\})? [-+0-9.eEInfNa]+( .*)?", line), line


def test_a_lost_catalog_is_rebuilt_from_the_fragments(gateway, seed):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    client.create_bucket(Bucket="empty")
    sizes = [0, 1, 4 * KIB, 300 * KIB, 8 * MIB + 1, 20 * MIB]
    for size in sizes:
        client.put_object(
            Bucket="suite", Key=f"k{size}", Body=Stream(seed, size), ContentLength=size, Metadata={"size": str(size)}, Tagging="t=1"
        )
    client.copy_object(Bucket="suite", Key="copy", CopySource={"Bucket": "suite", "Key": f"k{300 * KIB}"})
    client.put_object(Bucket="suite", Key="k1", Body=b"overwritten")
    client.put_object(Bucket="suite", Key="gone", Body=b"deleted")
    client.delete_object(Bucket="suite", Key="gone")
    upload = client.create_multipart_upload(Bucket="suite", Key="parts")["UploadId"]
    sent = client.upload_part(Bucket="suite", Key="parts", UploadId=upload, PartNumber=1, Body=b"p" * MIB)
    client.complete_multipart_upload(
        Bucket="suite", Key="parts", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": sent["ETag"]}]}
    )
    heads = lambda: {
        key: {k: v for k, v in client.head_object(Bucket="suite", Key=key).items() if k not in ("ResponseMetadata",)}
        for key in s3.keys(client, "suite")
    }
    # Deleted stripes may be told of by their fragments until these are swept.
    time.sleep(6)
    before = heads()
    gateway.stop()
    (gateway.data / "catalog.redb").unlink()
    done = run("rebuild", "--config", str(gateway.config), folder=gateway.folder)
    assert done.returncode == 0, done
    gateway.start()
    assert sorted(b["Name"] for b in client.list_buckets()["Buckets"]) == ["empty", "suite"]
    assert heads() == before
    for size in sizes:
        if size != 1:
            got = client.get_object(Bucket="suite", Key=f"k{size}")["Body"]
            assert digest(got.iter_chunks(MIB)) == digest_of(seed, size)
    assert s3.read(client, "suite", "k1") == b"overwritten"
    assert clean(gateway.check()[1])


def test_a_rebuild_that_is_killed_leaves_nothing_that_the_next_one_minds(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    keys = sorted(f"k{number}" for number in range(100))
    for key in keys:
        client.put_object(Bucket="suite", Key=key, Body=key.encode())
    gateway.stop()
    catalog = gateway.data / "catalog.redb"
    catalog.unlink()
    killed = 0
    for wait in (0.0, 0.01, 0.02, 0.04, 0.08):
        command = [os.environ["RIPSTOP_BIN"], "rebuild", "--config", str(gateway.config)]
        process = subprocess.Popen(command, cwd=gateway.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.kill()
        killed += process.wait(SECONDS_MAX) != 0
        if catalog.exists():
            catalog.unlink()
    assert killed > 0
    done = run("rebuild", "--config", str(gateway.config), folder=gateway.folder)
    assert done.returncode == 0 and "100 objects" in done.stdout, done
    left = [name for name in os.listdir(gateway.data) if "rebuilding" in name]
    assert left == []
    gateway.start()
    assert s3.keys(client, "suite") == keys
    assert s3.read(client, "suite", "k7") == b"k7"


def test_the_environment_gives_the_keys(gateway):
    endpoint = gateway.endpoint()
    assert (endpoint.access_key, endpoint.secret_key) == (ACCESS_KEY, SECRET_KEY)
    assert endpoint.client().list_buckets()["Buckets"] == []
