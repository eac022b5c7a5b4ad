"""A directory whose disk hangs: every access waits for an answer that never comes."""

import contextlib
import ctypes
import os

MNT_DETACH = 2


class Unhangable(Exception):
    """No directory can be made to hang here: this account may not mount, or there is no FUSE."""


@contextlib.contextmanager
def hanging(path):
    """Mounts over `path`, until the end of the block, a file system that nobody serves."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        served = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        raise Unhangable(str(error)) from None
    options = f"fd={served},rootmode=40000,user_id=0,group_id=0,allow_other"
    mounted = libc.mount(b"hanging", os.fsencode(path), b"fuse", 0, options.encode())
    if mounted != 0:
        os.close(served)
        raise Unhangable(f"{path} cannot be mounted on: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        # Ends every access that waits, with an error.
        os.close(served)
        libc.umount2(os.fsencode(path), MNT_DETACH)
