"""Small writes that are gathered in packs: each is answered for itself, read back, found again, and never wrong."""

import concurrent.futures
import hashlib
import random
import time

import pytest
from botocore.exceptions import ClientError

from support import golden, s3
from support.gateway import Gateway
from support.packs import BUCKET, LARGE, PACKS, SMALL, at_once, must_be_clean
from support.payload import small

pytestmark = pytest.mark.own
WORKERS = 16
KEYS_PER_WORKER = 24
STEPS = 35


@pytest.fixture
def gateway(tmp_path):
    own = Gateway(tmp_path / "own", pool=PACKS)
    yield own.start()
    own.kill()


@pytest.fixture
def patient(tmp_path):
    """One whose batches wait for company however fast it is."""
    own = Gateway(tmp_path / "own", pool=PACKS | {"batching": "fixed", "batch_interval": "20ms"})
    yield own.start()
    own.kill()


# Many writers


class Writer:
    """Does this and that with keys of its own, and expects of each what the last answer said."""

    def __init__(self, number, gateway, seed):
        self.client = gateway.endpoint().client()
        self.dice = random.Random(seed * 1009 + number)
        self.prefix = f"w{number:02}/"
        self.keys = [f"{self.prefix}k{at:02}" for at in range(KEYS_PER_WORKER)]
        # Key → (body, tags, what a client said of it).
        self.held = {}
        changes = [self.put, self.put, self.put, self.put_large, self.delete, self.delete_some, self.copy, self.tag]
        self.steps = [*changes, self.list, self.part]

    def fill(self):
        for key in self.keys:
            self.put(key, self.dice.choice(SMALL[:10]))

    def run(self):
        for _ in range(STEPS):
            key = self.dice.choice(self.keys)
            self.dice.choice(self.steps)(key)
            self.must_hold(key)
        for key in self.keys:
            self.must_hold(key)

    def must_hold(self, key):
        where = {"Bucket": BUCKET, "Key": key}
        if key not in self.held:
            with s3.refused("NoSuchKey"):
                self.client.get_object(**where)
            return
        body, tags, said = self.held[key]
        got = self.client.get_object(**where)
        assert (got["Body"].read(), got["Metadata"]) == (body, said), key
        assert got["ETag"] == etag(body) and got.get("TagCount", 0) == len(tags), key

    def put(self, key, size=None):
        size = self.dice.choice(SMALL) if size is None else size
        body, number = small(self.dice.getrandbits(32), size), self.dice.randrange(100)
        tags = {"number": str(number)} if number < 20 else {}
        said = {"note": "n" * number} if number > 50 else {}
        tagging = {"Tagging": f"number={number}"} if tags else {}
        sent = self.client.put_object(Bucket=BUCKET, Key=key, Body=body, Metadata=said, **tagging)
        assert sent["ETag"] == etag(body), key
        self.held[key] = body, tags, said

    def put_large(self, key):
        self.put(key, self.dice.choice(LARGE))

    def delete(self, key):
        self.client.delete_object(Bucket=BUCKET, Key=key)
        self.held.pop(key, None)

    def delete_some(self, key):
        keys = [key, *self.dice.sample(self.keys, 2)]
        wanted = {"Objects": [{"Key": key} for key in set(keys)]}
        done = self.client.delete_objects(Bucket=BUCKET, Delete=wanted)
        assert {entry["Key"] for entry in done["Deleted"]} == set(keys) and "Errors" not in done, done
        for key in keys:
            self.held.pop(key, None)

    def copy(self, key):
        source = self.dice.choice(self.keys)
        if source == key or source not in self.held:
            return
        self.client.copy_object(Bucket=BUCKET, Key=key, CopySource={"Bucket": BUCKET, "Key": source})
        self.held[key] = self.held[source]

    def tag(self, key):
        if key not in self.held:
            return
        body, tags, said = self.held[key]
        where = {"Bucket": BUCKET, "Key": key}
        tags = {} if tags and self.dice.random() < 0.5 else {"k": str(self.dice.randrange(1000)), "other": ""}
        if tags:
            tag_set = [{"Key": name, "Value": value} for name, value in tags.items()]
            self.client.put_object_tagging(**where, Tagging={"TagSet": tag_set})
        else:
            self.client.delete_object_tagging(**where)
        self.held[key] = body, tags, said
        shown = self.client.get_object_tagging(**where)["TagSet"]
        assert {tag["Key"]: tag["Value"] for tag in shown} == tags, key

    def list(self, _):
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=BUCKET, Prefix=self.prefix, PaginationConfig={"PageSize": 7}
        )
        shown = {e["Key"]: (e["Size"], e["ETag"]) for page in pages for e in page.get("Contents", [])}
        assert shown == {key: (len(body), etag(body)) for key, (body, _, _) in self.held.items()}

    def part(self, key):
        body = self.held.get(key, [b""])[0]
        if body:
            first = self.dice.randrange(len(body))
            last = self.dice.randrange(first, len(body))
            got = s3.read(self.client, BUCKET, key, Range=f"bytes={first}-{last}")
            assert got == body[first : last + 1], (key, first, last)


