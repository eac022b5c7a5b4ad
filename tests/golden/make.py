#!/usr/bin/env python3
"""Makes the golden files of one program; README.md says when."""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))

import decisions
import features
import filling
from support import raw
from support.features import ARCHIVE, NAMED, seen_features
from support.gateway import FLAWS
from support.golden import KEEP, Store, content, seen

PACKED_MAX = 1 << 20
# Of what is encrypted in parts, of 5 MiB at least.
FEATURES_MAX = 8 << 20
# Of a body that was never sent to its end.
HALF = 1_200_000
SECONDS_MAX = 60
# How the two folders of a program differ.
KINDS = {
    "stopped": {"stripe_max": "4 MiB"},
    "killed": {"stripe_max": "256 KiB", "move_rate_max": "1 GiB"},
}

FEATURES = {"stripe_max": "256 KiB"}


def knows(program, folder, key, text):
    """Whether the program has heard of a key that is in this configuration."""
    config = folder / "known.toml"
    config.write_text(text)
    command = [program, "check-config", "--config", config]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 0 or key in done.stderr, done
    return done.returncode == 0


def knows_quotas(program, folder):
    return knows(program, folder, "quotas", "[quotas]\nobjects = 1\n")


def knows_packs(program, folder):
    return knows(program, folder, "pack_below", '[[pool]]\nname = "a"\npack_below = "1 KiB"\n')


def write_packs(store, filled):
    """Has small writes wait for one another meanwhile."""
    pools = store.pools
    restart(store, [pool | filling.PATIENT if "pack_below" in pool else pool for pool in pools])
    filled.packs(lambda: {file.stem for file in store.fragments()})
    restart(store, pools)


def restart(store, pools):
    store.stop()
    store.pools = pools
    store.configure()
    store.start()


def plan(program, folder, pools):
    """Has the program plan the first pool so that its first node holds nothing; answers the pools so planned."""
    (folder / "inventory.toml").write_text(decisions.inventory(pools[0]))
    decisions.run(program, folder, "plan", "inventory.toml", "--apply", "plan.toml")
    return [pools[0] | {"plan": "plan.toml"}, *pools[1:]]


def wait_for_moves(store):
    """Waits until stripes have been moved and all are where the plan wants them."""
    rows, deadline = {}, time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        lines = [line.split() for line in store.metrics().splitlines() if 'pool="coded"' in line]
        rows = {line[0].split("{")[0]: float(line[1]) for line in lines if len(line) == 2}
        if rows.get("ripstop_pool_moves_left") == 0 and rows["ripstop_pool_fragments_moved_total"] > 0:
            return
        time.sleep(0.2)
    raise AssertionError(f"stripes are still on their way: {rows}")


