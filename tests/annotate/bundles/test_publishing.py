"""Publication, against stand-ins for the Hub and Zenodo on this machine."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import huggingface_hub.constants
import pytest
from django.core.management import CommandError, call_command

from annotate.bundles import exporting
from tests.factories import make_benchmark, make_study

pytestmark = pytest.mark.django_db


class StandIn(BaseHTTPRequestHandler):
    """The addresses that a client of the Hub, and one of Zenodo, asks for."""

    def log_message(self, *_args):
        pass

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self):
        self.answer({"id": "lab/trial", "sha": "0" * 40, "siblings": []})

    def do_POST(self):
        data, kept = self.body(), self.server.kept
        kept["tokens"].add(self.headers["Authorization"])
        address = f"http://127.0.0.1:{self.server.server_port}"
        if self.path == "/api/repos/create":
            kept["created"] = json.loads(data)
            self.answer({"url": f"{address}/datasets/lab/trial"})
        elif self.path == "/api/validate-yaml":
            kept["card"] = json.loads(data)["content"]
            self.answer({"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            names = [one["path"] for one in json.loads(data)["files"]]
            modes = [
                {"path": name, "uploadMode": "regular", "shouldIgnore": False}
                for name in names
            ]
            self.answer({"files": modes})
        elif "/commit/" in self.path:
            for line in data.splitlines():
                if (row := json.loads(line))["key"] == "file":
                    content = base64.b64decode(row["value"]["content"])
                    kept["files"][row["value"]["path"]] = content
            commit = f"{address}/datasets/lab/trial/commit/{'1' * 40}"
            self.answer({"commitUrl": commit, "commitOid": "1" * 40})
        elif self.path == "/api/deposit/depositions":
            kept["metadata"] = json.loads(data)["metadata"]
            links = {"bucket": f"{address}/files/b", "html": f"{address}/deposit/7"}
            self.answer({"id": 7, "links": links}, 201)
        else:
            self.answer({"error": self.path}, 404)

    def do_PUT(self):
        self.server.kept["files"][self.path] = self.body()
        self.answer({}, 201)


@pytest.fixture
def server():
    found = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    found.kept = {"tokens": set(), "files": {}}
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()


@pytest.fixture
def bundle(tmp_path):
    study = make_study(benchmark=make_benchmark(stories=1, shots=1), annotators=1)
    path = tmp_path / "trial.zip"
    exporting.write_bundle(study, path, license="cc-by-4.0")
    return path


@pytest.mark.slow
def test_dry_run_shows_files_licence_and_card(bundle, capsys):
    call_command("publish", bundle, hub="lab/trial")
    out = capsys.readouterr().out
    for text in ("lab/trial", "cc-by-4.0", "media/: 3 files", "# Trial", "Add --yes"):
        assert text in out


def test_hub_gets_every_file(bundle, server, monkeypatch):
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", address)
    call_command("publish", bundle, hub="lab/trial", private=True, yes=True)
    assert server.kept["created"]["type"] == "dataset"
    assert server.kept["created"]["visibility"] == "private"
    assert server.kept["tokens"] == {"Bearer hf_test"}
    files = server.kept["files"]
    manifest = json.loads(files["manifest.json"])
    assert files.keys() == {*manifest["files"], "manifest.json"}
    assert files["README.md"].startswith(b"---\nlicense: cc-by-4.0")


@pytest.mark.slow
def test_zenodo_gets_a_draft_with_the_bundle(bundle, server, monkeypatch, capsys):
    monkeypatch.setenv("ZENODO_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("ZENODO_TOKEN", "z_test")
    call_command("publish", bundle, zenodo=True, creator=["Li, Na"], yes=True)
    kept = server.kept
    assert kept["tokens"] == {"Bearer z_test"}
    assert kept["metadata"]["creators"] == [{"name": "Li, Na"}]
    assert kept["files"] == {"/files/b/trial.zip": bundle.read_bytes()}
    assert "/deposit/7" in capsys.readouterr().out


@pytest.mark.slow
def test_upload_needs_token_and_licence(bundle, tmp_path, monkeypatch):
    monkeypatch.delenv("ZENODO_TOKEN", raising=False)
    with pytest.raises(CommandError, match="ZENODO_TOKEN"):
        call_command("publish", bundle, zenodo=True, creator=["Li, Na"], yes=True)
    study = make_study(slug="bare", benchmark=make_benchmark(slug="bare", stories=1))
    exporting.write_bundle(study, tmp_path / "bare.zip")
    with pytest.raises(CommandError, match="a licence; export it again"):
        call_command("publish", tmp_path / "bare.zip", hub="lab/bare", yes=True)
