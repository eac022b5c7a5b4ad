"""Damage at a node is never served, and is found."""

import random
import time

import pytest
from botocore.exceptions import ClientError, HTTPClientError, IncompleteReadError

from support import s3
from support.gateway import clean, wait_clean
from support.payload import KIB, MIB, Stream

pytestmark = pytest.mark.own
HEADER_GUESS = 512


class Damaged:
    """One object, its fragment files, and a way to spoil one and to see what happens."""

    def __init__(self, gateway, seed, size):
        self.gateway = gateway
        self.client = gateway.endpoint().client()
        if "suite" not in [b["Name"] for b in self.client.list_buckets()["Buckets"]]:
            self.client.create_bucket(Bucket="suite")
        before = self.all_there([])
        self.body = Stream(seed, size).read()
        self.key = f"k{seed}"
        self.client.put_object(Bucket="suite", Key=self.key, Body=self.body)
        self.files = self.all_there(before)
        assert len(self.files) == 6, self.files

    def all_there(self, before):
        """Fragment files that were not in `before`, once none is under way beyond those that answers waited for."""
        for _ in range(100):
            files = self.gateway.fragments_of_new(before)
            if files and len(files) % 6 == 0:
                break
            time.sleep(0.05)
        return files

    def read(self):
        return s3.read(self.client, "suite", self.key)

    def expect_whole(self, what):
        got = self.read()
        assert got == self.body, f"{what}: served {len(got)} bytes that are not the object's"

    def spoil(self, file, content, what):
        """Gives a file other content for one read."""
        whole = file.read_bytes()
        try:
            file.write_bytes(content)
            self.expect_whole(what)
        finally:
            file.write_bytes(whole)

    def check_finds(self, file, content, what):
        """A check must tell that this one fragment is damaged, missing or misplaced."""
        whole = file.read_bytes()
        file.write_bytes(content)
        code, counts = self.gateway.check()
        file.write_bytes(whole)
        assert code == 1, f"{what}: {counts}"
        assert counts["damaged"] + counts["missing"] + counts["misplaced"] >= 1, f"{what}: {counts}"
        assert counts["lost"] == 0, f"{what}: {counts}"


def flipped(whole, at, bit=0):
    spoilt = bytearray(whole)
    spoilt[at] ^= 1 << bit
    return bytes(spoilt)


def walk(damaged, positions, dice):
    for file in damaged.files:
        whole = file.read_bytes()
        for at in positions(len(whole)):
            bit = dice.randrange(8)
            damaged.spoil(file, flipped(whole, at, bit), f"{file.name} byte {at} bit {bit}")


def test_sampled_flips_are_never_served(gateway, seed):
    damaged, dice = Damaged(gateway, seed, 300 * KIB), random.Random(seed)
    positions = lambda size: [*range(0, min(HEADER_GUESS, size), 5), *range(HEADER_GUESS, size, 997), size - 1]
    walk(damaged, positions, dice)
    damaged.expect_whole("in the end")
    assert clean(gateway.check()[1])


@pytest.mark.long
def test_no_flip_anywhere_is_ever_served(gateway, seed):
    damaged = Damaged(gateway, seed, 5 * KIB)
    walk(damaged, range, random.Random(seed))
    assert clean(gateway.check()[1])


@pytest.mark.long
def test_every_97th_byte_of_a_larger_object(gateway, seed):
    damaged = Damaged(gateway, seed, 300 * KIB)
    positions = lambda size: [*range(min(HEADER_GUESS, size)), *range(HEADER_GUESS, size, 97)]
    walk(damaged, positions, random.Random(seed))


def test_flips_in_two_fragments_at_once_are_never_served(gateway, seed):
    damaged, dice = Damaged(gateway, seed, 300 * KIB), random.Random(seed)
    for _ in range(60):
        pair = dice.sample(damaged.files, 2)
        wholes = [file.read_bytes() for file in pair]
        places = [dice.randrange(len(whole)) for whole in wholes]
        for file, whole, at in zip(pair, wholes, places):
            file.write_bytes(flipped(whole, at))
        damaged.expect_whole(f"{[f.name for f in pair]} bytes {places}")
        for file, whole in zip(pair, wholes):
            file.write_bytes(whole)


def test_three_damaged_fragments_are_an_error_and_never_wrong_bytes(gateway, seed):
    damaged, dice = Damaged(gateway, seed, 300 * KIB), random.Random(seed)
    for _ in range(20):
        three = dice.sample(damaged.files, 3)
        wholes = [file.read_bytes() for file in three]
        for file, whole in zip(three, wholes):
            # Everywhere, so that no part of the three stays good.
            file.write_bytes(bytes(b ^ 1 if at % 61 == 0 else b for at, b in enumerate(whole)))
        with pytest.raises((ClientError, HTTPClientError, IncompleteReadError)):
            damaged.read()
        for file, whole in zip(three, wholes):
            file.write_bytes(whole)
        damaged.expect_whole("restored")


