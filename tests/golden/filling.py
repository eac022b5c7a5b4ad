"""What a golden folder is filled with: every kind of thing that a store can hold, some of each."""

import datetime
import functools
import urllib.parse

from support.golden import PREFIXES, content, made_of, sha256
from support.packs import at_once
from support.payload import KIB, MIB

PART = 5 * MIB
LARGE = PART + 70_001
SIZES = (0, 1, 4 * KIB, 100 * KIB, MIB + 3)
ALGORITHMS = ("CRC32", "CRC32C", "SHA1", "SHA256", "CRC64NVME")
BUCKETS = ("plain", "empty", "quota", "copies", "shared", "unique")
QUOTAS = {"quota": {"bytes": 1 * MIB, "objects": 5}}
POOLS = [
    {"name": "coded", "code": [6, 4], "nodes": [f"c{number}" for number in range(1, 8)]},
    {"name": "copies", "code": [3, 1], "buckets": ["copies"], "nodes": ["r1", "r2", "r3"]},
    {"name": "shared", "layout": "shared", "code": [24, 12], "buckets": ["shared"], "nodes": ["s1"]},
    {"name": "unique", "layout": "unique", "code": [24, 12], "buckets": ["unique"], "nodes": ["u1"]},
]
# What pools are of programs that write small objects together.
PACK = {"pack_below": "64 KiB"}
SECRET = {"name": "secret", "code": [3, 2], "encrypt": True, "buckets": ["secret"], "nodes": ["e1", "e2", "e3"]}
PACKING_POOLS = [pool if "layout" in pool else pool | PACK for pool in [*POOLS, SECRET]]
# How long they wait while packs are written, so that all that comes is in one.
PATIENT = {"batching": "fixed", "batch_interval": "1s"}
PACKED_BUCKETS = ("packs", "copies", "secret")
MEMBERS = (0, 1, 2, 100, 256, 511, 512, 513, 1000, 4095, 4096, 4097, 9000)
KEYS = (
    "ünï/日本語/🗝.txt",
    "e\u0301 is not \u00e9",
    "a blank/and + % & ? # = ~ * ' \" < > \\",
    "slashes//in a row///",
    "/first",
    "folder/",
    "folder/a",
    "folder0",
    "folder-",
    "FOLDER/a",
    "control\x01\x0b\x7f",
    "end\n",
    "long/" + "é" * 9 + "k" * 1001,
    "\U0010ffff",
    "~",
)
EVERY_HEADER = {
    "ContentType": "text/x-golden; charset=utf-8",
    "CacheControl": "max-age=60, no-transform",
    "ContentDisposition": "attachment; filename=\"a b.txt\"; filename*=UTF-8''%e2%82%ac",
    "ContentEncoding": "x-golden",
    "ContentLanguage": "de, en-GB",
    "Expires": datetime.datetime(2037, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    "Metadata": {"one": "1", "empty": "", "with-dash.and_more": "a  b; c=\"d\"", "long": "m" * 1500},
}
EVERY_HEADER_SHOWN = {
    "cache-control": EVERY_HEADER["CacheControl"],
    "content-disposition": EVERY_HEADER["ContentDisposition"],
    "content-encoding": EVERY_HEADER["ContentEncoding"],
    "content-language": EVERY_HEADER["ContentLanguage"],
    "content-type": EVERY_HEADER["ContentType"],
    "expires": "Fri, 02 Jan 2037 03:04:05 GMT",
    **{f"x-amz-meta-{name}": value for name, value in EVERY_HEADER["Metadata"].items()},
}
TEN_TAGS = "&".join(f"key%20{number}=value%2F{number}+%C3%A9" for number in range(10))


class Filling:
    """Puts things through a client, and remembers what each is to be."""

    def __init__(self, client):
        self.client = client
        # Bucket → key → pieces; upload → number of the part → pieces.
        self.contents, self.parts = {bucket: {} for bucket in BUCKETS}, {}
        self.asked = {}
        # What was said of uploads as they began, in the manifest's words.
        self.begun = {}
        # What a rebuild may find again: bucket → keys.
        self.deleted = {}

    # Words

    def put(self, bucket, key, size, name=None, **more):
        name = name or f"{bucket}/{key}"
        self.client.put_object(Bucket=bucket, Key=key, Body=content(name, size), **more)
        self.holds(bucket, key, [[name, size, 0, size]], **more)

    def holds(self, bucket, key, pieces, **asked):
        self.contents[bucket][key], self.asked[bucket, key] = pieces, dict(asked)

    def copy(self, source, target, **more):
        where = {"Bucket": source[0], "Key": source[1]}
        self.client.copy_object(Bucket=target[0], Key=target[1], CopySource=where, **more)
        asked = more if more.get("MetadataDirective") else self.asked[source]
        self.holds(*target, self.contents[source[0]][source[1]], **asked)

    def delete(self, bucket, key):
        self.client.delete_object(Bucket=bucket, Key=key)
        self.contents[bucket].pop(key)
        self.deleted.setdefault(bucket, []).append(key)

    def upload(self, bucket, key, parts, **more):
        """An upload under way with these parts: number → size, or `"copy"` for the first 5 MiB of the
        large object. Answers its id and, for its completion, the parts."""
        where = {"Bucket": bucket, "Key": key}
        where["UploadId"] = upload = self.client.create_multipart_upload(**where, **more)["UploadId"]
        self.parts[upload], listed = {}, []
        algorithm = {name: more[name] for name in ("ChecksumAlgorithm",) if name in more}
        for number, size in parts.items():
            if size == "copy":
                pieces = [["large", LARGE, 0, PART]]
                source = {"CopySource": {"Bucket": "plain", "Key": "large"}, "CopySourceRange": f"bytes=0-{PART - 1}"}
                done = self.client.upload_part_copy(**where, PartNumber=number, **source)["CopyPartResult"]
            else:
                # Large parts are alike, so that they pack well.
                name = f"{bucket}/{key}/{number}" if size < PART else "part"
                pieces = [[name, size, 0, size]]
                done = self.client.upload_part(**where, PartNumber=number, Body=content(name, size), **algorithm)
            sums = [name for name in done if name.startswith("Checksum") and name != "ChecksumType"]
            listed.append({"PartNumber": number, "ETag": done["ETag"]} | {name: done[name] for name in sums})
            self.parts[upload][number] = pieces
        return upload, listed

    def uploaded(self, bucket, key, parts, **more):
        """An object made of parts."""
        upload, listed = self.upload(bucket, key, parts, **more)
        whole = {"Parts": sorted(listed, key=lambda part: part["PartNumber"])}
        self.client.complete_multipart_upload(Bucket=bucket, Key=key, UploadId=upload, MultipartUpload=whole)
        pieces = self.parts.pop(upload)
        self.holds(bucket, key, [piece for number in sorted(pieces) for piece in pieces[number]], **more)

    # Chapters

    def fill(self):
        for bucket in (*BUCKETS, "removed"):
            self.client.create_bucket(Bucket=bucket)
        self.sizes()
        self.names_and_headers()
        self.tags()
        self.multipart()
        self.copies()
        self.other_pools()
        self.changes()
        self.under_way()

    def sizes(self):
        for size in SIZES:
            self.put("plain", f"size/{size}", size)
        self.put("plain", "large", LARGE, name="large")
        for algorithm in ALGORITHMS:
            self.put("plain", f"checksum/{algorithm}", 70_000, ChecksumAlgorithm=algorithm)
        self.put("quota", "a", 600 * KIB)
        self.put("quota", "b", 100)

    def names_and_headers(self):
        for number, key in enumerate(KEYS):
            self.put("plain", key, 100 + number, name=f"key {number}")
        self.put("plain", "headers/every", 333, **EVERY_HEADER)
        self.put("plain", "headers/type", 0, ContentType="application/x-nothing")

    def tags(self):
        self.put("plain", "tags/at once", 11, Tagging=TEN_TAGS)
        self.put("plain", "tags/changed", 12, Tagging="old=1", Metadata={"kept": "yes"})
        changed = [{"Key": "new", "Value": "2"}, {"Key": "ü", "Value": ""}]
        self.asked["plain", "tags/changed"]["Tagging"] = "new=2&%C3%BC="
        self.client.put_object_tagging(Bucket="plain", Key="tags/changed", Tagging={"TagSet": changed})
        self.put("plain", "tags/removed", 300 * KIB, Tagging="old=1")
        del self.asked["plain", "tags/removed"]["Tagging"]
        self.client.delete_object_tagging(Bucket="plain", Key="tags/removed")

    def multipart(self):
        small = {1: 1000}
        self.uploaded("plain", "parts/one", small)
        self.uploaded("plain", "parts/three", {9: 70_000, 2: "copy", 1: PART + 1}, **EVERY_HEADER, Tagging="of=parts")
        self.uploaded("plain", "parts/composite", {1: "copy", 10_000: 5}, ChecksumAlgorithm="SHA256")
        whole = {"ChecksumAlgorithm": "CRC64NVME", "ChecksumType": "FULL_OBJECT"}
        self.uploaded("plain", "parts/full object", {1: "copy", 2: 5}, **whole)

    def copies(self):
        every = ("plain", "headers/every")
        self.copy(every, ("plain", "copy/of headers"))
        replaced = {"Metadata": {"other": "2"}, "ContentType": "text/replaced"}
        self.copy(every, ("plain", "copy/replaced"), MetadataDirective="REPLACE", **replaced)
        self.copy(("plain", "tags/at once"), ("quota", "copy of tags"))
        self.copy(("plain", "large"), ("plain", "copy/large"))
        self.copy(("plain", "parts/composite"), ("plain", "copy/parts"))
        # Its source goes: it has the stripes alone.
        self.put("plain", "source", 200 * KIB)
        self.copy(("plain", "source"), ("plain", "copy/of what was deleted"))
        self.delete("plain", "source")
        for pool in ("copies", "shared", "unique"):
            self.copy(("plain", f"size/{MIB + 3}"), (pool, "from coded"))
        self.copy(("plain", "checksum/SHA256"), ("shared", "checksum"))

    def other_pools(self):
        for pool in ("copies", "shared", "unique"):
            for size in (0, 1, 70_000, 700_000):
                self.put(pool, f"size/{size}", size, Metadata={"pool": pool}, Tagging=f"pool={pool}")
            self.uploaded(pool, "parts", {1: 300_000})
            self.copy((pool, "size/70000"), (pool, "copy"))
            self.copy((pool, "size/70000"), ("plain", f"copy/from {pool}"))
        self.uploaded("copies", "parts of another pool's", {1: "copy", 2: 17})

    def changes(self):
        """The last things: what they leave is garbage that has not been swept."""
        for size in (300 * KIB, 20, 30_000):
            self.put("plain", "overwritten", size, name=f"overwritten {size}", Metadata={"size": str(size)})
        for bucket in ("plain", "shared", "unique", "removed"):
            for size in (5, 40_000):
                self.client.put_object(Bucket=bucket, Key=f"deleted/{size}", Body=content("deleted", size))
                self.contents.setdefault(bucket, {})[f"deleted/{size}"] = None
                self.delete(bucket, f"deleted/{size}")
        upload, _ = self.upload("plain", "aborted", {1: 100_000})
        self.client.abort_multipart_upload(Bucket="plain", Key="aborted", UploadId=upload)
        self.parts.pop(upload)
        self.client.delete_bucket(Bucket="removed")
        self.contents.pop("removed")

    def under_way(self):
        self.upload("plain", "way/begun", {})
        upload, _ = self.upload("plain", "way/two of three", {1: "copy", 7: 70_000}, **EVERY_HEADER, Tagging="a=1")
        self.begun[upload] = {"headers": EVERY_HEADER_SHOWN, "tags": {"a": "1"}}
        # The part is sent again: the first is garbage.
        body = content("again", 80_000)
        where = {"Bucket": "plain", "Key": "way/two of three", "UploadId": upload}
        self.client.upload_part(**where, PartNumber=7, Body=body)
        self.parts[upload][7] = [["again", 80_000, 0, 80_000]]
        self.upload("plain", "way/two of three", {1: 10})
        self.upload("plain", "size/1", {2: 10}, ChecksumAlgorithm="CRC32")
        self.upload("quota", "way/in a bucket with a quota", {2: 1000})
        for pool, number in (("copies", 2), ("shared", 1), ("unique", 1)):
            self.upload(pool, "way/ünder", {number: 70_000})

    # Packs, of programs that have them

    def packs(self, stripes):
        """Small writes that come together; `stripes` tells which stripes there are."""
        for bucket in ("packs", "secret"):
            self.client.create_bucket(Bucket=bucket)
            self.contents[bucket] = {}
        for bucket in PACKED_BUCKETS:
            together = functools.partial(self.together, bucket, stripes)
            self.members(bucket, together)
            self.members_gone(bucket, together)
            self.members_changed(bucket)

    def together(self, bucket, stripes, calls):
        """Has these be one pack: what came before them has just been written."""
        self.put(bucket, f"alone/{len(self.contents[bucket])}", 10)
        before = stripes()
        at_once(len(calls), lambda number: calls[number]())
        made = stripes() - before
        assert len(made) == 1, f"{len(calls)} writes are {len(made)} stripes"

    def members(self, bucket, together):
        """Packs of puts, of puts and deletions, and of deletions."""
        put = lambda key, size, **more: functools.partial(self.put, bucket, key, size, **more)
        delete = lambda key: functools.partial(self.delete, bucket, key)
        some = [put(f"pack/{size}", size, Metadata={"size": str(size)}) for size in MEMBERS]
        some += [put(f"pack/{name}", 333, Tagging=TEN_TAGS) for name in ("tags", "tags changed", "tags removed")]
        some += [put(f"pack/{algorithm}", 700, ChecksumAlgorithm=algorithm) for algorithm in ALGORITHMS]
        some += [put("pack/headers", 20, **EVERY_HEADER), put("pack/if none", 21, IfNoneMatch="*")]
        # The other buckets of a pool share its packs.
        others = ("plain", "quota") if bucket == "packs" else ()
        some += [functools.partial(self.put, other, "pack/of others", 200) for other in others]
        together(some)
        again = [put(f"pack/{size}", size + 9, name=f"{bucket} again") for size in (0, 256, 4096)]
        together([*again, put("pack/later", 50), delete("pack/1"), delete("pack/511")])
        together([put(f"goes/{number}", 600, name=f"{bucket} goes {number}") for number in range(9)])

    def members_gone(self, bucket, together):
        """Of one pack a single member stays, and of another nothing."""
        together([functools.partial(self.delete, bucket, f"goes/{number}") for number in range(9) if number != 4])
        together([functools.partial(self.put, bucket, f"all go/{number}", 10) for number in range(4)])
        together([functools.partial(self.delete, bucket, f"all go/{number}") for number in range(4)])

    def members_changed(self, bucket):
        """Tags and copies of members, and what is written alone in place of them."""
        changed = {"TagSet": [{"Key": "new", "Value": "2"}]}
        self.client.put_object_tagging(Bucket=bucket, Key="pack/tags changed", Tagging=changed)
        self.asked[bucket, "pack/tags changed"]["Tagging"] = "new=2"
        self.client.delete_object_tagging(Bucket=bucket, Key="pack/tags removed")
        del self.asked[bucket, "pack/tags removed"]["Tagging"]
        for target in (bucket, "plain", "shared", "unique", "secret"):
            self.copy((bucket, "pack/512"), (target, f"copy/of a member of {bucket}"))
        self.copy((bucket, "pack/tags changed"), (bucket, "copy/of tags"))
        # Its source goes.
        self.copy((bucket, "pack/513"), (bucket, "copy/alone"))
        self.delete(bucket, "pack/513")
        # What is encrypted does not pack well.
        large = 3000 if bucket == "secret" else 70_000
        self.put(bucket, "pack/2", large, name=f"{bucket} large")
        self.uploaded(bucket, "pack/1000", {1: large})

    # Afterwards

    def compare(self, seen):
        """What the program shows must be what was asked of it."""
        assert sorted(seen) == sorted(self.contents), sorted(seen)
        for bucket, told in seen.items():
            assert sorted(told["objects"]) == sorted(self.contents[bucket]), bucket
            for key, found in told["objects"].items():
                body = made_of(self.contents[bucket][key])
                assert (found["length"], found["sha256"]) == (len(body), sha256(body)), (bucket, key)
                self._compare_headers(bucket, key, found["headers"])
                tags = self.asked[bucket, key].get("Tagging", "")
                assert found["tags"] == dict(urllib.parse.parse_qsl(tags, keep_blank_values=True)), (bucket, key)
        uploads = {upload for told in seen.values() for upload in told["uploads"]}
        assert uploads == set(self.parts), uploads

    def _compare_headers(self, bucket, key, headers):
        asked = self.asked[bucket, key]
        wanted = {f"{PREFIXES[0]}{name}": value for name, value in asked.get("Metadata", {}).items()}
        if asked == EVERY_HEADER or "Expires" in asked:
            wanted = EVERY_HEADER_SHOWN
        of_the_object = ("etag", "last-modified", "content-type", "x-amz-mp-parts-count", "x-amz-tagging-count")
        shown = {name: value for name, value in headers.items() if not name.startswith(PREFIXES[1])}
        rest = {name: value for name, value in shown.items() if name in wanted or name not in of_the_object}
        assert rest == wanted, (bucket, key, rest)
        if "ContentType" in asked:
            assert headers["content-type"] == asked["ContentType"], (bucket, key)
