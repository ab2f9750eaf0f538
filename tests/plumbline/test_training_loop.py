"""The training loop of the documentation runs, with robots for people."""

import time

import pytest
from PIL import Image, ImageDraw

import plumbline.client
from annotate.audit_log.verifying import problems
from annotate.models import ApiToken, Slot, Study, StudyMember, User
from annotate.people.joining import make_link
from annotate.reports import building
from annotate.uploads import queue, working
from evalcore import members
from plumbline.client import (
    Client,
    ConflictError,
    FailedError,
    NotAllowedError,
)
from tests.factories import make_benchmark, picture_bytes
from tests.robots import ADDRESS, InProcess, visitor
from tests.test_tutorials import ROOT, blocks
from tests.working import LIKERT, PAIRWISE, join, make_planned, work

pytestmark = pytest.mark.django_db
PAGE = ROOT / "docs" / "how-to" / "evaluate-checkpoints.md"


class WithWorkers(InProcess):
    """Carries out what a request left to workers before the next one."""

    def handle_request(self, request):
        answer = super().handle_request(request)
        for pk in queue.waiting():
            working.work_on(pk)
        for pk in building.waiting_reports():
            building.build_report(pk)
        return answer


def open_study(text: str = LIKERT, *, outputs=("base",), methods=()) -> Study:
    """Launch a study of some methods, all if empty, of those with outputs."""
    benchmark = make_benchmark(stories=2, shots=2, methods=outputs)
    text += "assignment: open\nredundancy: 2\n"
    return make_planned(text, benchmark=benchmark, slug="checkpoints", methods=methods)


def client_of(study: Study, scope: str = "write") -> Client:
    user, _is_new = User.objects.get_or_create(username="alice")
    StudyMember.objects.get_or_create(study=study, user=user, role="manager")
    members.add(study.benchmark, user, members.Role.OWNER)
    _token, secret = ApiToken.issue(user=user, name="loop", scope=scope, study=study)
    return Client(ADDRESS, secret, every=0, transport=WithWorkers())


def write_outputs(folder, stories=("01", "02")):
    for story in stories:
        for number in (1, 2):
            path = folder / story / f"shot_{number:02}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture_bytes(f"{folder.name} {story} {number}"))
    return folder


@pytest.mark.slow
def test_loop_of_the_page_rates_every_checkpoint(tmp_path, monkeypatch, capsys):
    study = open_study()
    link = make_link(study, most=2)
    people = [visitor(link), visitor(link)]

    def let_people_rate(_seconds):
        for person in people:
            person.work(lambda _story: {"character": 3, "beauty": 2}, further=True)

    names: dict[str, object] = {
        "generate": lambda prompt: picture(prompt, size=8 * len(names))
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "sleep", let_people_rate)
    monkeypatch.setattr(
        plumbline.client, "Client", lambda _address, _token: client_of(study)
    )
    monkeypatch.setenv("PLUMBLINE_ADDRESS", ADDRESS)
    monkeypatch.setenv("PLUMBLINE_TOKEN", "secret")
    setting_up, loop, _against = (source for source, _shown in blocks(PAGE))
    exec(setting_up, names)
    exec(loop, names)
    board = names["board"]
    own = board[board["question"] == "character"]
    methods = {"base", "step-00000", "step-02000", "step-04000"}
    assert set(own["method"]) == methods
    assert set(own["n"]) == {4}
    assert set(own["value"]) == {3.0}
    assert "step-04000" in capsys.readouterr().out
    assert Study.objects.get().method_names == sorted(methods)
    assert problems(study) == []


def picture(prompt: str, size: int) -> Image.Image:
    """Draw a prompt, as a generator that knows only colours would."""
    drawn = Image.new("RGB", (96, 64), (size % 256, len(prompt), 90))
    ImageDraw.Draw(drawn).text((4, 4), prompt[:12], fill="white")
    return drawn


def test_outputs_that_cannot_join_are_not_stored(tmp_path):
    study = open_study()
    client = client_of(study)
    folder = write_outputs(tmp_path / "step-1", stories=["01"])
    with pytest.raises(FailedError, match="no output of these stories: 02"):
        client.add_method("checkpoints", "step-1", folder)
    (folder / "02").mkdir()
    (folder / "02" / "shot_01.png").write_bytes(b"no picture")
    with pytest.raises(FailedError, match=r"shot_01\.png"):
        client.add_method("checkpoints", "step-1", folder)
    outputs = study.benchmark.stories.get(key="01").outputs
    assert {one.method.name for one in outputs.all()} == {"base"}
    write_outputs(folder)
    joined = client.add_method("checkpoints", "step-1", folder)
    assert (joined.items, joined.wanted, joined.submitted) == (2, 4, 0)
    with pytest.raises(ConflictError, match="has step-1 already"):
        client.add_method("checkpoints", "step-1", folder)


def test_outputs_imported_before_join_against_a_baseline(tmp_path):
    outputs = ("base", "next", "other")
    study = open_study(PAIRWISE, outputs=outputs, methods=outputs[:2])
    joined = client_of(study).add_method("checkpoints", "other", against=["base"])
    assert (joined.items, joined.wanted) == (2, 4)
    folder = write_outputs(tmp_path / "step-1")
    joined = client_of(study).add_method(
        "checkpoints", "step-1", folder, against=["base"]
    )
    assert (joined.items, joined.wanted) == (2, 4)
    assert problems(study) == []


def test_token_without_the_scope_or_of_another_study_adds_nothing(tmp_path):
    study = open_study()
    with pytest.raises(NotAllowedError, match="scope"):
        client_of(study, scope="read").add_method("checkpoints", "base-2")
    other = make_planned(LIKERT, benchmark=study.benchmark, slug="b", annotators=3)
    client_of(other)
    with pytest.raises(NotAllowedError, match="for the study"):
        client_of(study).add_method(other.slug, "base-2")
    assert study.method_names == ["base"]


def test_leaderboard_has_intervals_and_tables_have_types():
    study = open_study(PAIRWISE, outputs=("base", "next", "other"))

    def prefer_first(slot: Slot, _question: str) -> str:
        return "left" if slot.a_is_left else "right"

    def prefer_other(slot: Slot, question: str) -> str:
        first = prefer_first(slot, question)
        if slot.unit.output_b.method.name != "other":
            return first
        return "right" if first == "left" else "left"

    for answer in (prefer_first, prefer_other):
        work(join(study), answer)
    client = client_of(study)
    board = client.leaderboard("checkpoints")
    own = board[board["question"] == "quality"]
    assert own["method"].tolist() == ["base", "other", "next"]
    assert own["rank"].is_monotonic_increasing
    assert (own["low"] < own["value"]).all()
    assert (own["value"] < own["high"]).all()
    table = client.table("checkpoints", "choices")
    assert table["story"].unique().tolist() == ["01", "02"]
    assert table["is_gold"].dtype == bool
    assert str(table["submitted_at"].dtype).startswith("datetime64")
    scores = [{"story": "01", "method": "base", "metric": "mine", "score": 0.5}]
    assert client.post_scores("checkpoints", scores)["created"] == 1
    assert client.table("checkpoints", "scores")["score"].tolist() == [0.5]
    with pytest.raises(TimeoutError, match="of 12 ratings"):
        client.wait_until("checkpoints", share=2.0, every=0.1, timeout=0.05)
