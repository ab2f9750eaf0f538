"""A study from its pictures to its report by the client alone, on a real server."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import pandas as pd
import pytest

from plumbline.client import Client, NotAllowedError, Session
from tests.factories import picture_bytes
from tests.serving import ROOT, Served

METHODS, STORIES = ("base", "other"), ("01", "02", "03")
PASSWORD = "long-enough-4-tests"
DEFINITION = {
    "title": "Checkpoints",
    "assignment": "open",
    "redundancy": 3,
    "session_size": 4,
    "consent": {"en": "You agree to take part."},
    "questions": [
        {
            "key": "style",
            "kind": "likert",
            "text": "How good is the style?",
            "scale": [0, 4],
            "anchors": {0: "bad", 4: "good"},
        }
    ],
}


def write_outputs(folder: Path) -> Path:
    for story in STORIES:
        for number in (1, 2):
            path = folder / story / f"shot_{number:02}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            label = f"{folder.name} {story} {number}"
            path.write_bytes(picture_bytes(label, (256, 192)))
    return folder


def token_of(address: str, data: Path) -> str:
    """Create an account on the server, and return a token of it."""
    env = os.environ | {"DATA_DIR": str(data), "DATABASE_URL": ""}
    env |= {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    command = "createsuperuser --noinput --username alice --email a@example.org"
    subprocess.run(
        [sys.executable, "manage.py", *command.split()], env=env, cwd=ROOT, check=True
    )
    given = {"username": "alice", "password": PASSWORD}
    made = httpx2.post(f"{address}/api/v1/token/", json=given, timeout=60)
    return made.raise_for_status().json()["token"]


def rate(address: str, link: str, value: int, over: threading.Event) -> None:
    """Rate every story, until the test sets `over`."""
    with Session.join(address, link) as robot:
        while not over.wait(0.5):
            robot.work(lambda _story: {"style": value}, further=True)


@pytest.mark.slow
@pytest.mark.timeout(900)  # a loaded machine starts the server in three minutes
def test_client_leads_a_study_from_pictures_to_the_report(tmp_path, capsys):
    began = time.monotonic()

    def tell(what: object) -> None:
        with capsys.disabled():
            print(f"{time.monotonic() - began:6.1f} s  {what}")

    with Served(tmp_path / "data") as server:
        server.wait_for_pages()
        server.wait_for_workers()
        address = f"http://127.0.0.1:{server.port}"
        client = Client(address, token_of(address, server.folder), every=0.2)
        tell("the server answers")
        for method in METHODS:
            write_outputs(tmp_path / "outputs" / method)
        benchmark = client.import_files(tmp_path / "outputs")
        client.create_study("pilot", benchmark, DEFINITION)
        assert client.launch("pilot").state == "open"
        link = client.public_link("pilot", 3).partition("?")[0].rstrip("/")
        tell(f"launched: {client.study('pilot')['methods']}")
        secret = link.rpartition("/")[2]
        over = threading.Event()
        people = [
            threading.Thread(target=rate, args=(address, secret, value, over))
            for value in (2, 3, 4)
        ]
        for person in people:
            person.start()
        assert client.wait_until("pilot", every=0.5, timeout=120) == 18
        tell("18 ratings")
        for step in (1000, 2000):
            method = f"step-{step}"
            joined = client.add_method(
                "pilot", method, write_outputs(tmp_path / method)
            )
            assert (joined.items, joined.wanted) == (3, 9)
            client.wait_until("pilot", method=method, every=0.5, timeout=120)
            board = client.leaderboard("pilot")
            assert method in set(board["method"])
            tell(f"{method} is rated\n{board.drop(columns='question').to_string()}")
        scores = [
            {"story": story, "method": method, "metric": "mine", "score": place / 9}
            for place, story in enumerate(STORIES)
            for method in (*METHODS, "step-1000", "step-2000")
        ]
        client.post_scores("pilot", scores)
        over.set()
        for person in people:
            person.join(60)
        assert client.close("pilot").state == "closed"
        table = client.table("pilot", "ratings")
        assert len(table) == 36
        assert set(table["story"]) == {*STORIES}
        page = client.report("pilot", tmp_path / "report", resamples=50)
        assert "step-2000" in page.read_text("utf-8")
        tell(f"report: {len([*page.parent.rglob('*')])} files")
        file = client.export("pilot", tmp_path, table="ratings", format="parquet")
        assert len(pd.read_parquet(file)) == 36
        bundle = client.bundle("pilot", tmp_path)
        tell(f"{file.stat().st_size} bytes of ratings, {bundle.stat().st_size} in all")
        wrong = Client(address, "wrong")
        with pytest.raises(NotAllowedError):
            wrong.studies()
        tell("done")
