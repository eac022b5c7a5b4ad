"""What a gateway decided under load is recorded, also when it is killed, and decided once more all the same."""

import os
import random
import re
import subprocess
import threading
import time
import urllib.request

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from support import s3
from support.gateway import Gateway
from support.payload import KIB, MIB, Stream

pytestmark = pytest.mark.own
WORKERS = 6
SECONDS_MAX = 60
EQUAL = re.compile(r"^pool default: equal, (\d+) events and (\d+) actions", re.M)
HEADER = "time_s,operation,node,bytes,served_ms,outcome,waited_ms,redundant"


def ripstop(*words, folder):
    command = [os.environ["RIPSTOP_BIN"], *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX)


def load(gateway, seed, stop):
    """Puts, gets and deletes until told to stop or the gateway is gone."""
    dice = random.Random(seed)
    client = gateway.endpoint().client(read_timeout=20)
    while not stop.is_set():
        key = f"w{seed}/k{dice.randrange(8)}"
        try:
            size = dice.choice([1, 4 * KIB, 300 * KIB, 2 * MIB, 9 * MIB])
            client.put_object(Bucket="suite", Key=key, Body=Stream(dice.random(), size), ContentLength=size)
            for _ in range(3):
                s3.read(client, "suite", key)
            if dice.random() < 0.3:
                client.delete_object(Bucket="suite", Key=key)
        except (ClientError, BotoCoreError, OSError):
            if stop.wait(0.01):
                return


def run(gateway, seconds, end):
    """A mixed load during which a node is lost, until `end` ends the gateway."""
    stop = threading.Event()
    workers = [threading.Thread(target=load, args=(gateway, seed, stop)) for seed in range(WORKERS)]
    for worker in workers:
        worker.start()
    time.sleep(seconds / 2)
    gateway.remove_node(2)
    time.sleep(seconds / 2)
    end()
    stop.set()
    for worker in workers:
        worker.join(SECONDS_MAX)
    gateway.recreate_node(2)


@pytest.mark.parametrize(
    "pool",
    [{}, {"policy": "hedge-p95"}, {"layout": "shared", "code": [24, 12]}],
    ids=["fixed", "hedge", "backfill"],
)
def test_a_recorded_run_is_decided_the_same_again(tmp_path, pool):
    code = tuple(pool.get("code", (6, 4)))
    keys = {key: value for key, value in pool.items() if key != "code"}
    gateway = Gateway(tmp_path, code=code, pool=keys)
    gateway.start("--record", "killed", "--task-log", "tasks.csv")
    gateway.endpoint().client().create_bucket(Bucket="suite")
    run(gateway, 6, gateway.kill)
    killed = ripstop("replay", "killed", folder=tmp_path)
    assert killed.returncode == 0, killed.stdout + killed.stderr
    assert "the recording is cut off" in killed.stdout
    events, actions = map(int, EQUAL.search(killed.stdout).groups())
    assert events > 200 and actions > events, killed.stdout

    gateway.start("--record", "whole", "--task-log", "tasks.csv")
    run(gateway, 2, gateway.stop)
    whole = ripstop("replay", "whole", folder=tmp_path)
    assert whole.returncode == 0 and "the recording is whole" in whole.stdout, whole.stdout + whole.stderr

    lines = (tmp_path / "tasks.csv").read_text().splitlines()
    assert lines.count(HEADER) == 1 and lines[0] == HEADER and len(lines) > 200
    assert all(line.count(",") == HEADER.count(",") for line in lines)
    fitted = ripstop("fit", "tasks.csv", folder=tmp_path)
    assert fitted.returncode == 0 and "tasks finished" in fitted.stdout, fitted.stdout + fitted.stderr


def test_a_recording_is_never_overwritten_and_damage_is_told(tmp_path):
    gateway = Gateway(tmp_path).start("--record", "run")
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    client.put_object(Bucket="suite", Key="k", Body=b"x" * 100_000)
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin_port}/pools/default/task-log") as answer:
        lines = answer.read().decode().splitlines()
    assert lines[0] == HEADER and len(lines) > 6
    gateway.stop()
    recording = (tmp_path / "run").read_bytes()
    with pytest.raises(AssertionError, match="recording run: File exists"):
        gateway.start("--record", "run")
    assert (tmp_path / "run").read_bytes() == recording

    damaged = bytearray(recording)
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    told = ripstop("replay", "damaged", folder=tmp_path)
    assert told.returncode == 2 and "damaged in the block at byte" in told.stderr, told.stderr
    told = ripstop("replay", gateway.config, folder=tmp_path)
    assert told.returncode == 2 and "it is not a recording" in told.stderr, told.stderr
