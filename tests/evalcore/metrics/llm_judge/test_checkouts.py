"""Prompts read from an operator's checkout: missing, altered, parsed, sent."""

import hashlib

import pytest

from evalcore.metrics import registry
from evalcore.metrics.envision import EnvisionScore
from evalcore.metrics.llm_judge.checkouts import (
    Checkout,
    PromptFile,
    PromptsError,
    missing_prompts,
    template_with,
    templates,
)
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.oneig.alignment import Alignment
from evalcore.metrics.oneig.text import OneigText
from evalcore.metrics.vistorybench.prompt_alignment import CODE, PromptAlignment
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at
from tests.evalcore.metrics.llm_judge.small_checkouts import write_checkouts

OWLS = Checkout("owls", "https://example.org/owls", "0123456789abcdef", "MIT")
TEXT = "Is it an owl?\n"
FILE = PromptFile(OWLS, "prompts/owl.txt", hashlib.sha256(TEXT.encode()).hexdigest())
OTHER = PromptFile(OWLS, "prompts/eel.txt", "00" * 32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    return tmp_path / "checkouts" / "owls"


def test_missing_checkout_is_named_once_with_the_command(folder):
    (lack,) = missing_prompts([FILE, OTHER])
    place = '"$EVALCORE_WEIGHTS_DIR/checkouts/owls"'
    assert lack.how == (
        f"git clone https://example.org/owls {place} && git -C {place} checkout 0123456"
    )
    assert lack.licence == "MIT"
    with pytest.raises(PromptsError, match="git clone"):
        FILE.read()


def test_altered_file_is_refused_and_named(folder):
    path = folder / "prompts" / "owl.txt"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT)
    assert not missing_prompts([FILE])
    assert FILE.read() == TEXT
    path.write_text("Is it an eel?\n")
    (lack,) = missing_prompts([FILE])
    assert lack.what == "owls@0123456/prompts/owl.txt as published"
    assert f"git -C {folder} checkout --force 0123456" in lack.how
    with pytest.raises(PromptsError, match="its SHA-256 begins with"):
        FILE.read()


SOURCE = '''
def ask(one):
    """Ask."""
    raise_if_run()
    return [f"a {one['x']!r} b", ("c " "d"), f"{one} {{e}}"]
'''


def test_texts_of_a_source_are_parsed_and_never_run():
    first, second, third = templates(SOURCE, "ask")
    assert (first.gaps, second.filled()) == (("one['x']",), "c d")
    assert third.filled({"one": 1}) == "1 {e}"
    assert template_with(SOURCE, "ask", "one['x']") is first
    with pytest.raises(LookupError, match="0 texts with two in ask"):
        template_with(SOURCE, "ask", "two")
    with pytest.raises(LookupError, match="no function tell"):
        templates(SOURCE, "tell")


def test_programs_prompts_become_requests(server, tmp_path, monkeypatch):
    write_checkouts(tmp_path, monkeypatch)
    server.then = answers("Score: 3\nAuthenticity: 3 [blank]")
    text = {"setting": "A wood.", "prompt": "Ice.", "explanation": "Cold."}
    envision = {"index": 7, "category": "Science", "process_type": "Physics"}
    oneig = {"questions": {"1": "Is it ice?"}, "text": "Score 3 Authenticity 3"}
    pictures = [noise(i, (1100, 9)) for i in range(4)]
    output = rendering_of(pictures, texts=[text] * 4, envision=envision, oneig=oneig)
    one = rendering_of(pictures[:1], texts=[text], oneig=oneig)
    with asking(judge_at(server)):
        score(EnvisionScore("overall", "envision-code-05be960"), output, tmp_path)
        score(PromptAlignment("scene", CODE), one, tmp_path)
        (read,) = score(OneigText("output", "oneig-code-41b4983"), one, tmp_path)
        server.then = answers("Yes")
        score(Alignment("oneig-code-41b4983"), one, tmp_path)
    assert read.value == 1  # without the remark
    messages = [asked.body["messages"] for asked in server.asked]
    assert messages[0][0]["content"] == [{"type": "text", "text": "Judge with care."}]
    steps = [f"{number}) Ice.\nWhy: Cold.\n" for number in range(1, 5)]
    parts = messages[0][1]["content"]
    assert parts[0]["text"] == "\n".join(
        ["No. 7", "Science: Physics", *steps, "Give nine scores."]
    )
    heads = [p["image_url"]["url"].partition(",")[0] for p in parts[1:]]
    assert heads == ["data:image/png;base64"] * 4
    texts = [part.get("text") for part in messages[1][0]["content"]]
    assert texts == ["Rate the scene.\n", "A wood.", None]
    said = [one[0]["content"][1]["text"] for one in messages[2:]]
    assert said == ["Copy the text, or say nothing.", "Is it ice? Really?"]


def test_prompts_are_part_of_a_metrics_identity_and_requirements(monkeypatch):
    monkeypatch.delenv("EVALCORE_WEIGHTS_DIR", raising=False)
    for name in (
        "pa_action@vsb-code-2026.02",
        "envision_overall@envision-code-05be960",
    ):
        metric = registry.load(name)
        assert all("@" in path for path in metric.prompt_files)
        assert any("git clone" in lack.how for lack in metric.missing())
    assert len(registry.load("pa_action@vsb-code-2026.02").prompt_files) == 2
    own = registry.load("pa_scene")
    assert own.info.full_version == "3 plumbline-1"
    (path,) = own.prompt_files
    assert path == "prompts.toml [vistorybench] scene"
    assert not any("git clone" in lack.how for lack in own.missing())
    assert registry.load("oneig_text@grid-2x2").info.profile == "plumbline-1-grid-2x2"
    assert not registry.load("oneig_text@rapidocr").prompt_files
