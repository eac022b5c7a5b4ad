"""Folders of nodes: whose they are, what may be in them, and what is removed from them."""

import os
import shutil
import subprocess

import pytest

from support import s3
from support.gateway import ACCESS_KEY, SECRET_KEY, clean

pytestmark = pytest.mark.own
SECONDS_MAX = 60
LEFT = "123-0123456789abcdef-42"


def run(gateway, command):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))}
    environment |= {"RIPSTOP_ACCESS_KEY": ACCESS_KEY, "RIPSTOP_SECRET_KEY": SECRET_KEY}
    return subprocess.run(
        [gateway.binary, command, "--config", str(gateway.config)],
        cwd=gateway.folder,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env=environment,
    )


def refused(gateway):
    """What a start that must fail says."""
    done = run(gateway, "serve")
    assert done.returncode == 2, done
    return done.stderr


def store_one(gateway):
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="k", Body=b"content")
    return client


def test_a_folder_of_somebody_else_is_refused_and_left_alone(gateway):
    client = store_one(gateway)
    gateway.stop()
    gateway.remove_node(3)
    gateway.recreate_node(3)
    thesis = gateway.node(3) / "thesis.doc"
    thesis.write_text("mine")
    told = refused(gateway)
    assert str(gateway.node(3)) in told and "thesis.doc" in told, told
    assert [path.name for path in gateway.node(3).iterdir()] == ["thesis.doc"]
    thesis.unlink()
    gateway.start()
    assert s3.read(client, "suite", "k") == b"content"


def test_two_folders_that_were_swapped_are_refused_and_lose_nothing(gateway):
    client = store_one(gateway)

    def swap():
        aside = gateway.folder / "aside"
        gateway.node(1).rename(aside)
        gateway.node(2).rename(gateway.node(1))
        aside.rename(gateway.node(2))

    gateway.stop()
    before = gateway.fragments()
    swap()
    assert "swapped" in refused(gateway)
    swap()
    assert gateway.fragments() == before
    gateway.start()
    assert s3.read(client, "suite", "k") == b"content"
    assert clean(gateway.check()[1])


def test_what_a_killed_gateway_was_writing_is_freed_at_the_start_and_nothing_else(gateway):
    store_one(gateway)
    gateway.stop()
    temporary = gateway.node(4) / ".ripstop-tmp"
    (temporary / LEFT).write_bytes(b"half")
    (temporary / "other.db").write_bytes(b"theirs")
    elsewhere = gateway.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LEFT).write_bytes(b"theirs")
    (gateway.node(5) / "tmp").symlink_to(elsewhere)
    gateway.start()
    assert sorted(path.name for path in temporary.iterdir()) == ["other.db"]
    assert (elsewhere / LEFT).exists()
    code, counts = gateway.check()
    assert (code, counts["leftovers"]) == (0, 0), counts


def test_a_lost_catalog_of_a_store_without_objects_is_made_anew_for_the_same_nodes(gateway):
    gateway.stop()
    (gateway.data / "catalog.redb").unlink()
    assert "ripstop rebuild" in refused(gateway)
    done = run(gateway, "rebuild")
    assert done.returncode == 0, done
    gateway.start()
    assert s3.read(store_one(gateway), "suite", "k") == b"content"


def test_a_pipe_in_place_of_a_fragment_holds_up_neither_reads_nor_the_end(gateway):
    client = store_one(gateway)
    for fragment in gateway.fragments()[:2]:
        fragment.unlink()
        os.mkfifo(fragment)
    assert s3.read(client, "suite", "k") == b"content"
    code, counts = gateway.check(repair=True)
    assert (code, counts["lost"]) == (0, 0), counts
    assert s3.read(client, "suite", "k") == b"content"
    gateway.stop()


def test_data_folders_of_versions_without_markers_are_taken(gateway):
    client = store_one(gateway)
    gateway.stop()
    for index in range(1, gateway.nodes + 1):
        (gateway.node(index) / ".ripstop-node").unlink()
        shutil.rmtree(gateway.node(index) / ".ripstop-tmp", ignore_errors=True)
        (gateway.node(index) / "tmp").mkdir()
        (gateway.node(index) / "tmp" / LEFT).write_bytes(b"half")
    gateway.start()
    assert s3.read(client, "suite", "k") == b"content"
    for index in range(1, gateway.nodes + 1):
        names = {path.name for path in gateway.node(index).iterdir()}
        assert ".ripstop-node" in names and "tmp" not in names, names
