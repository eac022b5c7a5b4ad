"""kill −9 at random moments of a mixed load: what was answered is there, whole; the rest is old or new."""

import os
import random
import threading
import time

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from support import s3
from support.gateway import clean, wait_clean
from support.payload import KIB, MIB, SEED, Stream, digest, digest_of

pytestmark = pytest.mark.own
KEYS_PER_WORKER = 12
BYSTANDERS = 20
LOAD_SECONDS_MAX = 1.5
SIZES = [0, 1, 100, 4 * KIB, 64 * KIB, 300 * KIB, 300 * KIB, MIB, 2 * MIB, 9 * MIB]
BUCKET = "suite"


class Model:
    """What each key may hold: a set of (seed, size) or, where an object has tags, (seed, size, tags); None
    for nothing."""

    def __init__(self):
        self.may = {}
        # What nodes may tell of a key besides, since nothing has been answered for it after that.
        self.left = {}
        self.touched = set()
        self.answered = 0
        self.unanswered = 0

    def expect(self, key, state):
        """Before a write: the old or the new may be found. Called by the key's only writer."""
        self.touched.add(key)
        self.may[key] = self.may.get(key, {None}) | {state}
        self.left[key] = self.left.get(key, set()) | self.may[key]

    def answer(self, key, state):
        self.may[key] = {state}
        self.left.pop(key, None)
        self.answered += 1

    def lose_catalog(self):
        """A rebuild finds what was answered, and may find what was not."""
        for key, states in self.left.items():
            self.may[key] |= states


class Worker(threading.Thread):
    """Writes keys of its own until the gateway is gone."""

    # Workers at once, how long what they and bystanders write may be, and how long they write.
    at_once, sizes, load_seconds_max = 4, SIZES, LOAD_SECONDS_MAX

    def __init__(self, number, client, model, dice):
        super().__init__(name=f"worker-{number}")
        self.client, self.model, self.dice = client, model, dice
        self.keys = [f"w{number}/k{i:02}" for i in range(KEYS_PER_WORKER)]
        self.end = threading.Event()
        self.failure = self.wrong = None
        # Kept here, since another thread may still be told of it while this one writes.
        self.steps = [self.put, self.put, self.put, self.delete, self.copy, self.parts]

    def run(self):
        try:
            while not self.end.is_set():
                self.dice.choice(self.steps)(self.dice.choice(self.keys))
        except (ClientError, BotoCoreError, OSError) as error:
            self.failure = error
            self.model.unanswered += 1
        except AssertionError as error:
            self.wrong = error

    def fresh(self):
        return self.dice.getrandbits(32), self.dice.choice(self.sizes)

    def write(self, key, state, call):
        self.model.expect(key, state)
        call()
        self.model.answer(key, state)

    def put(self, key):
        seed, size = state = self.fresh()
        self.write(
            key,
            state,
            lambda: self.client.put_object(
                Bucket=BUCKET, Key=key, Body=Stream(seed, size), ContentLength=size
            ),
        )

    def delete(self, key):
        self.write(key, None, lambda: self.client.delete_object(Bucket=BUCKET, Key=key))

    def copy(self, key):
        sources = [k for k in self.keys if k != key and self.model.may.get(k, {None}) != {None}]
        if sources:
            source = self.dice.choice(sources)
            (state,) = self.model.may[source]
            self.write(
                key,
                state,
                lambda: self.client.copy_object(
                    Bucket=BUCKET, Key=key, CopySource={"Bucket": BUCKET, "Key": source}
                ),
            )

    def parts(self, key):
        where = {"Bucket": BUCKET, "Key": key}
        seed, size = state = self.dice.getrandbits(32), 5 * MIB + self.dice.randrange(2 * MIB)
        upload = self.client.create_multipart_upload(**where)["UploadId"]
        source, listed = Stream(seed, size), []
        for number in (1, 2):
            body = source.read(5 * MIB)
            sent = self.client.upload_part(**where, UploadId=upload, PartNumber=number, Body=body)
            listed.append({"PartNumber": number, "ETag": sent["ETag"]})
        if self.dice.random() < 0.2:
            self.client.abort_multipart_upload(**where, UploadId=upload)
            return
        self.write(
            key,
            state,
            lambda: self.client.complete_multipart_upload(
                **where, UploadId=upload, MultipartUpload={"Parts": listed}
            ),
        )


def held(state):
    """What `observe` tells of a key in this state."""
    return state and (state[1], digest_of(*state[:2]), *state[2:])


def observe(client, key):
    """(length, digest) of what is at a key, and its tags if it has any, or None."""
    try:
        got = client.get_object(Bucket=BUCKET, Key=key)
    except ClientError as error:
        assert error.response["Error"]["Code"] == "NoSuchKey", (key, error)
        return None
    chunks = list(got["Body"].iter_chunks(MIB))
    size = sum(map(len, chunks))
    assert size == got["ContentLength"], key
    if not got.get("TagCount"):
        return size, digest(chunks)
    tags = client.get_object_tagging(Bucket=BUCKET, Key=key)["TagSet"]
    return size, digest(chunks), tuple((tag["Key"], tag["Value"]) for tag in tags)


