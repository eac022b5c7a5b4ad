"""A disk that hangs instead of failing: what waits for it waits alone."""

import os
import re
import time

import pytest

from support import s3
from support.gateway import Gateway, clean, wait_clean
from support.hang import Unhangable, hanging
from support.payload import KIB, MIB

pytestmark = pytest.mark.own
HUNG = 6


@pytest.fixture
def gateway(tmp_path):
    own = Gateway(tmp_path / "own", pool={"task_timeout": "2s", "probe_every": "100ms"})
    own.start()
    yield own
    own.kill()


@pytest.fixture
def hang(gateway):
    try:
        with hanging(gateway.node(HUNG)):
            yield
    except Unhangable as error:
        pytest.skip(str(error))


def threads(gateway):
    return len(os.listdir(f"/proc/{gateway.process.pid}/task"))


def gauge(gateway, name):
    found = re.search(rf'^{name}{{[^}}]*node="d{HUNG}"[^}}]*}} (\S+)$', gateway.metrics(), re.M)
    return float(found.group(1))


def test_one_disk_that_hangs_holds_up_neither_the_others_nor_the_end(gateway, hang):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    before, slowest, end = threads(gateway), 0, time.monotonic() + 20
    number = 0
    while time.monotonic() < end:
        start = time.monotonic()
        body = bytes([number % 256]) * (MIB if number % 5 == 0 else 4 * KIB)
        client.put_object(Bucket="suite", Key=str(number), Body=body)
        assert s3.read(client, "suite", str(number)) == body
        slowest, number = max(slowest, time.monotonic() - start), number + 1
        time.sleep(0.01)
    assert slowest < 10, f"{number} rounds, the slowest took {slowest} s"
    # Its lanes (16) and a few more, however often it was asked meanwhile.
    assert threads(gateway) <= before + 32
    assert gauge(gateway, "ripstop_node_up") == 0
    assert gauge(gateway, "ripstop_node_stuck") > 0
    assert gateway.ready()
    start = time.monotonic()
    gateway.stop()
    assert time.monotonic() - start < 45


def test_a_gateway_starts_beside_a_disk_that_hangs_and_takes_it_back(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    gateway.stop()
    try:
        with hanging(gateway.node(HUNG)):
            gateway.start()
            client.put_object(Bucket="suite", Key="k", Body=b"content")
            assert s3.read(client, "suite", "k") == b"content"
    except Unhangable as error:
        pytest.skip(str(error))
    deadline = time.monotonic() + 30
    while gauge(gateway, "ripstop_node_up") == 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    left = wait_clean(gateway, 30)
    assert clean(left), left
