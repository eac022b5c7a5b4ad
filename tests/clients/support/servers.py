"""Other S3 servers, as backends for nodes that are buckets."""

import os
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from . import s3
from .gateway import Gateway, free_port

READY_SECONDS_MAX = 60
ACCESS_KEY = "BACKENDACCESSKEY0001"
SECRET_KEY = "backendsecretkey00000000000000000000001"


class Server:
    """A server of somebody else's, in a process of its own."""

    def __init__(self, folder, command, environment):
        self.port = free_port()
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = open(self.folder / "server.log", "ab")
        self.process = subprocess.Popen(
            [part.replace("PORT", str(self.port)) for part in command],
            cwd=self.folder,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not self._answers():
            assert self.process.poll() is None, f"{command[0]} ended with {self.process.returncode}"
            assert time.monotonic() < deadline, f"{command[0]} does not answer"
            time.sleep(0.1)

    def _answers(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5).close()
        except urllib.error.HTTPError as error:
            return error.code < 500
        except (urllib.error.URLError, OSError):
            return False
        return True

    def endpoint(self):
        return s3.Endpoint(f"http://127.0.0.1:{self.port}", ACCESS_KEY, SECRET_KEY)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def program(variable, name):
    """A server's program: named by an environment variable, or on PATH; None if there is none."""
    return os.environ.get(variable) or shutil.which(name)


def versitygw(folder):
    path = program("RIPSTOP_VERSITYGW", "versitygw")
    if path is None:
        return None
    root = pathlib.Path(folder) / "posix"
    root.mkdir(parents=True)
    environment = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
    return Server(folder, [path, "--port", "127.0.0.1:PORT", "posix", str(root)], environment)


def minio(folder):
    path = program("RIPSTOP_MINIO", "minio")
    if path is None:
        return None
    root = pathlib.Path(folder) / "drive"
    root.mkdir(parents=True)
    environment = {"MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": SECRET_KEY, "MINIO_UPDATE": "off"}
    return Server(folder, [path, "server", "--address", "127.0.0.1:PORT", str(root)], environment)


def ripstop(folder):
    """A second gateway, over directories of its own."""
    return Gateway(folder).start()


BACKENDS = {"ripstop": ripstop, "versitygw": versitygw, "minio": minio}


def make_node_buckets(endpoint, nodes=6):
    client = endpoint.client()
    for index in range(1, nodes + 1):
        client.create_bucket(Bucket=Gateway.node_bucket(index))