def etag(body):
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def must_hold_all(seen, held):
    """What a client sees of the bucket is what writers were answered."""
    wanted = {
        key: (len(body), golden.sha256(body), etag(body), tags) for key, (body, tags, _) in held.items()
    }
    objects = seen[BUCKET]["objects"]
    shown = {
        key: (told["length"], told["sha256"], told["listed"][1], told["tags"]) for key, told in objects.items()
    }
    assert shown == wanted


def many_write(gateway, seed, rounds, members_least):
    """Writers fill an empty gateway, and go on for this many rounds."""
    gateway.endpoint().client().create_bucket(Bucket=BUCKET)
    writers = [Writer(number, gateway, seed) for number in range(WORKERS)]
    at_once(WORKERS, lambda number: writers[number].fill())
    objects, files = WORKERS * KEYS_PER_WORKER, len(gateway.fragments())
    print(f"{objects} objects are {files} fragment files")
    assert 0 < files * members_least < objects * 6, "too many were written by themselves"
    for _ in range(rounds):
        at_once(WORKERS, lambda number: writers[number].run())
        held = {key: found for writer in writers for key, found in writer.held.items()}
        client = gateway.endpoint().client()
        before = golden.seen(client)
        must_hold_all(before, held)
        counts = must_be_clean(gateway)
        print(f"{len(held)} objects, {len(gateway.fragments())} fragment files, {counts}")
        # Twice: the second time from what the first rebuild knew.
        for _ in range(2):
            report = gateway.rebuild()
            assert (report["objects"], report["lost"]["count"]) == (len(held), 0), report
            golden.must_agree(before, golden.seen(client))
        must_be_clean(gateway)
    for writer in writers:
        client.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": key} for key in writer.keys]})
    assert s3.keys(client, BUCKET) == []
    client.delete_bucket(Bucket=BUCKET)
    gateway.rebuild()
    assert client.list_buckets()["Buckets"] == []


def test_what_many_writers_were_answered_is_read_and_found_again_without_the_catalog(patient, seed):
    many_write(patient, seed, 1, members_least=4)


@pytest.mark.long
def test_many_writers_and_lost_catalogs_by_turns(gateway, seed):
    many_write(gateway, seed, 10, members_least=1)


# Metrics


def counted(gateway):
    """Rows about small writes, by name and labels."""
    lines = [line for line in gateway.metrics().splitlines() if line and not line.startswith("#")]
    rows = {row: float(value) for row, value in (line.rsplit(" ", 1) for line in lines)}
    return {row: value for row, value in rows.items() if "_pool_gathered_" in row or "_pool_batch_" in row}


def test_how_small_writes_fare_is_on_the_metrics_page(patient):
    client = patient.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    own, same, size = 5, 20, 100

    def write(number):
        client, body = patient.endpoint().client(), b"b" * size
        for key in [*(f"{number}/{at}" for at in range(own)), *["same"] * same]:
            client.put_object(Bucket=BUCKET, Key=key, Body=body)
        client.put_object(Bucket=BUCKET, Key=f"{number}/large", Body=b"l" * LARGE[0])

    at_once(WORKERS, write)
    client.delete_object(Bucket=BUCKET, Key="same")
    rows = counted(patient)
    outcomes = ["together", "alone", "collapsed", "refused"]
    how = {outcome: rows[f'ripstop_pool_gathered_total{{pool="default",outcome="{outcome}"}}'] for outcome in outcomes}
    # Large objects are not among them, the deletion is.
    assert sum(how.values()) == WORKERS * (own + same) + 1 and how["refused"] == 0, how
    assert how["together"] > 1 and how["collapsed"] > 0, how
    of = lambda name: rows[f'ripstop_pool_batch_{name}{{pool="default"}}']
    left = how["together"] + how["alone"]
    assert of("members_sum") == of("wait_seconds_count") == left, rows
    assert how["alone"] < of("members_count") < left and of("bytes_total") == size * (left - 1), rows
    assert of("wait_seconds_sum") > 0 and of("interval_seconds") == 0.02, rows


def test_a_pool_that_gathers_nothing_has_no_metrics_of_small_writes(tmp_path):
    own = Gateway(tmp_path / "own", pool={"pack_below": 0})
    try:
        client = own.start().endpoint().client()
        client.create_bucket(Bucket=BUCKET)
        client.put_object(Bucket=BUCKET, Key="k", Body=b"small")
        assert counted(own) == {}
    finally:
        own.kill()


# Cleaning


