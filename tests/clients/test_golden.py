"""What earlier programs wrote is read byte for byte, goes on, and is found again without its catalog; what
they decided is decided the same."""

import concurrent.futures
import copy
import hashlib
import json
import os
import subprocess
import time

import pytest

from support import golden, s3
from support.gateway import FLAWS, clean
from support.golden import must_agree, seen, sha256
from support.payload import KIB, MIB, Stream

pytestmark = pytest.mark.own
SECONDS_MAX = 60
CLEAN_SECONDS_MAX = 30
PART = 5 * MIB
# One bucket in each pool.
BUCKETS = ("plain", "copies", "shared", "unique")
# What is there of programs that have packs.
PACKED_BUCKETS = ("packs", "copies", "secret")
# Words of older programs that were reworded since.
REWORDED = {"in the mean": "on average"}


@pytest.fixture(params=golden.stores(), ids=lambda found: found.name)
def found(request):
    """A golden folder."""
    return request.param


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Where a golden folder lies unpacked, for copies."""
    folders = {}

    def unpack(found):
        if found.name not in folders:
            folders[found.name] = tmp_path_factory.mktemp("golden")
            found.unpack(folders[found.name])
        return folders[found.name]

    return unpack


@pytest.fixture
def store(found, unpacked, tmp_path):
    """A gateway over a copy of it, not started."""
    own = found.copy(unpacked(found), tmp_path / "own")
    yield own
    own.kill()


@pytest.fixture
def client(store):
    """Also for the gateway that is started later, and again."""
    return store.endpoint().client()


def ripstop(*words, folder):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))}
    return subprocess.run(
        [os.environ["RIPSTOP_BIN"], *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env=environment,
    )


def restart(store):
    store.stop()
    store.start()


def must_be_whole(store, *besides):
    """A check finds nothing but these flaws."""
    code, counts = store.check()
    flaws = {name: counts[name] for name in FLAWS if counts[name] and name not in besides}
    assert not flaws and not counts["catalog"]["findings"], counts
    assert code == (0 if clean(counts) else 1), counts


def must_become_clean(store, repair=False):
    deadline = time.monotonic() + CLEAN_SECONDS_MAX
    while time.monotonic() < deadline:
        # A repair passes over stripes that are being moved or swept: the next one finds them.
        if repair:
            store.check(repair=True)
        code, counts = store.check()
        if code == 0 and clean(counts):
            return
        time.sleep(0.2)
    raise AssertionError(counts)


def must_read_back(found, client):
    must_agree(found.told["buckets"], seen(client, ask_all=False), asked_all=False)


def test_everything_reads_back_with_all_that_is_known_of_it(found, store, client):
    # What a killed program was writing is claimed by nobody, and is swept.
    must_be_whole(store, *(["unclaimed"] if found.told["ended"] == "killed" else []))
    store.start()
    must_agree(found.told["buckets"], seen(client))
    for bucket, key in (("plain", "large"), ("plain", "parts/three"), ("copies", "parts of another pool's")):
        ranges_must_read_back(found, client, bucket, key)
    what_buckets_hold_must_be_counted(found, store)
    must_become_clean(store)
    restart(store)
    must_read_back(found, client)


def ranges_must_read_back(found, client, bucket, key):
    body = found.body(bucket, key)
    assert found.told["buckets"][bucket]["objects"][key]["sha256"] == sha256(body), f"{bucket}/{key}"
    for start in (0, 256 * KIB - 1, PART - 1, len(body) - 70_000, len(body) - 1):
        for end in (start, min(start + 300_000, len(body) - 1)):
            part = s3.read(client, bucket, key, Range=f"bytes={start}-{end}")
            assert part == body[start : end + 1], f"{bucket}/{key}: bytes {start} to {end} differ"


def what_buckets_hold_must_be_counted(found, store):
    status, text = store.ask("/buckets")
    assert status == 200, text
    counted = {row["name"]: [row["bytes"], row["objects"]] for row in json.loads(text)["buckets"]}
    assert counted == usage(found)
    # A program from before there were quotas told nothing.
    assert found.told["usage"] in (None, counted)


def usage(found):
    """Bytes and objects of each bucket; parts of uploads count as bytes."""
    used = {}
    for name, bucket in found.told["buckets"].items():
        lengths = [told["length"] for told in bucket["objects"].values()]
        parts = [part["Size"] for upload in bucket["uploads"].values() for part in upload["parts"]]
        used[name] = [sum(lengths) + sum(parts), len(lengths)]
    return used


def test_it_goes_on_with_changes_and_with_uploads_under_way(found, store, client, seed):
    store.start()
    wanted, written = copy.deepcopy(found.told["buckets"]), {}

    def wrote(bucket, key, body):
        wanted[bucket]["objects"].pop(key, None)
        written[bucket, key] = sha256(body)

    for bucket, told in found.told["buckets"].items():
        for upload, entry in told["uploads"].items():
            wrote(bucket, entry["Key"], finish(client, found, bucket, upload, entry, seed))
            del wanted[bucket]["uploads"][upload]
    change(client, found, wanted, wrote, seed)

    def must_be_so():
        shown = seen(client, ask_all=False)
        for (bucket, key), digest in written.items():
            assert shown[bucket]["objects"].pop(key)["sha256"] == digest, f"{bucket}/{key} differs"
        must_agree(wanted, shown, asked_all=False)

    must_be_so()
    must_become_clean(store)
    restart(store)
    must_be_so()
    store.stop()
    must_be_whole(store)


def change(client, found, wanted, wrote, seed):
    """Writes, overwrites, copies, tags and deletes; a quota is in force."""
    source = f"size/{MIB + 3}"
    for number, bucket in enumerate(BUCKETS):
        for key, size in (("new/small", 17), ("new/large", 4 * MIB + 1), ("size/70000", 4 * KIB)):
            body = Stream(seed + number, size).read()
            client.put_object(Bucket=bucket, Key=key, Body=body)
            wrote(bucket, key, body)
        client.copy_object(Bucket=bucket, Key="new/copy", CopySource={"Bucket": "plain", "Key": source})
        wrote(bucket, "new/copy", found.body("plain", source))
        client.delete_object(Bucket=bucket, Key="size/0")
        del wanted[bucket]["objects"]["size/0"]
    # Copies of these stay, in this pool and in others.
    for key in (source, "large", "parts/three"):
        client.delete_object(Bucket="plain", Key=key)
        del wanted["plain"]["objects"][key]
    key, tags = "tags/at once", [{"Key": "k", "Value": "v"}]
    client.put_object_tagging(Bucket="plain", Key=key, Tagging={"TagSet": tags})
    assert client.get_object_tagging(Bucket="plain", Key=key)["TagSet"] == tags
    wrote("plain", key, found.body("plain", key))
    with s3.refused("QuotaExceeded", status=403):
        client.put_object(Bucket="quota", Key="a", Body=bytes(MIB))
    client.put_object(Bucket="quota", Key="a", Body=b"smaller")
    wrote("quota", "a", b"smaller")
    client.delete_bucket(Bucket="empty")
    del wanted["empty"]
    for bucket in PACKED_BUCKETS if "packs" in wanted else ():
        change_members(client, found, bucket, wanted[bucket]["objects"], wrote, seed)


def change_members(client, found, bucket, objects, wrote, seed):
    """The same of members of packs, at once and one after the other."""
    bodies = {key: Stream(seed + at, 600 * at).read() for at, key in enumerate(("pack/new", "pack/0", "pack/4096"))}
    with concurrent.futures.ThreadPoolExecutor(len(bodies) + 1) as threads:
        deleted = threads.submit(client.delete_object, Bucket=bucket, Key="pack/256")
        list(threads.map(lambda key: client.put_object(Bucket=bucket, Key=key, Body=bodies[key]), bodies))
        deleted.result()
    for key, body in bodies.items():
        wrote(bucket, key, body)
    client.copy_object(Bucket=bucket, Key="copy/new", CopySource={"Bucket": bucket, "Key": "goes/4"})
    wrote(bucket, "copy/new", found.body(bucket, "goes/4"))
    client.put_object_tagging(Bucket=bucket, Key="pack/tags", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
    wrote(bucket, "pack/tags", found.body(bucket, "pack/tags"))
    # A copy of it stays, and of its pack nothing else.
    client.delete_object(Bucket=bucket, Key="goes/4")
    for key in ("pack/256", "goes/4"):
        del objects[key]


def finish(client, found, bucket, upload, entry, seed):
    """Uploads another part, completes, and looks at the object; answers what it holds."""
    where = {"Bucket": bucket, "Key": entry["Key"], "UploadId": upload}
    bodies, named = found.parts(upload), f"{bucket}/{entry['Key']}, upload {upload}"
    listed = {part["PartNumber"]: part["ETag"] for part in client.list_parts(**where).get("Parts", [])}
    assert listed == {number: f'"{md5(body).hexdigest()}"' for number, body in bodies.items()}, named
    number = next(number for number in range(1, 10) if number not in bodies)
    is_last = all(other < number for other in bodies)
    # One whose bucket is full ends as it is, and so does one whose last part is there.
    if bucket not in found.told["quotas"] and all(len(bodies[n]) >= PART for n in bodies if n < number):
        bodies[number] = Stream(seed, 100 if is_last else PART).read()
        algorithm = {name: entry[name] for name in ("ChecksumAlgorithm",) if name in entry}
        client.upload_part(**where, PartNumber=number, Body=bodies[number], **algorithm)
    parts = client.list_parts(**where)["Parts"]
    assert [part["PartNumber"] for part in parts] == sorted(bodies), named
    taken = [{name: part[name] for name in part if name not in ("Size", "LastModified")} for part in parts]
    etag = client.complete_multipart_upload(**where, MultipartUpload={"Parts": taken})["ETag"]
    in_order = [bodies[number] for number in sorted(bodies)]
    md5s = b"".join(md5(body).digest() for body in in_order)
    assert etag == f'"{md5(md5s).hexdigest()}-{len(bodies)}"', named
    got = client.get_object(Bucket=bucket, Key=entry["Key"], ChecksumMode="ENABLED")
    whole = b"".join(in_order)
    assert got["Body"].read() == whole, f"{named} differs"
    begun = found.told["begun"].get(upload, {"headers": {}, "tags": {}})
    shown = golden.told_of(got)
    assert {name: shown.get(name) for name in begun["headers"]} == begun["headers"], named
    tags = client.get_object_tagging(Bucket=bucket, Key=entry["Key"])["TagSet"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == begun["tags"], named
    return whole


def md5(body):
    return hashlib.md5(body, usedforsecurity=False)


def test_a_lost_catalog_is_made_again(found, store, client):
    (store.data / "catalog.redb").unlink()
    done = ripstop("rebuild", "--config", store.config, "--json", folder=store.folder)
    assert done.returncode == 0, done
    store.start()
    shown, wanted = seen(client), copy.deepcopy(found.told["buckets"])
    # Uploads under way are in no fragment's header.
    assert not any(bucket["uploads"] for bucket in shown.values())
    for bucket in wanted.values():
        bucket["uploads"] = {}
    # What was deleted and had not been swept may come back.
    for bucket, keys in found.told["deleted"].items():
        for key in keys if bucket in shown else []:
            shown[bucket]["objects"].pop(key, None)
        if bucket not in wanted and bucket in shown and not shown[bucket]["objects"]:
            del shown[bucket]
    must_agree(wanted, shown)
    store.stop()
    _, counts = store.check(repair=True)
    assert not any(counts[name] for name in ("missing", "damaged", "unknown", "lost", "newer")), counts
    must_be_whole(store)


def test_everything_reads_back_with_as_many_nodes_lost_as_a_code_allows(found, store, client):
    def some(of):
        spread = [pool for pool in found.told["pools"] if "layout" not in pool]
        return [name for pool in spread for name in of(pool["nodes"], pool["code"][0] - pool["code"][1])]

    first, last = some(lambda nodes, most: nodes[:most]), some(lambda nodes, most: nodes[-most:])
    for name in first:
        store.remove_node(name)
    store.start()
    must_read_back(found, client)
    store.stop()
    for name in first:
        store.recreate_node(name)
    store.start()
    must_become_clean(store, repair=True)
    store.stop()
    # What was mended stands beside what is old.
    for name in last:
        store.remove_node(name)
    store.start()
    must_read_back(found, client)


def named(decision):
    return f"{decision.folder.parent.name}/{decision.asked[0]}-{decision.asked[-1]}"


@pytest.mark.parametrize("decision", golden.decisions(), ids=named)
def test_what_was_recorded_and_planned_is_told_the_same(decision):
    done = ripstop(*decision.asked, folder=decision.folder)
    assert done.returncode == 0, done
    printed, wanted = done.stdout.splitlines(), [said_now(line) for line in decision.printed]
    if decision.asked[0] == "fit":
        printed, wanted = fits_with_outliers(printed), fits_with_outliers(wanted)
    assert printed == wanted, named(decision)


def fits_with_outliers(lines):
    """Of what `fit` prints, that which is of all tasks: programs before today's left no outliers out, and
    compared nodes whatever sizes they had served. Each operation's rows, without the space between columns."""
    told = []
    for line in lines:
        words = line.split()
        if "tasks finished" in line or line.startswith(("read:", "write:", "as the paper")):
            told.append(words)
        elif line.startswith("corrected"):
            told.append(words[1:])
        elif line.startswith("with outliers"):
            told[-1] = words[2:]
    return told


def said_now(line):
    """What an older program printed, in the words of today's: figures are to be the same, words are not."""
    for then, now in REWORDED.items():
        line = line.replace(then, now)
    return line
