"""A pool that plans itself: reads keep off slow nodes, and nothing is lost with as many nodes as were asked for."""

import collections
import re
import time

import pytest

from support import s3
from support.gateway import Gateway, wait_clean
from support.payload import KIB

pytestmark = pytest.mark.own
OBJECTS = 40
SECONDS_MAX = 60
SITES = ("east", "north", "west")
PLANNED = re.compile(r"plan: \d+ groups, mean latency at most")


def body(number):
    return bytes([number % 251]) * (24 * KIB + number)


@pytest.fixture
def gateway(tmp_path):
    """Six directories under (4,2) that plan again every two seconds."""
    pool = {"plan": "auto", "plan_every": "2s", "plan_gain": 0.02}
    slow = {"delay": "s3-2013-a", "delay_scale": 0.05}
    gateway = Gateway(tmp_path, nodes=6, code=(4, 2), pool=pool, node=slow)
    # Two of the nodes are ten times slower than the others.
    text = gateway.config.read_text().split("[[node]]")
    text[5:7] = [node.replace("0.05", "0.5") for node in text[5:7]]
    gateway.config.write_text("[[node]]".join(text))
    yield gateway.start()
    gateway.stop()


def fill(gateway):
    """Stores the objects; answers who did."""
    client = gateway.endpoint().client()
    client.create_bucket(Bucket="suite")
    for number in range(OBJECTS):
        client.put_object(Bucket="suite", Key=f"key-{number}", Body=body(number))
    return client


def reads_at(gateway):
    """Fetches that each node ended."""
    found = dict.fromkeys((f"d{index}" for index in range(1, 7)), 0)
    for line in gateway.metrics().splitlines():
        if line.startswith("ripstop_node_tasks_total{") and 'operation="read"' in line and 'outcome="done"' in line:
            node = re.search('node="(d[0-9])"', line).group(1)
            found[node] += int(float(line.rsplit(" ", 1)[1]))
    return found


def read_all(client):
    for number in range(OBJECTS):
        assert s3.read(client, "suite", f"key-{number}") == body(number)


def test_reads_keep_off_slow_nodes_all_the_while_and_two_nodes_may_be_lost(gateway):
    client = fill(gateway)
    deadline = time.monotonic() + SECONDS_MAX
    while not PLANNED.search(gateway.log.read_text()) and time.monotonic() < deadline:
        read_all(client)
    assert PLANNED.search(gateway.log.read_text()), gateway.log_tail()
    assert not any(wait_clean(gateway, 30).get(name) for name in ("missing", "damaged", "lost"))
    before = reads_at(gateway)
    for _ in range(5):
        read_all(client)
    after = reads_at(gateway)
    new = {node: after[node] - before[node] for node in after}
    assert new["d5"] + new["d6"] < 0.05 * sum(new.values()), new
    for index in (1, 3):
        gateway.remove_node(index)
    read_all(client)


@pytest.fixture
def sited(tmp_path):
    """Nine directories at three sites under (6,4), any site of which may be lost."""
    pool = {"plan": "auto", "plan_every": "1s", "survive_sites": 1}
    gateway = Gateway(tmp_path, nodes=9, code=(6, 4), pool=pool, node={"delay": "s3-2013-a", "delay_scale": 0.02})
    text = gateway.config.read_text().split("[[node]]")
    text[1:] = [f'{node}site = "{SITES[index // 3]}"\n' for index, node in enumerate(text[1:])]
    gateway.config.write_text("[[node]]".join(text))
    yield gateway.start()
    gateway.stop()


def test_stripes_come_to_survive_the_loss_of_a_site(sited):
    gateway = sited
    client = fill(gateway)

    def crowded():
        """Stripes that have more than two fragments at a site."""
        sites = collections.defaultdict(set)
        for path in gateway.fragments():
            stripe, index = path.name.split(".")
            sites[stripe, (int(path.parent.parent.name[1:]) - 1) // 3].add(index)
        return {stripe for (stripe, _), held in sites.items() if len(held) > 2}

    assert crowded(), "without a plan some stripes have three fragments at a site"
    deadline = time.monotonic() + SECONDS_MAX
    while crowded() and time.monotonic() < deadline:
        read_all(client)
    assert not crowded(), gateway.log_tail()
    for index in (4, 5, 6):
        gateway.remove_node(index)
    read_all(client)


@pytest.fixture
def by_luck(tmp_path):
    """Six directories under (4,2), the first the fastest, read by the plan's probabilities alone."""
    pool = {"plan": "auto", "plan_every": "1s", "selection": "probabilistic"}
    slow = {"delay": "s3-2013-a", "delay_scale": 0.08}
    gateway = Gateway(tmp_path, nodes=6, code=(4, 2), pool=pool, node=slow)
    rescale_first(gateway, 0.02)
    yield gateway.start()
    gateway.stop()


def rescale_first(gateway, scale):
    """Makes the first node so slow; a gateway that runs goes on as it was."""
    first, others = gateway.config.read_text().split('name = "d2"')
    first = re.sub("delay_scale = .*", f"delay_scale = {scale}", first)
    gateway.config.write_text(first + 'name = "d2"' + others)


def test_a_node_that_becomes_slow_is_planned_around_and_the_plan_outlasts_a_restart(by_luck):
    gateway = by_luck
    client = fill(gateway)

    def plans():
        plan = gateway.status()["pools"][0]["plan"]
        return plan["plans"] if plan else 0

    def read_until(holds):
        deadline = time.monotonic() + SECONDS_MAX
        while not holds() and time.monotonic() < deadline:
            read_all(client)
        assert holds(), gateway.log_tail()

    def share_of_first():
        """Of the reads of one round, those that the first node served."""
        before = reads_at(gateway)
        read_all(client)
        after = reads_at(gateway)
        new = {node: after[node] - before[node] for node in after}
        return new["d1"] / sum(new.values())

    read_until(plans)
    read_until(lambda: share_of_first() > 0.1)
    rescale_first(gateway, 0.8)
    done, said = gateway.reload()
    assert done, said
    read_until(lambda: share_of_first() < 0.02)
    assert plans() > 1
    gateway.stop()
    gateway.start()
    client = gateway.endpoint().client()
    assert share_of_first() < 0.02, "it goes on with the plan, before it has measured anything"
