"""What the golden folder of S3's features is filled with: whatever records hold that the other folders' do not."""

import json
import urllib.parse

from support import raw
from support.features import CUSTOMER, LASTING, NAMED
from support.golden import content, sha256
from support.packs import at_once

PART = 5 << 20
SMALL = 3000
LARGE = 66_000
ALGORITHMS = ("CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256", "SHA512", "MD5", "XXHASH64", "XXHASH3", "XXHASH128")
COMPOSITES = ("CRC32", "CRC32C", "SHA1", "SHA256", "SHA512", "MD5", "XXHASH64", "XXHASH3", "XXHASH128")
WHOLES = ("CRC32", "CRC32C", "CRC64NVME")
ALICE, BOB = "ALICE00001", "BOB0000001"
RIGHTS = {ALICE: "user", BOB: "user"}
USERS = {ALICE: "alice", BOB: "bob"}
KEYS = {key: f"secret-of-{key}" for key in USERS}
WEBHOOK = {"name": "orders", "url": "http://127.0.0.1:9/orders"}
EVERYBODY = "http://acs.amazonaws.com/groups/global/AllUsers"
METHODS = {
    "none": {},
    "managed": {"ServerSideEncryption": "AES256"},
    "named": {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": NAMED, "BucketKeyEnabled": True},
    "context": {
        "ServerSideEncryption": "aws:kms",
        "SSEKMSKeyId": NAMED,
        "SSEKMSEncryptionContext": "eyJwdXJwb3NlIjoiZ29sZGVuIn0=",
    },
    "customer": CUSTOMER,
}
POOLS = [
    {"name": "coded", "code": [6, 4], "pack_below": "64 KiB", "nodes": [f"c{number}" for number in range(1, 8)]},
    {"name": "copies", "code": [3, 1], "buckets": ["copies"], "nodes": ["r1", "r2", "r3"]},
    {
        "name": "secret",
        "code": [3, 2],
        "encrypt": True,
        "pack_below": "64 KiB",
        "buckets": ["secret"],
        "nodes": ["e1", "e2", "e3"],
    },
    # What is encrypted in several parts does not pack: it is here once, as few bytes as it can be.
    {"name": "lone", "code": [1, 1], "buckets": ["lone", "checksums"], "nodes": ["l1"]},
]


class Features:
    """Puts things through clients, and remembers what each version is to hold."""

    def __init__(self, endpoint):
        self.client = endpoint().client()
        self.alice, self.bob = endpoint(ALICE).client(), endpoint(BOB).client()
        self.endpoint = endpoint()
        # Bucket → key and version → its contents: name and size of each piece.
        self.contents = {}
        # Upload → number of the part → name and size.
        self.parts = {}

    def bucket(self, name, client=None, **more):
        (client or self.client).create_bucket(Bucket=name, **more)
        self.contents[name] = {}

    def put(self, bucket, key, size, client=None, **more):
        name = f"{bucket}/{key}/{len(self.contents[bucket])}"
        body = content(name, size)
        done = (client or self.client).put_object(Bucket=bucket, Key=key, Body=body, **summed(more, body))
        return self.holds(bucket, key, done, [[name, size]])

    def holds(self, bucket, key, done, pieces):
        version = done.get("VersionId")
        self.contents[bucket][_named(key, version)] = pieces
        return version

    def copy(self, source, target, version=None, **more):
        where = {"Bucket": source[0], "Key": source[1]} | ({"VersionId": version} if version else {})
        done = self.client.copy_object(Bucket=target[0], Key=target[1], CopySource=where, **more)
        return self.holds(*target, done, self.contents[source[0]][_named(source[1], version)])

    def upload(self, bucket, key, sizes, **more):
        """An upload under way; what of `more` concerns parts is said with them too."""
        where = {"Bucket": bucket, "Key": key}
        where["UploadId"] = self.client.create_multipart_upload(**where, **more)["UploadId"]
        said = {name: more[name] for name in more if name.startswith("SSECustomer") or name == "ChecksumAlgorithm"}
        listed, self.parts[where["UploadId"]] = [], {}
        for number, size in enumerate(sizes, 1):
            name = "part" if size == PART else f"{bucket}/{key}/{number}"
            body = content(name, size)
            done = self.client.upload_part(**where, PartNumber=number, Body=body, **summed(said, body))
            sums = [field for field in done if field.startswith("Checksum") and field != "ChecksumType"]
            listed.append({"PartNumber": number, "ETag": done["ETag"]} | {field: done[field] for field in sums})
            self.parts[where["UploadId"]][number] = [name, size]
        return where, listed

    def uploaded(self, bucket, key, sizes, **more):
        where, listed = self.upload(bucket, key, sizes, **more)
        done = self.client.complete_multipart_upload(**where, MultipartUpload={"Parts": listed})
        pieces = self.parts.pop(where["UploadId"])
        return self.holds(bucket, key, done, list(pieces.values()))

    # Chapters

    def fill(self):
        self.documents()
        self.versions()
        self.locks()
        self.encryption()
        self.checksums()
        self.access()
        self.under_way()

    def documents(self):
        """Every document that a bucket can have."""
        self.bucket("documents")
        self.bucket("logs")
        where = {"Bucket": "documents"}
        self.client.put_bucket_tagging(**where, Tagging={"TagSet": [{"Key": "b", "Value": "ü"}, {"Key": "a", "Value": ""}]})
        rule = {
            "ID": "pages",
            "AllowedOrigins": ["https://*.example.com"],
            "AllowedMethods": ["GET", "PUT"],
            "AllowedHeaders": ["x-*"],
            "ExposeHeaders": ["etag"],
            "MaxAgeSeconds": 600,
        }
        self.client.put_bucket_cors(**where, CORSConfiguration={"CORSRules": [rule]})
        self.client.put_bucket_lifecycle_configuration(**where, LifecycleConfiguration={"Rules": rules()})
        self.client.put_bucket_website(**where, WebsiteConfiguration=website())
        target = {"TargetBucket": "logs", "TargetPrefix": "of documents/"}
        self.client.put_bucket_logging(**where, BucketLoggingStatus={"LoggingEnabled": target})
        self.client.put_bucket_notification_configuration(
            **where, NotificationConfiguration=notification(), SkipDestinationValidation=True
        )
        encryption = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": NAMED}
        default = {"ApplyServerSideEncryptionByDefault": encryption, "BucketKeyEnabled": True}
        self.client.put_bucket_encryption(**where, ServerSideEncryptionConfiguration={"Rules": [default]})
        flags = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy"), True)
        self.client.put_public_access_block(**where, PublicAccessBlockConfiguration=flags | {"RestrictPublicBuckets": False})
        owner = {"Rules": [{"ObjectOwnership": "BucketOwnerPreferred"}]}
        self.client.put_bucket_ownership_controls(**where, OwnershipControls=owner)
        statement = {
            "Effect": "Allow",
            "Principal": {"AWS": "arn:aws:iam::bob:user/bob"},
            "Action": "s3:GetObject",
            "Resource": "arn:aws:s3:::documents/*",
            "Condition": {"StringLike": {"s3:ExistingObjectTag/for": "b*"}},
        }
        self.client.put_bucket_policy(**where, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
        self.put("documents", "by default", SMALL, Tagging="for=bob")
        self.put("documents", "leads on", 20, WebsiteRedirectLocation="/by default")

    def versions(self):
        for bucket in ("versions", "copies", "secret"):
            self.bucket(bucket)
            before = [self.put(bucket, f"null/{number}", SMALL + number) for number in range(4)]
            assert before == [None] * 4, before
            self.uploaded(bucket, "null/parts", [LARGE])
            self.versioning(bucket, "Enabled")
            for size in (0, 1, SMALL, LARGE):
                for _ in range(3):
                    self.put(bucket, f"size/{size}", size, Metadata={"size": str(size)})
            self.together(bucket)
            self.put(bucket, "null/1", 11)
            self.marked(bucket, "null/2")
            # The null version is told again, and stays below what is later.
            self.put(bucket, "null/3", 12)
            tags = {"TagSet": [{"Key": "told", "Value": "again"}]}
            self.client.put_object_tagging(Bucket=bucket, Key="null/3", VersionId="null", Tagging=tags)
            versions = [self.put(bucket, "gone", 100 + at, Tagging=f"at={at}") for at in range(4)]
            self.client.delete_object(Bucket=bucket, Key="gone", VersionId=versions[1])
            del self.contents[bucket][_named("gone", versions[1])]
            self.marked(bucket, "gone")
            self.copy((bucket, "gone"), (bucket, "gone/copy"), version=versions[2])
            self.uploaded(bucket, "parts", [LARGE])
            self.uploaded(bucket, "parts", [LARGE - 1], Tagging="second=1")
            self.marked(bucket, "never was")
            self.versioning(bucket, "Suspended")
            self.put(bucket, "size/1", 13)
            self.contents[bucket][_named("size/1", "null")] = self.contents[bucket].pop(_named("size/1", None))
            self.marked(bucket, f"size/{SMALL}")

    def versioning(self, bucket, status):
        self.client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})
        # What was put before is called null from now on.
        held = self.contents[bucket]
        self.contents[bucket] = {_named(_key(name), _version(name) or "null"): held[name] for name in held}

    def marked(self, bucket, key):
        self.client.delete_object(Bucket=bucket, Key=key)

    def together(self, bucket):
        """Small versions that come at once: some share a pack."""
        sizes = [0, 1, 256, 511, 512, 513, 1000, 4095]
        at_once(len(sizes), lambda number: self.put(bucket, f"pack/{number % 3}", sizes[number]))
        keys = ("pack/0", "pack/1")
        at_once(len(keys), lambda number: self.marked(bucket, keys[number]))

    def locks(self):
        self.bucket("locked", ObjectLockEnabledForBucket=True)
        for size in (0, SMALL, LARGE):
            for mode in ("GOVERNANCE", "COMPLIANCE"):
                until = {"ObjectLockMode": mode, "ObjectLockRetainUntilDate": LASTING}
                self.put("locked", f"{mode}/{size}", size, **until)
            self.put("locked", f"hold/{size}", size, ObjectLockLegalHoldStatus="ON")
            version = self.put("locked", f"later/{size}", size)
            where = {"Bucket": "locked", "Key": f"later/{size}", "VersionId": version}
            self.client.put_object_retention(**where, Retention={"Mode": "GOVERNANCE", "RetainUntilDate": LASTING})
            self.client.put_object_legal_hold(**where, LegalHold={"Status": "ON"})
            self.client.put_object_legal_hold(**where, LegalHold={"Status": "OFF"})
        self.marked("locked", "hold/0")
        rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "Years": 99}}
        configuration = {"ObjectLockEnabled": "Enabled", "Rule": rule}
        self.client.put_object_lock_configuration(Bucket="locked", ObjectLockConfiguration=configuration)
        self.put("locked", "by the rule", SMALL)
        self.uploaded("locked", "parts by the rule", [LARGE])

    def encryption(self):
        self.bucket("encrypted")
        for method, how in METHODS.items():
            for size in (0, 1, SMALL, LARGE):
                self.put("encrypted", f"{method}/{size}", size, **how)
            self.uploaded("encrypted", f"{method}/parts", [SMALL], **how)
            self.put("encrypted", f"{method}/checksum", SMALL, ChecksumAlgorithm="SHA256", **how)
        for method, how in METHODS.items():
            opened = {f"CopySource{name}": value for name, value in CUSTOMER.items()} if method == "customer" else {}
            for other in ("managed", "named", "customer"):
                source = ("encrypted", f"{method}/{LARGE if other == 'managed' else SMALL}")
                self.copy(source, ("encrypted", f"{other}/copy of {method}"), **opened, **METHODS[other])
        for method in ("managed", "named"):
            self.copy(("encrypted", f"{method}/parts"), ("encrypted", f"{method}/copy of parts"), **METHODS[method])
        self.bucket("lone")
        self.uploaded("lone", "managed/parts", [PART, LARGE], **METHODS["managed"])
        default = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
        self.client.put_bucket_encryption(Bucket="encrypted", ServerSideEncryptionConfiguration={"Rules": [default]})
        self.put("encrypted", "by default", LARGE)

    def checksums(self):
        self.bucket("checksums")
        for algorithm in ALGORITHMS:
            for size in (0, SMALL, LARGE):
                self.put("checksums", f"{algorithm}/{size}", size, ChecksumAlgorithm=algorithm)
        for algorithm in COMPOSITES:
            more = {"ChecksumAlgorithm": algorithm, "ChecksumType": "COMPOSITE"}
            self.uploaded("checksums", f"{algorithm}/parts", [PART, 17], **more)
        for algorithm in WHOLES:
            more = {"ChecksumAlgorithm": algorithm, "ChecksumType": "FULL_OBJECT"}
            self.uploaded("checksums", f"{algorithm}/whole of parts", [PART, 17], **more)

    def access(self):
        """Buckets and objects of other owners, with lists."""
        self.bucket("alices", client=self.alice, ObjectOwnership="ObjectWriter")
        self.alice.put_bucket_acl(Bucket="alices", GrantWrite="id=bob", GrantRead=f'uri="{EVERYBODY}"')
        self.put("alices", "hers", SMALL, client=self.alice)
        self.put("alices", "public", SMALL, client=self.alice, ACL="public-read")
        self.put("alices", "his", SMALL, client=self.bob, ACL="bucket-owner-full-control")
        self.put("alices", "his and large", LARGE, client=self.bob, ACL="bucket-owner-read")
        self.alice.put_object_acl(Bucket="alices", Key="hers", GrantRead="id=bob", GrantReadACP="id=bob")

    def under_way(self):
        for method, how in METHODS.items():
            self.upload("encrypted", f"way/{method}", [SMALL], **how)
        for bucket in ("versions", "secret"):
            self.upload(bucket, "way/versions", [LARGE], Tagging="a=1", Metadata={"m": "1"})
        until = {"ObjectLockMode": "GOVERNANCE", "ObjectLockRetainUntilDate": LASTING}
        self.upload("locked", "way/locked", [SMALL], **until)
        for algorithm in COMPOSITES:
            more = {"ChecksumAlgorithm": algorithm, "ChecksumType": "COMPOSITE"}
            self.upload("checksums", f"way/{algorithm}", [SMALL], **more)

    # Afterwards

    def compare(self, shown):
        """What the program shows must be what was asked of it."""
        assert sorted(shown) == sorted(self.contents), sorted(shown)
        for bucket, told in shown.items():
            if bucket == "logs":
                continue
            found = {name: version for name, version in told["versions"].items() if not version["is_marker"]}
            assert sorted(found) == sorted(self.named(bucket)), (bucket, sorted(found), sorted(self.named(bucket)))
            for name, version in found.items():
                body = b"".join(content(*piece) for piece in self.named(bucket)[name])
                assert (version["length"], version["sha256"]) == (len(body), sha256(body)), (bucket, name)
        assert {upload for told in shown.values() for upload in told["uploads"]} == set(self.parts)
        documents = shown["documents"]["documents"]
        absent = [name for name, document in documents.items() if isinstance(document, str) and name != "lock"]
        assert not absent, (absent, documents)
        # Names are signed as they are, whoever asks.
        assert raw.Request(self.endpoint, "GET", "/alices/public").send().status == 200

    def named(self, bucket):
        """Contents by key and version, as they are shown: what has no version is called null."""
        return {_named(_key(name), _version(name) or "null"): it for name, it in self.contents[bucket].items()}


