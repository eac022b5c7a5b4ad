"""Tenants: what one is promised holds while another floods, beyond it is 503, and a reload changes both."""

import concurrent.futures
import time

import pytest
from botocore.exceptions import ClientError

from support import s3
from support.gateway import Gateway
from support.payload import KIB

pytestmark = pytest.mark.own
BODY = b"x" * (16 * KIB)
CALM = {"name": "calm", "access_keys": ["CALMKEY"], "promise": "0.9:400ms,1:4s", "capacity": 2.0}
LOUD = {"name": "loud", "access_keys": ["LOUDKEY"], "promise": "0.9:100ms,1:200ms", "capacity": 0.4}


@pytest.fixture
def gateway(tmp_path):
    """Four lanes to one directory that is as slow as S3."""
    keys = {"CALMKEY": "calm-secret", "LOUDKEY": "loud-secret"}
    slow = {"delay": "s3-2025", "seed": 7, "lanes": 4}
    gateway = Gateway(tmp_path, nodes=1, code=(24, 12), pool={"layout": "shared"}, node=slow, keys=keys)
    gateway.configure([CALM, LOUD])
    yield gateway.start()
    gateway.stop()


def get(client):
    """How long a read took, and if it was refused with which code and when to try again."""
    begun = time.monotonic()
    try:
        assert s3.read(client, "suite", "key") == BODY
        return time.monotonic() - begun, None, None
    except ClientError as error:
        headers = error.response["ResponseMetadata"]["HTTPHeaders"]
        return time.monotonic() - begun, error.response["Error"]["Code"], headers.get("retry-after")


def flood(client, seconds, workers):
    """Reads without a pause by this many workers at once."""
    end = time.monotonic() + seconds

    def work(_):
        found = []
        while time.monotonic() < end:
            found.append(get(client))
            if found[-1][1]:
                time.sleep(0.02)
        return found

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(work, range(workers)), [])


def store(client):
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="key", Body=BODY)


def test_one_floods_and_is_told_to_slow_down_and_the_other_has_what_it_was_promised(gateway):
    calm, loud = gateway.endpoint("CALMKEY").client(), gateway.endpoint("LOUDKEY").client()
    store(calm)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        flooding = pool.submit(flood, loud, 6, 32)
        time.sleep(0.5)
        served = []
        while not flooding.done():
            served.append(get(calm))
            time.sleep(0.03)
        flooded = flooding.result()
    assert [code for _, code, _ in served if code] == []
    slow = [took for took, _, _ in served if took > 0.4]
    assert len(slow) <= 0.1 * len(served), slow
    refused = [(code, after) for _, code, after in flooded if code]
    assert len(refused) > len(flooded) / 4, "most of it was beyond what it was promised"
    assert {code for code, _ in refused} == {"SlowDown"}
    assert all(int(after) >= 1 for _, after in refused)
    assert len(flooded) - len(refused) > 20, "what is left over is its own"
    metrics = gateway.metrics()
    assert 'tenant="loud"' in metrics and 'tenant="calm"' in metrics


def test_a_reload_lets_newcomers_in_and_a_bad_one_changes_nothing(gateway):
    calm = gateway.endpoint("CALMKEY").client()
    store(calm)
    gateway.keys["LATEKEY"] = "latecomer-secret"
    late = gateway.endpoint("LATEKEY").client()
    assert get(late)[1] == "InvalidAccessKeyId"

    gateway.configure([CALM | {"capacity": 400.0}, LOUD])
    done, why = gateway.reload()
    assert not done and "lanes are missing" in why, why
    assert get(calm)[1] is None and get(late)[1] == "InvalidAccessKeyId"

    gateway.configure([CALM, LOUD, {"name": "stranger", "access_keys": ["NOKEY"]}])
    done, why = gateway.reload()
    assert not done and "NOKEY" in why, why
    assert get(late)[1] == "InvalidAccessKeyId"

    newcomer = {"name": "newcomer", "access_keys": ["LATEKEY"], "promise": "1:2s", "share": 0.2}
    gateway.configure([CALM, LOUD, newcomer])
    done, said = gateway.reload()
    assert done, said
    assert get(calm)[1] is None and get(late)[1] is None
    assert 'tenant="newcomer"' in gateway.metrics()

    gateway.configure([])
    assert gateway.reload()[0]
    assert get(calm)[1] is None
    assert 'tenant="newcomer"' not in gateway.metrics()
