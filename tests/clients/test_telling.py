"""Websites, access logs and notifications of buckets, configured with boto3."""

import http.client
import http.server
import json
import queue
import re
import threading
import time

import pytest

from support import s3
from support.gateway import Gateway, free_port

pytestmark = pytest.mark.own
DOMAIN = "sites.example.com"
WAIT_SECONDS_MAX = 30


class Hook:
    """A webhook that hands on what it is told, after it was told some events in vain."""

    def __init__(self):
        told = self.told = queue.Queue()
        self.fails = 0
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                document = json.loads(self.rfile.read(int(self.headers["content-length"])))
                fails = hook.fails > 0
                hook.fails -= fails
                if not fails:
                    told.put(document)
                self.send_response(500 if fails else 204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/events"

    def next(self):
        return self.told.get(timeout=WAIT_SECONDS_MAX)

    def record(self):
        record = self.next()["Records"][0]
        return record["eventName"], record["s3"]["object"]["key"]


@pytest.fixture
def hook():
    hook = Hook()
    yield hook
    hook.server.shutdown()


@pytest.fixture
def own(tmp_path, hook):
    sites = free_port()
    settings = {"website_listen": f"127.0.0.1:{sites}", "website_domain": DOMAIN, "access_log_every": "200ms"}
    own = Gateway(tmp_path / "own", settings=settings, webhooks={"hook": hook.url})
    own.sites = sites
    yield own.start()
    own.kill()


@pytest.fixture
def client(own):
    return own.endpoint().client()


def browse(own, bucket, path, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", own.sites, timeout=10)
    connection.request(method, path, headers={"host": f"{bucket}.{DOMAIN}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_a_bucket_is_a_website_once_it_is_one(own, client):
    client.create_bucket(Bucket="site")
    assert browse(own, "site", "/")[0].status == 404
    rules = [{"Condition": {"KeyPrefixEquals": "old/"}, "Redirect": {"ReplaceKeyPrefixWith": "new/"}}]
    site = {"IndexDocument": {"Suffix": "index.html"}, "ErrorDocument": {"Key": "error.html"}, "RoutingRules": rules}
    client.put_bucket_website(Bucket="site", WebsiteConfiguration=site)
    assert {name: client.get_bucket_website(Bucket="site")[name] for name in site} == site
    pages = {"index.html": b"home", "sub/index.html": b"sub", "error.html": b"trouble", "new/a": b"a"}
    for key, body in pages.items():
        client.put_object(Bucket="site", Key=key, Body=body, ContentType="text/html")
    client.put_object(Bucket="site", Key="moved", Body=b"", WebsiteRedirectLocation="/new/a")
    assert browse(own, "site", "/")[0].status == 403, "nobody may read it yet"
    public = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::site/*"}
    listable = {"Effect": "Allow", "Principal": "*", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::site"}
    policy = {"Version": "2012-10-17", "Statement": [public, listable]}
    client.put_bucket_policy(Bucket="site", Policy=json.dumps(policy))
    for path, status, body in [("/", 200, b"home"), ("/sub/", 200, b"sub"), ("/new/a", 200, b"a")]:
        answer, found = browse(own, "site", path)
        assert (answer.status, found) == (status, body), path
    assert browse(own, "site", "/", "HEAD")[1] == b""
    answer, found = browse(own, "site", "/none")
    assert (answer.status, found) == (404, b"trouble")
    for path, status, to in [("/sub", 302, "/sub/"), ("/old/a", 301, "/new/a"), ("/moved", 301, "/new/a")]:
        answer, _ = browse(own, "site", path)
        assert (answer.status, answer.headers["location"].removeprefix(f"http://site.{DOMAIN}")) == (status, to), path
    client.delete_bucket_website(Bucket="site")
    with s3.refused("NoSuchWebsiteConfiguration", status=404):
        client.get_bucket_website(Bucket="site")
    assert browse(own, "site", "/")[0].status == 404


def test_what_is_asked_of_a_bucket_is_logged_into_another(own, client):
    for bucket in ("shop", "logs"):
        client.create_bucket(Bucket=bucket)
    assert "LoggingEnabled" not in client.get_bucket_logging(Bucket="shop")
    wanted = {"LoggingEnabled": {"TargetBucket": "logs", "TargetPrefix": "of-shop/"}}
    client.put_bucket_logging(Bucket="shop", BucketLoggingStatus=wanted)
    assert client.get_bucket_logging(Bucket="shop")["LoggingEnabled"] == wanted["LoggingEnabled"]
    client.put_object(Bucket="shop", Key="a key", Body=b"seven..")
    client.get_object(Bucket="shop", Key="a key", Range="bytes=1-3")["Body"].read()
    with s3.refused("NoSuchKey", status=404):
        client.get_object(Bucket="shop", Key="none")
    wanted = [
        r"REST\.PUT\.OBJECT a%20key \"PUT .*\" 200 - - 7 ",
        r"REST\.GET\.OBJECT a%20key \"GET .*\" 206 - 3 7 ",
        r"REST\.GET\.OBJECT none \"GET .*\" 404 NoSuchKey ",
    ]
    until, records = time.monotonic() + WAIT_SECONDS_MAX, ""
    while not all(re.search(pattern, records) for pattern in wanted):
        assert time.monotonic() < until, records
        time.sleep(0.1)
        parts = client.list_objects_v2(Bucket="logs").get("Contents", [])
        assert all(part["Key"].startswith("of-shop/20") for part in parts)
        bodies = [client.get_object(Bucket="logs", Key=part["Key"])["Body"].read() for part in parts]
        records = b"".join(bodies).decode()
    client.put_bucket_logging(Bucket="shop", BucketLoggingStatus={})
    assert "LoggingEnabled" not in client.get_bucket_logging(Bucket="shop")


def test_webhooks_are_told_what_happens_and_again_until_they_take_it(own, client, hook):
    client.create_bucket(Bucket="shop")
    rules = [{"Name": "prefix", "Value": "in/"}]
    wanted = {
        "Id": "one",
        "QueueArn": "arn:ripstop:webhook:::hook",
        "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
        "Filter": {"Key": {"FilterRules": rules}},
    }
    client.put_bucket_notification_configuration(
        Bucket="shop", NotificationConfiguration={"QueueConfigurations": [wanted]}
    )
    assert hook.next()["Event"] == "s3:TestEvent"
    (kept,) = client.get_bucket_notification_configuration(Bucket="shop")["QueueConfigurations"]
    assert (kept["Id"], kept["QueueArn"], kept["Events"]) == (wanted["Id"], wanted["QueueArn"], wanted["Events"])
    hook.fails = 2
    client.put_object(Bucket="shop", Key="out/a", Body=b"x")
    client.put_object(Bucket="shop", Key="in/a b", Body=b"x")
    client.copy_object(Bucket="shop", Key="in/c", CopySource="shop/in/a b")
    client.delete_objects(Bucket="shop", Delete={"Objects": [{"Key": "in/c"}]})
    for event in [("ObjectCreated:Put", "in/a+b"), ("ObjectCreated:Copy", "in/c"), ("ObjectRemoved:Delete", "in/c")]:
        assert hook.record() == event
    with s3.refused("InvalidArgument", status=400):
        client.put_bucket_notification_configuration(
            Bucket="shop",
            NotificationConfiguration={"QueueConfigurations": [wanted | {"QueueArn": "arn:ripstop:webhook:::other"}]},
        )
    status, page = own.ask("/metrics")
    assert (status, 'ripstop_webhook_events_lost_total{webhook="hook"} 0' in page) == (200, True), page
    client.put_bucket_notification_configuration(Bucket="shop", NotificationConfiguration={})
    client.put_object(Bucket="shop", Key="in/untold", Body=b"x")
    with pytest.raises(queue.Empty):
        hook.told.get(timeout=1)
