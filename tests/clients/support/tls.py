"""An authority of the suite's own, and certificates for 127.0.0.1 that it signs."""

import pathlib
import shutil
import subprocess

import pytest

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
SECONDS_MAX = 60


def openssl(*words):
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    subprocess.run([program, *words], check=True, capture_output=True, timeout=SECONDS_MAX)


class Authority:
    """Signs certificates in its folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.certificate, self.key = self.folder / "ca.pem", self.folder / "ca.key"
        about = ["-subj", "/CN=ripstop-suite", "-days", "2"]
        openssl("req", "-x509", *CURVE, "-keyout", self.key, "-out", self.certificate, *about)

    def sign(self, certificate, key):
        """A new pair for 127.0.0.1 and localhost in these files."""
        request, names = self.folder / "request", self.folder / "names"
        names.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n")
        openssl("req", *CURVE, "-keyout", key, "-out", request, "-subj", "/CN=localhost")
        authority = ["-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial"]
        openssl("x509", "-req", "-in", request, *authority, "-days", "2", "-extfile", names, "-out", certificate)
        pathlib.Path(key).chmod(0o600)
