"""What somebody does at a node who has no key of the store is not served, and is found."""

import struct
import time

import pytest

from support import s3
from support.payload import KIB, Stream

pytestmark = pytest.mark.own
POLYNOMIAL = 0x9A6C9329AC4BC9B5


def crc64(data, crc=0):
    """CRC-64/NVME, which takes no key."""
    crc ^= 0xFFFFFFFFFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFFFFFFFFFF


def table():
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
        yield byte


TABLE = list(table())


def stored(gateway, size):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    before = settled(gateway, [])
    body = Stream(14, size).read()
    client.put_object(Bucket="suite", Key="k", Body=body)
    return client, body, before


def settled(gateway, before):
    for _ in range(100):
        files = gateway.fragments_of_new(before)
        if files and len(files) % 6 == 0:
            return files
        time.sleep(0.05)
    raise AssertionError("the write never ends")


def forged(file):
    """A fragment of one short block, a byte of it changed and the checksum mended."""
    whole = bytearray(file.read_bytes())
    (header,) = struct.unpack_from("<I", whole, 8)
    name, index = file.name.split(".")
    block = whole[header:-8]
    block[5] ^= 1
    place = int(name, 16).to_bytes(16, "little") + bytes([int(index)]) + bytes(4)
    return bytes(whole[:header] + block + struct.pack("<Q", crc64(place + block)))


def test_a_forged_fragment_with_its_checksum_mended_is_not_served_and_is_named_and_mended(gateway):
    assert crc64(b"123456789") == 0xAE8B14860A799888
    client, body, before = stored(gateway, 40 * KIB)
    files = settled(gateway, before)
    whole = {file: file.read_bytes() for file in files}
    for file in files:
        assert whole[file].startswith(b"RIPSTOP\x02")
        file.write_bytes(forged(file))
        assert s3.read(client, "suite", "k") == body
        code, counts = gateway.check()
        assert code == 1 and counts["forged"] == 1, counts
        code, counts = gateway.check(repair=True)
        assert code == 0 and counts["repaired"] == 1, counts
        assert file.read_bytes() == whole[file]


def test_the_key_is_its_owners_and_the_store_does_not_start_without_it(gateway):
    key = gateway.data / "store.key"
    assert key.stat().st_mode & 0o777 == 0o600
    text = key.read_text()
    assert text.splitlines()[1].startswith("ripstop-key-1:")
    _, body, _ = stored(gateway, 300 * KIB)
    gateway.stop()
    assert text.splitlines()[1].rsplit(":")[-1] not in gateway.log.read_text()
    away = key.rename(key.with_name("away"))
    with pytest.raises(AssertionError, match="put the copy of it back"):
        gateway.check()
    assert not key.exists()
    away.rename(key)
    gateway.start()
    assert s3.read(gateway.endpoint().client(), "suite", "k") == body
