"""What earlier programs kept of S3's features is read byte for byte, goes on, and is found again without its catalog."""

import copy
import urllib.parse

import pytest
from test_golden import must_be_whole, must_become_clean, restart

from support import s3
from support.features import CUSTOMER, customer, features, seen_features
from support.golden import content, must_agree, sha256
from support.payload import Stream

pytestmark = pytest.mark.own
LOGS = ("logs",)


@pytest.fixture(params=features(), ids=lambda found: found.name)
def found(request):
    return request.param


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folders = {}

    def unpack(found):
        if found.name not in folders:
            folders[found.name] = tmp_path_factory.mktemp("features")
            found.unpack(folders[found.name])
        return folders[found.name]

    return unpack


@pytest.fixture
def store(found, unpacked, tmp_path):
    own = found.copy(unpacked(found), tmp_path / "own")
    yield own
    own.kill()


@pytest.fixture
def client(store):
    return store.endpoint().client()


def must_read_back(wanted, client):
    shown = seen_features(client, without=LOGS)
    must_agree(wanted, shown)
    for name, bucket in wanted.items():
        # Versions come in their order.
        assert list(bucket["versions"]) == list(shown[name]["versions"]), name


def test_everything_reads_back_with_all_that_is_known_of_it(found, store, client):
    must_be_whole(store, "unclaimed")
    store.start()
    must_read_back(found.told["buckets"], client)
    logs = s3.keys(client, "logs")
    assert logs and all(key.startswith("of documents/") for key in logs), logs
    must_become_clean(store)
    restart(store)
    must_read_back(found.told["buckets"], client)


def test_contents_are_what_was_put(found, store, client):
    store.start()
    for bucket, held in found.told["contents"].items():
        told = found.told["buckets"][bucket]["versions"]
        for name, pieces in held.items() if bucket not in LOGS else ():
            assert told[name]["sha256"] == sha256(b"".join(content(*piece) for piece in pieces)), (bucket, name)
    name = "managed/parts"
    body = b"".join(content(*piece) for piece in found.told["contents"]["lone"][f"{name}?null"])
    for start in (0, 65_535, (5 << 20) - 1, 5 << 20, len(body) - 1):
        part = s3.read(client, "lone", name, Range=f"bytes={start}-{start + 100}")
        assert part == body[start : start + 101], start
    with s3.refused("InvalidRequest", status=400):
        client.get_object(Bucket="encrypted", Key="customer/1")
    with s3.refused("InvalidRequest", status=400):
        client.get_object(Bucket="encrypted", Key="customer/1", **CUSTOMER | {"SSECustomerKey": b"x" * 32})


def test_it_goes_on_with_changes_and_with_uploads_under_way(found, store, client, seed):
    store.start()
    written = {}
    for bucket, told in found.told["buckets"].items():
        for upload, entry in told["uploads"].items():
            written[bucket, entry["Key"]] = finish(found, client, bucket, upload, entry)
    for number, bucket in enumerate(found.told["buckets"]):
        for size in (0, 1000, 70_000):
            body = Stream(seed + number, size).read()
            client.put_object(Bucket=bucket, Key=f"new/{size}", Body=body)
            written[bucket, f"new/{size}"] = body
    locks_must_hold(found, client)
    client.delete_object(Bucket="versions", Key="gone", VersionId=version_of(found, "versions", "gone", is_marker=True))
    newest = version_of(found, "versions", "gone", is_marker=False)
    assert client.head_object(Bucket="versions", Key="gone")["VersionId"] == newest
    for _ in range(2):
        for (bucket, key), body in written.items():
            assert s3.read(client, bucket, key, **customer(key)) == body, (bucket, key)
        must_become_clean(store)
        restart(store)


def version_of(found, bucket, key, is_marker):
    """The latest version of a key that is a delete marker, or is none."""
    told = found.told["buckets"][bucket]["versions"]
    return next(name.split("?")[1] for name in told if name.startswith(f"{key}?") and told[name]["is_marker"] == is_marker)


def finish(found, client, bucket, upload, entry):
    where = {"Bucket": bucket, "Key": entry["Key"], "UploadId": upload}
    parts = client.list_parts(**where)["Parts"]
    taken = [{name: part[name] for name in part if name not in ("Size", "LastModified")} for part in parts]
    client.complete_multipart_upload(**where, MultipartUpload={"Parts": taken})
    pieces = found.told["parts"][upload]
    return b"".join(content(*pieces[number]) for number in sorted(pieces, key=int))


def locks_must_hold(found, client):
    """What is locked is refused to whoever deletes it; what is not, goes."""
    for name, told in found.told["buckets"]["locked"]["versions"].items():
        key, version = name.split("?")
        if not told["is_marker"]:
            with s3.refused("AccessDenied", status=403):
                client.delete_object(Bucket="locked", Key=urllib.parse.unquote(key), VersionId=version)


def test_a_lost_catalog_is_made_again(found, store, client):
    store.start()
    store.rebuild()
    wanted = copy.deepcopy(found.told["buckets"])
    # Uploads under way are in no fragment's header.
    for bucket in wanted.values():
        bucket["uploads"] = {}
    must_read_back(wanted, client)
    store.stop()
    _, counts = store.check(repair=True)
    assert not any(counts[name] for name in ("missing", "damaged", "unknown", "lost", "newer")), counts
    must_be_whole(store)


def test_everything_reads_back_with_as_many_nodes_lost_as_a_code_allows(found, store, client):
    for pool in found.told["pools"]:
        n, k = pool["code"]
        for name in pool["nodes"][: n - k]:
            store.remove_node(name)
    store.start()
    must_read_back(found.told["buckets"], client)
