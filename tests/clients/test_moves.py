"""The catalog moved from its file into a PostgreSQL server and back, copied from there, and made again there."""

import os
import signal
import subprocess
import time

import pytest

from support import s3
from support.database import PASSWORD, running
from support.gateway import Gateway, clean, wait_clean

pytestmark = pytest.mark.own
SECONDS_MAX = 180
PART = 5 << 20


@pytest.fixture
def database():
    with running() as server:
        yield server


@pytest.fixture
def gateway(tmp_path):
    own = Gateway(tmp_path / "own")
    yield own
    own.kill()


def begin(gateway, *words, **environment):
    words = [gateway.binary, *words[:2], "--config", str(gateway.config), *words[2:]]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))}
    return subprocess.Popen(
        words, cwd=gateway.folder, env=kept | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(gateway, *words, **environment):
    """Exit code, and all that it says, in which there is no password."""
    process = begin(gateway, *words, **environment)
    out, err = process.communicate(timeout=SECONDS_MAX)
    assert PASSWORD not in out + err
    return process.returncode, out + err


def move(gateway, to, *words):
    return run(gateway, "catalog", "move", *words, RIPSTOP_CATALOG_TO=to)


def place(gateway, url):
    """Configures where the catalog is: at a URL, or in the file."""
    gateway.store.pop("catalog", None)
    gateway.store |= {"catalog": url} if url else {}
    gateway.configure()


def must_not_start(gateway, why):
    with pytest.raises(AssertionError, match=why):
        gateway.start()


def fill(client):
    """Objects, versions, delete markers, tags, and an upload under way; answers that."""
    client.create_bucket(Bucket="plain")
    client.create_bucket(Bucket="kept")
    client.put_bucket_versioning(Bucket="kept", VersioningConfiguration={"Status": "Enabled"})
    for at in range(30):
        body, key = os.urandom(100 + at * 4000), f"{'abc'[at % 3]}/{at:02} é"
        client.put_object(Bucket="plain", Key=key, Body=body, Metadata={"number": str(at)}, Tagging=f"n={at}")
    client.delete_object(Bucket="plain", Key="a/00 é")
    for at in range(12):
        client.put_object(Bucket="kept", Key=f"k{at % 4}", Body=b"%d" % at)
    client.delete_object(Bucket="kept", Key="k1")
    upload = client.create_multipart_upload(Bucket="plain", Key="big")["UploadId"]
    bodies = [os.urandom(PART), os.urandom(1000)]
    for number, body in enumerate(bodies, start=1):
        client.upload_part(Bucket="plain", Key="big", UploadId=upload, PartNumber=number, Body=body)
    return upload, bodies


def without(answer, *names):
    return {name: value for name, value in answer.items() if name not in ("ResponseMetadata", *names)}


def seen(client, upload=None):
    """All that clients see."""
    everything = [without(client.list_buckets())["Buckets"]]
    for bucket in ("plain", "kept"):
        everything.append(without(client.list_object_versions(Bucket=bucket)))
        everything.append(without(client.list_objects_v2(Bucket=bucket, Delimiter="/")))
        everything.append(without(client.list_multipart_uploads(Bucket=bucket)))
        for version in client.list_object_versions(Bucket=bucket).get("Versions", []):
            names = {"Bucket": bucket, "Key": version["Key"], "VersionId": version["VersionId"]}
            answer = client.get_object(**names)
            body = answer.pop("Body").read()
            everything.append((without(answer), body, without(client.get_object_tagging(**names))))
    if upload is not None:
        everything.append(without(client.list_parts(Bucket="plain", Key="big", UploadId=upload)))
    return everything


def complete(client, upload):
    parts = client.list_parts(Bucket="plain", Key="big", UploadId=upload)["Parts"]
    parts = {"Parts": [{name: part[name] for name in ("PartNumber", "ETag")} for part in parts]}
    client.complete_multipart_upload(Bucket="plain", Key="big", UploadId=upload, MultipartUpload=parts)


def must_be_well(gateway, objects):
    # What was aborted or written over goes a grace later.
    report = wait_clean(gateway, 60)
    assert clean(report), report
    assert (report["catalog"]["objects"], report["catalog"]["findings"]) == (objects, []), report


def test_a_catalog_moves_into_a_database_and_back_and_clients_see_no_difference(gateway, database):
    client = gateway.start().endpoint().client()
    upload, bodies = fill(client)
    before = seen(client, upload)
    code, told = move(gateway, database.url)
    assert code == 2 and "stop it first" in told, told
    gateway.stop()
    code, told = move(gateway, database.url)
    assert code == 0 and "verified" in told and "Now set `catalog`" in told, told
    [aside] = gateway.data.glob("catalog.moved-*.redb")
    assert str(aside) in told and not (gateway.data / "catalog.redb").exists()
    must_not_start(gateway, "was moved into a database")
    place(gateway, database.url)
    gateway.start()
    assert seen(client, upload) == before
    complete(client, upload)
    client.put_object(Bucket="plain", Key="since", Body=b"since")
    assert s3.read(client, "plain", "big") == b"".join(bodies)
    before = seen(client)
    must_be_well(gateway, 44)
    code, told = move(gateway, "file")
    assert code == 2 and "stop it first" in told, told
    gateway.stop()
    # Whether another gateway serves is not known of one that ended just now.
    code, told = move(gateway, "file", "--stopped")
    assert code == 0 and "Now take `catalog` out" in told, told
    must_not_start(gateway, "was moved out of this database")
    place(gateway, None)
    gateway.start()
    assert seen(client) == before
    client.put_object(Bucket="plain", Key="last", Body=b"last")
    must_be_well(gateway, 45)
    assert PASSWORD not in gateway.log.read_text()


def test_a_move_is_refused_while_another_gateway_serves_and_into_what_is_not_empty(gateway, tmp_path, database):
    keys = {"key_file": str(tmp_path / "store.key"), "object_keys_file": str(tmp_path / "object.keys")}
    gateway.store |= keys
    place(gateway, database.url)
    client = gateway.start().endpoint().client()
    client.create_bucket(Bucket="plain")
    # Another data folder, whose lock says nothing of the first one's gateway.
    other = Gateway(tmp_path / "other", store=gateway.store)
    other.data.mkdir()
    began = time.monotonic()
    code, told = move(other, "file")
    assert code == 2 and "a gateway serves from this catalog" in told, told
    assert time.monotonic() - began < 60
    assert not list(other.data.glob("catalog*"))
    client.put_object(Bucket="plain", Key="goes on", Body=b"1")
    gateway.stop()
    # A file into what holds something.
    own = Gateway(tmp_path / "third")
    own.start().endpoint().client().create_bucket(Bucket="third")
    own.stop()
    for words, why in (
        (database.url, "the database holds a catalog"),
        ("file", "in the data folder's file already"),
        ("nowhere", "begins with postgres://"),
    ):
        code, told = move(own, words)
        assert code == 2 and why in told, told
    must_be_well(own, 0)
    place(gateway, database.url)
    assert gateway.start().endpoint().client().get_object(Bucket="plain", Key="goes on")["Body"].read() == b"1"


def wait_for(what):
    deadline = time.monotonic() + SECONDS_MAX
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_move_that_is_killed_changes_nothing_and_the_next_one_makes_it(gateway, database):
    client = gateway.start().endpoint().client()
    upload, _ = fill(client)
    before = seen(client, upload)
    gateway.stop()
    # Whoever writes parts of uploads waits.
    database.say(
        "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$; "
        "CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF to_regclass('ripstop_parts') IS NOT NULL THEN "
        "EXECUTE 'CREATE OR REPLACE TRIGGER slow BEFORE INSERT ON ripstop_parts EXECUTE FUNCTION dawdle()'; "
        "END IF; END $$; "
        "CREATE EVENT TRIGGER slow ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION slow()"
    )
    moving = begin(gateway, "catalog", "move", RIPSTOP_CATALOG_TO=database.url)
    sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    wait_for(lambda: database.say(sleeps) == "1")
    moving.send_signal(signal.SIGKILL)
    moving.communicate(timeout=60)
    database.say("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    # What is there is no catalog, and the file is.
    place(gateway, database.url)
    must_not_start(gateway, "did not come to its end")
    place(gateway, None)
    gateway.start()
    assert seen(client, upload) == before
    client.put_object(Bucket="plain", Key="meanwhile", Body=b"1")
    before = seen(client, upload)
    gateway.stop()
    database.say("DROP EVENT TRIGGER slow; DROP FUNCTION dawdle CASCADE")
    code, told = move(gateway, database.url)
    assert code == 0, told
    place(gateway, database.url)
    gateway.start()
    assert seen(client, upload) == before
    gateway.stop()
    # Back, and killed while it waits for a table.
    lock = database.begin("BEGIN; LOCK TABLE ripstop_parts IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600)")
    wait_for(lambda: database.say(sleeps) == "1")
    moving = begin(gateway, "catalog", "move", "--stopped", RIPSTOP_CATALOG_TO="file")
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'relation'"
    wait_for(lambda: database.say(waits) == "1")
    moving.send_signal(signal.SIGKILL)
    moving.communicate(timeout=60)
    database.say("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    lock.communicate(timeout=60)
    place(gateway, None)
    must_not_start(gateway, "did not come to its end")
    place(gateway, database.url)
    gateway.start()
    assert seen(client, upload) == before
    gateway.stop()
    code, told = move(gateway, "file", "--stopped")
    assert code == 0, told
    place(gateway, None)
    gateway.start()
    assert seen(client, upload) == before
    must_be_well(gateway, 43)


def test_a_copy_of_a_database_is_put_back_into_a_database_and_into_a_file(gateway, database):
    place(gateway, database.url)
    client = gateway.start().endpoint().client()
    upload, _ = fill(client)
    before = seen(client, upload)
    copy = gateway.folder / "copy"
    code, told = run(gateway, "backup", str(copy))
    assert code == 0 and "42 objects" in told and "verified" in told, told
    code, told = run(gateway, "backup", str(copy))
    assert code == 2 and "is there already" in told, told
    client.put_object(Bucket="plain", Key="since", Body=b"since")
    client.delete_object(Bucket="plain", Key="b/01 é")
    gateway.stop()
    code, told = run(gateway, "restore", str(copy))
    assert code == 2 and "the database holds a catalog" in told, told
    database.say("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    code, told = run(gateway, "restore", str(copy))
    assert code == 0 and "brought in 0 buckets" in told, told
    assert not (gateway.data / "catalog.restoring").exists()
    gateway.start()
    client.delete_object(Bucket="plain", Key="since")
    client.put_object(Bucket="plain", Key="b/01 é", Body=b"again")
    parts = without(client.list_parts(Bucket="plain", Key="big", UploadId=upload))
    assert parts == before[-1]
    must_be_well(gateway, 42)
    gateway.stop()
    place(gateway, None)
    code, told = run(gateway, "restore", str(copy))
    assert code == 0 and "brought in" in told, told
    gateway.start()
    assert client.get_object(Bucket="plain", Key="b/01 é")["Body"].read() == b"again"
    assert without(client.list_parts(Bucket="plain", Key="big", UploadId=upload)) == before[-1]
    must_be_well(gateway, 42)


def test_a_database_that_is_lost_is_made_again_from_the_nodes(gateway, database):
    place(gateway, database.url)
    client = gateway.start().endpoint().client()
    upload, _ = fill(client)
    client.abort_multipart_upload(Bucket="plain", Key="big", UploadId=upload)
    before = seen(client)
    gateway.stop()
    code, told = run(gateway, "rebuild")
    assert code == 2 and "the database holds a catalog" in told, told
    database.say("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    must_not_start(gateway, "is marked as node")
    code, told = run(gateway, "rebuild")
    assert code == 0 and "42 objects" in told, told
    gateway.start()
    assert seen(client) == before
    must_be_well(gateway, 42)
    gateway.stop()
    # Nothing is missing, so nothing is brought in.
    code, told = run(gateway, "rebuild", "--onto")
    assert code == 0 and "brought in 0 buckets and 0 objects" in told, told