def settled(gateway, files_max):
    """Waits until there are as few fragment files, at most 30 s; answers how many."""
    deadline = time.monotonic() + 30
    while (files := len(gateway.fragments())) > files_max and time.monotonic() < deadline:
        time.sleep(0.5)
    return files


def test_what_was_written_one_by_one_and_what_is_mostly_dead_become_few_files(gateway, seed):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    bodies = {f"k{at:02}": small(seed + at, 30_000 + at) for at in range(60)}
    for key, body in bodies.items():
        before = len(gateway.fragments())
        client.put_object(Bucket=BUCKET, Key=key, Body=body)
        if key == "k00":
            assert len(gateway.fragments()) == before + 6, "a lone one is a stripe of its own"
    # Those before the 35th have no company before it comes: less than 1 MiB. What is left of 60 then are 25 at most,
    # beside the pack and the bucket.
    assert settled(gateway, 6 * (25 + 1 + 1)) <= 6 * (25 + 1 + 1)
    before = golden.seen(client)
    assert {key: s3.read(client, BUCKET, key) for key in bodies} == bodies
    must_be_clean(gateway)
    for key in [key for at, key in enumerate(bodies) if at % 4]:
        client.delete_object(Bucket=BUCKET, Key=key)
        del bodies[key]
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        rows = dict(line.rsplit(" ", 1) for line in gateway.metrics().splitlines() if "_pool_packs_" in line)
        held, dead = (float(rows[f'ripstop_pool_packs_{what}bytes{{pool="default"}}']) for what in ("", "dead_"))
        if dead <= held / 4:
            break
        time.sleep(0.5)
    assert dead <= held / 4, rows
    assert {key: s3.read(client, BUCKET, key) for key in bodies} == bodies
    must_be_clean(gateway)
    after = golden.seen(client)
    gateway.rebuild()
    golden.must_agree(after, golden.seen(client))
    assert s3.keys(client, BUCKET) == sorted(bodies) and before != after


# Conditions


def race(gateway, contestants, keys):
    """Each writes each key if nothing is there; answers whose body each key must hold."""

    def write(number):
        client, won = gateway.endpoint().client(), []
        for key in keys:
            body = f"{number} wrote {key}".encode() * (number + 1)
            try:
                client.put_object(Bucket=BUCKET, Key=key, Body=body, IfNoneMatch="*")
                won.append((key, body))
            except ClientError as error:
                status = error.response["ResponseMetadata"]["HTTPStatusCode"]
                assert (status, error.response["Error"]["Code"]) == (412, "PreconditionFailed"), error
            # Company, so that winners and losers share packs with others.
            client.put_object(Bucket=BUCKET, Key=f"own/{number}/{key}", Body=body)
        return won

    wins = [pair for won in at_once(contestants, write) for pair in won]
    assert sorted(key for key, _ in wins) == keys, "each is won once"
    return dict(wins)


