"""Clients that are slow, and many: others go on as if there were none, and memory stays within its bound."""

import contextlib
import threading
import time

import pytest

from support import raw, s3
from support.payload import MIB, Stream, digest, digest_of

pytestmark = pytest.mark.own
# The default of `store.memory_max`, and what the process may take beside it.
MEMORY_KIB_MAX = (256 + 256) * 1024
UPLOAD_LEN = 30 * MIB
PACE = 50 * 1024
TICK_SECONDS = 0.1
# What a request may take while others are slow: far less than any of them is waited for, far more than it needs.
SOON_SECONDS = 8


class SlowUploads:
    """Uploads of 30 MiB at 50 KiB/s each, all sent by one thread."""

    def __init__(self, endpoint, count):
        self.endpoint, self.end = endpoint, threading.Event()
        self.connections, self.answers = [], []
        for number in range(count):
            connection = raw.connect(endpoint)
            headers = {"content-length": str(UPLOAD_LEN)}
            connection.sendall(raw.Request(endpoint, "PUT", f"/suite/slow-{number}", headers=headers).head())
            connection.setblocking(False)
            self.connections.append(connection)
        self.thread = threading.Thread(target=self.send)

    def send(self):
        piece = b"s" * int(PACE * TICK_SECONDS)
        while not self.end.wait(TICK_SECONDS):
            for connection in list(self.connections):
                try:
                    answer = connection.recv(65536)
                    if answer:
                        self.answers.append(raw.Response(answer))
                    self.connections.remove(connection)
                    connection.close()
                    continue
                except BlockingIOError:
                    pass
                except OSError:
                    self.connections.remove(connection)
                    continue
                with contextlib.suppress(OSError):
                    connection.send(piece)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.end.set()
        self.thread.join()
        for connection in self.connections:
            connection.close()


def within(seconds, what, act):
    begun = time.monotonic()
    result = act()
    took = time.monotonic() - begun
    print(f"{what}: {took:.2f} s")
    assert took < seconds, f"{what} took {took:.1f} s"
    return result


@pytest.mark.parametrize("count", [6, 40, 500])
def test_slow_uploads_hold_up_nobody_and_use_bounded_memory(gateway, seed, count):
    endpoint = gateway.endpoint()
    client = endpoint.client(read_timeout=60)
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="here", Body=Stream(seed, 2 * MIB), ContentLength=2 * MIB)
    with SlowUploads(endpoint, count) as slow:
        for second in range(4):
            time.sleep(2)
            put = lambda size: client.put_object(
                Bucket="suite", Key=f"k{size}", Body=Stream(seed, size), ContentLength=size
            )
            copy = lambda: client.copy_object(Bucket="suite", Key="copy", CopySource="suite/here")
            get = lambda: s3.read(client, "suite", "here")
            within(SOON_SECONDS, f"{second}: put of 4 KiB", lambda: put(4096))
            within(SOON_SECONDS, f"{second}: put of 9 MiB", lambda: put(9 * MIB))
            within(SOON_SECONDS, f"{second}: copy", copy)
            within(SOON_SECONDS, f"{second}: get", get)
        assert len(slow.connections) + len(slow.answers) > 0
        for answer in slow.answers:
            assert (answer.status, answer.code) in [(503, "SlowDown"), (400, "RequestTimeout")], answer
            assert answer.status != 503 or "retry-after" in answer.headers, answer
        print(f"{len(slow.connections)} of {count} go on, {len(slow.answers)} were told to slow down")
    assert gateway.memory_kib("VmHWM") < MEMORY_KIB_MAX
    assert s3.read(client, "suite", f"k{9 * MIB}") is not None


def test_six_slow_uploads_are_all_taken(gateway):
    """They are honest, and there is memory for them: none is refused."""
    endpoint = gateway.endpoint()
    endpoint.client().create_bucket(Bucket="suite")
    with SlowUploads(endpoint, 6) as slow:
        time.sleep(15)
        assert len(slow.connections) == 6, slow.answers


def test_readers_that_do_not_read_keep_nobody_waiting(gateway, seed):
    endpoint = gateway.endpoint()
    client = endpoint.client(read_timeout=60)
    client.create_bucket(Bucket="suite")
    client.upload_fileobj(Stream(seed, 64 * MIB), "suite", "large")
    client.put_object(Bucket="suite", Key="here", Body=Stream(seed, 2 * MIB), ContentLength=2 * MIB)
    held = []
    for _ in range(90):
        connection = raw.connect(endpoint)
        connection.sendall(raw.Request(endpoint, "GET", "/suite/large").head())
        held.append(connection)
    for second in range(4):
        time.sleep(1)
        got = within(SOON_SECONDS, f"{second}: get", lambda: s3.read(client, "suite", "here"))
        assert digest([got]) == digest_of(seed, 2 * MIB)
    for connection in held:
        connection.close()
    assert gateway.memory_kib("VmHWM") < MEMORY_KIB_MAX
