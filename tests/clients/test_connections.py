"""Connections of strangers, and what a limit of open files leaves of them."""

import contextlib
import os
import re
import socket
import time

import pytest

from support import descriptors, s3
from support.gateway import Gateway

pytestmark = pytest.mark.own
FILES = 1024
SOON = 5


@pytest.fixture(autouse=True)
def enough_files():
    """This process needs more descriptors than the gateway is given."""
    with descriptors.at_least(4 * FILES):
        yield


@pytest.fixture
def scarce(tmp_path):
    """A gateway that may open 1024 files."""
    if os.environ.get("RIPSTOP_ENDPOINT"):
        pytest.skip("needs a gateway that the suite started itself")
    own = Gateway(tmp_path / "own", files=FILES)
    yield own.start()
    own.kill()


@contextlib.contextmanager
def idle(port, count):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SOON)) for _ in range(count)]


def test_idle_strangers_stop_nobody(scarce):
    client = scarce.endpoint().client(read_timeout=SOON)
    client.create_bucket(Bucket="bucket")
    client.put_object(Bucket="bucket", Key="k", Body=b"before")
    with idle(scarce.port, 1010), idle(scarce.admin_port, 64):
        time.sleep(0.5)
        for round in range(20):
            begun = time.monotonic()
            body = f"round {round}".encode()
            client.put_object(Bucket="bucket", Key="k", Body=body)
            assert s3.read(client, "bucket", "k") == body
            new = scarce.endpoint().client(read_timeout=SOON)
            assert s3.read(new, "bucket", "k") == body
            assert scarce.ready(), "the admin port answers"
            assert time.monotonic() - begun < SOON
    assert "Too many open files" not in scarce.log_tail(1 << 20)


def test_few_files_leave_few_connections_and_the_log_says_so(scarce):
    log = scarce.log_tail(1 << 20)
    found = re.search(r".*fewer connections than usual.*", log)
    assert found, log
    for number in ('"descriptors":1024', '"kept":384', '"connections_max":640'):
        assert number in found.group(), found.group()


def test_more_connections_than_files_are_refused_at_the_start(tmp_path):
    own = Gateway(tmp_path / "own", files=FILES, settings={"connections_max": 641})
    with pytest.raises(AssertionError, match=r"connections_max = 641 does not fit.*leaves 640"):
        own.start()


def test_the_limit_of_files_is_raised_as_far_as_it_goes(tmp_path):
    own = Gateway(tmp_path / "own", files=(256, FILES)).start()
    try:
        with open(f"/proc/{own.process.pid}/limits") as limits:
            line = next(line for line in limits if line.startswith("Max open files"))
        assert line.split()[3:5] == [str(FILES)] * 2, line
    finally:
        own.kill()
