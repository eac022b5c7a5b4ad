"""Real memcached clients through the door that speaks memcached."""

import contextlib
import pathlib
import shutil
import ssl
import subprocess
import threading
import time

import pytest

from support.gateway import Gateway, free_port

pymemcache = pytest.importorskip("pymemcache")
from pymemcache.client.base import Client, PooledClient  # noqa: E402
from pymemcache.client.hash import HashClient  # noqa: E402
from pymemcache.exceptions import MemcacheClientError, MemcacheServerError  # noqa: E402

pytestmark = pytest.mark.own


class Door(Gateway):
    """A gateway with a section `[kv]`."""

    def __init__(self, folder, **kv):
        self.kv_port = free_port()
        self.kv = {"listen": f"127.0.0.1:{self.kv_port}"} | kv
        super().__init__(folder)

    def _configuration(self):
        def written(value):
            if isinstance(value, bool):
                return str(value).lower()
            if isinstance(value, list):
                return "[" + ", ".join(written(each) for each in value) + "]"
            return str(value) if isinstance(value, int) else f'"{value}"'

        lines = ["[kv]", *(f"{key} = {written(value)}" for key, value in self.kv.items())]
        return super()._configuration() + "\n".join(lines) + "\n"

    @property
    def at(self):
        return ("127.0.0.1", self.kv_port)


@pytest.fixture
def started(tmp_path):
    """Starts doors, and stops them."""
    with contextlib.ExitStack() as stack:

        def start(**kv):
            door = Door(tmp_path / "gateway", **kv).start()
            stack.callback(door.stop)
            return door

        yield start


@pytest.fixture
def servers(memcached_servers):
    return memcached_servers


def use(client):
    """Everything a client does with its values."""
    assert client.set("k", b"one", noreply=False)
    assert client.get("k") == b"one"
    assert client.get("none") is None
    assert not client.add("k", b"two", noreply=False)
    assert client.replace("k", b"three", noreply=False)
    assert client.append("k", b"!", noreply=False) and client.prepend("k", b"?", noreply=False)
    value, cas = client.gets("k")
    assert value == b"?three!"
    assert client.cas("k", b"four", cas, noreply=False) is True
    assert client.cas("k", b"five", cas, noreply=False) is False
    assert client.cas("none", b"five", cas, noreply=False) is None
    assert client.set("n", b"41", noreply=False)
    assert client.incr("n", 1, noreply=False) == 42
    assert client.decr("n", 50, noreply=False) == 0
    assert client.incr("none", 1, noreply=False) is None
    assert client.touch("k", 100, noreply=False)
    assert client.delete("k", noreply=False) and not client.delete("k", noreply=False)
    many = {f"key-{number}": b"x" * number for number in range(300)}
    assert client.set_many(many, noreply=False) == []
    assert client.get_many(list(many) + ["none"]) == many
    for number in range(300):
        client.set(f"quiet-{number}", b"v", noreply=True)
    assert len(client.get_many([f"quiet-{number}" for number in range(300)])) == 300


def test_pymemcache(started):
    door = started()
    use(Client(door.at))
    use(PooledClient(door.at, max_pool_size=4))
    use(HashClient([door.at], use_pooling=True))
    stats = Client(door.at).stats()
    assert stats[b"curr_items"] >= 600 and stats[b"get_hits"] > 900
    assert 'ripstop_kv_commands_total{command="cas",outcome="hit"} 3' in door.metrics()


def test_what_clients_do_wrong_is_said_and_the_connection_goes_on(started):
    client = Client(started().at)
    with pytest.raises(MemcacheServerError, match="object too large for cache"):
        client.set("k", b"x" * (1 << 20), noreply=False)
    assert client.set("k", b"text", noreply=False)
    with pytest.raises(MemcacheClientError, match="non-numeric"):
        client.incr("k", 1)
    assert client.get("k") == b"text"


def test_values_end_and_are_flushed(started):
    client = Client(started().at)
    client.set("short", b"v", expire=1, noreply=False)
    client.set("long", b"v", expire=1000, noreply=False)
    assert client.get("short") == b"v"
    time.sleep(2.1)
    assert client.get_many(["short", "long"]) == {"long": b"v"}
    client.flush_all(noreply=False)
    assert client.get("long") is None


def test_many_clients_at_once_lose_no_count(started):
    door = started()
    Client(door.at).set("n", b"0", noreply=False)

    def count():
        client = Client(door.at)
        for _ in range(200):
            client.incr("n", 1)

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Client(door.at).get("n") == b"1600"


