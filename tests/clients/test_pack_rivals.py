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
# Also what a copy is told whose source went while it was under way, and a change of tags in whose way others were.
GONE = ("NoSuchKey", "ConditionalRequestConflict")
TAG = "by"
# How tags begin that were put together with a body.
OF_BODY = "body/"


@pytest.fixture
def gateway(tmp_path):
    own = Gateway(tmp_path / "own", pool=PACKS)
    yield own.start()
    own.kill()


class Register:
    """What was written to one place and read of it, and when: clocks before and after each."""

    def __init__(self):
        # None for nothing: as often as it was written, all of it at different times.
        self.writes = [(None, -1.0, 0.0)]
        self.reads = []

    def may_hold(self, value, begun, ended):
        """Whether it may have held this at some time between, or another write had taken its place by then."""
        older = max((start for _, start, end in self.writes if end < begun), default=begun)
        return any(wrote == value and start < ended and end >= older for wrote, start, end in self.writes)

    def must_hold(self, what):
        """No read answers what another write had taken the place of before the read began."""
        for value, begun, ended in self.reads:
            named = f"{what}: {value and value[:40]}"
            assert self.may_hold(value, begun, ended), f"{named} was read, and another write had taken its place"


class History:
    """What was written to one key: bodies, and tags, which are changed alone too."""

    def __init__(self):
        self.bodies, self.tags = Register(), Register()
        # Bodies and tags that were read at one time.
        self.pairs = []

    def wrote(self, body, tags, *when):
        self.bodies.writes.append((body, *when))
        self.tags.writes.append((tags, *when))

    def read(self, body, tags, *when):
        self.bodies.reads.append((body, *when))
        self.tags.reads.append((tags, *when))
        self.pairs.append((body, tags))

    def must_hold(self, what):
        self.bodies.must_hold(f"{what}, its body")
        self.tags.must_hold(f"{what}, its tags")
        for body, tags in self.pairs:
            # Who wrote the tags wrote the body too, or found it.
            writes = [when for wrote, *when in self.tags.writes if wrote == tags]
            fitting = any(self.bodies.may_hold(body, *when) for when in writes)
            assert fitting, f"{what}: {body and body[:40]} was read with tags {tags!r} of another body"
            if tags and tags.startswith(OF_BODY):
                name = tags.removeprefix(OF_BODY).encode()
                assert body.startswith(name), f"{what}: {body[:40]} was read with tags {tags!r}"


class Rival:
    """Writes and reads keys that others write at the same time."""

    def __init__(self, number, gateway, seed, histories):
        self.client = gateway.endpoint().client()
        self.number, self.written = number, 0
        self.dice = random.Random(seed * 1013 + number)
        self.histories = histories

    def run(self):
        changes = [self.put, self.put, self.put, self.delete, self.tag, self.tag, self.untag]
        steps = [*changes, self.get, self.get, self.get, self.get_tags, self.copy, self.copy]
        for _ in range(STEPS):
            self.dice.choice(steps)(self.dice.choice(sorted(self.histories)))

    def timed(self, call):
        begun = time.monotonic()
        return call(), begun, time.monotonic()

    def fresh(self):
        """The name of a write that is nobody else's."""
        self.written += 1
        return f"{self.number}:{self.written}:"

    def put(self, key):
        name, size = self.fresh(), self.dice.choice([*SMALL[2:10], *LARGE[:1]])
        tags = self.dice.choice(["", OF_BODY + name])
        what = {"Body": name.encode().ljust(size, b".")} | ({"Tagging": f"{TAG}={tags}"} if tags else {})
        _, *when = self.timed(lambda: self.client.put_object(Bucket=BUCKET, Key=key, **what))
        self.histories[key].wrote(what["Body"], tags, *when)

    def delete(self, key):
        _, *when = self.timed(lambda: self.client.delete_object(Bucket=BUCKET, Key=key))
        self.histories[key].wrote(None, None, *when)

    def tag(self, key):
        tags = f"alone/{self.fresh()}"
        wanted = {"TagSet": [{"Key": TAG, "Value": tags}]}
        self.change(key, tags, lambda where: self.client.put_object_tagging(**where, Tagging=wanted))

    def untag(self, key):
        self.change(key, "", lambda where: self.client.delete_object_tagging(**where))

    def change(self, key, tags, call):
        done, *when = self.timed(lambda: self.found(lambda: call({"Bucket": BUCKET, "Key": key}), GONE))
        if done is not None:
            self.histories[key].tags.writes.append((tags, *when))

    def found(self, call, unless=("NoSuchKey",)):
        """What it answers; None if that is one of these errors."""
        try:
            return call()
        except ClientError as error:
            assert error.response["Error"]["Code"] in unless, error
            return None

    def body_of(self, key):
        return self.found(lambda: s3.read(self.client, BUCKET, key))

    def tags_of(self, key):
        said = self.found(lambda: self.client.get_object_tagging(Bucket=BUCKET, Key=key))
        return said and "".join(tag["Value"] for tag in said["TagSet"])

    def get(self, key):
        self.histories[key].bodies.reads.append(self.timed(lambda: self.body_of(key)))

    def get_tags(self, key):
        self.histories[key].tags.reads.append(self.timed(lambda: self.tags_of(key)))

    def look(self, key):
        """Body and tags, while nobody writes."""
        (body, tags), *when = self.timed(lambda: (self.body_of(key), self.tags_of(key)))
        self.histories[key].read(body, tags, *when)

    def copy(self, key):
        """Body and tags at one time, into a key that nobody else writes."""
        own, source = f"own/{self.number}", {"Bucket": BUCKET, "Key": key}
        copy = lambda: self.client.copy_object(Bucket=BUCKET, Key=own, CopySource=source)
        done, *when = self.timed(lambda: self.found(copy, GONE))
        if done is not None:
            self.histories[key].read(self.body_of(own), self.tags_of(own), *when)


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
                rivals[0].look(key)
                history.must_hold(key)
            must_be_clean(gateway)
            gateway.rebuild()
            golden.must_agree(before, golden.seen(client))


def test_of_writes_of_one_key_at_once_the_last_is_read_and_found_again(gateway, seed):
    rivals_write(gateway, seed, 1)


@pytest.mark.long
def test_writes_of_one_key_at_once_and_lost_catalogs_by_turns(gateway, seed):
    rivals_write(gateway, seed, 10)
