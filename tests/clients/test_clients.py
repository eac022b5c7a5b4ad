"""Real clients put, get, list, copy and delete objects of telling sizes, byte for byte."""

import json
import os
import shutil
import subprocess

import fsspec
import pytest
import s3fs
from boto3.s3.transfer import TransferConfig

from support import s3
from support.payload import KIB, MIB, Stream, digest, digest_of

SIZES = [0, 1, 4 * KIB, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 100 * MIB]
PROGRAM_SECONDS_MAX = 300
sizes = pytest.mark.parametrize("size", SIZES)


def run(command, environment, **arguments):
    done = subprocess.run(
        command,
        env={k: v for k, v in os.environ.items() if not k.startswith("AWS_")} | environment,
        capture_output=True,
        timeout=PROGRAM_SECONDS_MAX,
        **arguments,
    )
    assert done.returncode == 0, f"{command}: {done.stderr.decode()[-2000:]}"
    return done.stdout


def file_of(path, seed, size):
    with open(path, "wb") as file:
        shutil.copyfileobj(Stream(seed, size), file, MIB)


def digest_file(path):
    with open(path, "rb") as file:
        return digest(file)


@sizes
def test_boto3(client, bucket, seed, size):
    client.put_object(Bucket=bucket, Key="one", Body=Stream(seed, size), ContentLength=size)
    wanted = digest_of(seed, size)
    assert client.head_object(Bucket=bucket, Key="one")["ContentLength"] == size
    assert digest(client.get_object(Bucket=bucket, Key="one")["Body"].iter_chunks(MIB)) == wanted
    client.copy_object(Bucket=bucket, Key="two", CopySource={"Bucket": bucket, "Key": "one"})
    assert s3.keys(client, bucket) == ["one", "two"]
    client.delete_object(Bucket=bucket, Key="one")
    assert s3.keys(client, bucket) == ["two"]
    assert digest(client.get_object(Bucket=bucket, Key="two")["Body"].iter_chunks(MIB)) == wanted


@sizes
def test_boto3_managed_transfers(client, bucket, seed, size, tmp_path):
    transfer = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB, max_concurrency=4)
    client.upload_fileobj(Stream(seed, size), bucket, "one", Config=transfer)
    client.download_file(bucket, "one", str(tmp_path / "back"), Config=transfer)
    assert digest_file(tmp_path / "back") == digest_of(seed, size)


@sizes
def test_aws_command_line(endpoint, bucket, seed, size, tmp_path):
    aws = os.environ.get("RIPSTOP_AWS") or shutil.which("aws")
    if aws is None:
        pytest.skip("the AWS command line is not installed")
    environment = endpoint.environment()
    call = lambda *words: run([aws, "s3", *words, "--no-progress"], environment)
    file_of(tmp_path / "source", seed, size)
    call("cp", str(tmp_path / "source"), f"s3://{bucket}/folder/one")
    call("cp", f"s3://{bucket}/folder/one", f"s3://{bucket}/folder/two")
    listed = run([aws, "s3", "ls", "--recursive", f"s3://{bucket}/"], environment).decode().split("\n")
    assert [line.split()[2:] for line in listed if line] == [
        [str(size), "folder/one"],
        [str(size), "folder/two"],
    ]
    call("sync", f"s3://{bucket}/folder", str(tmp_path / "back"))
    wanted = digest_of(seed, size)
    assert digest_file(tmp_path / "back" / "one") == wanted
    assert digest_file(tmp_path / "back" / "two") == wanted
    run([aws, "s3", "rm", "--recursive", f"s3://{bucket}/"], environment)
    counted = run([aws, "s3api", "list-objects-v2", "--bucket", bucket, "--output", "json"], environment)
    assert json.loads(counted or b"{}").get("Contents", []) == []