def verify(client, model, keys):
    """Each key holds one of what it may; from now on it may hold only that."""
    for key in sorted(keys):
        found = observe(client, key)
        fitting = {state for state in model.may[key] if held(state) == found}
        assert fitting, f"{key} holds {found}, may hold {model.may[key]}"
        model.may[key] = {sorted(fitting, key=str)[0]}
    wanted = sorted(key for key, may in model.may.items() if may != {None})
    assert s3.keys(client, BUCKET) == wanted
    sizes = {}
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        sizes |= {entry["Key"]: entry["Size"] for entry in page.get("Contents", [])}
    assert sizes == {key: next(iter(model.may[key]))[1] for key in wanted}


def load_and_kill(gateway, client, model, dice, kind=Worker):
    """One life of the gateway under load by workers of this kind."""
    workers = [kind(number, client, model, random.Random(dice.getrandbits(64))) for number in range(kind.at_once)]
    for worker in workers:
        worker.start()
    time.sleep(dice.uniform(0.02, kind.load_seconds_max))
    early = [worker.failure for worker in workers if worker.failure]
    gateway.kill()
    for worker in workers:
        worker.end.set()
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive(), f"{worker.name} hangs"
    wrong = [worker.wrong for worker in workers if worker.wrong]
    assert not wrong, f"answered wrong: {wrong}"
    assert not early, f"failed before the kill: {early}\n{gateway.log_tail()}"


def kills(gateway, count, seed, kind=Worker, rebuild_every=None):
    """Kills it this often, and has it lose its catalog too, each time after so many; answers what is there
    in the end."""
    dice, model = random.Random(seed), Model()
    # One for all, in all lives: to make one takes longer than most of what it is asked.
    client = gateway.endpoint().client(read_timeout=20)
    client.create_bucket(Bucket=BUCKET)
    for number in range(BYSTANDERS):
        key, state = f"bystander/{number:02}", (dice.getrandbits(32), dice.choice(kind.sizes))
        client.put_object(Bucket=BUCKET, Key=key, Body=Stream(*state), ContentLength=state[1])
        model.may[key] = {state}
    for life in range(1, count + 1):
        model.touched.clear()
        load_and_kill(gateway, client, model, dice, kind)
        loses_catalog = rebuild_every is not None and life % rebuild_every == 0
        if loses_catalog:
            model.lose_catalog()
            gateway.rebuild()
        else:
            gateway.start()
        everything = loses_catalog or life % 10 == 0 or life == count
        verify(client, model, model.may if everything else model.touched)
    print(f"{count} kills, {model.answered} writes answered, {model.unanswered} workers cut off")
    assert model.answered > count, "the load wrote almost nothing"

    for upload in s3_uploads(client):
        client.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])
    # What the killed writes left is swept; the fragments that their answers did not wait for are made.
    counts = wait_clean(gateway, 60, ("unclaimed", "damaged", "lost"))
    assert not any(counts[name] for name in ("unclaimed", "damaged", "lost")), (counts, seed)
    code, counts = gateway.check(repair=True)
    assert (code, counts["lost"]) == (0, 0), (counts, seed)
    counts = wait_clean(gateway, 30)
    assert clean(counts), (counts, seed)
    verify(client, model, model.may)
    # Garbage that waits for its grace to end is claimed until then, and what tells of deletions goes
    # once nothing older can tell otherwise: nothing but the objects stays.
    for _ in range(60):
        if len(gateway.fragments()) == counts["fragments"]:
            break
        time.sleep(0.5)
        counts = gateway.check()[1]
    assert len(gateway.fragments()) == counts["fragments"], (counts, seed)
    verify(client, model, model.may)
    gateway.stop()
    gateway.start()
    verify(client, model, model.may)
    return model


def s3_uploads(client):
    pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=BUCKET)
    return [upload for page in pages for upload in page.get("Uploads", [])]


def test_ten_kills_lose_nothing_that_was_answered(gateway):
    kills(gateway, int(os.environ.get("RIPSTOP_KILLS", "10")), SEED + 10)


@pytest.mark.long
def test_a_hundred_kills_lose_nothing_that_was_answered(gateway):
    kills(gateway, int(os.environ.get("RIPSTOP_KILLS", "100")), SEED + 100)


def test_a_kill_right_after_the_answer_loses_nothing(gateway):
    """No time between answer and kill: an answer that did not wait for its bytes would show."""
    client, dice = gateway.endpoint().client(), random.Random(SEED)
    client.create_bucket(Bucket=BUCKET)
    written = {}
    for life in range(8):
        key, size = f"k{life}", dice.choice([1, 4 * KIB, 300 * KIB, 9 * MIB])
        client.put_object(Bucket=BUCKET, Key=key, Body=Stream(life, size), ContentLength=size)
        gateway.kill()
        written[key] = (size, digest_of(life, size))
        gateway.start()
        client = gateway.endpoint().client()
        assert {key: observe(client, key) for key in written} == written


def test_a_kill_right_after_the_answer_and_a_lost_node_lose_nothing(gateway):
    """An answer waits for K + 1 fragments, so any one node may be gone with the gateway."""
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    for life in range(1, 7):
        client.put_object(Bucket=BUCKET, Key="k", Body=Stream(life, 9 * MIB), ContentLength=9 * MIB)
        gateway.kill()
        gateway.remove_node(life)
        gateway.start()
        client = gateway.endpoint().client()
        assert observe(client, "k") == (9 * MIB, digest_of(life, 9 * MIB)), life
        gateway.recreate_node(life)
        code, counts = gateway.check(repair=True)
        assert (code, counts["lost"]) == (0, 0), counts
