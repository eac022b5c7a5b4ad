"""An OpenBao server that the suite starts, stops for a while and asks. Ends only the process it started."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from .gateway import free_port

STARTING_SECONDS_MAX = 60
ROOT = "root-of-the-suite-0123456789"
POLICY = "\n".join(
    f'path "transit/{path}/*" {{ capabilities = ["{what}"] }}'
    for path, what in {"keys": "read", "encrypt": "update", "decrypt": "update"}.items()
)


def program():
    """`bao`: where RIPSTOP_OPENBAO says, or on PATH."""
    return os.environ.get("RIPSTOP_OPENBAO") or shutil.which("bao") or pytest.skip("OpenBao is not installed")


class KeyService:
    """A server on loopback, in memory, with the transit engine and a policy for gateways."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        words = ["server", "-dev", f"-dev-root-token-id={ROOT}", "-dev-no-store-token"]
        words.append(f"-dev-listen-address=127.0.0.1:{self.port}")
        with open(folder / "log", "ab") as log:
            self.process = subprocess.Popen([program(), *words], cwd=folder, stdout=log, stderr=log)
        try:
            self._wait()
            self.call("POST", "sys/mounts/transit", type="transit")
            self.call("POST", "sys/policies/acl/gateway", policy=POLICY)
        except BaseException:
            self.end()
            raise

    def _wait(self):
        deadline = time.monotonic() + STARTING_SECONDS_MAX
        while True:
            with contextlib.suppress(OSError):
                return self.call("GET", "sys/health")
            assert self.process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.1)

    def call(self, method, path, **said):
        """As who may do all."""
        body = json.dumps(said).encode() if said or method == "POST" else None
        request = urllib.request.Request(f"{self.url}/v1/{path}", body, {"X-Vault-Token": ROOT}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def token(self):
        """One that may use keys and nothing else."""
        return self.call("POST", "auth/token/create", policies=["gateway"])["auth"]["client_token"]

    def make_key(self, name, **said):
        self.call("POST", f"transit/keys/{name}", **said)

    def rotate_key(self, name):
        self.call("POST", f"transit/keys/{name}/rotate")

    @contextlib.contextmanager
    def hanging(self):
        """Has it answer nothing meanwhile."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def end(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def running(folder):
    service = KeyService(folder)
    try:
        yield service
    finally:
        service.end()
