"""What pages in browsers do: ask whether they may, and send forms."""

import base64
import hashlib
import hmac
import json
import os
import subprocess
import urllib.parse
import xml.etree.ElementTree

import pytest
import urllib3

from support import s3
from support.payload import MIB, Stream

RULES = [
    {
        "ID": "pages",
        "AllowedHeaders": ["x-amz-*", "content-type"],
        "AllowedMethods": ["GET", "PUT"],
        "AllowedOrigins": ["https://*.example.com"],
        "ExposeHeaders": ["ETag"],
        "MaxAgeSeconds": 600,
    },
    {"AllowedMethods": ["HEAD"], "AllowedOrigins": ["*"]},
]
PAGE = "https://www.example.com"
SECONDS_MAX = 60


@pytest.fixture
def http(endpoint):
    """What a browser has: no keys."""
    return urllib3.PoolManager(ca_certs=endpoint.verify, retries=False, timeout=SECONDS_MAX)


def let_in(client, bucket, rules=RULES):
    client.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": rules})


def asked(http, url, method, origin=PAGE, headers=None):
    ask = {"Origin": origin, "Access-Control-Request-Method": method}
    ask |= {"Access-Control-Request-Headers": headers} if headers else {}
    return http.request("OPTIONS", url, headers=ask)


def told(answer):
    names = ["Allow-Origin", "Allow-Methods", "Allow-Headers", "Expose-Headers", "Max-Age", "Allow-Credentials"]
    return [answer.headers.get(f"Access-Control-{name}") for name in names]


def code(answer):
    return xml.etree.ElementTree.fromstring(answer.data).findtext("Code")


def test_rules_are_kept_as_they_were_put(client, bucket):
    with s3.refused("NoSuchCORSConfiguration", status=404):
        client.get_bucket_cors(Bucket=bucket)
    let_in(client, bucket)
    assert client.get_bucket_cors(Bucket=bucket)["CORSRules"] == RULES
    client.delete_bucket_cors(Bucket=bucket)
    with s3.refused("NoSuchCORSConfiguration", status=404):
        client.get_bucket_cors(Bucket=bucket)
    with s3.refused("InvalidRequest"):
        let_in(client, bucket, [{"AllowedMethods": ["PATCH"], "AllowedOrigins": ["*"]}])


@pytest.mark.own
def test_rules_outlive_restarts_backups_and_the_catalog(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="pages")
    let_in(client, "pages", [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}])
    let_in(client, "pages")
    kept = lambda: gateway.endpoint().client().get_bucket_cors(Bucket="pages")["CORSRules"]
    gateway.kill()
    gateway.start()
    assert kept() == RULES

    def run(*words):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))}
        command = [gateway.binary, *words, "--config", str(gateway.config)]
        return subprocess.run(command, cwd=gateway.folder, capture_output=True, timeout=SECONDS_MAX, env=environment)

    done = run("backup", str(gateway.folder / "copy"))
    assert done.returncode == 0, done
    for since in [None, RULES[1:]]:
        # What was configured since the copy is told at the nodes.
        if since:
            let_in(gateway.endpoint().client(), "pages", since)
        gateway.stop()
        done = run("restore", str(gateway.folder / "copy"))
        assert done.returncode == 0, done
        gateway.start()
        assert kept() == (since or RULES)
    let_in(gateway.endpoint().client(), "pages")
    gateway.rebuild()
    assert kept() == RULES
    gateway.endpoint().client().delete_bucket_cors(Bucket="pages")
    gateway.rebuild()
    with s3.refused("NoSuchCORSConfiguration"):
        kept()
    assert gateway.check()[0] == 0


@pytest.mark.parametrize("method", ["get_object", "put_object"])
def test_a_page_may_use_a_presigned_url_once_its_origin_is_let_in(client, bucket, http, method):
    client.put_object(Bucket=bucket, Key="k", Body=b"bytes")
    url = client.generate_presigned_url(method, Params={"Bucket": bucket, "Key": "k"})
    verb = "GET" if method == "get_object" else "PUT"
    assert http.request("OPTIONS", url).status == 400
    refused = asked(http, url, verb)
    assert (refused.status, code(refused), told(refused)) == (403, "AccessForbidden", [None] * 6)
    let_in(client, bucket)
    admitted = asked(http, url, verb, headers="Content-Type, X-Amz-Meta-A")
    expected = [PAGE, "GET, PUT", "content-type, x-amz-meta-a", "ETag", "600", "true"]
    assert (admitted.status, told(admitted)) == (200, expected)
    answer = http.request(verb, url, headers={"Origin": PAGE}, body=b"new" if verb == "PUT" else None)
    assert answer.status == 200
    assert told(answer) == [PAGE, "GET, PUT", None, "ETag", "600", "true"]
    assert "Origin" in answer.headers["Vary"]
    elsewhere = http.request("GET", f"{url}&x=y", headers={"Origin": PAGE})
    assert (elsewhere.status, told(elsewhere)[0]) == (403, PAGE), "a failure can be read too"
    assert told(http.request(verb, url, headers={"Origin": "https://example.org"})) == [None] * 6
    anybody = asked(http, url, "HEAD", origin="https://example.org")
    assert told(anybody) == ["*", "HEAD", None, None, None, None]