def test_cut_and_grown_fragments_are_never_served(gateway, seed):
    damaged, dice = Damaged(gateway, seed, 300 * KIB), random.Random(seed)
    for file in damaged.files:
        whole = file.read_bytes()
        lengths = {0, 1, 3, 7, 8, 64, 100, HEADER_GUESS, len(whole) // 2, len(whole) - 4, len(whole) - 1}
        lengths |= {dice.randrange(len(whole)) for _ in range(10)}
        for length in sorted(lengths):
            damaged.spoil(file, whole[:length], f"{file.name} cut to {length}")
        damaged.spoil(file, whole + b"more", f"{file.name} grown")
        damaged.spoil(file, bytes(len(whole)), f"{file.name} zeroed")
        damaged.spoil(file, dice.randbytes(len(whole)), f"{file.name} random")


def test_fragments_that_changed_places_are_never_served(gateway, seed):
    damaged = Damaged(gateway, seed, 300 * KIB)
    for one in damaged.files:
        for other in damaged.files:
            if one < other:
                whole = one.read_bytes()
                try:
                    one.write_bytes(other.read_bytes())
                    damaged.spoil(other, whole, f"{one.name} and {other.name} swapped")
                finally:
                    one.write_bytes(whole)


def test_fragments_of_another_object_are_never_served(gateway, seed):
    damaged, other = Damaged(gateway, seed, 300 * KIB), Damaged(gateway, seed + 1, 300 * KIB)
    for mine, others in zip(damaged.files, other.files):
        damaged.spoil(mine, others.read_bytes(), f"{mine.name} replaced by {others.name}")
    two = [(file, file.read_bytes()) for file in damaged.files[:2]]
    for (file, _), others in zip(two, other.files):
        file.write_bytes(others.read_bytes())
    damaged.expect_whole("two fragments of another object")
    for file, whole in two:
        file.write_bytes(whole)


def test_damage_beyond_the_first_stripe_is_never_served(gateway, seed):
    size = 20 * MIB
    client, dice = gateway.endpoint().client(), random.Random(seed)
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="k", Body=Stream(seed, size), ContentLength=size)
    whole = Stream(seed, size).read()
    for file in dice.sample(gateway.fragments(), 12):
        content = file.read_bytes()
        file.write_bytes(flipped(content, dice.randrange(len(content))))
        first = dice.randrange(size)
        last = min(size - 1, first + dice.randrange(6 * MIB))
        got = s3.read(client, "suite", "k", Range=f"bytes={first}-{last}")
        assert got == whole[first : last + 1], (file.name, first, last)
        assert s3.read(client, "suite", "k") == whole, file.name
        file.write_bytes(content)


def test_a_check_finds_every_kind_of_damage(gateway, seed):
    damaged, dice = Damaged(gateway, seed, 300 * KIB), random.Random(seed)
    assert clean(gateway.check()[1])
    for file in damaged.files:
        whole = file.read_bytes()
        for at in (0, 8, 60, len(whole) // 2, len(whole) - 1, dice.randrange(len(whole))):
            damaged.check_finds(file, flipped(whole, at, dice.randrange(8)), f"{file.name} byte {at}")
        damaged.check_finds(file, whole[:-1], f"{file.name} cut")
        damaged.check_finds(file, b"", f"{file.name} empty")
        damaged.check_finds(file, whole + b"!", f"{file.name} grown")
    other = damaged.files[0].read_bytes()
    damaged.check_finds(damaged.files[1], other, "replaced by its neighbour")
    assert clean(gateway.check()[1])


def test_a_repair_restores_damaged_fragments(gateway, seed):
    damaged, dice = Damaged(gateway, seed, 300 * KIB), random.Random(seed)
    before = {file: file.read_bytes() for file in damaged.files}
    for file in dice.sample(damaged.files, 2):
        file.write_bytes(flipped(before[file], dice.randrange(len(before[file]))))
    code, counts = gateway.check(repair=True)
    assert (code, counts["lost"]) == (0, 0), counts
    assert counts["repaired"] >= 2, counts
    after = wait_clean(gateway, 20)
    assert clean(after), after
    damaged.expect_whole("after repair")
    # All six are good again: any two others may be lost.
    kept = gateway.fragments()
    for file in dice.sample(kept, 2):
        file.unlink()
    damaged.expect_whole("after repair and loss")
