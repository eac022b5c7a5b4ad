"""Fixtures. The suite aims at RIPSTOP_ENDPOINT if that is set (keys in AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY); otherwise it starts the gateway RIPSTOP_BIN itself, over the nodes that
`--nodes` names."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
import zlib

import pytest

from support import payload, s3, servers, tls
from support.gateway import Gateway, free_port

MEMCACHED_SECONDS_MAX = 10


def pytest_addoption(parser):
    parser.addoption(
        "--nodes",
        default="directory",
        choices=["directory", *servers.BACKENDS],
        help="what the gateway's six nodes are: directories, or buckets of such a server",
    )


    parser.addoption("--tls", action="store_true", help="the suite's gateway speaks TLS")


def pytest_report_header(config):
    aim = os.environ.get("RIPSTOP_ENDPOINT") or os.environ.get("RIPSTOP_BIN", "nothing")
    return f"aimed at {aim}, nodes: {config.getoption('--nodes')}, TLS: {config.getoption('--tls')}, RIPSTOP_SEED={payload.SEED}"


def pytest_collection_modifyitems(config, items):
    if os.environ.get("RIPSTOP_ENDPOINT"):
        reason = pytest.mark.skip(reason="needs a gateway that the suite started itself")
        for item in items:
            if item.get_closest_marker("own"):
                item.add_marker(reason)


@pytest.fixture
def seed(request):
    """Differs from test to test and follows RIPSTOP_SEED."""
    return payload.SEED * 31 + zlib.crc32(request.node.nodeid.encode())


@pytest.fixture(scope="session")
def backend(request, tmp_path_factory):
    """The server whose buckets are the nodes; None where the nodes are directories."""
    kind = request.config.getoption("--nodes")
    if kind == "directory" or os.environ.get("RIPSTOP_ENDPOINT"):
        yield None
        return
    server = servers.BACKENDS[kind](tmp_path_factory.mktemp(f"backend-{kind}"))
    if server is None:
        pytest.skip(f"{kind} is not installed")
    endpoint = server.endpoint()
    servers.make_node_buckets(endpoint)
    yield endpoint
    server.stop()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """Signs the certificates of gateways that speak TLS."""
    return tls.Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def endpoint(request, backend, tmp_path_factory):
    """The server under test."""
    url = os.environ.get("RIPSTOP_ENDPOINT")
    if url:
        keys = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
        yield s3.Endpoint(url, *keys, os.environ.get("AWS_DEFAULT_REGION", "us-east-1"))
        return
    signed_by = request.getfixturevalue("authority") if request.config.getoption("--tls") else None
    if signed_by:
        # For what the suite asks without a client, by the standard library.
        os.environ["SSL_CERT_FILE"] = str(signed_by.certificate)
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), backend=backend, authority=signed_by).start()
    yield gateway.endpoint()
    assert gateway.process.poll() is None, f"the gateway has ended:\n{gateway.log_tail()}"
    gateway.stop()


@pytest.fixture(scope="session")
def client(endpoint):
    return endpoint.client()


@pytest.fixture
def bucket(client):
    """An empty bucket, removed afterwards."""
    name = s3.fresh_name()
    client.create_bucket(Bucket=name)
    yield name
    s3.empty(client, name)
    client.delete_bucket(Bucket=name)


@pytest.fixture
def gateway(request, tmp_path):
    """A gateway of the test's own, over directories, with nothing in it."""
    if os.environ.get("RIPSTOP_ENDPOINT"):
        pytest.skip("needs a gateway that the suite started itself")
    own = Gateway(tmp_path / "own")
    yield own.start()
    own.kill()


@pytest.fixture
def memcached_servers():
    """Starts memcached servers on free ports, and ends them: their ports, and all processes so far."""
    program = shutil.which("memcached")
    if program is None:
        pytest.skip("memcached is not installed")
    running = []

    def start(count):
        ports = []
        for _ in range(count):
            port = free_port()
            command = [program, "-p", str(port), "-l", "127.0.0.1", "-U", "0", "-u", "nobody", "-M"]
            running.append(subprocess.Popen(command))
            deadline = time.monotonic() + MEMCACHED_SECONDS_MAX
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                assert time.monotonic() < deadline, "memcached does not listen"
                time.sleep(0.02)
            ports.append(port)
        return ports, running

    yield start
    for process in running:
        process.kill()
        process.wait()
