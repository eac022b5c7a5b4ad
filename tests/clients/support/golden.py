"""Golden data folders: what earlier programs wrote, what it is to be, and what a client sees of it."""

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import tarfile

from .gateway import ACCESS_KEY, NAME, Gateway

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "golden"
# How the programs ended that wrote them.
KINDS = ("killed", "stopped")
KEEP = {"grace": "1h", "sweep_every": "1h", "list_every": "1h"}
SWEEP = {"grace": "1s", "sweep_every": "300ms", "list_every": "500ms"}
READERS = 4
# Up to this size, noise of this length.
PERIODS = ((1 << 16, 251), (2 << 20, 1021), (1 << 40, 4093))
# What a client is told beside the body and is part of an object; the rest is of the answer.
HEADERS = (
    "cache-control content-disposition content-encoding content-language content-type etag expires "
    "last-modified x-amz-mp-parts-count x-amz-tagging-count"
).split()
PREFIXES = ("x-amz-meta-", "x-amz-checksum-")
# Of these an object has no more than the manifest tells.
EXACTLY = ("headers", "tags")
# What is only told if it is asked for.
MORE = ("tags", "attributes")
PART_FIELDS = ("PartNumber", "Size", "ETag", "LastModified")
UPLOAD_FIELDS = ("Key", "UploadId", "Initiated", "ChecksumAlgorithm", "ChecksumType")


# Content


