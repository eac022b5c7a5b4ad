"""Pools that keep what is read often at real memcached servers, and how these come and go."""

import json
import re
import subprocess
import time

import pytest

from support.gateway import Gateway
from support.payload import small

pytestmark = pytest.mark.own
BUCKET = "hot"
SIZE = 300_000
SOON_SECONDS = 30


class Hot(Gateway):
    """A gateway whose pool keeps what is read often in a tier of these rings."""

    def __init__(self, folder, rings, code, **pool):
        self.rings, self.tier_code = rings, code
        super().__init__(folder, pool={"hot": "nearby"} | pool, node={"price_per_get": 0.4})

    def _configuration(self):
        rings = [[f"127.0.0.1:{port}" for port in ring] for ring in self.rings]
        lines = ["[[tier]]", 'name = "nearby"', f"rings = {json.dumps(rings)}", f"code = {list(self.tier_code)}"]
        # The machine may be busy: these tests are not about how long reads wait.
        return super()._configuration() + "\n".join([*lines, 'wait = "1s"']) + "\n"

    def tier(self, *words):
        """`ripstop tier`: exit code and what it prints."""
        command = [self.binary, "tier", words[0], "--config", str(self.config), *words[1:]]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def metric(self, name, **labels):
        total = 0.0
        for line in self.metrics().splitlines():
            found = re.fullmatch(rf"ripstop_{name}(?:\{{(.*)\}})? (\S+)", line)
            if found and all(f'{key}="{value}"' in (found[1] or "") for key, value in labels.items()):
                total += float(found[2])
        return total

    def fetches(self):
        return self.metric("node_operations_total", operation="get")

    def states(self):
        code, text = self.tier("status", "--json")
        assert code == 0, text
        (tier,) = json.loads(text)
        return {server["server"].rsplit(":", 1)[1]: server["state"] for server in tier["servers"]}


def until(what, holds):
    deadline = time.monotonic() + SOON_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not in {SOON_SECONDS} s: {what}"
        time.sleep(0.05)


@pytest.fixture
def hot(request, tmp_path, memcached_servers):
    """A gateway that serves over three servers, ports and processes of these, and an object that is kept."""
    ports, processes = memcached_servers(3)
    gateway = Hot(tmp_path / "gateway", [[port] for port in ports], (3, 2), encrypt=True).start()
    request.addfinalizer(gateway.stop)
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    body = small(1, SIZE)
    client.put_object(Bucket=BUCKET, Key="key", Body=body)
    for _ in range(3):
        assert client.get_object(Bucket=BUCKET, Key="key")["Body"].read() == body
    until("blocks are kept", lambda: gateway.metric("hot_blocks_total", outcome="kept") >= 4)
    return gateway, client, body, ports, processes


def test_what_is_kept_is_read_without_nodes_and_counted(hot):
    gateway, client, body, *_ = hot
    time.sleep(0.5)
    before, hits = gateway.fetches(), gateway.metric("hot_reads_total", outcome="hit")
    for start, end in [(0, SIZE), (1, 2), (70_000, 210_000), (SIZE - 1, SIZE)]:
        answer = client.get_object(Bucket=BUCKET, Key="key", Range=f"bytes={start}-{end - 1}")
        assert answer["Body"].read() == body[start:end]
    assert gateway.fetches() == before
    assert gateway.metric("hot_reads_total", outcome="hit") > hits
    assert gateway.metric("hot_requests_spared_total") > 0
    assert gateway.metric("hot_dollars_spared_total") > 0
    assert gateway.metric("tier_servers", state="up") == 3


def test_what_is_written_anew_is_never_read_as_it_was(hot):
    gateway, client, body, *_ = hot
    other = small(2, SIZE)
    client.put_object(Bucket=BUCKET, Key="key", Body=other)
    for _ in range(3):
        assert client.get_object(Bucket=BUCKET, Key="key")["Body"].read() == other
    client.delete_object(Bucket=BUCKET, Key="key")
    with pytest.raises(client.exceptions.NoSuchKey):
        client.get_object(Bucket=BUCKET, Key="key")


def test_a_server_that_dies_and_all_of_them_fail_no_read(hot):
    gateway, client, body, ports, processes = hot
    for process in processes:
        process.kill()
        process.wait()
        for _ in range(5):
            assert client.get_object(Bucket=BUCKET, Key="key")["Body"].read() == body
    until("they are lost", lambda: set(gateway.states().values()) == {"lost"})
    assert client.get_object(Bucket=BUCKET, Key="key")["Body"].read() == body


def test_servers_come_and_go_by_command_and_by_reload(hot, memcached_servers):
    gateway, client, body, ports, _ = hot
    (port, another), _ = memcached_servers(2)
    code, text = gateway.tier("add", "nearby", "1", f"127.0.0.1:{port}")
    assert code == 0, text
    assert f"ring 1 127.0.0.1:{port} up" in text
    code, text = gateway.tier("add", "nearby", "1", f"127.0.0.1:{port}")
    assert code == 2 and "is there already" in text, text
    code, text = gateway.tier("add", "nearby", "7", f"127.0.0.1:{another}")
    assert code == 2 and "there is no such ring" in text, text
    code, text = gateway.tier("repair", "nowhere")
    assert code == 2 and "there is no such tier" in text, text
    code, text = gateway.tier("remove", "nearby", f"127.0.0.1:{ports[1]}")
    assert code == 0 and f"127.0.0.1:{ports[1]}" not in text, text
    assert gateway.tier("repair", "nearby")[0] == 0
    before = gateway.fetches()
    assert client.get_object(Bucket=BUCKET, Key="key")["Body"].read() == body
    assert gateway.fetches() == before, "what was moved is read where it is now"
    gateway.rings = [[ports[0], another], [port], [ports[2]]]
    gateway.configure()
    done, said = gateway.reload()
    assert done and "servers of tier nearby come or go" in said and "restart" not in said, said
    until("the server is there", lambda: gateway.states().get(str(another)) == "up")
    gateway.rings = [[another], [port], [ports[2]]]
    gateway.configure()
    assert gateway.reload()[0]
    until("the other has left", lambda: set(gateway.states()) == {str(another), str(port), str(ports[2])})
    assert client.get_object(Bucket=BUCKET, Key="key")["Body"].read() == body
    assert gateway.fetches() == before
