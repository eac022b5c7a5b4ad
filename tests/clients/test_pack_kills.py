"""kill −9 at random moments while many clients write small objects that are gathered: what was answered is
there, and is found again without the catalog; the rest is old or new."""

import os

import pytest
from botocore.exceptions import ClientError

import test_kill
from support.gateway import Gateway
from support.packs import BUCKET, PACKS, SMALL, must_be_clean
from support.payload import SEED, small

pytestmark = pytest.mark.own


@pytest.fixture
def gateway(tmp_path):
    own = Gateway(tmp_path / "own", pool=PACKS)
    yield own.start()
    own.kill()


class SmallWorker(test_kill.Worker):
    """Writes small objects, each with company."""

    at_once, sizes, load_seconds_max = 12, [*SMALL, 256, 256, 256], 0.5

    def __init__(self, *rest):
        super().__init__(*rest)
        puts = [self.put, self.put, self.put, self.put_if_none]
        self.steps = [*puts, self.delete, self.delete_some, self.copy, self.tag, self.untag]

    def state(self, key):
        (state,) = self.model.may.get(key, {None})
        return state

    def put_if_none(self, key):
        seed, size = state = self.fresh()
        put = lambda: self.client.put_object(Bucket=BUCKET, Key=key, Body=small(seed, size), IfNoneMatch="*")
        if self.state(key) is None:
            self.write(key, state, put)
            return
        try:
            put()
        except ClientError as error:
            if error.response["Error"]["Code"] == "PreconditionFailed":
                return
            raise
        raise AssertionError(f"{key} was there, and was written as if it were not")

    def delete_some(self, key):
        keys = sorted({key, *self.dice.sample(self.keys, 3)})
        for one in keys:
            self.model.expect(one, None)
        wanted = {"Objects": [{"Key": one} for one in keys]}
        done = self.client.delete_objects(Bucket=BUCKET, Delete=wanted)
        assert sorted(entry["Key"] for entry in done["Deleted"]) == keys and "Errors" not in done, done
        for one in keys:
            self.model.answer(one, None)

    def tag(self, key):
        """Its bytes stay as they are, and are told of elsewhere."""
        state = self.state(key)
        if state is not None:
            tags = (("k", str(self.dice.random())),)
            tag_set = {"TagSet": [{"Key": name, "Value": value} for name, value in tags]}
            tag = lambda: self.client.put_object_tagging(Bucket=BUCKET, Key=key, Tagging=tag_set)
            self.write(key, (*state[:2], tags), tag)

    def untag(self, key):
        state = self.state(key)
        if state is not None:
            self.write(key, state[:2], lambda: self.client.delete_object_tagging(Bucket=BUCKET, Key=key))


def kills(gateway, count, seed, rebuild_every):
    model = test_kill.kills(gateway, count, seed, SmallWorker, rebuild_every)
    gateway.rebuild()
    test_kill.verify(gateway.endpoint().client(), model, model.may)
    must_be_clean(gateway)


def test_four_kills_lose_no_small_write_that_was_answered(gateway):
    kills(gateway, int(os.environ.get("RIPSTOP_KILLS", "4")), SEED + 3, rebuild_every=3)


@pytest.mark.long
def test_two_hundred_kills_lose_no_small_write_that_was_answered(gateway):
    kills(gateway, int(os.environ.get("RIPSTOP_KILLS", "200")), SEED + 101, rebuild_every=7)
