"""Seeded bytes: the same for the same seed and size, cheap, and different at every offset."""

import hashlib
import io
import os
import random

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
BLOCK = MIB
SEED = int(os.environ.get("RIPSTOP_SEED", "20261121"))

_NOISE = random.Random(SEED).randbytes(16 * MIB)


def small(seed, size):
    """`size` bytes at once."""
    return Stream(seed, size).read()


class Stream(io.RawIOBase):
    """A seekable file of seeded bytes that is never in memory as a whole.

    Blocks are windows into one buffer of noise, at offsets that seed and block number choose, so two
    blocks that change places do not go unnoticed.
    """

    def __init__(self, seed, size):
        super().__init__()
        self.seed, self.size, self.at = seed, size, 0

    def _block(self, index):
        offset = random.Random(self.seed * 1_000_003 + index).randrange(len(_NOISE) - BLOCK)
        return memoryview(_NOISE)[offset : offset + BLOCK]

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.at

    def __len__(self):
        return self.size

    def seek(self, offset, whence=io.SEEK_SET):
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        self.at = max(0, base + offset)
        return self.at

    def read(self, count=-1):
        end = self.size if count is None or count < 0 else min(self.size, self.at + count)
        out = bytearray()
        while self.at < end:
            index, inside = divmod(self.at, BLOCK)
            piece = self._block(index)[inside : min(BLOCK, inside + end - self.at)]
            out += piece
            self.at += len(piece)
        return bytes(out)

    def readinto(self, buffer):
        got = self.read(len(buffer))
        buffer[: len(got)] = got
        return len(got)


def digest(chunks):
    """SHA-256 of bytes, a file or an iterator of bytes."""
    hasher = hashlib.sha256()
    if isinstance(chunks, (bytes, bytearray)):
        chunks = [chunks]
    elif hasattr(chunks, "read"):
        source = chunks
        chunks = iter(lambda: source.read(MIB), b"")
    for chunk in chunks:
        hasher.update(chunk)
    return hasher.hexdigest()


def digest_of(seed, size):
    """SHA-256 of the seeded bytes."""
    return digest(Stream(seed, size))
