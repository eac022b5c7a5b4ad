"""The catalog's file: copied under load, put back, an older one put back, damaged, emptied."""

import os
import shutil
import stat
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from support import s3
from support.gateway import Gateway
from support.payload import KIB, Stream

pytestmark = pytest.mark.own
SECONDS_MAX = 120
BUCKET = "suite"


@pytest.fixture
def gateway(tmp_path):
    """One that has not been started."""
    own = Gateway(tmp_path / "own")
    yield own
    own.kill()


def run(gateway, *words):
    return subprocess.run(
        [gateway.binary, *words, "--config", str(gateway.config)],
        cwd=gateway.folder,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env={k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))},
    )


def put(client, key, seed):
    client.put_object(Bucket=BUCKET, Key=key, Body=Stream(seed, 20 * KIB).read())


def is_there(client, key, seed):
    return s3.read(client, BUCKET, key) == Stream(seed, 20 * KIB).read()


def readyz(gateway):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin_port}/readyz", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait_until(what, seconds=SECONDS_MAX):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come to that")


def begin(gateway, keys):
    """A gateway with a bucket and these keys; each one's content is its place in the list."""
    client = gateway.start().endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    for seed, key in enumerate(keys):
        put(client, key, seed)
    return client


def test_an_older_catalog_put_back_deletes_nothing_newer_and_is_completed(gateway):
    begin(gateway, ["old", "overwritten"])
    gateway.stop()
    catalog = gateway.data / "catalog.redb"
    shutil.copy(catalog, gateway.folder / "older")
    client = gateway.start().endpoint().client()
    for seed in range(20):
        put(client, f"new{seed}", seed)
    put(client, "overwritten", 77)
    gateway.stop()
    shutil.copy(gateway.folder / "older", catalog)
    fragments = gateway.fragments()
    gateway.start()
    # The grace is three seconds, and the nodes are listed every two.
    why = wait_until(lambda: readyz(gateway)[0] == 503 and readyz(gateway)[1])
    assert "the catalog is older than what the nodes hold" in why and "rebuild --onto" in why
    code, counts = gateway.check(repair=True)
    assert code == 1 and counts["newer"] >= 21 * 6
    time.sleep(6)
    assert set(fragments) <= set(gateway.fragments())
    gateway.stop()

    done = run(gateway, "rebuild", "--onto")
    assert done.returncode == 0 and "21 objects" in done.stdout, done
    client = gateway.start().endpoint().client()
    assert all(is_there(client, f"new{seed}", seed) for seed in range(20))
    assert is_there(client, "old", 0) and is_there(client, "overwritten", 77)
    time.sleep(6)
    assert readyz(gateway) == (200, "ok") and is_there(client, "new19", 19)
    assert gateway.check()[0] == 0


def test_a_copy_made_under_load_is_put_back_and_completed(gateway):
    client = begin(gateway, [f"k{at}" for at in range(10)])
    stop, answered = threading.Event(), []

    def load():
        mine = gateway.endpoint().client()
        while not stop.is_set():
            put(mine, f"load{len(answered)}", len(answered))
            answered.append(len(answered))

    loading = threading.Thread(target=load)
    loading.start()
    wait_until(lambda: len(answered) >= 5)
    before, copy = len(answered), gateway.folder / "copy"
    done = run(gateway, "backup", str(copy))
    assert done.returncode == 0 and "verified" in done.stdout, done
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    wait_until(lambda: len(answered) >= before + 5)
    refused = run(gateway, "backup", str(copy))
    assert refused.returncode == 2 and "is there already" in refused.stderr
    refused = run(gateway, "restore", str(copy))
    assert refused.returncode == 2 and "in use by another process" in refused.stderr
    stop.set()
    loading.join()
    gateway.kill()
    gateway.data.joinpath("catalog.redb").write_bytes(b"")

    done = run(gateway, "restore", str(copy))
    assert done.returncode == 0 and "catalog.replaced-" in done.stdout, done
    assert [path.stat().st_size for path in gateway.data.glob("catalog.replaced-*.redb")] == [0]
    client = gateway.start().endpoint().client()
    assert all(is_there(client, f"load{at}", at) for at in answered)
    assert all(is_there(client, f"k{at}", at) for at in range(10))
    time.sleep(6)
    assert readyz(gateway) == (200, "ok") and is_there(client, f"load{answered[-1]}", answered[-1])
    assert gateway.check()[0] == 0


def test_a_stopped_gateways_catalog_is_copied_too(gateway):
    begin(gateway, ["k"])
    gateway.stop()
    done = run(gateway, "backup", str(gateway.folder / "copy"))
    assert done.returncode == 0 and "1 objects" in done.stdout, done
    gateway.data.joinpath("catalog.redb").unlink()
    assert run(gateway, "restore", str(gateway.folder / "copy")).returncode == 0
    assert is_there(gateway.start().endpoint().client(), "k", 0)


def test_a_flip_in_a_value_is_found_by_check_and_refused_at_the_start(gateway):
    gateway.store["catalog_check"] = "never"
    gateway.configure()
    client = gateway.start().endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    client.put_object(Bucket=BUCKET, Key="k", Body=b"x", Metadata={"note": "a value to be changed"})
    gateway.stop()
    catalog = gateway.data / "catalog.redb"
    whole = catalog.read_bytes()
    at = whole.rindex(b"a value to be changed")
    catalog.write_bytes(whole[:at] + b"A" + whole[at + 1 :])
    client = gateway.start().endpoint().client()
    code, report = gateway.check(repair=True)
    assert code == 1 and "suite/k" in " ".join(report["catalog"]["findings"]), report
    status, why = readyz(gateway)
    assert status == 503 and "the catalog is damaged" in why and "ripstop restore" in why
    with pytest.raises(Exception, match="ServiceUnavailable"):
        client.put_object(Bucket=BUCKET, Key="other", Body=b"x")
    gateway.stop()
    code, report = gateway.check()
    assert code == 1 and "suite/k" in " ".join(report["catalog"]["findings"]), report
    gateway.store["catalog_check"] = "start"
    gateway.configure()
    done = run(gateway, "serve")
    assert done.returncode == 2, done
    assert "catalog corrupt" in done.stderr and "ripstop restore" in done.stderr and "panicked" not in done.stderr


def test_an_emptied_catalog_is_no_new_store(gateway):
    begin(gateway, ["k"])
    gateway.stop()
    gateway.data.joinpath("catalog.redb").write_bytes(b"")
    done = run(gateway, "serve")
    assert done.returncode == 2 and "the file is empty" in done.stderr and "ripstop rebuild" in done.stderr, done
