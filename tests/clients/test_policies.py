"""Owners, policies, access lists and the block of the public, as boto3 asks for them."""

import json
import urllib.error
import urllib.request

import pytest

from support import s3
from support.gateway import ACCESS_KEY, Gateway

pytestmark = pytest.mark.own
ALICE, BOB, CLERK = "ALICE00001", "BOB0000001", "CLERK00001"
EVERYBODY = "http://acs.amazonaws.com/groups/global/AllUsers"


@pytest.fixture
def shared(tmp_path):
    """A gateway with two users, and a key that the operator lets read the bucket `public`."""
    own = Gateway(tmp_path / "own", keys={key: f"secret-of-{key}" for key in (ALICE, BOB, CLERK)})
    own.rights = {ACCESS_KEY: "administrator", ALICE: "user", BOB: "user", CLERK: {"public": "read"}}
    own.users = {ALICE: "alice", BOB: "bob"}
    own.configure()
    own.start()
    yield own
    own.kill()


@pytest.fixture
def alice(shared):
    return shared.endpoint(ALICE).client()


@pytest.fixture
def bob(shared):
    return shared.endpoint(BOB).client()


def denied():
    return s3.refused("AccessDenied", status=403)


def fetch(shared, path):
    """Status of a request without a signature."""
    try:
        with urllib.request.urlopen(f"{shared.endpoint().url}/{path}", timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def policy(effect, principal, action, resource, **more):
    statement = {"Effect": effect, "Principal": principal, "Action": action, "Resource": resource} | more
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def test_users_own_their_buckets(shared, alice, bob):
    bucket = s3.fresh_name()
    alice.create_bucket(Bucket=bucket)
    alice.put_object(Bucket=bucket, Key="k", Body=b"hers")
    assert [it["Name"] for it in alice.list_buckets()["Buckets"]] == [bucket]
    assert alice.list_buckets()["Owner"]["ID"] == "alice"
    assert bob.list_buckets()["Buckets"] == []
    with denied():
        bob.get_object(Bucket=bucket, Key="k")
    with s3.refused("BucketAlreadyExists", status=409):
        bob.create_bucket(Bucket=bucket)
    assert shared.endpoint().client().get_object(Bucket=bucket, Key="k")["Body"].read() == b"hers"


def test_a_policy_lets_in_and_survives_a_restart(shared, alice, bob):
    bucket = s3.fresh_name()
    alice.create_bucket(Bucket=bucket)
    alice.put_object(Bucket=bucket, Key="k", Body=b"hers")
    with s3.refused("NoSuchBucketPolicy", status=404):
        alice.get_bucket_policy(Bucket=bucket)
    text = policy("Allow", {"AWS": "arn:aws:iam::bob:user/bob"}, "s3:GetObject", f"arn:aws:s3:::{bucket}/*")
    alice.put_bucket_policy(Bucket=bucket, Policy=text)
    assert json.loads(alice.get_bucket_policy(Bucket=bucket)["Policy"]) == json.loads(text)
    assert alice.get_bucket_policy_status(Bucket=bucket)["PolicyStatus"]["IsPublic"] is False
    shared.kill()
    shared.start()
    assert bob.get_object(Bucket=bucket, Key="k")["Body"].read() == b"hers"
    with denied():
        bob.put_object(Bucket=bucket, Key="k", Body=b"his")
    with denied():
        shared.endpoint(CLERK).client().get_object(Bucket=bucket, Key="k")
    alice.delete_bucket_policy(Bucket=bucket)
    with denied():
        bob.get_object(Bucket=bucket, Key="k")


def test_a_denial_binds_the_owner_who_can_take_it_back(alice, shared):
    bucket = s3.fresh_name()
    alice.create_bucket(Bucket=bucket)
    everything = [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]
    alice.put_bucket_policy(Bucket=bucket, Policy=policy("Deny", "*", "s3:*", everything))
    for client in (alice, shared.endpoint().client()):
        with denied() as caught:
            client.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert "explicit deny" in str(caught.value)
    alice.delete_bucket_policy(Bucket=bucket)
    alice.put_object(Bucket=bucket, Key="k", Body=b"x")


def test_the_public_comes_in_by_policy_and_is_kept_out_by_the_block(shared, alice):
    bucket = s3.fresh_name()
    alice.create_bucket(Bucket=bucket)
    alice.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert fetch(shared, f"{bucket}/k") == 403
    text = policy("Allow", "*", "s3:GetObject", f"arn:aws:s3:::{bucket}/*")
    alice.put_bucket_policy(Bucket=bucket, Policy=text)
    assert alice.get_bucket_policy_status(Bucket=bucket)["PolicyStatus"]["IsPublic"] is True
    assert fetch(shared, f"{bucket}/k") == 200
    flags = dict.fromkeys(
        ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True
    )
    alice.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=flags)
    assert alice.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"] == flags
    assert fetch(shared, f"{bucket}/k") == 403
    with denied():
        alice.put_bucket_policy(Bucket=bucket, Policy=text)
    alice.delete_public_access_block(Bucket=bucket)
    with s3.refused("NoSuchPublicAccessBlockConfiguration", status=404):
        alice.get_public_access_block(Bucket=bucket)
    assert fetch(shared, f"{bucket}/k") == 200


def test_lists_grant_where_they_are_on(shared, alice, bob):
    bucket = s3.fresh_name()
    alice.create_bucket(Bucket=bucket)
    with s3.refused("AccessControlListNotSupported", status=400):
        alice.put_bucket_acl(Bucket=bucket, ACL="public-read")
    rules = {"Rules": [{"ObjectOwnership": "BucketOwnerPreferred"}]}
    alice.put_bucket_ownership_controls(Bucket=bucket, OwnershipControls=rules)
    alice.put_bucket_acl(Bucket=bucket, ACL="public-read")
    grants = sorted(alice.get_bucket_acl(Bucket=bucket)["Grants"], key=lambda grant: grant["Permission"])
    assert [grant["Permission"] for grant in grants] == ["FULL_CONTROL", "READ"]
    assert (grants[1]["Grantee"]["Type"], grants[1]["Grantee"]["URI"]) == ("Group", EVERYBODY)
    alice.put_object(Bucket=bucket, Key="open", Body=b"x", ACL="public-read")
    alice.put_object(Bucket=bucket, Key="shut", Body=b"x")
    assert {fetch(shared, f"{bucket}/{key}") for key in ("open",)} == {200}
    assert fetch(shared, f"{bucket}/shut") == 403
    assert len(bob.list_objects_v2(Bucket=bucket)["Contents"]) == 2
    alice.put_object_acl(Bucket=bucket, Key="shut", GrantRead="id=bob")
    assert bob.get_object(Bucket=bucket, Key="shut")["Body"].read() == b"x"
    acl = alice.get_object_acl(Bucket=bucket, Key="shut")
    alice.put_object_acl(
        Bucket=bucket,
        Key="open",
        AccessControlPolicy={"Owner": acl["Owner"], "Grants": acl["Grants"]},
    )
    assert fetch(shared, f"{bucket}/open") == 403
    assert bob.get_object(Bucket=bucket, Key="open")["Body"].read() == b"x"