def test_who_has_no_password_gets_nothing(started, tmp_path):
    users = tmp_path / "users"
    users.write_text("ann:secret\n")
    users.chmod(0o600)
    door = started(users=str(users))
    with pytest.raises(MemcacheClientError, match="unauthenticated"):
        Client(door.at).get("k")
    client = Client(door.at)
    assert client.set("auth", b"ann secret", noreply=False)
    assert client.set("k", b"v", noreply=False) and client.get("k") == b"v"
    assert "secret" not in door.log_tail()


def test_tls(started, authority, tmp_path):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    authority.sign(certificate, key)
    door = started(tls_certificate=str(certificate), tls_key=str(key))
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.check_hostname = False
    use(Client(door.at, tls_context=context))
    authority.sign(certificate, key)
    assert door.reload()[0]
    use(Client(door.at, tls_context=context))


def test_values_outlive_the_servers_they_are_at(started, servers):
    ports, running = servers(5)
    rings = [[f"127.0.0.1:{port}"] for port in ports]
    door = started(rings=rings, code=[5, 3])
    client = Client(door.at)
    use(client)
    kept = {f"kept-{number}": b"v%d" % number * 50 for number in range(500)}
    client.set_many(kept, noreply=False)
    for process in running[:2]:
        process.kill()
        process.wait()
    assert client.get_many(list(kept)) == kept
    assert client.set("after", b"v", noreply=False) and client.get("after") == b"v"


def test_a_restart_begins_with_nothing_and_stopping_is_quick(started):
    door = started()
    client = Client(door.at)
    client.set("k", b"v", noreply=False)
    begun = time.monotonic()
    door.stop()
    assert time.monotonic() - begun < 10
    door.start()
    assert Client(door.at).get("k") is None


def test_pylibmc(started):
    pylibmc = pytest.importorskip("pylibmc")
    door = started()
    client = pylibmc.Client([f"127.0.0.1:{door.kv_port}"], behaviors={"cas": True, "tcp_nodelay": True})
    client["k"] = "one"
    assert client["k"] == "one" and client.get("none") is None
    assert client.add("k", "two") is False and client.replace("k", "three")
    value, cas = client.gets("k")
    assert value == "three" and client.cas("k", "four", cas) and not client.cas("k", "five", cas)
    client.set("n", 5)
    assert client.incr("n", 3) == 8 and client.decr("n", 1) == 7
    many = {f"key-{number}": "x" * number for number in range(100)}
    assert client.set_multi(many) == [] and client.get_multi(list(many)) == many
    assert client.touch("k", 100) and client.delete("k") and client.get("k") is None


def test_memccapable(started):
    program = shutil.which("memccapable")
    if program is None:
        pytest.skip("libmemcached-tools is not installed")
    door = started()
    done = subprocess.run(
        [program, "-a", "-h", "127.0.0.1", "-p", str(door.kv_port)],
        capture_output=True,
        text=True,
        cwd=pathlib.Path(door.folder),
        timeout=60,
    )
    passed = done.stdout.count("[pass]")
    assert done.returncode == 0 and passed == 27, done.stdout + done.stderr


def test_what_was_read_least_gives_way_at_servers_that_are_full(started, servers):
    ports, _ = servers(3)
    rings = [[f"127.0.0.1:{port}"] for port in ports]
    door = started(rings=rings, code=[3, 2], servers_memory_max="24 MiB")
    client = Client(door.at)
    body = bytes(range(250)) * 8
    # Several times what may be stored, and what is read again and again.
    for number in range(20_000):
        assert client.set(f"k{number}", body, noreply=False)
        if number % 500 == 0:
            assert client.get("k0") == body, "it is read most"
    assert client.get("k19999") == body
    kept = client.get_many([f"k{number}" for number in range(20_000)])
    assert 1000 < len(kept) < 10_000 and set(kept.values()) == {body}


def test_a_long_value_is_kept_over_servers(started, servers):
    ports, running = servers(3)
    door = started(rings=[[f"127.0.0.1:{port}"] for port in ports], code=[3, 2])
    client = Client(door.at)
    bodies = {f"k{size}": bytes([size % 251]) * size for size in (5000, 70_000, 500_000, 1_000_000)}
    for key, body in bodies.items():
        assert client.set(key, body, noreply=False)
    assert client.get_many(list(bodies)) == bodies
    running[0].kill()
    running[0].wait()
    assert {key: client.get(key) for key in bodies} == bodies