def summed(asked, body):
    """The same, with the checksum of a body that boto3 does not compute."""
    if asked.get("ChecksumAlgorithm") != "MD5":
        return asked
    rest = {name: asked[name] for name in asked if name != "ChecksumAlgorithm"}
    return rest | {"ChecksumMD5": raw.content_md5(body)}


def rules():
    return [
        {
            "ID": "old",
            "Status": "Enabled",
            "Filter": {"And": {"Prefix": "old/", "Tags": [{"Key": "k", "Value": "v"}], "ObjectSizeGreaterThan": 5}},
            "Expiration": {"Days": 3650},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 3650, "NewerNoncurrentVersions": 7},
        },
        {
            "ID": "parts",
            "Status": "Disabled",
            "Filter": {"Prefix": ""},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 9},
        },
    ]


def website():
    routing = {"Condition": {"KeyPrefixEquals": "docs/"}, "Redirect": {"ReplaceKeyPrefixWith": "documents/"}}
    return {
        "IndexDocument": {"Suffix": "index.html"},
        "ErrorDocument": {"Key": "error.html"},
        "RoutingRules": [routing],
    }


def notification():
    rules_of_keys = {"Key": {"FilterRules": [{"Name": "prefix", "Value": "in/"}]}}
    topic = {
        "Id": "all that comes",
        "TopicArn": f"arn:ripstop:webhook:::{WEBHOOK['name']}",
        "Events": ["s3:ObjectCreated:*"],
        "Filter": rules_of_keys,
    }
    return {"TopicConfigurations": [topic]}


def _named(key, version):
    return f"{urllib.parse.quote(key)}?{version or ''}"


def _key(name):
    return urllib.parse.unquote(name.split("?")[0])


def _version(name):
    return name.split("?")[1]


