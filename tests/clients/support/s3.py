"""Clients and small words for tests."""

import contextlib
import dataclasses
import itertools
import os
import typing

import boto3
import botocore.config
import botocore.exceptions
import pytest


_number = itertools.count()


def fresh_name():
    """A bucket name that no other test, and no other run against the same server, uses."""
    return f"suite-{os.getpid()}-{os.urandom(3).hex()}-{next(_number)}"


@dataclasses.dataclass
class Endpoint:
    """An S3 server to aim at; `gateway` only where the suite started it."""

    url: str
    access_key: str
    secret_key: str
    region: str = "us-east-1"
    gateway: typing.Any = None
    # Whom to trust; without it: those the system trusts.
    authority: typing.Any = None

    @property
    def verify(self):
        """The same as botocore wants it."""
        return str(self.authority) if self.authority else None

    def client(self, **settings):
        """A boto3 client that tries once, so that an error is seen and not tried again."""
        defaults = {
            "retries": {"total_max_attempts": 1, "mode": "standard"},
            "s3": {"addressing_style": "path"},
            "connect_timeout": 5,
            "read_timeout": 120,
            "max_pool_connections": 64,
            "signature_version": "s3v4",
        }
        keys = {"aws_access_key_id": self.access_key, "aws_secret_access_key": self.secret_key}
        for name in keys:
            keys[name] = settings.pop(name, keys[name])
        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.url,
            verify=self.verify,
            region_name=settings.pop("region_name", self.region),
            config=botocore.config.Config(**(defaults | settings)),
            **keys,
        )

    def environment(self):
        """What command-line clients read."""
        trusted = {"AWS_CA_BUNDLE": self.verify} if self.authority else {}
        return trusted | {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@contextlib.contextmanager
def refused(*codes, status=None):
    """The block must fail with one of these S3 error codes (for HEAD: status numbers)."""
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        yield caught
    response = caught.value.response
    assert response["Error"]["Code"] in codes, response
    if status is not None:
        assert response["ResponseMetadata"]["HTTPStatusCode"] == status, response


def status_of(call, **arguments):
    """HTTP status of a call, whether it fails or not."""
    try:
        return call(**arguments)["ResponseMetadata"]["HTTPStatusCode"]
    except botocore.exceptions.ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"]


def read(client, bucket, key, **arguments):
    """An object's bytes."""
    return client.get_object(Bucket=bucket, Key=key, **arguments)["Body"].read()


def keys(client, bucket, **arguments):
    """All keys of a bucket, through every page, as the server orders them."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, **arguments)
    return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


def empty(client, bucket):
    """Removes all objects and uploads of a bucket."""
    for upload in client.list_multipart_uploads(Bucket=bucket).get("Uploads", []):
        client.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    for key in keys(client, bucket):
        client.delete_object(Bucket=bucket, Key=key)