def half_sent(store, path, size):
    """Sends the first half of a body, and waits until some of it has been stored."""
    before = store.fragments()
    request = raw.Request(store.endpoint(), "PUT", path, headers={"content-length": str(size)})
    connection = raw.connect(store.endpoint())
    connection.sendall(request.head() + content("half", size)[: size // 2])
    deadline = time.monotonic() + SECONDS_MAX
    while not store.fragments_of_new(before):
        assert time.monotonic() < deadline, f"nothing of {path} was stored"
        time.sleep(0.1)
    return connection


def make(program, commit, kind, folder, target):
    """One golden folder: `KIND.tar.xz` and `KIND.json` in the target."""
    root = folder / kind
    quotas = filling.QUOTAS if knows_quotas(program, folder) else {}
    packs = knows_packs(program, folder)
    pools = filling.PACKING_POOLS if packs else filling.POOLS
    store = Store(root, pools, quotas=quotas, store=KEEP | KINDS[kind])
    with contextlib.ExitStack() as half_done:
        half_done.callback(store.kill)
        filled = filling.Filling(store.start().endpoint().client())
        filled.fill()
        if packs:
            write_packs(store, filled)
        if kind == "killed":
            restart(store, plan(program, root, store.pools))
            wait_for_moves(store)
        shown = seen(store.endpoint().client())
        filled.compare(shown)
        code, counts = store.check()
        assert code == 0 and not any(counts[flaw] for flaw in FLAWS if flaw in counts), counts
        usage = held(store) if quotas else None
        if kind == "killed":
            for path in ("/plain/half", "/shared/half"):
                half_done.callback(half_sent(store, path, HALF).close)
            store.kill()
        else:
            store.stop()
    told = {
        "program": commit,
        "version": decisions.run(program, folder, "--version").strip(),
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "ended": kind,
        "stripe_max": KINDS[kind]["stripe_max"],
        "pools": store.pools,
        "quotas": filling.QUOTAS,
        "usage": usage,
        # Programs that have packs tell of deletions: a rebuild finds none of these again.
        "deleted": {} if packs else filled.deleted,
        "contents": filled.contents,
        "parts": filled.parts,
        "begun": filled.begun,
        "buckets": shown,
    }
    pack(root, target / f"{kind}.tar.xz", store.pools)
    (target / f"{kind}.json").write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n")


def make_features(program, commit, folder, target):
    """The golden folder of S3's features: its program is killed."""
    root = folder / "features"
    people = {"keys": features.KEYS, "rights": features.RIGHTS, "users": features.USERS}
    webhooks = [features.WEBHOOK]
    store = Store(root, features.POOLS, store=KEEP | FEATURES, people=people, webhooks=webhooks)
    with contextlib.ExitStack() as at_end:
        at_end.callback(store.kill)
        store.start().stop()
        decisions.run(program, root, "rotate-key", NAMED, "--config", store.config)
        filled = features.Features(store.start().endpoint)
        filled.fill()
        # What is recorded of requests is put into its bucket as a gateway ends.
        store.stop()
        shown = seen_features(store.start().endpoint().client(), without=("logs",))
        filled.compare(shown)
        code, counts = store.check()
        assert code == 0 and not any(counts[flaw] for flaw in FLAWS if flaw in counts), counts
        store.kill()
    told = {
        "program": commit,
        "version": decisions.run(program, folder, "--version").strip(),
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "ended": "killed",
        "stripe_max": FEATURES["stripe_max"],
        "pools": store.pools,
        "quotas": {},
        "people": people,
        "webhooks": webhooks,
        "contents": {bucket: filled.named(bucket) for bucket in filled.contents},
        "parts": filled.parts,
        "buckets": shown,
    }
    pack(root, target / ARCHIVE, store.pools, FEATURES_MAX)
    manifest = target / ARCHIVE.replace(".tar.xz", ".json")
    manifest.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n")


def held(store):
    """Bytes and objects of each bucket, as the program counts them."""
    status, text = store.ask("/buckets")
    assert status == 200, text
    return {row["name"]: [row["bytes"], row["objects"]] for row in json.loads(text)["buckets"]}


def pack(root, archive, pools, most=PACKED_MAX):
    """The data folder and the nodes; nothing in them names the place where they were."""
    names = ["data", "nodes", *(["plan.toml"] if "plan" in pools[0] else [])]
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for name in names:
            packed.add(root / name, name, filter=anonymous)
    for path in (path for name in names for path in [root / name, *(root / name).rglob("*")]):
        assert path.is_dir() or os.fsencode(root) not in path.read_bytes(), f"{path} names its place"
    size = archive.stat().st_size
    assert size <= most, f"{archive} has {size} bytes"


def anonymous(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program", type=pathlib.Path, help="a release build of ripstop")
    arguments.add_argument("commit", help="what it was built of")
    arguments.add_argument("folder", type=pathlib.Path, help="where its files go; must not be there")
    arguments.add_argument("--features", action="store_true", help="only what S3's features keep")
    given = arguments.parse_args()
    program = given.program.resolve()
    os.environ["RIPSTOP_BIN"] = str(program)
    given.folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        if given.features:
            make_features(program, given.commit, scratch, given.folder)
        else:
            for kind in KINDS:
                make(program, given.commit, kind, scratch, given.folder)
            decisions.make(program, scratch / "decisions", given.folder / "decisions")
    for path in sorted(path for path in given.folder.rglob("*") if path.is_file()):
        print(path.stat().st_size, path)


if __name__ == "__main__":
    main()
