"""Many clients that write the same keys at once while small writes are gathered: the last is read, and found again."""

import random
import time

import pytest
from botocore.exceptions import ClientError

from support import golden, s3
from support.gateway import Gateway
from support.packs import BUCKET, LARGE, PACKS, SMALL, at_once, must_be_clean

pytestmark = pytest.mark.own
RIVALS = 12
STEPS = 50
# Also what a copy is told whose source went while it was under way.
GONE = ("NoSuchKey", "ConditionalRequestConflict")


@pytest.fixture
def gateway(tmp_path):
    own = Gateway(tmp_path / "own", pool=PACKS)
    yield own.start()
    own.kill()


class History:
    """What was written to one key and read of it, and when: clocks before and after each."""

    def __init__(self):
        # Body, or None for nothing: as often as it was written, all of it at different times.
        self.writes = [(None, 0.0, 0.0)]
        self.reads = []

    def must_hold(self, what):
        """No read answers what another write had taken the place of before the read began."""
        for body, begun, ended in self.reads:
            older = max(start for _, start, end in self.writes if end < begun)
            fitting = [1 for wrote, start, end in self.writes if wrote == body and start < ended and end >= older]
            assert fitting, f"{what}: {body and body[:40]} was read, and another write had taken its place"


class Rival:
    """Writes and reads keys that others write at the same time."""

    def __init__(self, number, gateway, seed, histories):
        self.client = gateway.endpoint().client()
        self.number, self.written = number, 0
        self.dice = random.Random(seed * 1013 + number)
        self.histories = histories

    def run(self):
        steps = [self.put, self.put, self.put, self.delete, self.get, self.get, self.get, self.copy]
        for _ in range(STEPS):
            self.dice.choice(steps)(self.dice.choice(sorted(self.histories)))

    def timed(self, call):
        begun = time.monotonic()
        return call(), begun, time.monotonic()

    def body(self):
        """One that nobody else writes."""
        self.written += 1
        size = self.dice.choice([*SMALL[2:10], *LARGE[:1]])
        return f"{self.number}:{self.written}:".encode().ljust(size, b".")

    def put(self, key):
        body = self.body()
        _, *when = self.timed(lambda: self.client.put_object(Bucket=BUCKET, Key=key, Body=body))
        self.histories[key].writes.append((body, *when))

    def delete(self, key):
        _, *when = self.timed(lambda: self.client.delete_object(Bucket=BUCKET, Key=key))
        self.histories[key].writes.append((None, *when))

    def read(self, key):
        try:
            return s3.read(self.client, BUCKET, key)
        except ClientError as error:
            assert error.response["Error"]["Code"] == "NoSuchKey", error
            return None

    def get(self, key):
        self.histories[key].reads.append(self.timed(lambda: self.read(key)))

    def copy(self, key):
        own, source = f"own/{self.number}", {"Bucket": BUCKET, "Key": key}
        try:
            _, *when = self.timed(lambda: self.client.copy_object(Bucket=BUCKET, Key=own, CopySource=source))
        except ClientError as error:
            assert error.response["Error"]["Code"] in GONE, error
            return
        self.histories[key].reads.append((self.read(own), *when))


def rivals_write(gateway, seed, rounds):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    histories = {key: History() for key in ("a", "b", "c")}
    rivals = [Rival(number, gateway, seed, histories) for number in range(RIVALS)]
    for _ in range(rounds):
        at_once(RIVALS, lambda number: rivals[number].run())
        before = golden.seen(client)
        for _ in range(2):
            for key, history in histories.items():
                rivals[0].get(key)
                history.must_hold(key)
            must_be_clean(gateway)
            gateway.rebuild()
            golden.must_agree(before, golden.seen(client))


def test_of_writes_of_one_key_at_once_the_last_is_read_and_found_again(gateway, seed):
    rivals_write(gateway, seed, 1)


@pytest.mark.long
def test_writes_of_one_key_at_once_and_lost_catalogs_by_turns(gateway, seed):
    rivals_write(gateway, seed, 10)
