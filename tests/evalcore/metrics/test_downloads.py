"""The script that fetches weights, run against a server on this machine."""

import functools
import http.server
import shutil
import subprocess
import threading

import pytest
from django.core.management import CommandError, call_command

from evalcore.metrics import downloads, registry
from evalcore.metrics.weights import File, Weights

FOO = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"  # of b"foo"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        pass


@pytest.fixture
def address(tmp_path):
    """Serve a folder with one file."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "weights.bin").write_bytes(b"foo")
    handler = functools.partial(Quiet, directory=str(shelf))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/weights.bin"
        server.shutdown()
        thread.join()


def run(script, folder):
    return subprocess.run(
        ["sh", "-s", str(folder)], input=script, capture_output=True, text=True
    )


@pytest.mark.skipif(shutil.which("curl") is None, reason="apt-get install curl")
def test_script_fetches_files_and_checks_them(address, tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    known = File("net/model.bin", address, sha256=FOO)
    unknown = File("net/config.json", address)
    weights = Weights("net", "MIT", (known, unknown), hub_file="model.bin")
    files = [downloads.Needed(weights, one, ("m",), "missing") for one in weights.files]
    script = downloads.script(files)
    done = run(script, folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "net" / "model.bin").read_bytes() == b"foo"
    assert "net/model.bin: OK" in done.stdout
    assert f"{FOO}  net/config.json" in done.stdout
    (folder / "net" / "model.bin").write_bytes(b"bar")
    again = run(script, folder)
    assert again.returncode != 0
    assert "net/model.bin: FAILED" in again.stdout


@pytest.fixture
def weights_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    return tmp_path


def test_beginning_of_a_name_stands_for_all_metrics_with_it():
    cids = [name for name in registry.names() if name.startswith("cids_")]
    assert registry.select("cids") == cids
    assert registry.select("cids@vsb-paper") == [f"{name}@vsb-paper" for name in cids]
    # The whole name of a metric stands for it alone.
    assert registry.select("fid, sharpness,,fid") == ["fid", "sharpness"]
    with pytest.raises(registry.UnknownMetricError, match="no profile 'nope'"):
        registry.select("cids@nope")
    with pytest.raises(registry.UnknownMetricError) as caught:
        registry.select("cidz")
    assert (
        str(caught.value) == "Unknown metric 'cidz'. List all with plumbline metrics."
    )


def test_verify_fails_while_a_file_is_missing_or_wrong(weights_folder, capsys):
    def verify(names):
        call_command("weights", names=names, verify=True)

    with pytest.raises(CommandError, match=r"^3 of 3 files are missing"):
        verify("aesthetic")
    (weights_folder / "aesthetic_predictor_v2_5.pth").write_bytes(b"foo")
    said = "^1 of 3 files are other ones .* Delete them. 2 of 3 files are missing"
    with pytest.raises(CommandError, match=said):
        verify("aesthetic")
    verify("text_rendering")  # files of a package
    assert "All 3 files are right." in capsys.readouterr().out
    verify("sharpness")
    assert capsys.readouterr().out == "sharpness: no weights are needed.\n"


def test_file_of_another_size_is_wrong(weights_folder):
    (weights_folder / "aesthetic_predictor_v2_5.pth").write_bytes(b"foo")
    head = downloads.needed(["aesthetic"])[-1]
    assert head.state == "wrong"
    assert head.fault.endswith("3 bytes, not 2,644,834")
    assert {one.state for one in downloads.needed(["cids_self"])} == {"missing"}


def test_cids_needs_nine_files_of_six_networks(weights_folder):
    found = downloads.fetches(["cids_self", "cids_cross"])
    assert (len(found.groups), len(found.files)) == (6, 9)
    assert all(one.file.sha256 for one in found.files)
    assert all(one.metrics == ("cids_self", "cids_cross") for one in found.files)
    assert found.size == "≥ 4.32 GB"
    assert "/main/" not in found.script
