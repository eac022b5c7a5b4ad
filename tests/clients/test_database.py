"""The catalog in a PostgreSQL server: a gateway over it, two, and what happens when it goes away."""

import contextlib
import http.client
import os
import re
import threading
import time

import botocore.exceptions
import pytest

from support.database import PASSWORD, running
from support.gateway import Gateway

pytestmark = pytest.mark.own


@pytest.fixture
def database():
    with running() as server:
        yield server


@pytest.fixture
def gateways(tmp_path, database):
    """Starts gateways over one catalog and the same nodes, and ends them."""
    with contextlib.ExitStack() as stack:

        def start(name, **store):
            own = Gateway(tmp_path / name, store={"catalog": database.url} | shared(tmp_path) | store)
            # All have the first one's nodes.
            if name != "g1":
                text = own.config.read_text()
                own.config.write_text(text.replace(str(own.folder / "nodes"), str(tmp_path / "g1" / "nodes")))
            stack.callback(own.kill)
            return own.start()

        yield start


def shared(folder):
    """Files that all gateways have."""
    return {"key_file": str(folder / "store.key"), "object_keys_file": str(folder / "object.keys")}


def test_objects_are_served_from_a_catalog_in_a_database(gateways):
    own = gateways("g1")
    client = own.endpoint().client()
    client.create_bucket(Bucket="photos")
    bodies = {f"{folder}/{at}": os.urandom(100 + at * 20_000) for folder in "abc" for at in range(5)}
    for key, body in bodies.items():
        client.put_object(Bucket="photos", Key=key, Body=body)
    client.delete_object(Bucket="photos", Key="a/0")
    bodies.pop("a/0")
    page = client.list_objects_v2(Bucket="photos", Delimiter="/")
    assert [prefix["Prefix"] for prefix in page["CommonPrefixes"]] == ["a/", "b/", "c/"]
    own.kill()
    own.start()
    for key, body in bodies.items():
        assert client.get_object(Bucket="photos", Key=key)["Body"].read() == body
    assert not (own.data / "catalog.redb").exists()
    # A read asks once: for the bucket and the object together.
    asked = own.metrics()
    for key, body in bodies.items():
        assert client.get_object(Bucket="photos", Key=key)["Body"].read() == body
    times = {name: queries(own.metrics(), name) - queries(asked, name) for name in ("bucket_with", "current", "bucket")}
    assert (times["bucket_with"], times["current"]) == (len(bodies), 0), times
    # What is known of a bucket is read again now and then, whoever asks.
    assert times["bucket"] <= 2, times
    code, report = own.check()
    assert (code, report["catalog"]["objects"], report["catalog"]["findings"]) == (0, len(bodies), [])
    own.stop()
    code, report = own.check()
    assert (code, report["catalog"]["objects"]) == (0, len(bodies))
    assert PASSWORD not in own.log.read_text()


def queries(metrics, name):
    """How often the catalog was asked for this."""
    found = re.search(rf'^ripstop_catalog_operations_total{{operation="{name}",outcome="done"}} (\d+)$', metrics, re.M)
    return int(found[1])


def test_requests_wait_for_a_database_that_is_killed_and_comes_back(gateways, database):
    own = gateways("g1")
    client = own.endpoint().client()
    client.create_bucket(Bucket="words")
    client.put_object(Bucket="words", Key="before", Body=b"1")
    database.kill()
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(client.put_object(Bucket="words", Key="meanwhile", Body=b"2"))
    )
    waiting.start()
    time.sleep(1)
    assert answers == []
    database.start()
    waiting.join(60)
    assert len(answers) == 1
    for key, body in (("before", b"1"), ("meanwhile", b"2")):
        assert client.get_object(Bucket="words", Key=key)["Body"].read() == body


def test_two_gateways_over_one_catalog_see_the_same(gateways):
    first, second = gateways("g1"), gateways("g2")
    one, other = first.endpoint().client(), second.endpoint().client()
    one.create_bucket(Bucket="words")
    upload = one.create_multipart_upload(Bucket="words", Key="parts")["UploadId"]
    bodies = [os.urandom(5 << 20), os.urandom(100)]
    parts = []
    for number, (client, body) in enumerate(zip((one, other), bodies), start=1):
        names = {"Bucket": "words", "Key": "parts", "UploadId": upload, "PartNumber": number}
        parts.append({"PartNumber": number, "ETag": client.upload_part(Body=body, **names)["ETag"]})
    other.complete_multipart_upload(Bucket="words", Key="parts", UploadId=upload, MultipartUpload={"Parts": parts})
    assert one.get_object(Bucket="words", Key="parts")["Body"].read() == b"".join(bodies)
    for at in range(40):
        writer, reader = (one, other) if at % 2 else (other, one)
        writer.put_object(Bucket="words", Key="shared", Body=b"%d" % at)
        assert reader.get_object(Bucket="words", Key="shared")["Body"].read() == b"%d" % at
    # Of those that want it absent one wins, wherever they ask.
    won = []

    def wants(client):
        with contextlib.suppress(botocore.exceptions.ClientError):
            client.put_object(Bucket="words", Key="one", Body=b"x", IfNoneMatch="*")
            won.append(client)

    for _ in range(5):
        threads = [threading.Thread(target=wants, args=(client,)) for client in (one, other) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        won.clear()
        one.delete_object(Bucket="words", Key="one")
    # What one has answered stays when it dies.
    one.put_object(Bucket="words", Key="last", Body=b"words")
    first.kill()
    assert other.get_object(Bucket="words", Key="last")["Body"].read() == b"words"
    code, report = second.check()
    assert (code, report["catalog"]["findings"]) == (0, [])


def test_what_one_gateway_takes_long_to_write_no_other_takes_for_abandoned(gateways):
    """A PUT of many stripes that lasts several graces, while both gateways list the nodes and sweep."""
    first, second = (gateways(name, stripe_max="256 KiB", grace="1s", list_every="1s") for name in ("g1", "g2"))
    client = first.endpoint().client()
    client.create_bucket(Bucket="words")
    body = os.urandom(4 << 20)
    for gateway in (first, second):
        names = {"Bucket": "words", "Key": "slow"}
        at = gateway.endpoint().client().generate_presigned_url("put_object", Params=names)
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
        connection.putrequest("PUT", at.split(str(gateway.port), 1)[1], skip_accept_encoding=True)
        connection.putheader("content-length", str(len(body)))
        connection.endheaders()
        for offset in range(0, len(body), 512 << 10):
            connection.send(body[offset : offset + (512 << 10)])
            time.sleep(1)
        assert connection.getresponse().status == 200
        connection.close()
        time.sleep(3)
        assert client.get_object(Bucket="words", Key="slow")["Body"].read() == body
    code, report = second.check()
    assert (code, report["missing"], report["unclaimed"]) == (0, 0, 0)
