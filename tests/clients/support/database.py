"""A PostgreSQL server that the suite starts, kills and asks."""

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from .gateway import free_port

PASSWORD = "a+password-of-the-suite"
STARTING_SECONDS_MAX = 60


def programs():
    """The folder of initdb and postgres: where RIPSTOP_POSTGRES says, on PATH, or Debian's."""
    told = os.environ.get("RIPSTOP_POSTGRES")
    on_path = shutil.which("initdb")
    folders = [told] if told else [on_path and os.path.dirname(on_path), *glob.glob("/usr/lib/postgresql/*/bin")]
    for folder in folders:
        if folder and os.path.isfile(os.path.join(folder, "postgres")):
            return folder
    pytest.skip("PostgreSQL is not installed")


class Database:
    """A server on loopback that asks for a password."""

    def __init__(self, folder):
        self.bin, self.folder, self.port = programs(), folder, free_port()
        self.data, self.process = folder / "data", None
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        secret = folder / "password"
        secret.write_text(PASSWORD + "\n")
        if self.user is not None:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
            os.chown(secret, self.user.pw_uid, self.user.pw_gid)
        self._run(
            "initdb", "-D", self.data, "-U", "rip", "-A", "scram-sha-256", "--pwfile", secret, "-N",
            "-E", "UTF8", "--locale=C",
        ).check_returncode()
        self.start()

    def _as(self):
        return {} if self.user is None else {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

    def _run(self, program, *words):
        words = [os.path.join(self.bin, program), *map(str, words)]
        return subprocess.run(words, cwd="/", capture_output=True, timeout=120, **self._as())

    def begin(self, text):
        """Has its owner say something to it, which may take as long as it likes."""
        beside = os.path.join(self.bin, "psql")
        psql = beside if os.path.isfile(beside) else shutil.which("psql") or pytest.skip("psql is not installed")
        words = [psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        words += ["-h", "127.0.0.1", "-p", str(self.port), "-U", "rip", "-d", "postgres", "-c", text]
        environment = os.environ | {"PGPASSWORD": PASSWORD}
        return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def say(self, text):
        """The same, and waits for its answer."""
        out, err = (process := self.begin(text)).communicate(timeout=120)
        assert process.returncode == 0, err
        return out.strip()

    def start(self):
        words = [
            os.path.join(self.bin, "postgres"), "-D", str(self.data), "-p", str(self.port),
            "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
        ]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(words, cwd="/", stdout=log, stderr=log, **self._as())
        deadline = time.monotonic() + STARTING_SECONDS_MAX
        while "ready to accept connections" not in (self.folder / "log").read_text(errors="replace"):
            assert time.monotonic() < deadline and self.process.poll() is None, "PostgreSQL does not start"
            time.sleep(0.05)

    def kill(self):
        """Ends it at once, without a checkpoint."""
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait(60)
            (self.folder / "log").unlink()

    @property
    def url(self):
        return f"postgres://rip:{PASSWORD}@127.0.0.1:{self.port}/postgres"


@contextlib.contextmanager
def running():
    """A server, in a folder of its own: pytest's may be none that the server's user may pass."""
    with tempfile.TemporaryDirectory(prefix="ripstop-database-") as folder:
        server = Database(pathlib.Path(folder))
        try:
            yield server
        finally:
            server.kill()
