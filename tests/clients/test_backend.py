"""Nodes that are buckets: losses there are borne and repaired like those of directories."""

import pytest

from support import s3
from support.gateway import Gateway, clean, wait_clean
from support.payload import KIB, MIB, Stream, digest, digest_of

pytestmark = [pytest.mark.own, pytest.mark.backend]
SIZES = [1, 300 * KIB, 8 * MIB + 1, 20 * MIB]


def test_two_of_six_buckets_may_be_emptied(endpoint, backend, client, bucket, seed):
    if backend is None:
        pytest.skip("the nodes are no buckets: aim with --nodes")
    gateway, nodes = endpoint.gateway, backend.client()
    for size in SIZES:
        client.put_object(Bucket=bucket, Key=f"k{size}", Body=Stream(seed, size), ContentLength=size)

    def lose(index):
        s3.empty(nodes, Gateway.node_bucket(index))

    def verify():
        for size in SIZES:
            got = client.get_object(Bucket=bucket, Key=f"k{size}")["Body"]
            assert digest(got.iter_chunks(MIB)) == digest_of(seed, size), size

    lose(2)
    lose(5)
    verify()
    code, counts = gateway.check()
    assert (code, counts["lost"]) == (1, 0), counts
    code, counts = gateway.check(repair=True)
    assert (code, counts["lost"]) == (0, 0), counts
    left = wait_clean(gateway, 60)
    assert clean(left), left
    lose(1)
    lose(6)
    verify()
    assert gateway.check(repair=True)[0] == 0
