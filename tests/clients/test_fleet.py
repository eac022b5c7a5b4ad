"""Gateways over one catalog: who lives, and that all together give a tenant what it was promised, and not twice."""

import contextlib
import http.client
import json
import subprocess
import threading
import time
import urllib.parse

import pytest

from support.database import running
from support.gateway import Gateway

pytestmark = pytest.mark.own

# Each read takes one lane of one of two nodes for so long: of sixteen lanes, 100 a second.
TASK_MS = 160
LANES = 8
PROMISED = 2 * LANES * 1000 / TASK_MS
TENANT = {"name": "photos", "access_keys": ["PHOTOSKEY"], "promise": "1:1s", "capacity": 2.0 * LANES}


@pytest.fixture
def gateways(tmp_path):
    """Starts gateways over one catalog and the same two slow nodes, and ends them."""
    delays = tmp_path / "delays.csv"
    delays.write_text(f"operation,bytes,delay_ms\nget,1000,{TASK_MS}\nput,1000,1\n")
    files = {"key_file": str(tmp_path / "store.key"), "object_keys_file": str(tmp_path / "object.keys")}
    with running() as database, contextlib.ExitStack() as stack:

        def start(name):
            own = Gateway(
                tmp_path / name,
                nodes=2,
                code=(2, 1),
                store={"catalog": database.url} | files,
                pool={"policy": "fixed", "read_chunks": 1, "pack_below": 0, "late_after": "30s"},
                node={"delay": str(delays), "lanes": LANES},
                keys={"PHOTOSKEY": "photos-secret"},
            )
            own.configure([TENANT])
            if name != "g1":
                text = own.config.read_text()
                own.config.write_text(text.replace(str(own.folder / "nodes"), str(tmp_path / "g1" / "nodes")))
            stack.callback(own.kill)
            return own.start()

        yield start


class Flood:
    """Reads one object without a pause, by this many workers at once."""

    def __init__(self, gateway, url, workers=24):
        self.at, self.path = gateway.port, urllib.parse.urlsplit(url)
        self.lock, self.ended, self.served, self.refused = threading.Lock(), False, 0, 0
        self.workers = [threading.Thread(target=self._work) for _ in range(workers)]
        for worker in self.workers:
            worker.start()

    def _work(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.at, timeout=30)
        while not self.ended:
            try:
                connection.request("GET", f"{self.path.path}?{self.path.query}")
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                time.sleep(0.1)
                continue
            assert answer.status in (200, 503), answer.status
            with self.lock:
                self.served += answer.status == 200
                self.refused += answer.status == 503
            if answer.status == 503:
                time.sleep(0.05)

    def end(self):
        self.ended = True
        for worker in self.workers:
            worker.join(60)


def rate(floods, seconds):
    """Answers a second of all together."""
    before, begun = sum(flood.served for flood in floods), time.monotonic()
    time.sleep(seconds)
    return (sum(flood.served for flood in floods) - before) / (time.monotonic() - begun)


def url_of(gateway):
    client = gateway.endpoint("PHOTOSKEY").client()
    return client.generate_presigned_url("get_object", Params={"Bucket": "album", "Key": "one"}, ExpiresIn=600)


def test_two_gateways_together_give_what_is_promised_and_one_alone_too(gateways):
    first, second = gateways("g1"), gateways("g2")
    client = first.endpoint("PHOTOSKEY").client()
    client.create_bucket(Bucket="album")
    client.put_object(Bucket="album", Key="one", Body=b"x" * 1000)
    floods = [Flood(gateway, url_of(gateway)) for gateway in (first, second)]
    try:
        time.sleep(6)
        together = rate(floods, 8)
        assert 0.9 * PROMISED <= together <= 1.1 * PROMISED, together
        # Whose clients are gone gives way to the other within a few beats.
        floods[1].end()
        time.sleep(6)
        alone = rate(floods[:1], 6)
        assert 0.7 * PROMISED <= alone <= 1.1 * PROMISED, alone
        # And one that is killed is followed within seconds.
        second.kill()
        time.sleep(8)
        alone = rate(floods[:1], 6)
        assert 0.9 * PROMISED <= alone <= 1.1 * PROMISED, alone
    finally:
        for flood in floods:
            flood.end()


def test_it_is_shown_which_gateways_live(gateways):
    first, second = gateways("g1"), gateways("g2")

    def shown():
        told = subprocess.run(
            [first.binary, "gateways", "--config", str(first.config), "--json"], capture_output=True, timeout=60
        )
        assert told.returncode == 0, told.stderr
        return {gateway["address"]: gateway for gateway in json.loads(told.stdout)}

    def until(address, state, seconds):
        deadline = time.monotonic() + seconds
        while shown().get(address, {}).get("state") != state:
            assert time.monotonic() < deadline, shown()
            time.sleep(0.2)

    one, other = (f"127.0.0.1:{gateway.port}" for gateway in (first, second))
    until(other, "alive", 5)
    now = shown()
    assert (now[one]["is_this"], now[other]["is_this"]) == (True, False)
    assert now[one]["epoch"] == now[other]["epoch"] == 1
    second.kill()
    until(other, "dead", 10)
    second.start()
    until(other, "alive", 5)
    assert shown()[other]["epoch"] == 2 and shown()[other]["id"] == now[other]["id"]
    second.stop()
    until(other, "left", 5)
    plain = subprocess.run([first.binary, "gateways", "--config", str(first.config)], capture_output=True, timeout=60)
    assert f"at {one}: alive, this one" in plain.stdout.decode() and "left" in plain.stdout.decode()
