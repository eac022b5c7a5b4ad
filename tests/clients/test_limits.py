"""Bodies that lie about themselves, and input beyond the limits."""

import time

import pytest

from support import raw, s3
from support.payload import GIB, MIB


def request(endpoint, bucket, length, key="k", **headers):
    all_headers = {"content-length": str(length)} | headers
    return raw.Request(endpoint, "PUT", f"/{bucket}/{key}", headers=all_headers)


def send_part_of(endpoint, head, body):
    """Sends less than was announced, then says that nothing more comes."""
    with raw.connect(endpoint) as connection:
        connection.sendall(head + body)
        raw.end(connection)
        return raw.receive(connection)


@pytest.mark.parametrize("sent", [0, 10, 9 * MIB])
def test_an_incomplete_body_changes_nothing(endpoint, client, bucket, sent):
    client.put_object(Bucket=bucket, Key="k", Body=b"old")
    answer = send_part_of(endpoint, request(endpoint, bucket, 20 * MIB).head(), b"n" * sent)
    # Nobody may be left to answer to; who is answered hears what was wrong.
    assert answer.status in (0, 400), answer
    assert answer.status == 0 or answer.code in ("IncompleteBody", "RequestTimeout"), answer
    assert s3.read(client, bucket, "k") == b"old"


def test_an_incomplete_part_is_not_listed(endpoint, client, bucket):
    upload = client.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    query = {"partNumber": "1", "uploadId": upload}
    head = raw.Request(
        endpoint, "PUT", f"/{bucket}/k", headers={"content-length": str(9 * MIB)}, query=query
    ).head()
    send_part_of(endpoint, head, b"n" * MIB)
    time.sleep(0.2)
    assert client.list_parts(Bucket=bucket, Key="k", UploadId=upload).get("Parts", []) == []


def test_too_large_an_object_is_refused_before_it_is_sent(endpoint, client, bucket):
    head = request(endpoint, bucket, 5 * GIB + 1, expect="100-continue").head()
    with raw.connect(endpoint) as connection:
        connection.sendall(head)
        answer = raw.receive(connection)
    assert (answer.status, answer.code) == (400, "EntityTooLarge"), answer
    assert s3.keys(client, bucket) == []


def test_a_body_is_invited(endpoint, client, bucket):
    head = request(endpoint, bucket, 4, expect="100-continue").head()
    with raw.connect(endpoint) as connection:
        connection.sendall(head)
        connection.settimeout(10)
        assert connection.recv(64).startswith(b"HTTP/1.1 100")
        connection.sendall(b"body")
        assert raw.receive(connection).status == 200
    assert s3.read(client, bucket, "k") == b"body"


def test_a_refused_body_is_not_invited(endpoint, client, bucket):
    head = request(endpoint, "suite-no-such", 100 * MIB, expect="100-continue").head()
    with raw.connect(endpoint) as connection:
        connection.sendall(head)
        answer = raw.receive(connection)
    assert (answer.status, answer.code) == (404, "NoSuchBucket"), answer


def test_a_body_without_a_length_is_refused(endpoint, client, bucket):
    chunked = raw.Request(endpoint, "PUT", f"/{bucket}/k", headers={"transfer-encoding": "chunked"})
    answer = chunked.send(b"4\r\nbody\r\n0\r\n\r\n")
    assert (answer.status, answer.code) == (411, "MissingContentLength"), answer
    assert s3.keys(client, bucket) == []


@pytest.mark.parametrize("value", ["-1", "abc", "1, 2", "99999999999999999999999"])
def test_a_length_that_is_none_is_refused(endpoint, bucket, value):
    answer = raw.exchange(endpoint, request(endpoint, bucket, value).head())
    assert answer.status in (0, 400), answer


def test_broken_xml_is_refused(endpoint, client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    for body in (b"", b"<Delete>", b"not xml", b"<Delete><Object></Object></Delete>", b"<" * 100_000):
        headers = {"content-md5": raw.content_md5(body)}
        answer = raw.Request(endpoint, "POST", f"/{bucket}", query={"delete": ""}, headers=headers).send(body)
        assert answer.status == 400, (body[:50], answer)
    entity = b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/hostname">]><Delete><Object><Key>&e;</Key></Object></Delete>'
    headers = {"content-md5": raw.content_md5(entity)}
    answer = raw.Request(endpoint, "POST", f"/{bucket}", query={"delete": ""}, headers=headers).send(entity)
    assert answer.status == 400 or b"&e;" in answer.body, answer
    assert s3.keys(client, bucket) == ["k"]


def test_garbage_is_answered_or_dropped_and_others_are_served(endpoint, client, bucket):
    for garbage in (b"\x16\x03\x01" * 100, b"GET\r\n\r\n", b"A" * 300_000, b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 5000):
        with raw.connect(endpoint) as connection:
            try:
                connection.sendall(garbage)
                raw.end(connection)
            except OSError:
                pass
            assert raw.receive(connection).status in (0, 400, 403, 405, 414, 431, 505)
    many = "".join(f"x-h{i}: {'v' * 100}\r\n" for i in range(2000))
    answer = raw.exchange(endpoint, f"GET / HTTP/1.1\r\nhost: a\r\n{many}\r\n".encode())
    assert answer.status in (0, 400, 403, 431), answer
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert s3.read(client, bucket, "k") == b"x"


def test_what_is_not_offered_says_so(client, bucket):
    status = s3.status_of(
        client.put_bucket_accelerate_configuration,
        Bucket=bucket,
        AccelerateConfiguration={"Status": "Enabled"},
    )
    assert status in (200, 405, 501)
