"""What tests of packs share: settings, sizes, and many clients at once."""

import concurrent.futures
import threading
import time

from .payload import KIB

PACKS = {"pack_below": "64 KiB"}
BUCKET = "suite"
BELOW = 64 * KIB
# Below, just below and beyond what is gathered, and about the length of a block.
SMALL = [0, 1, 100, 256, 511, 512, 513, 1000, 4095, 4096, 4097, 16 * KIB, 40_000, 63 * KIB, BELOW - 1]
LARGE = [BELOW, BELOW + 1, 300 * KIB]
CLEAN_SECONDS_MAX = 30
# Flaws that no wait excuses.
NEVER = ("damaged", "forged", "unknown", "newer", "lost")


def at_once(count, call):
    """What `call` answers of 0, 1, …, from as many threads; they begin together."""
    begin = threading.Barrier(count)

    def run(number):
        begin.wait()
        return call(number)

    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def must_be_clean(gateway):
    """Waits until a check finds nothing amiss, at most CLEAN_SECONDS_MAX; answers its counts. What a kill
    left is found only once it is older than the grace: one check may be clean and the next not yet."""
    deadline = time.monotonic() + CLEAN_SECONDS_MAX
    while True:
        code, counts = gateway.check()
        assert not any(counts[name] for name in NEVER) and not counts["catalog"]["findings"], counts
        if code == 0:
            return counts
        assert time.monotonic() < deadline, counts
        time.sleep(0.5)