def test_of_many_that_write_where_nothing_is_one_wins(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    keys = [f"k{at:02}" for at in range(25)]
    wanted = race(gateway, 12, keys)
    # Losers' bodies lie in packs beside winners', and tell of the same keys.
    for _ in range(2):
        assert {key: s3.read(client, BUCKET, key) for key in keys} == wanted
        assert len(s3.keys(client, BUCKET)) == 13 * len(keys)
        must_be_clean(gateway)
        gateway.rebuild()
    assert {key: s3.read(client, BUCKET, key) for key in keys} == wanted


def test_no_change_is_lost_that_was_made_on_condition_of_what_was_read(gateway):
    changers, times = 8, 6
    client = gateway.endpoint().client()
    client.create_bucket(Bucket=BUCKET)
    client.put_object(Bucket=BUCKET, Key="k", Body=b"")

    def change(number):
        own, made, tried = gateway.endpoint().client(), 0, 0
        while made < times:
            tried += 1
            assert tried < 100 * changers * times, "it never gets its turn"
            got = own.get_object(Bucket=BUCKET, Key="k")
            body = got["Body"].read() + bytes([number])
            own.put_object(Bucket=BUCKET, Key=f"own/{number}", Body=body)
            try:
                own.put_object(Bucket=BUCKET, Key="k", Body=body, IfMatch=got["ETag"])
                made += 1
            except ClientError as error:
                assert error.response["Error"]["Code"] == "PreconditionFailed", error

    at_once(changers, change)
    body = s3.read(client, BUCKET, "k")
    assert sorted(body) == [number for number in range(changers) for _ in range(times)]
    gateway.rebuild()
    assert s3.read(client, BUCKET, "k") == body


# Damage


class Pack:
    """One pack, its fragment files and what its members hold, one of which was deleted."""

    def __init__(self, gateway, seed, sizes):
        self.gateway = gateway
        self.client = gateway.endpoint().client()
        self.client.create_bucket(Bucket=BUCKET)
        self.client.put_object(Bucket=BUCKET, Key="first", Body=b"alone")
        alone = {file.stem for file in self.gateway.fragments()}
        self.bodies = {f"k{at}": small(seed + at, size) for at, size in enumerate(sizes)}
        put = lambda pair: self.client.put_object(Bucket=BUCKET, Key=pair[0], Body=pair[1])
        with concurrent.futures.ThreadPoolExecutor(len(sizes)) as threads:
            list(threads.map(put, self.bodies.items()))
        must_be_clean(self.gateway)
        self.files = [file for file in self.gateway.fragments() if file.stem not in alone]
        self.bodies["first"] = b"alone"
        assert len(self.files) == 6, f"{len(sizes)} objects are {len(self.files)} fragment files, not one pack's"
        # Its bytes stay, and are looked after.
        self.client.delete_object(Bucket=BUCKET, Key="k2")
        del self.bodies["k2"]
        must_be_clean(self.gateway)

    def must_hold(self, what):
        for key, body in self.bodies.items():
            assert s3.read(self.client, BUCKET, key) == body, f"{what}: {key} is served wrong"
        assert s3.keys(self.client, BUCKET) == sorted(self.bodies), what

    def must_be_found(self, what):
        code, counts = self.gateway.check()
        found = counts["damaged"] + counts["missing"] + counts["misplaced"]
        assert (code, found, counts["lost"]) == (1, 1, 0), f"{what}: {counts}"

    def walk(self, files, places, dice, check_every):
        """Flips a bit at each of these places, one after the other."""
        for file in files:
            whole = file.read_bytes()
            for step, at in enumerate(places(len(whole))):
                bit = dice.randrange(8)
                what = f"{file.name} of {len(whole)} bytes: byte {at} bit {bit}"
                spoilt = bytearray(whole)
                spoilt[at] ^= 1 << bit
                try:
                    file.write_bytes(spoilt)
                    self.must_hold(what)
                    if step % check_every == 0:
                        self.must_be_found(what)
                finally:
                    file.write_bytes(whole)
        self.must_hold("in the end")
        must_be_clean(self.gateway)


@pytest.fixture
def sizes():
    """Of the members of `pack`."""
    return [0, 1, 100, 256, 700, 1000, 3000, 5000]


@pytest.fixture
def pack(tmp_path, seed, sizes):
    # Long enough for all of them to come, once one has been written. It stays where it is, although some are dead.
    gathers = PACKS | {"batching": "fixed", "batch_interval": "1s"}
    own = Gateway(tmp_path / "own", pool=gathers, store={"clean_rate_max": 0})
    try:
        yield Pack(own.start(), seed, sizes)
    finally:
        own.kill()


def test_a_flipped_bit_in_a_pack_is_found_and_never_served(pack, seed):
    dice = random.Random(seed)
    first, then = dice.randrange(19), dice.randrange(400, 611)
    places = lambda size: [*range(first, min(400, size), 19), *range(then, size, 211), size - 1]
    pack.walk(pack.files, places, dice, 3)


@pytest.mark.long
@pytest.mark.parametrize("sizes", [[0, 1, 100, 256]])
def test_no_flipped_bit_anywhere_in_a_pack_is_missed_or_served(pack, seed):
    pack.walk(pack.files, range, random.Random(seed), 1)


def test_a_rebuild_from_a_flipped_pack_tells_the_same(pack, seed):
    """What is in it, too, is read from a pack, and by fewer nodes than all."""
    dice, before = random.Random(seed), golden.seen(pack.client)
    for file in pack.files:
        whole = file.read_bytes()
        spoilt = bytearray(whole)
        for at in dice.sample(range(len(whole)), 3):
            spoilt[at] ^= 1 << dice.randrange(8)
        pack.gateway.stop()
        file.write_bytes(spoilt)
        report = pack.gateway.rebuild()
        assert (report["objects"], report["lost"]["count"]) == (len(pack.bodies), 0), (file.name, report)
        golden.must_agree(before, golden.seen(pack.client))
        file.write_bytes(whole)
    must_be_clean(pack.gateway)


def test_a_pack_is_read_and_mended_without_two_nodes(pack, seed):
    before = golden.seen(pack.client)
    for file in random.Random(seed).sample(pack.files, 2):
        file.unlink()
    golden.must_agree(before, golden.seen(pack.client))
    code, counts = pack.gateway.check(repair=True)
    assert (code, counts["lost"]) == (0, 0) and counts["repaired"] == 2, counts
    must_be_clean(pack.gateway)
    # Any two others may be lost.
    for file in random.Random(seed + 1).sample(pack.gateway.fragments(), 2):
        file.unlink()
    golden.must_agree(before, golden.seen(pack.client))