def content(name, size):
    """The bytes of this name and size: noise that comes again, so that it packs well, with a counter, so
    that no two pieces are alike. What comes again has an odd length: no block is like another."""
    period = next(period for most, period in PERIODS if size <= most)
    noise = hashlib.shake_128(name.encode()).digest(period - 4)
    return b"".join(noise + at.to_bytes(4, "big") for at in range(-(-size // period)))[:size]


def made_of(pieces):
    """The bytes of a recipe: pieces of contents, each `[name, size, from, until]`."""
    return b"".join(content(name, size)[start:end] for name, size, start, end in pieces)


def sha256(body):
    return hashlib.sha256(body).hexdigest()


# Folders


class Store(Gateway):
    """A gateway whose pools and nodes are those of a golden folder; nodes go by their names."""

    def __init__(self, folder, pools, *, quotas=None, store=None, people=None, webhooks=()):
        """`people`: keys, rights and users beside the suite's own, as the gateway's credentials have them."""
        self.pools, self.webhooks = pools, webhooks
        people = people or {}
        super().__init__(folder, store=store, keys=people.get("keys"))
        self.quotas = quotas or {}
        if people:
            self.rights = {ACCESS_KEY: "administrator"} | people["rights"]
            self.users = people["users"]
        self.configure()

    def _configuration(self):
        lines = [super()._configuration()]
        for webhook in self.webhooks:
            lines += ["[[webhook]]", *(f"{key} = {json.dumps(value)}" for key, value in webhook.items())]
        return "\n".join(lines) + "\n"

    def _pools(self):
        lines = []
        for pool in self.pools:
            lines.append("[[pool]]")
            rest = {key: value for key, value in pool.items() if key != "nodes"}
            lines += [f"{key} = {json.dumps(value)}" for key, value in rest.items()]
        for pool in self.pools:
            for name in pool["nodes"]:
                lines += ["[[node]]", f'name = "{name}"', f'pool = "{pool["name"]}"', "lanes = 8"]
                lines += self._directory_node(name)
        return lines

    def names_of_nodes(self):
        return [name for pool in self.pools for name in pool["nodes"]]

    def node(self, index):
        """The folder of the node of this name."""
        return self.folder / "nodes" / index

    def fragments(self):
        found = []
        for name in self.names_of_nodes():
            found += [path for path in self.node(name).glob("*/*") if NAME.match(path.name)]
        return sorted(found)


class Golden:
    """One golden folder: an archive and its manifest."""

    def __init__(self, archive):
        self.archive = archive
        self.name = f"{archive.parent.name}/{archive.name.removesuffix('.tar.xz')}"
        self.told = json.loads(archive.with_name(archive.name.replace(".tar.xz", ".json")).read_text())

    def unpack(self, folder):
        """Makes this folder, as it was when its program ended."""
        # Not every Python that runs this suite knows filters.
        careful = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        with tarfile.open(self.archive) as archive:
            archive.extractall(folder, **careful)

    def copy(self, unpacked, folder):
        """A gateway, not started, over a copy of it. Fragments are the same files: nobody writes into one
        that has its name."""
        shutil.copytree(unpacked, folder, ignore=shutil.ignore_patterns("nodes"))
        shutil.copytree(unpacked / "nodes", folder / "nodes", copy_function=os.link)
        # The uploads under way are as old as the archive.
        store = {"stripe_max": self.told["stripe_max"], "uploads_expire_after": "0s"} | SWEEP
        more = {name: self.told[name] for name in ("people", "webhooks") if name in self.told}
        return Store(folder, self.told["pools"], quotas=self.told["quotas"], store=store, **more)

    def body(self, bucket, key):
        """What an object holds."""
        return made_of(self.told["contents"][bucket][key])

    def parts(self, upload):
        """What the parts hold of an upload under way, by their numbers."""
        return {int(number): made_of(pieces) for number, pieces in self.told["parts"][upload].items()}


def stores():
    """Every golden folder but those of S3's features."""
    archives = [archive for kind in KINDS for archive in FOLDER.glob(f"*/{kind}.tar.xz")]
    return [Golden(archive) for archive in sorted(archives)]


@dataclasses.dataclass
class Decision:
    """What a program was asked in a folder of files that it had made, and what it said."""

    folder: pathlib.Path
    asked: list
    printed: list


def decisions():
    """All of them."""
    found = []
    for answers in sorted(FOLDER.glob("*/decisions/answers.json")):
        found += [Decision(answers.parent, **answer) for answer in json.loads(answers.read_text())]
    return found


# What a client sees


def seen(client, ask_all=True):
    """All that a client sees of a store, as the manifest has it: buckets, objects, uploads under way. Without
    `ask_all` only what lists and reads tell of an object."""
    buckets = client.list_buckets()["Buckets"]
    return {bucket["Name"]: _bucket(client, bucket, ask_all) for bucket in buckets}


def _bucket(client, bucket, ask_all):
    name = bucket["Name"]
    entries = listed(client, name)
    with concurrent.futures.ThreadPoolExecutor(READERS) as readers:
        objects = readers.map(lambda entry: _object(client, name, entry, ask_all), entries.values())
    return {
        "created": _plain(bucket["CreationDate"]),
        "objects": dict(zip(entries, objects)),
        "uploads": uploads(client, name),
    }


def listed(client, bucket):
    """Key → entry, as ListObjectsV2 tells them; ListObjects must tell the same."""
    found = []
    for operation in ("list_objects_v2", "list_objects"):
        pages = client.get_paginator(operation).paginate(Bucket=bucket)
        entries = [entry for page in pages for entry in page.get("Contents", [])]
        found.append({entry["Key"]: entry for entry in entries})
        keys = [entry["Key"].encode() for entry in entries]
        assert keys == sorted(set(keys)), f"{bucket}: {operation} lists keys out of order or twice"
    short = [{key: (e["Size"], e["ETag"], e["LastModified"]) for key, e in one.items()} for one in found]
    assert short[0] == short[1], f"{bucket}: the two listings differ"
    return found[0]


def _object(client, bucket, entry, ask_all):
    where = {"Bucket": bucket, "Key": entry["Key"]}
    got = client.get_object(**where, ChecksumMode="ENABLED")
    body = got["Body"].read()
    found = {
        "length": len(body),
        "sha256": sha256(body),
        "headers": told_of(got),
        "listed": [entry["Size"], entry["ETag"], _plain(entry["LastModified"])],
    }
    return found | _more(client, where, found) if ask_all else found


def _more(client, where, found):
    """What else can be asked of an object."""
    head = client.head_object(**where, ChecksumMode="ENABLED")
    assert told_of(head) == found["headers"], f"{where}: HEAD differs from GET"
    asked = ["ETag", "Checksum", "ObjectParts", "ObjectSize"]
    attributes = client.get_object_attributes(**where, ObjectAttributes=asked)
    return {
        "tags": {tag["Key"]: tag["Value"] for tag in client.get_object_tagging(**where)["TagSet"]},
        "attributes": {name: _plain(attributes[name]) for name in asked if name in attributes},
    }


def told_of(answer):
    """The headers of an answer that are part of its object."""
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    return {name: headers[name] for name in sorted(headers) if name in HEADERS or name.startswith(PREFIXES)}


def uploads(client, bucket):
    """Uploads under way, by their ids."""
    found = {}
    pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket)
    for upload in (upload for page in pages for upload in page.get("Uploads", [])):
        where = {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
        listed_parts = client.get_paginator("list_parts").paginate(**where)
        parts = [part for page in listed_parts for part in page.get("Parts", [])]
        fields = {name: _plain(upload[name]) for name in UPLOAD_FIELDS if name in upload}
        found[upload["UploadId"]] = fields | {"parts": [_part(part) for part in parts]}
    return found


def _part(part):
    wanted = (name for name in part if name in PART_FIELDS or name.startswith("Checksum"))
    return {name: _plain(part[name]) for name in sorted(wanted)}


def _plain(value):
    """The same as JSON has it."""
    return json.loads(json.dumps(value, default=lambda moment: moment.isoformat(timespec="milliseconds")))


# Comparison


def differences(wanted, found, where=()):
    """Where a store is not what its manifest says, a line for each place. What the manifest does not tell of
    an object may be anything, but there are no more objects than it tells, nor fewer."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        # Names of buckets; of objects or uploads; of headers or tags.
        is_whole = len(where) in (0, 2) or where[-1] in EXACTLY
        lines = [_line(where, f"{name!r} is there too") for name in found if is_whole and name not in wanted]
        lines += [_line(where, f"{name!r} is not there") for name in wanted if name not in found]
        for name in wanted.keys() & found.keys():
            lines += differences(wanted[name], found[name], (*where, name))
        return sorted(lines)
    if where and where[-1] == "Grants":
        # A list of accounts and groups is in no order.
        wanted, found = sorted(wanted, key=repr), sorted(found, key=repr)
    return [] if wanted == found else [_line(where, f"it was {wanted!r} and is {found!r}")]


def _line(where, what):
    return f"{' '.join(repr(name) for name in where) or 'the store'}: {what}"


def must_agree(wanted, found, asked_all=True):
    """Fails with every difference between a manifest and what was seen."""
    if not asked_all:
        wanted = {name: bucket | {"objects": _brief(bucket["objects"])} for name, bucket in wanted.items()}
    lines = differences(wanted, found)
    assert not lines, "\n".join([f"{len(lines)} differences", *lines[:100]])


def _brief(objects):
    return {key: {name: told[name] for name in told if name not in MORE} for key, told in objects.items()}
