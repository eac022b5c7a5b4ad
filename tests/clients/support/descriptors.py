"""Descriptors of this process: tests of many connections need more than it may open by default."""

import contextlib
import resource

import pytest


@contextlib.contextmanager
def at_least(wanted):
    """This process may open this many files; skips the test where the system forbids it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
