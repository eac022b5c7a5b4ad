"""A gateway that the suite starts, kills and asks. Ends only the process it started."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import time

from . import s3

READY_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60
CHECK_SECONDS_MAX = 600
REBUILD_SECONDS_MAX = 120
NAME = re.compile(r"^[0-9a-f]{32}\.[0-9]{3}$")
ACCESS_KEY = "SUITEACCESSKEY000001"
FLAWS = ("missing", "damaged", "forged", "unknown", "unclaimed", "misplaced", "newer", "lost")
SECRET_KEY = "suite/secret+key0000000000000000000001"
REGION = "us-east-1"


def free_port():
    """A loopback port nobody has now, below those that outgoing connections get: it stays free while a
    killed gateway is started again."""
    for port in random.SystemRandom().sample(range(18_000, 32_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise AssertionError("100 ports were all taken")


def memory_kib(pid, field):
    """`VmRSS` or `VmHWM` of a process, in KiB."""
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise AssertionError(f"{field} is not in the status of {pid}")


class Gateway:
    """One `ripstop serve` over six nodes: directories of its own, or the buckets of `backend`."""

    def __init__(
        self,
        folder,
        *,
        backend=None,
        nodes=6,
        code=(6, 4),
        settings=None,
        store=None,
        pool=None,
        node=None,
        keys=None,
        files=None,
        authority=None,
        webhooks=None,
    ):
        """With an `authority` it speaks TLS, with a certificate that this one signed."""
        self.binary = os.environ["RIPSTOP_BIN"]
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.config = self.folder / "ripstop.toml"
        self.log = self.folder / "log"
        self.port, self.admin_port = free_port(), free_port()
        self.backend, self.nodes, self.code = backend, nodes, code
        self.store = {"grace": "3s", "sweep_every": "1s", "list_every": "2s", "clean_every": "1s"} | (store or {})
        self.settings, self.pool, self.node_settings = settings or {}, pool or {}, node or {}
        # Its limit of open files: one number, or the soft and the hard one.
        self.files = (files, files) if isinstance(files, int) else files
        # Access keys and secrets beside the suite's own; whose they are is said in `tenants`.
        self.keys, self.tenants = keys, []
        # What access keys may do: "administrator", "user", or rights by bucket; what may be done without one; and what
        # users are called. They take `keys`, which are in a file.
        self.rights, self.unsigned, self.users = {}, {}, {}
        # How much buckets may hold, by name; by None: each that is not named.
        self.quotas = {}
        # Addresses of webhooks, by name.
        self.webhooks = webhooks or {}
        self.authority = authority
        if authority is not None:
            self.certificate, self.key = self.folder / "certificate.pem", self.folder / "key.pem"
            authority.sign(self.certificate, self.key)
            self.settings = {"tls_certificate": str(self.certificate), "tls_key": str(self.key)} | self.settings
        self.process = None
        self.configure()

    # Configuration

    def configure(self, tenants=()):
        """Writes the configuration, with these tables of tenants; one that runs goes on as it was."""
        self.tenants = tenants
        self.config.write_text(self._configuration())
        if self.keys is not None:
            file = self.folder / "credentials"
            lines = [f'access_key = "{ACCESS_KEY}"', f'secret_key = "{SECRET_KEY}"', "[more]"]
            lines += [f'{key} = "{secret}"' for key, secret in self.keys.items()]
            if self.rights:
                lines.append("[rights]")
            words = {key: rights for key, rights in self.rights.items() if isinstance(rights, str)}
            lines += [f'{key} = "{word}"' for key, word in words.items()]
            tables = {f"[rights.{key}]": rights for key, rights in self.rights.items() if key not in words}
            tables |= {"[unsigned]": self.unsigned} if self.unsigned else {}
            tables |= {"[users]": self.users} if self.users else {}
            for section, rights in tables.items():
                lines.append(section)
                lines += [f"{json.dumps(bucket)} = {json.dumps(words)}" for bucket, words in rights.items()]
            file.write_text("\n".join(lines) + "\n")
            file.chmod(0o600)

    def _configuration(self):
        gateway = {
            "listen": f"127.0.0.1:{self.port}",
            "admin": f"127.0.0.1:{self.admin_port}",
            "region": REGION,
            "data": str(self.data),
        }
        if self.keys is not None:
            gateway["credentials"] = str(self.folder / "credentials")
        lines = [
            "[gateway]",
            *(f"{key} = {json.dumps(value)}" for key, value in (gateway | self.settings).items()),
            "[store]",
            *(f"{key} = {json.dumps(value)}" for key, value in self.store.items()),
            *self._pools(),
        ]
        for tenant in self.tenants:
            lines += ["[[tenant]]", *(f"{key} = {json.dumps(value)}" for key, value in tenant.items())]
        for name, url in self.webhooks.items():
            lines += ["[[webhook]]", f"name = {json.dumps(name)}", f"url = {json.dumps(url)}"]
        for bucket, quota in sorted(self.quotas.items(), key=lambda row: row[0] or ""):
            section = f"[quotas.bucket.{json.dumps(bucket)}]" if bucket else "[quotas]"
            lines += [section, *(f"{key} = {json.dumps(value)}" for key, value in quota.items())]
        return "\n".join(lines) + "\n"

    def _pools(self):
        """Lines of the pools and their nodes."""
        lines = [
            "[[pool]]",
            'name = "default"',
            f"code = {list(self.code)}",
            *(f"{key} = {json.dumps(value)}" for key, value in self.pool.items()),
        ]
        for index in range(1, self.nodes + 1):
            lines += ["[[node]]", f'name = "d{index}"', 'pool = "default"']
            lines += self._bucket_node(index) if self.backend else self._directory_node(index)
            settings = {"lanes": 16} | self.node_settings
            lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        return lines

    def _directory_node(self, index):
        self.node(index).mkdir(parents=True, exist_ok=True)
        return ['kind = "directory"', f'path = "{self.node(index)}"']

    def _bucket_node(self, index):
        file = self.folder / "backend-credentials"
        access, secret = self.backend.access_key, self.backend.secret_key
        file.write_text(f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n")
        file.chmod(0o600)
        return [
            'kind = "bucket"',
            f'endpoint = "{self.backend.url}"',
            f'region = "{self.backend.region}"',
            f'bucket = "{self.node_bucket(index)}"',
            'prefix = "fragments"',
            f'credentials = "{file}"',
        ]

    @staticmethod
    def node_bucket(index):
        return f"ripstop-node-{index}"

    # Process

    def start(self, *options):
        """Starts it, with more options if any are given, and waits until it is ready."""
        assert self.process is None, "it runs already"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))}
        if self.keys is None:
            environment |= {"RIPSTOP_ACCESS_KEY": ACCESS_KEY, "RIPSTOP_SECRET_KEY": SECRET_KEY}
        with open(self.log, "ab") as log:
            command = [self.binary, "serve", "--config", str(self.config), *options]
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=self._limit_files if self.files else None,
            )
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not self.ready():
            if self.process.poll() is not None:
                code, self.process = self.process.returncode, None
                raise AssertionError(f"the gateway ended with {code}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"not ready in {READY_SECONDS_MAX} s:\n{self.log_tail()}")
            time.sleep(0.02)
        return self

    def _limit_files(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, self.files)

    def ask(self, path, method="GET", token=None, seconds=10):
        """Status and text of what the admin port answers, wherever it is."""
        where = self.settings.get("admin", "")
        if where.startswith("unix:"):
            connection = http.client.HTTPConnection("localhost", timeout=seconds)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(seconds)
            connection.sock.connect(where.removeprefix("unix:"))
        elif "admin_tls_certificate" in self.settings:
            trusted = ssl.create_default_context(cafile=self.authority.certificate)
            connection = http.client.HTTPSConnection("127.0.0.1", self.admin_port, timeout=seconds, context=trusted)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=seconds)
        with contextlib.closing(connection):
            connection.request(method, path, headers={"authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def ready(self):
        try:
            return self.ask("/readyz", seconds=5)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def kill(self):
        """kill −9, then waits for the end."""
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait(STOP_SECONDS_MAX)

    def stop(self):
        """Asks it to end; a gateway that does not is killed and the test fails."""
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"SIGTERM did not end it in {STOP_SECONDS_MAX} s") from None
        assert code in (0, -signal.SIGTERM), f"ended with {code}:\n{self.log_tail()}"

    def log_tail(self, size=4000):
        return self.log.read_text(errors="replace")[-size:] if self.log.exists() else "(no log)"

    def memory_kib(self, field):
        return memory_kib(self.process.pid, field)

    def metrics(self):
        return self._told("/metrics")

    def status(self):
        return json.loads(self._told("/status"))

    def _told(self, path):
        status, text = self.ask(path)
        assert status == 200, f"{path}: {status}: {text}"
        return text

    def reload(self):
        """Has it read its configuration again: whether it did, and what it says."""
        status, text = self.ask("/reload", method="POST")
        return status == 200, text

    # Maintenance

    def check(self, *, repair=False):
        """`ripstop check`: exit code and the counts it prints."""
        command = [self.binary, "check", "--config", str(self.config), "--json"]
        command += ["--repair"] if repair else []
        done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=CHECK_SECONDS_MAX)
        text = done.stdout.decode()
        assert done.returncode in (0, 1), f"check ended with {done.returncode}: {done.stderr.decode()}"
        try:
            return done.returncode, json.loads(text)
        except ValueError:
            raise AssertionError(f"check printed no JSON: {text!r} {done.stderr.decode()!r}") from None

    def rebuild(self):
        """Loses the catalog, has `ripstop rebuild` make another, and starts on it; what that printed."""
        self.kill()
        (self.data / "catalog.redb").unlink()
        done = subprocess.run(
            [self.binary, "rebuild", "--json", "--config", str(self.config)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=REBUILD_SECONDS_MAX,
            env={k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RIPSTOP_"))},
        )
        assert done.returncode == 0, done
        self.start()
        return json.loads(done.stdout)

    # Endpoint

    def endpoint(self, access_key=ACCESS_KEY):
        scheme, authority = ("http", None) if self.authority is None else ("https", self.authority.certificate)
        url = f"{scheme}://127.0.0.1:{self.port}"
        secret = SECRET_KEY if access_key == ACCESS_KEY else self.keys[access_key]
        return s3.Endpoint(url, access_key, secret, REGION, gateway=self, authority=authority)

    # Nodes that are directories

    def node(self, index):
        """The folder of node d1..dN."""
        return self.folder / "nodes" / f"d{index}"

    def fragments(self):
        """Every fragment file of every directory node, sorted."""
        found = []
        for index in range(1, self.nodes + 1):
            node = self.node(index)
            found += [path for path in node.glob("[0-9a-f][0-9a-f]/*") if NAME.match(path.name)]
        return sorted(found)

    def fragments_of_new(self, before):
        """Fragment files that were not in `before`."""
        return sorted(set(self.fragments()) - set(before))

    def remove_node(self, index):
        # Renamed first: a directory is gone at once, as a disk would be, while it is written to.
        away = self.node(index).with_name(f"away-{index}-{time.monotonic_ns()}")
        self.node(index).rename(away)
        # What was under way as it went may still arrive in it.
        while away.exists():
            shutil.rmtree(away, ignore_errors=True)

    def recreate_node(self, index):
        self.node(index).mkdir()


def clean(counts):
    """Whether a check found nothing to complain about."""
    return not any(counts[name] for name in FLAWS)


def wait_clean(gateway, seconds, names=FLAWS):
    """Checks until the counts `names` are all 0, at most `seconds`; answers the last counts."""
    deadline = time.monotonic() + seconds
    while True:
        _, counts = gateway.check()
        if not any(counts[name] for name in names) or time.monotonic() > deadline:
            return counts
        time.sleep(0.5)
