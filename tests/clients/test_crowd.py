"""Two thousand clients at once: each is answered, and memory stays within its bound."""

import collections
import selectors
import time

import pytest

from support import descriptors, raw, s3
from support.payload import MIB

pytestmark = pytest.mark.own
CLIENTS = 2000
BODY = bytes(range(256)) * (MIB // 256)
# The default of `store.memory_max`, and what the process may take beside it.
MEMORY_KIB_MAX = (256 + 256) * 1024
ANSWERED_SECONDS_MAX = 240


@pytest.fixture(autouse=True)
def enough_files():
    with descriptors.at_least(2 * CLIENTS):
        yield


class Upload:
    """A PUT of 1 MiB that is sent as far as the gateway takes it."""

    def __init__(self, endpoint, number):
        headers = {"content-length": str(len(BODY))}
        self.rest = memoryview(BODY)
        self.received = b""
        self.connection = raw.connect(endpoint)
        self.connection.sendall(raw.Request(endpoint, "PUT", f"/suite/k{number}", headers=headers).head())
        self.connection.setblocking(False)
        self.go_on()

    def wants(self):
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self.rest else 0)

    def go_on(self):
        """Sends and receives what can be; answers the response once it is whole."""
        try:
            if self.rest:
                self.rest = self.rest[self.connection.send(self.rest) :]
        # A gateway that refuses may close before it has the whole body.
        except raw.GONE:
            self.rest = self.rest[:0]
        except OSError:
            pass
        try:
            self.received += self.connection.recv(65536)
        except (BlockingIOError, raw.ssl.SSLWantReadError):
            return None
        response = raw.Response(self.received)
        return response if response.status >= 200 else None


def test_two_thousand_clients_are_answered_within_bounded_memory(gateway):
    endpoint = gateway.endpoint()
    client = endpoint.client()
    client.create_bucket(Bucket="suite")
    answers, selector, begun = {}, selectors.DefaultSelector(), time.monotonic()
    for number in range(CLIENTS):
        upload = Upload(endpoint, number)
        selector.register(upload.connection, upload.wants(), (number, upload))
    while len(answers) < CLIENTS:
        assert time.monotonic() - begun < ANSWERED_SECONDS_MAX, f"{len(answers)} are answered"
        for key, _ in selector.select(timeout=1):
            number, upload = key.data
            answer = upload.go_on()
            if answer:
                answers[number] = answer
                selector.unregister(upload.connection)
                upload.connection.close()
            elif upload.wants() != key.events:
                selector.modify(upload.connection, upload.wants(), key.data)
    taken = [number for number, answer in answers.items() if answer.status == 200]
    for answer in answers.values():
        # While memory is short, a body that this test's one thread gets round to too rarely is too slow.
        assert (answer.status, answer.code) in [(200, None), (503, "SlowDown"), (400, "RequestTimeout")], answer
        assert answer.status != 503 or "retry-after" in answer.headers, answer
    peak = gateway.memory_kib("VmHWM")
    print(collections.Counter(answer.status for answer in answers.values()))
    print(f"{len(taken)} of {CLIENTS} taken in {time.monotonic() - begun:.0f} s, {peak // 1024} MiB at most")
    assert len(taken) > CLIENTS // 2
    assert peak < MEMORY_KIB_MAX
    for number in taken[:: len(taken) // 10]:
        assert s3.read(client, "suite", f"k{number}") == BODY
