"""Object stores for tests: moto's S3 server, and a folder behind fsspec's interface."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.registry import _registry

from evalcore import media_store

KEYS = {
    "AWS_ACCESS_KEY_ID": "plumbline",
    "AWS_SECRET_ACCESS_KEY": "of-no-worth",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass
class Bucket:
    """A bucket of moto's server, and a client that is not the product's."""

    name: str
    client: Any
    endpoint: str

    @property
    def address(self) -> str:
        return f"s3://{self.name}"

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.name, Prefix=prefix
        )
        return [one["Key"] for page in pages for one in page.get("Contents", ())]

    def remove(self) -> None:
        """Let the bucket disappear with all that is in it."""
        for key in self.keys():
            self.client.delete_object(Bucket=self.name, Key=key)
        self.client.delete_bucket(Bucket=self.name)


@pytest.fixture(scope="session")
def moto_server():
    """The address of an S3 server on this machine."""
    from moto.server import ThreadedMotoServer  # takes seconds to load

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


numbers = itertools.count()


@pytest.fixture
def bucket(moto_server, monkeypatch):
    """A new bucket, which the clients' own variables lead to."""
    import boto3

    for name, value in (KEYS | {"AWS_ENDPOINT_URL": moto_server}).items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    client = boto3.client("s3")
    made = Bucket(f"plumbline-{next(numbers)}", client, moto_server)
    client.create_bucket(Bucket=made.name)
    media_store._away.clear()
    yield made
    media_store._away.clear()


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> Path:
    """The folder behind gs://shelf, by fsspec's interface."""
    root = tmp_path / "stores"
    (root / "shelf").mkdir(parents=True)

    class Shelves(DirFileSystem):
        protocol = "gs"
        cachable = False

        def __init__(self, **_options):
            super().__init__(path=str(root), fs=LocalFileSystem(auto_mkdir=True))

        @classmethod
        def _strip_protocol(cls, path):
            return str(path).removeprefix("gs://").rstrip("/")

    monkeypatch.setitem(_registry, "gs", Shelves)
    return root / "shelf"
