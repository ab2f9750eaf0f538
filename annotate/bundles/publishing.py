"""Publication of a bundle on the Hugging Face Hub or Zenodo."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.reading.bundles import BLOCK, MANIFEST, Bundle

CARD = "README.md"
ZENODO = "https://zenodo.org"
# Seconds that a server may be silent.
PATIENCE = 120


class PublishingError(RuntimeError):
    """An upload that failed or was not begun; the message says why."""


@dataclass(frozen=True)
class Target:
    """The place of a bundle: a data set of the Hub, or a new draft of Zenodo."""

    hub: str = ""
    private: bool = False
    creators: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return the target as a sentence has it."""
        if not self.hub:
            return "Zenodo, as a draft that you publish there"
        return f"the Hugging Face Hub, data set {self.hub}"


def check(bundle: Bundle, target: Target) -> None:
    """Refuse a bundle that lacks what the target asks for."""
    if not bundle.manifest["license"]:
        bundle.refuse("a licence; export it again with --license, such as cc-by-4.0")
    if not (target.hub or target.creators):
        raise PublishingError("--creator: Zenodo asks for at least one, as in 'Li, Na'")
    _token("HF_TOKEN" if target.hub else "ZENODO_TOKEN")


def plan(bundle: Bundle, target: Target) -> Iterator[str]:
    """Yield what would be published: files, sizes, licence, card."""
    sizes: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for name, about in bundle.files.items():
        folder, slash, _rest = name.partition("/")
        sizes[f"{folder}{slash}"] += about["bytes"]
        numbers[f"{folder}{slash}"] += 1
    yield f"To: {target.words}"
    yield f"Licence: {bundle.manifest['license'] or 'not declared'}"
    yield f"Files: {sum(numbers.values()):,}, {sum(sizes.values()) / 1e6:,.1f} MB"
    for folder, size in sorted(sizes.items()):
        number = f"{numbers[folder]:,} files, " if folder.endswith("/") else ""
        yield f"  {folder}: {number}{size / 1e6:,.2f} MB"
    yield ""
    yield bundle.text(CARD)


def publish(bundle: Bundle, path: Path, target: Target) -> str:
    """Publish a bundle that was checked; return the address."""
    bundle.check()
    return _to_hub(bundle, target) if target.hub else _to_zenodo(bundle, path, target)


def _token(name: str) -> str:
    token = os.environ.get(name, "")
    if not token:
        raise PublishingError(f"{name}: set this variable to your access token")
    return token


def _to_hub(bundle: Bundle, target: Target) -> str:
    """Upload the files one by one, so that the Hub shows card and tables."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError as error:
        told = "the package huggingface_hub is missing: pip install 'plumbline[hub]'"
        raise PublishingError(told) from error
    api = HfApi(token=_token("HF_TOKEN"))
    with TemporaryDirectory() as folder:
        for name in (*bundle.files, MANIFEST):
            unpacked = Path(folder, name)
            unpacked.parent.mkdir(parents=True, exist_ok=True)
            bundle.copy(name, unpacked)
        try:
            made = api.create_repo(
                target.hub, repo_type="dataset", private=target.private, exist_ok=True
            )
            api.upload_folder(
                repo_id=target.hub,
                repo_type="dataset",
                folder_path=folder,
                commit_message=f"Upload study {bundle.manifest['study']}",
            )
        except (HfHubHTTPError, OSError, ValueError) as error:
            raise PublishingError(f"The Hub refused it: {error}") from error
    return str(made)


def _to_zenodo(bundle: Bundle, path: Path, target: Target) -> str:
    """Upload the bundle as one file of a new draft; Zenodo has no Python client."""
    import httpx2

    manifest = bundle.manifest
    metadata: dict[str, Any] = {
        "upload_type": "dataset",
        "title": manifest["title"],
        "description": f"<pre>{escape(bundle.text(CARD))}</pre>",
        "creators": [{"name": name} for name in target.creators],
        "license": manifest["license"],
        "access_right": "open",
        "keywords": ["human evaluation", "Plumbline"],
    }
    address = os.environ.get("ZENODO_URL", ZENODO)
    headers = {"Authorization": f"Bearer {_token('ZENODO_TOKEN')}"}
    try:
        with httpx2.Client(
            base_url=address, headers=headers, timeout=PATIENCE
        ) as client:
            made = client.post("/api/deposit/depositions", json={"metadata": metadata})
            deposit = made.raise_for_status().json()
            place = f"{deposit['links']['bucket']}/{manifest['study']}.zip"
            with path.open("rb") as stream:
                size = {"Content-Length": str(path.stat().st_size)}
                sent = client.put(
                    place, content=iter(partial(stream.read, BLOCK), b""), headers=size
                )
            sent.raise_for_status()
            return str(deposit["links"]["html"])
    except httpx2.HTTPStatusError as error:
        told = f"{error.response.status_code}: {error.response.text[:300]}"
        raise PublishingError(f"Zenodo refused it ({told})") from error
    except (httpx2.HTTPError, LookupError, ValueError) as error:
        raise PublishingError(f"Zenodo did not answer as expected: {error}") from error
