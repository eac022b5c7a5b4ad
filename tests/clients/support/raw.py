"""Requests made by hand, for what well-behaved clients do not send."""

import base64
import datetime
import hashlib
import hmac
import re
import socket
import ssl
import urllib.parse
import zlib

from awscrt import checksums

EMPTY = hashlib.sha256(b"").hexdigest()
UNSIGNED = "UNSIGNED-PAYLOAD"
SOCKET_SECONDS_MAX = 30
# How a peer that has gone shows.
GONE = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError)


def b64(raw):
    return base64.b64encode(raw).decode()


def checksum(algorithm, body):
    """The base64 value of one of S3's checksums."""
    match algorithm:
        case "CRC32":
            return b64(zlib.crc32(body).to_bytes(4, "big"))
        case "CRC32C":
            return b64(checksums.crc32c(body).to_bytes(4, "big"))
        case "CRC64NVME":
            return b64(checksums.crc64nvme(body).to_bytes(8, "big"))
        case "SHA1":
            return b64(hashlib.sha1(body).digest())
        case "SHA256":
            return b64(hashlib.sha256(body).digest())
    raise AssertionError(algorithm)


ALGORITHMS = ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"]


def content_md5(body):
    return b64(hashlib.md5(body).digest())


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def encoded_path(path):
    return urllib.parse.quote(path, safe="/-_.~")


class Request:
    """A signed request; every part of it may be spoilt before it is sent."""

    def __init__(self, endpoint, method, path, *, headers=None, query=None, payload=UNSIGNED, when=None):
        self.endpoint, self.method, self.path = endpoint, method, encoded_path(path)
        self.query = sorted((query or {}).items())
        moment = when or datetime.datetime.now(datetime.timezone.utc)
        self.stamp = moment.strftime("%Y%m%dT%H%M%SZ")
        self.scope = f"{self.stamp[:8]}/{endpoint.region}/s3/aws4_request"
        self.host = urllib.parse.urlparse(endpoint.url).netloc
        self.headers = {"host": self.host, "x-amz-date": self.stamp, "x-amz-content-sha256": payload}
        self.headers |= {name.lower(): value for name, value in (headers or {}).items()}
        self.payload = payload
        self.signature = self._sign()

    def key(self):
        key = b"AWS4" + self.endpoint.secret_key.encode()
        for part in self.scope.split("/"):
            key = _hmac(key, part)
        return key

    def query_string(self):
        quote = lambda text: urllib.parse.quote(str(text), safe="-_.~")
        return "&".join(f"{quote(name)}={quote(value)}" for name, value in self.query)

    def _sign(self):
        signed = ";".join(sorted(self.headers))
        lines = [self.method, self.path, self.query_string()]
        lines += [f"{name}:{self.headers[name].strip()}" for name in sorted(self.headers)]
        lines += ["", signed, self.payload]
        hashed = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", self.stamp, self.scope, hashed])
        signature = hmac.new(self.key(), text.encode(), hashlib.sha256).hexdigest()
        self.headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.endpoint.access_key}/{self.scope},"
            f"SignedHeaders={signed},Signature={signature}"
        )
        return signature

    def head(self):
        target = self.path + ("?" + self.query_string() if self.query else "")
        lines = [f"{self.method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return ("\r\n".join([*lines, "", ""])).encode()

    def send(self, body=b""):
        """Sends the head with `content-length` if not given, then the body; answers the response."""
        head = self.head()
        if "content-length" not in self.headers and "transfer-encoding" not in self.headers:
            head = head[:-2] + f"content-length: {len(body)}\r\n\r\n".encode()
        return exchange(self.endpoint, head + body)


class Response:
    """Status, headers in lower case, and body."""

    def __init__(self, raw, method="GET"):
        head, _, rest = raw.partition(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 100"):
            head, _, rest = rest.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        pairs = (line.split(":", 1) for line in lines[1:] if ":" in line)
        self.headers = {name.strip().lower(): value.strip() for name, value in pairs}
        self.body = rest

    @property
    def code(self):
        """The S3 error code, if the body has one."""
        found = re.search(rb"<Code>([^<]*)</Code>", self.body)
        return found.group(1).decode() if found else None

    def __repr__(self):
        return f"<{self.status} {self.code} {self.headers} {self.body[:300]!r}>"


def connect(endpoint):
    where = urllib.parse.urlparse(endpoint.url)
    plain = socket.create_connection((where.hostname, where.port), timeout=SOCKET_SECONDS_MAX)
    if where.scheme == "http":
        return plain
    trusted = ssl.create_default_context(cafile=endpoint.authority)
    return trusted.wrap_socket(plain, server_hostname=where.hostname)


def end(connection):
    """Says that nothing more comes; what the gateway says to that can be read."""
    # That of a TLS socket would stop reading in clear, too.
    socket.socket.shutdown(connection, socket.SHUT_WR)


def receive(connection):
    """Reads one response: up to its content-length, or to the end of the connection."""
    raw = b""
    while True:
        response = Response(raw) if b"\r\n\r\n" in raw else None
        if response and response.status >= 200:
            length = response.headers.get("content-length")
            if length is not None and len(response.body) >= int(length):
                return response
            if response.headers.get("transfer-encoding") and response.body.endswith(b"0\r\n\r\n"):
                return response
        try:
            more = connection.recv(65536)
        except GONE:
            more = b""
        if not more:
            return Response(raw)
        raw += more


def exchange(endpoint, raw):
    """Sends bytes on a new connection and reads one response."""
    with connect(endpoint) as connection:
        try:
            connection.sendall(raw)
        except GONE:
            pass  # The server may refuse before it has read everything.
        return receive(connection)


# Bodies in aws-chunked form


def unsigned_chunks(body, trailer=None, size=65536):
    """`STREAMING-UNSIGNED-PAYLOAD-TRAILER`: chunks without signatures, then a trailer."""
    out = b""
    for start in range(0, len(body), size):
        piece = body[start : start + size]
        out += f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    out += b"0\r\n"
    for name, value in (trailer or {}).items():
        out += f"{name}:{value}\r\n".encode()
    return out + b"\r\n"


def signed_chunks(request, body, trailer=None, size=65536, spoil=None):
    """`STREAMING-AWS4-HMAC-SHA256-PAYLOAD[-TRAILER]`; `spoil` names a chunk whose signature is wrong
    (its number, or "trailer")."""
    out, previous, key = b"", request.signature, request.key()
    pieces = [body[start : start + size] for start in range(0, len(body), size)] + [b""]
    for number, piece in enumerate(pieces):
        hashed = hashlib.sha256(piece).hexdigest()
        scope = ["AWS4-HMAC-SHA256-PAYLOAD", request.stamp, request.scope]
        previous = _hmac(key, "\n".join([*scope, previous, EMPTY, hashed])).hex()
        shown = previous[::-1] if spoil == number else previous
        out += f"{len(piece):x};chunk-signature={shown}\r\n".encode() + piece
        out += b"\r\n" if piece or trailer is None else b""
    if trailer is None:
        return out
    lines = "".join(f"{name}:{value}\n" for name, value in trailer.items())
    hashed = hashlib.sha256(lines.encode()).hexdigest()
    scope = ["AWS4-HMAC-SHA256-TRAILER", request.stamp, request.scope]
    signature = _hmac(key, "\n".join([*scope, previous, hashed])).hex()
    shown = signature[::-1] if spoil == "trailer" else signature
    out += lines.replace("\n", "\r\n").encode()
    return out + f"x-amz-trailer-signature:{shown}\r\n\r\n".encode()
