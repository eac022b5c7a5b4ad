"""Signatures: in headers, in URLs, wrong, old, and missing."""

import dataclasses
import datetime
import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from support import raw, s3


def fetch(url, method="GET", body=None, headers=None):
    """Status, S3 error code and body."""
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, None, answer.read()
    except urllib.error.HTTPError as error:
        text = error.read()
        code = re.search(rb"<Code>([^<]*)", text)
        return error.code, code.group(1).decode() if code else None, text


def presign(client, operation, bucket, key, seconds=60, **arguments):
    return client.generate_presigned_url(
        operation, Params={"Bucket": bucket, "Key": key} | arguments, ExpiresIn=seconds
    )


def test_presigned_urls_put_get_head_and_delete(client, bucket):
    key = "folder/ü + 1"
    put = presign(client, "put_object", bucket, key)
    assert fetch(put, "PUT", b"by url")[0] == 200
    assert fetch(presign(client, "get_object", bucket, key))[2] == b"by url"
    assert fetch(presign(client, "head_object", bucket, key), "HEAD")[0] == 200
    url = presign(client, "get_object", bucket, key, ResponseContentType="image/png")
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.headers["content-type"] == "image/png"
    assert fetch(presign(client, "delete_object", bucket, key), "DELETE")[0] == 204
    assert fetch(presign(client, "get_object", bucket, key))[:2] == (404, "NoSuchKey")


def test_expired_urls_are_refused(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    url = presign(client, "get_object", bucket, "k", seconds=1)
    time.sleep(2.5)
    assert fetch(url)[:2] == (403, "AccessDenied")


def test_tampered_urls_are_refused(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    client.put_object(Bucket=bucket, Key="other", Body=b"secret")
    url = presign(client, "get_object", bucket, "k")
    assert fetch(url)[0] == 200
    flipped = url[:-1] + ("0" if url[-1] != "0" else "1")
    longer = url.replace("X-Amz-Expires=60", "X-Amz-Expires=6000")
    other_key = url.replace(f"{bucket}/k?", f"{bucket}/other?")
    added = url + "&response-content-type=text%2Fhtml"
    for bad in (flipped, longer, other_key, added):
        assert bad != url
        assert fetch(bad)[:2] == (403, "SignatureDoesNotMatch"), bad
    assert fetch(url, "DELETE")[:2] == (403, "SignatureDoesNotMatch")
    assert fetch(url, "PUT", b"new")[:2] == (403, "SignatureDoesNotMatch")
    assert s3.read(client, bucket, "k") == b"x"


def test_urls_for_more_than_a_week_are_refused(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    url = presign(client, "get_object", bucket, "k", seconds=604_800)
    assert fetch(url)[0] == 200
    url = presign(client, "get_object", bucket, "k", seconds=604_801)
    assert fetch(url)[:2] == (400, "AuthorizationQueryParametersError")


def test_urls_of_version_2_are_for_objects_and_for_reading(endpoint, client, bucket):
    old = endpoint.client(signature_version="s3")
    put = urllib.parse.urlsplit(presign(old, "put_object", bucket, "k"))
    assert "AWSAccessKeyId=" in put.query
    # Without a content type, which such a signature covers and urllib would add.
    speaks = http.client.HTTPSConnection if put.scheme == "https" else http.client.HTTPConnection
    connection = speaks(put.netloc, timeout=30)
    connection.request("PUT", f"{put.path}?{put.query}", b"by url")
    assert connection.getresponse().status == 200
    assert fetch(presign(old, "get_object", bucket, "k", ResponseContentType="a/b"))[2] == b"by url"
    listing = old.generate_presigned_url("list_objects_v2", Params={"Bucket": bucket, "Prefix": "a"})
    assert fetch(listing)[:2] == (403, "AccessDenied"), "it covers no prefix"
    assert fetch(presign(old, "delete_object", bucket, "k"), "DELETE")[0] == 204
    setting = old.generate_presigned_url("delete_public_access_block", Params={"Bucket": bucket})
    cut = setting.replace("publicAccessBlock&", "")
    assert cut != setting
    for url in (setting, cut):
        assert fetch(url, "DELETE")[0] == 403
    client.head_bucket(Bucket=bucket)


def test_wrong_keys_are_refused(endpoint, client, bucket):
    wrong_secret = endpoint.client(aws_secret_access_key="x" * 40)
    with s3.refused("SignatureDoesNotMatch", status=403):
        wrong_secret.list_objects_v2(Bucket=bucket)
    with s3.refused("SignatureDoesNotMatch", status=403):
        wrong_secret.put_object(Bucket=bucket, Key="k", Body=b"x")
    unknown = endpoint.client(aws_access_key_id="UNKNOWNACCESSKEY0001")
    with s3.refused("InvalidAccessKeyId", status=403):
        unknown.list_objects_v2(Bucket=bucket)
    assert s3.keys(client, bucket) == []


def test_requests_without_a_signature_are_refused(endpoint, client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    for method, path, body in (("GET", "/k", None), ("PUT", "/k", b"new"), ("DELETE", "/k", None), ("GET", "", None)):
        status, code, _ = fetch(f"{endpoint.url}/{bucket}{path}", method, body)
        assert (status, code) == (403, "AccessDenied"), (method, path)
    assert fetch(endpoint.url + "/")[:2] == (403, "AccessDenied")
    assert s3.read(client, bucket, "k") == b"x"


@pytest.mark.parametrize("minutes", [-20, 20])
def test_a_skewed_clock_is_told(endpoint, client, bucket, minutes):
    when = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)
    answer = raw.Request(endpoint, "GET", f"/{bucket}", when=when).send()
    assert (answer.status, answer.code) == (403, "RequestTimeTooSkewed"), answer


def test_a_request_signed_for_another_region_is_refused(endpoint, client, bucket):
    # By hand: boto3 would read the right region from the refusal and try again.
    elsewhere = dataclasses.replace(endpoint, region="eu-north-1")
    answer = raw.Request(elsewhere, "GET", f"/{bucket}").send()
    assert (answer.status, answer.code) == (400, "AuthorizationHeaderMalformed"), answer
    assert endpoint.region.encode() in answer.body


def test_tampered_headers_are_refused(endpoint, client, bucket):
    request = raw.Request(endpoint, "PUT", f"/{bucket}/k", headers={"x-amz-meta-a": "1"})
    request.headers["x-amz-meta-a"] = "2"
    answer = request.send(b"x")
    assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch"), answer
    # An x-amz header that the signature does not cover must not count either.
    request = raw.Request(endpoint, "PUT", f"/{bucket}/k")
    request.headers["x-amz-meta-b"] = "smuggled"
    assert request.send(b"x").status in (400, 403)
    assert s3.keys(client, bucket) == []


@pytest.mark.parametrize("value", ["", "nonsense", "AWS4-HMAC-SHA256 nonsense", "AWS4-HMAC-SHA256 Credential=a/b"])
def test_nonsense_in_place_of_a_signature_is_refused(endpoint, bucket, value):
    request = raw.Request(endpoint, "GET", f"/{bucket}")
    request.headers["authorization"] = value
    answer = request.send()
    assert answer.status in (400, 403), answer
    assert answer.code, answer


def test_answers_carry_a_request_id(client, bucket):
    answer = client.list_objects_v2(Bucket=bucket)["ResponseMetadata"]
    assert answer["HTTPHeaders"]["x-amz-request-id"]
    with s3.refused("NoSuchKey") as caught:
        client.get_object(Bucket=bucket, Key="absent")
    assert caught.value.response["ResponseMetadata"]["RequestId"]
