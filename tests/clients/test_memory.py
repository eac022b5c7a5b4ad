"""Memory stays within bounds, however much comes at once."""

import concurrent.futures
import threading

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError, HTTPClientError

from support import raw, s3
from support.payload import GIB, MIB, Stream, digest, digest_of

pytestmark = pytest.mark.own
# The default of `store.memory_max`, and what these may take beside it.
MEMORY_KIB_MAX = (256 + 128) * 1024
CLIENTS = 64
PATIENCE_SECONDS = 10


class Peak:
    """Samples the gateway's resident memory while the block runs; the kernel's own high-water mark
    (since the start) is looked at as well."""

    def __init__(self, gateway):
        self.gateway, self.highest, self.end = gateway, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.end.wait(0.05):
            self.highest = max(self.highest, self.gateway.memory_kib("VmRSS"))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.end.set()
        self.thread.join()
        self.highest = max(self.highest, self.gateway.memory_kib("VmHWM"))


def test_many_large_objects_at_once_use_bounded_memory(gateway, seed):
    client, size = gateway.endpoint().client(max_pool_connections=CLIENTS), 8 * MIB
    client.create_bucket(Bucket="suite")

    def put(number):
        client.put_object(Bucket="suite", Key=f"k{number}", Body=Stream(seed + number, size), ContentLength=size)

    def get(number):
        got = client.get_object(Bucket="suite", Key=f"k{number}")["Body"]
        assert digest(got.iter_chunks(MIB)) == digest_of(seed + number, size)

    with Peak(gateway) as peak, concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(put, range(CLIENTS), timeout=300))
        list(pool.map(get, range(CLIENTS), timeout=300))
    print(f"highest resident memory {peak.highest // 1024} MiB")
    assert peak.highest < MEMORY_KIB_MAX


def test_readers_that_do_not_read_hold_up_nobody_and_use_bounded_memory(gateway, seed):
    client, size = gateway.endpoint().client(max_pool_connections=CLIENTS), 100 * MIB
    client.create_bucket(Bucket="suite")
    client.upload_fileobj(Stream(seed, size), "suite", "k")
    client.put_object(Bucket="suite", Key="small", Body=b"small")
    impatient = gateway.endpoint().client(read_timeout=PATIENCE_SECONDS)
    held = []
    with Peak(gateway) as peak:
        for _ in range(16):
            try:
                held.append(impatient.get_object(Bucket="suite", Key="k")["Body"])
                held[-1].read(1)
            except (ClientError, HTTPClientError):
                break  # Refusing more of them is a way to keep the bound.
        assert s3.read(impatient, "suite", "small") == b"small"
        impatient.put_object(Bucket="suite", Key="small", Body=b"other")
    for body in held:
        body.close()
    assert peak.highest < MEMORY_KIB_MAX
    got = client.get_object(Bucket="suite", Key="k")["Body"]
    assert digest(got.iter_chunks(MIB)) == digest_of(seed, size)


@pytest.mark.long
def test_a_gibibyte_in_parts_comes_back_within_bounds(gateway, seed):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    transfer = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=16 * MIB, max_concurrency=4)
    with Peak(gateway) as peak:
        client.upload_fileobj(Stream(seed, GIB), "suite", "k", Config=transfer)
        up = peak.highest
        wanted = digest_of(seed, GIB)
        got = client.get_object(Bucket="suite", Key="k")["Body"]
        assert digest(got.iter_chunks(MIB)) == wanted
    print(f"highest resident memory {up // 1024} MiB up, {peak.highest // 1024} MiB in all")
    assert peak.highest < MEMORY_KIB_MAX


@pytest.mark.long
def test_a_gibibyte_in_one_put_comes_back_within_bounds(gateway, seed):
    client = gateway.endpoint().client(read_timeout=300)
    client.create_bucket(Bucket="suite")
    with Peak(gateway) as peak:
        client.put_object(Bucket="suite", Key="k", Body=Stream(seed, GIB), ContentLength=GIB)
        got = client.get_object(Bucket="suite", Key="k")["Body"]
        assert digest(got.iter_chunks(MIB)) == digest_of(seed, GIB)
    assert peak.highest < MEMORY_KIB_MAX


def test_documents_that_do_not_end_use_bounded_memory_and_keep_no_short_one_out(gateway):
    endpoint = gateway.endpoint()
    client = endpoint.client()
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="k", Body=b"x")
    headers = {"content-length": str(4 * MIB), "content-md5": raw.content_md5(b"")}

    def half(_):
        request = raw.Request(endpoint, "POST", "/suite", query={"delete": ""}, headers=headers)
        connection = raw.connect(endpoint)
        connection.sendall(request.head() + b" " * (2 * MIB))
        return connection

    with Peak(gateway) as peak, concurrent.futures.ThreadPoolExecutor(100) as pool:
        connections = list(pool.map(half, range(100), timeout=60))
        answer = client.delete_objects(Bucket="suite", Delete={"Objects": [{"Key": "k"}]})
    assert [deleted["Key"] for deleted in answer["Deleted"]] == ["k"]
    for connection in connections:
        connection.close()
    print(f"highest resident memory {peak.highest // 1024} MiB")
    assert peak.highest < MEMORY_KIB_MAX