@sizes
def test_rclone(endpoint, bucket, seed, size, tmp_path):
    rclone = os.environ.get("RIPSTOP_RCLONE") or shutil.which("rclone")
    if rclone is None:
        pytest.skip("rclone is not installed")
    environment = {
        "RCLONE_CONFIG": str(tmp_path / "none.conf"),
        "RCLONE_CONFIG_IT_TYPE": "s3",
        "RCLONE_CONFIG_IT_PROVIDER": "Other",
        "RCLONE_CONFIG_IT_ENDPOINT": endpoint.url,
        "RCLONE_CONFIG_IT_REGION": endpoint.region,
        "RCLONE_CONFIG_IT_ACCESS_KEY_ID": endpoint.access_key,
        "RCLONE_CONFIG_IT_SECRET_ACCESS_KEY": endpoint.secret_key,
        "RCLONE_CONFIG_IT_FORCE_PATH_STYLE": "true",
        "RCLONE_S3_UPLOAD_CUTOFF": "16M",
        "RCLONE_RETRIES": "1",
        "RCLONE_LOW_LEVEL_RETRIES": "1",
    }
    if endpoint.authority:
        environment["RCLONE_CA_CERT"] = endpoint.verify
    call = lambda *words: run([rclone, *words], environment)
    (tmp_path / "source").mkdir()
    file_of(tmp_path / "source" / "one", seed, size)
    call("copy", str(tmp_path / "source"), f"it:{bucket}/folder")
    call("check", "--download", str(tmp_path / "source"), f"it:{bucket}/folder")
    call("copyto", f"it:{bucket}/folder/one", f"it:{bucket}/folder/two")
    listed = json.loads(call("lsjson", "-R", f"it:{bucket}"))
    assert sorted((e["Path"], e["Size"]) for e in listed if not e["IsDir"]) == [
        ("folder/one", size),
        ("folder/two", size),
    ]
    call("copy", f"it:{bucket}/folder", str(tmp_path / "back"))
    assert digest_file(tmp_path / "back" / "two") == digest_of(seed, size)
    call("delete", f"it:{bucket}/folder")
    assert json.loads(call("lsjson", "-R", f"it:{bucket}")) == []


@pytest.fixture
def files(endpoint):
    s3fs.S3FileSystem.clear_instance_cache()
    fsspec.config.conf.clear()
    return fsspec.filesystem(
        "s3",
        key=endpoint.access_key,
        secret=endpoint.secret_key,
        client_kwargs={"endpoint_url": endpoint.url, "region_name": endpoint.region, "verify": endpoint.verify},
        config_kwargs={"s3": {"addressing_style": "path"}, "retries": {"total_max_attempts": 1}},
        skip_instance_cache=True,
        use_listings_cache=False,
    )


@sizes
def test_s3fs(files, bucket, seed, size, tmp_path):
    with files.open(f"{bucket}/folder/one", "wb", block_size=8 * MIB) as out:
        shutil.copyfileobj(Stream(seed, size), out, MIB)
    assert files.info(f"{bucket}/folder/one")["size"] == size
    wanted = digest_of(seed, size)
    with files.open(f"{bucket}/folder/one", "rb", block_size=4 * MIB) as back:
        assert digest(back) == wanted
    files.copy(f"{bucket}/folder/one", f"{bucket}/folder/two")
    assert sorted(files.find(bucket)) == [f"{bucket}/folder/one", f"{bucket}/folder/two"]
    files.get(f"{bucket}/folder/two", str(tmp_path / "back"))
    assert digest_file(tmp_path / "back") == wanted
    files.rm(f"{bucket}/folder", recursive=True)
    assert files.find(bucket) == []


def test_s3fs_reads_like_a_column_store(files, client, bucket, seed):
    """Footer first, then scattered small ranges, as readers of Parquet and Zarr do."""
    size = 20 * MIB + 12_345
    client.upload_fileobj(Stream(seed, size), bucket, "table")
    model = Stream(seed, size)
    whole = model.read()
    ranges = [(size - 8, size), (size - 65_536, size - 8), (0, 4), (8 * MIB - 100, 8 * MIB + 100)]
    ranges += [(i * 1_999_993 % size, min(size, i * 1_999_993 % size + 1000 * i)) for i in range(1, 24)]
    with files.open(f"{bucket}/table", "rb", block_size=64 * KIB, cache_type="none") as table:
        for start, end in ranges:
            table.seek(start)
            assert table.read(end - start) == whole[start:end], (start, end)
    starts, ends = zip(*ranges)
    parts = files.cat_ranges([f"{bucket}/table"] * len(ranges), list(starts), list(ends))
    assert parts == [whole[start:end] for start, end in ranges]