def send(http, post, content, filename="name.bin", **more):
    fields = list((post["fields"] | more).items()) + [("file", (filename, content))]
    return http.request("POST", post["url"], fields=fields, redirect=False)


@pytest.mark.parametrize("size", [0, 1, 4096, 9 * MIB + 1])
def test_a_presigned_form_stores_its_file(client, bucket, http, seed, size):
    fields = {"Content-Type": "image/png", "x-amz-meta-a": "b", "success_action_status": "201"}
    conditions = [{name: value} for name, value in fields.items()]
    conditions.append(["content-length-range", 0, 10 * MIB])
    post = client.generate_presigned_post(bucket, "up/${filename}", fields, conditions)
    content = Stream(seed, size).read()
    answer = send(http, post, content, "photo.png")
    assert answer.status == 201, answer.data
    document = xml.etree.ElementTree.fromstring(answer.data)
    etag = f'"{hashlib.md5(content).hexdigest()}"'
    assert (document.findtext("Bucket"), document.findtext("Key")) == (bucket, "up/photo.png")
    assert document.findtext("ETag") == answer.headers["ETag"] == etag
    assert document.findtext("Location").endswith(f"/{bucket}/up/photo.png")
    head = client.head_object(Bucket=bucket, Key="up/photo.png")
    assert (head["ContentType"], head["Metadata"]) == ("image/png", {"a": "b"})
    assert s3.read(client, bucket, "up/photo.png") == content


def test_a_presigned_form_does_no_more_than_its_policy_says(client, bucket, http):
    post = client.generate_presigned_post(bucket, "k", Conditions=[["content-length-range", 2, 5]])
    for content, more, status, expected in [
        (b"1", {}, 400, "EntityTooSmall"),
        (b"123456", {}, 400, "EntityTooLarge"),
        (b"123", {"key": "other"}, 403, "AccessDenied"),
        (b"123", {"acl": "private"}, 403, "AccessDenied"),
        (b"123", {"x-amz-signature": "0" * 64}, 403, "SignatureDoesNotMatch"),
        (b"123", {"policy": "e30="}, 403, "SignatureDoesNotMatch"),
        (b"123", {"x-ignore-a": "x" * 20480}, 400, "MaxPostPreDataLengthExceededError"),
    ]:
        answer = send(http, post, content, **more)
        assert (answer.status, code(answer)) == (status, expected), answer.data
    expired = client.generate_presigned_post(bucket, "k", ExpiresIn=-5)
    answer = send(http, expired, b"123")
    assert (answer.status, code(answer)) == (403, "AccessDenied") and b"Policy expired" in answer.data
    assert s3.keys(client, bucket) == []
    assert send(http, post, b"123").status == 204
    assert s3.read(client, bucket, "k") == b"123"


def test_a_form_signed_as_of_old_redirects_the_browser(endpoint, client, bucket, http):
    to = "http://example.com/done"
    policy = {
        "expiration": "2099-01-01T00:00:00Z",
        "conditions": [
            {"bucket": bucket},
            ["starts-with", "$key", "foo"],
            {"acl": "private"},
            ["starts-with", "$Content-Type", "text/plain"],
            ["eq", "$success_action_redirect", to],
            ["content-length-range", 0, 1024],
        ],
    }
    policy = base64.b64encode(json.dumps(policy).encode())
    signature = hmac.new(endpoint.secret_key.encode(), policy, hashlib.sha1).digest()
    fields = {
        "key": "foo.txt",
        "AWSAccessKeyId": endpoint.access_key,
        "acl": "private",
        "signature": base64.b64encode(signature).decode(),
        "policy": policy.decode(),
        "Content-Type": "text/plain",
        "success_action_redirect": to,
    }
    answer = send(http, {"url": f"{endpoint.url}/{bucket}", "fields": fields}, b"bar")
    query = urllib.parse.urlencode({"bucket": bucket, "key": "foo.txt", "etag": answer.headers.get("ETag")})
    assert (answer.status, answer.headers["Location"]) == (303, f"{to}?{query}"), answer.data
    assert s3.read(client, bucket, "foo.txt") == b"bar"


def test_a_page_reads_the_answer_to_its_form(client, bucket, http):
    let_in(client, bucket, [{"AllowedMethods": ["POST"], "AllowedOrigins": [PAGE], "ExposeHeaders": ["ETag"]}])
    post = client.generate_presigned_post(bucket, "k")
    fields = list(post["fields"].items()) + [("file", ("k", b"bytes"))]
    answer = http.request("POST", post["url"], fields=fields, headers={"Origin": PAGE})
    assert (answer.status, told(answer)) == (204, [PAGE, "POST", None, "ETag", None, "true"])
