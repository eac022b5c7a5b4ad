"""What a program decided, and files that it and others read: a recording, a task log, an access log, a plan;
and what the program itself says of them."""

import contextlib
import json
import random
import subprocess
import threading

import botocore.exceptions

from support.golden import Store, content
from support.payload import KIB, MIB

SECONDS_MAX = 120
FILES_MAX = 400_000
WORKERS = 4
ROUNDS = 14
DELAYED = {"kind": "memory", "delay": "s3-2025", "delay_scale": 0.1, "seed": 7}
POOLS = [
    {"name": "fixed", "code": [6, 4], "nodes": [f"d{number}" for number in range(1, 7)]},
    {"name": "hedge", "code": [4, 2], "policy": "hedge-p95", "buckets": ["hedge"], "nodes": ["h1", "h2", "h3", "h4"]},
    {"name": "backfill", "layout": "shared", "code": [24, 12], "buckets": ["backfill"], "nodes": ["b1"]},
]
BUCKETS = {"fixed": "plain", "hedge": "hedge", "backfill": "backfill"}
PROMISE = {"name": "shop", "access_keys": ["GOLDENKEY0000000001"], "promise": "0.9:200ms,1:5s", "share": 0.5}
SECRET = "golden/secret+key000000000000000000001"
BRIEFLY = ("--policies", "fixed(4,4)", "--seeds", "1", "--first", "100")
# What is asked of the files, each a command in their folder.
COMMANDS = (
    ("replay", "recording"),
    ("fit", "tasks.csv"),
    ("whatif", "--config", "whatif.toml", "--task-log", "tasks.csv", *BRIEFLY, "access.jsonl"),
    ("plan", "inventory.toml", "--previous", "plan.toml"),
    ("plan", "inventory.toml", "--previous", "plan.json"),
)
WHAT_IF = """\
[[pool]]
name = "main"
code = [6, 4]
"""


class Slow(Store):
    """A gateway of which some nodes are in memory and slow."""

    def _directory_node(self, index):
        if index.startswith("d"):
            return super()._directory_node(index)
        return [f"{key} = {json.dumps(value)}" for key, value in DELAYED.items()]


def run(program, folder, *words):
    """What a command prints; it must succeed."""
    command = [program, *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 0, done
    return done.stdout


def inventory(pool):
    """Nodes of a pool for the planner, the first of which is so slow that it is better not used."""
    n, k = pool["code"]
    lines = [f'pool = "{pool["name"]}"', "[[class]]", 'name = "stripes"', "rate_per_s = 20", "files = 1000"]
    lines += [f"k = {k}", f"n = {n}", 'chunk = "256 KiB"']
    for at, name in enumerate(pool["nodes"]):
        mean = 0.02 + 0.005 * at if at else 2.0
        lines += ["[[node]]", f'name = "{name}"', "lanes = 8", f"mean_s = {mean}", f"sd_s = {mean / 2}"]
    return "\n".join(lines) + "\n"


def load(store, seed, *key):
    """Puts, gets, ranges and deletes of one client."""
    dice, client = random.Random(seed), store.endpoint(*key).client(read_timeout=30, user_agent="golden")
    for turn in range(ROUNDS):
        pool = dice.choice(POOLS)["name"]
        where = {"Bucket": BUCKETS[pool], "Key": f"{seed}/{turn % 3}"}
        size = dice.choice([1, 4 * KIB, 300 * KIB, 2 * MIB, 9 * MIB])
        # Nodes are lost meanwhile, and a tenant may ask too much.
        with contextlib.suppress(botocore.exceptions.ClientError):
            client.put_object(**where, Body=content("load", size))
            client.get_object(**where)["Body"].read()
            client.get_object(**where, Range=f"bytes={size // 3}-{size // 2}")["Body"].read()
            if turn % 5 == 4:
                client.delete_object(**where)


def record(program, root, target):
    """Serves a load during which a node is lost, and keeps what was recorded and logged."""
    store = Slow(root, POOLS, store={"grace": "1s"})
    store.keys = {PROMISE["access_keys"][0]: SECRET}
    store.configure([PROMISE])
    store.start("--record", "recording", "--task-log", "tasks.csv")
    client = store.endpoint().client(user_agent="golden")
    for bucket in BUCKETS.values():
        client.create_bucket(Bucket=bucket)
    keys = [PROMISE["access_keys"][0] if worker % 2 else None for worker in range(WORKERS)]
    for losing in (False, True):
        if losing:
            store.remove_node("d2")
        seeds = [worker + WORKERS * losing for worker in range(WORKERS)]
        own = [(key,) if key else () for key in keys]
        workers = [threading.Thread(target=load, args=(store, seed, *key)) for seed, key in zip(seeds, own)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    store.recreate_node("d2")
    store.stop()
    lines = [line for line in store.log.read_text().splitlines() if '"target":"ripstop_s3::access"' in line]
    (target / "access.jsonl").write_text("\n".join(lines) + "\n")
    for name in ("recording", "tasks.csv"):
        (target / name).write_bytes((root / name).read_bytes())


def make(program, root, target):
    """The files, and what the program says of them."""
    target.mkdir()
    record(program, root, target)
    nodes = [f"n{number}" for number in range(1, 9)]
    tables = [f'[[node]]\nname = "{name}"\nkind = "memory"\nlanes = 8\n' for name in nodes[:6]]
    (target / "whatif.toml").write_text(WHAT_IF + "".join(tables))
    (target / "inventory.toml").write_text(inventory({"name": "main", "code": [6, 4], "nodes": nodes}))
    (target / "plan.json").write_text(run(program, target, "plan", "inventory.toml", "--apply", "plan.toml", "--json"))
    answers = [{"asked": list(command), "printed": run(program, target, *command).splitlines()} for command in COMMANDS]
    (target / "answers.json").write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n")
    size = sum(path.stat().st_size for path in target.iterdir())
    assert size <= FILES_MAX, f"{target} has {size} bytes"
