"""VISTAR from a folder to the pairwise prediction accuracy, by hand computation.

A prompt's questionnaire has the weights .2 and .3 (level L1), .25 and .25 (level L3).
The judge is a server on this machine. It knows prompt and pair by the question's words
and the method by the brightness of the picture: Alder's are light, Birch's dark.
"""

import base64
import io
import json
import re

import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from PIL import Image

import analysis
from analysis.options import AlignOptions
from annotate.audit_log import as_of_event
from annotate.models import Study
from annotate.reports.study_scores import choice_of, notes
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore import members
from evalcore.metrics import registry
from evalcore.models import Benchmark, MetricAbsence, MetricRun, MetricScore, Story
from tests.evalcore.metrics.llm_judge.serving import answers, serving
from tests.people import log_in

pytestmark = pytest.mark.django_db

WEIGHTS = {"L1": {"hat": 0.4, "robe": 0.6}, "L3": {"neon": 0.5, "silk": 0.5}}
MET, UNMET, SILENT, TIED = "met", "unmet", "silent", "tied"
ALL = dict.fromkeys(("hat", "robe", "neon", "silk"), MET)
# What the judge says about each pair; True or False: to every question.
SAID = {
    ("0001", "Alder"): ALL,
    ("0001", "Birch"): True,
    ("0002", "Alder"): ALL | {"robe": UNMET},
    ("0002", "Birch"): False,
    ("0003", "Alder"): ALL | {"hat": TIED, "silk": UNMET},
    ("0003", "Birch"): ALL | {"hat": UNMET, "neon": UNMET, "silk": UNMET},
    ("0004", "Alder"): dict.fromkeys(ALL, SILENT),
    ("0004", "Birch"): ALL,
    ("0005", "Alder"): dict.fromkeys(ALL, SILENT) | {"neon": MET},
    ("0005", "Birch"): ALL,
    ("0006", "Alder"): ALL,
    ("0006", "Birch"): ALL,
}
VALUES = {
    ("0001", "Alder"): 1.0,
    ("0001", "Birch"): 0.0,  # also the negative questions are answered yes
    ("0002", "Alder"): 0.7,  # .2 + .25 + .25
    ("0002", "Birch"): 0.0,
    ("0003", "Alder"): 0.75,  # L1: robe alone, .5; L3: half of .5
    ("0003", "Birch"): 0.3,
    ("0004", "Birch"): 1.0,
    ("0005", "Birch"): 1.0,
    ("0006", "Alder"): 1.0,
    ("0006", "Birch"): 1.0,
}
# The picture that people prefer. The metric is right in 0001 and 0003, wrong in 0002,
# and has equal values in 0006; it has none for Alder in 0004 and 0005.
PREFERRED = {
    **{"0001": "Alder", "0002": "Birch", "0003": "Alder"},
    **{"0004": "Birch", "0005": "Birch", "0006": "Alder"},
}


def questionnaire(prompt):
    levels = [
        {
            "level": level,
            "weight": 0.5,
            "questions": [
                {
                    "id": pair,
                    "positive": f"Is there a {pair} as of {prompt}?",
                    "negative": f"Does {prompt} lack a {pair}?",
                    "weight": weight,
                }
                for pair, weight in pairs.items()
            ],
        }
        for level, pairs in WEIGHTS.items()
    ]
    return {"author": {"name": "Rob"}, "levels": levels}


@pytest.fixture
def folder(tmp_path):
    """Return a folder of seven prompts and a picture of each by two methods."""
    rows = [
        {
            "prompt_id": key,
            "prompt": f"[GD-SF] A robe in neon light, {key}",
            "questionnaire": questionnaire(key),
        }
        for key in PREFERRED
    ]
    rows.append({"prompt_id": "0007", "prompt": "[GD-TR] A poster"})
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    draw(tmp_path / "outputs", [row["prompt_id"] for row in rows])
    return tmp_path


def draw(outputs, prompts):
    for method, light in (("Alder", 220), ("Birch", 20)):
        for number, prompt in enumerate(prompts):
            path = outputs / method / prompt / "1.png"
            path.parent.mkdir(parents=True)
            Image.new("RGB", (64, 48), (light + number,) * 3).save(path)


def method_in(picture):
    data = base64.b64decode(picture["url"].partition(",")[2])
    light, _most = Image.open(io.BytesIO(data)).convert("L").getextrema()
    return "Alder" if light > 128 else "Birch"


def reply(asked):
    """Return what the judge says to a question, as the table has it."""
    (picture,) = asked.pictures
    question = asked.text.rpartition("Question: ")[2]
    prompt = re.search(r"\d{4}", question)[0]
    (pair,) = [pair for pair in ALL if pair in question]
    said = SAID[prompt, method_in(picture)]
    if isinstance(said, bool):
        return answers("Yes" if said else "No, it is not.")
    is_positive = question.startswith("Is there")
    if said[pair] == SILENT:
        return answers("", refusal="I cannot help with that.")
    if said[pair] == TIED and is_positive:
        by_seed = ("True", "**False**", "I would say so")
        return answers(by_seed[asked.body["seed"] - 1])
    is_true = is_positive == (said[pair] != UNMET)
    return answers(f"Answer: {is_true}" if is_positive else f"{is_true}. Look closely.")


@pytest.fixture
def judge(monkeypatch):
    with serving() as server:
        server.by_question = reply
        monkeypatch.setenv("JUDGE_BASE_URL", server.base_url)
        monkeypatch.setenv("JUDGE_NAME", "test-judge")
        registry.load.cache_clear()
        yield server
    registry.load.cache_clear()


def prefer(study):
    """Have everybody choose the preferred picture of every pair."""
    (question,) = study.questions.filter(key="style_fusion")
    slots = study.slots.select_related("unit__story", "unit__output_a__method")
    chosen = [
        (slot, "a" if slot.unit.output_a.method.name == PREFERRED[key] else "b")
        for slot in slots
        if (key := slot.unit.story.key) in PREFERRED
    ]
    store_judgements(
        SlotAnswers(slot, {question: side}, study.created_at, 20.0)
        for slot, side in chosen
    )


def test_plan_names_prompts_of_unknown_angles(tmp_path, capsys):
    (tmp_path / "core.txt").write_text("[GD-SF] A fox\n[GD-ORI] A dream\n")
    draw(tmp_path / "outputs", ["0001", "0002"])
    call_command("import_benchmark", tmp_path / "core.txt", benchmark="vistar")
    call_command("import_outputs", tmp_path / "outputs", benchmark="vistar")
    template = {"template": "vistar-pairwise", "annotators": 3, "dry_run": True}
    call_command("plan_study", "pairs", benchmark="vistar", **template)
    said = capsys.readouterr()
    left_out = "1 story is left out, since no question is about its tags: 0002."
    assert left_out in said.out + said.err


def test_members_download_questionnaires_from_the_benchmark_page(folder):
    call_command("import_benchmark", folder / "prompts.jsonl", benchmark="vistar")
    benchmark = Benchmark.objects.get()
    client, page = log_in("bob"), "/benchmarks/vistar/"
    assert client.get(f"{page}questionnaires.jsonl").status_code == 404
    members.add(benchmark, members.account("bob"), members.Role.MEMBER)
    assert "6 prompts have a questionnaire" in client.get(page).content.decode()
    copy = folder / "copy.jsonl"
    copy.write_bytes(client.get(f"{page}questionnaires.jsonl").content)
    call_command("import_benchmark", copy, benchmark="copy")
    (read, again) = (one.extra for one in Story.objects.filter(key="0006"))
    assert read == again
    assert read["vistar"]["questionnaire"]["author"] == {"name": "Rob"}
    table = client.get(f"{page}questionnaires.csv").content.decode()
    assert len(table.splitlines()) == 1 + 6 * 4


@pytest.mark.slow
def test_prompts_pictures_and_choices_give_the_accuracy_by_hand(
    folder, judge, monkeypatch
):
    call_command("import_benchmark", folder / "prompts.jsonl", benchmark="vistar")
    call_command("import_outputs", folder / "outputs", benchmark="vistar")
    with pytest.raises(CommandError) as failed:
        call_command("score", "vistar", metrics="hwpq,hwpq_answered")
    for output, share in (("0004", "0%"), ("0005", "25%")):
        said = f"Alder / {output}: hwpq: {share} of the questionnaire's weight has an"
        assert said in str(failed.value)
    assert not MetricAbsence.objects.filter(metric__startswith="hwpq").exists()
    asked = MetricRun.objects.latest("pk").options["asked"]
    assert asked == {"hwpq": [6, 7], "hwpq_answered": [6, 7]}

    call_command(
        "plan_study",
        "pairs",
        benchmark="vistar",
        template="vistar-pairwise",
        annotators=3,
        set=["training=null", "checks=null"],
        launch=True,
    )
    study = Study.objects.get()
    prefer(study)
    # The prompt about text is not missed.
    moment = as_of_event.now(study)
    choice = choice_of(study, AlignOptions(), moment)
    said = "\n".join(notes(study, moment, choice))
    assert "Metric hwpq: 2 outputs of 12 left out, without a value:" in said
    call_command("export_study", "pairs", out=folder / "export")
    scores = pd.read_csv(folder / "export/scores.csv", dtype={"story": str})
    values = scores.set_index(["metric", "story", "method"])["score"]
    assert values["hwpq"].to_dict() == pytest.approx(VALUES)
    shares = dict.fromkeys(VALUES, 1.0) | {("0003", "Alder"): 0.8}
    assert values["hwpq_answered"].to_dict() == pytest.approx(shares)

    report = analysis.align(
        choices=folder / "export/choices.csv",
        scores=scores[scores["metric"] == "hwpq"],
        resamples=0,
    )
    accuracy = report.tables["pairwise_accuracy"].set_index("metric").loc["hwpq"]
    assert accuracy["n_pairs"] == 4
    # Two of four pairs; the pair of equal values counts half in ppa_half.
    assert (accuracy["ppa_strict"], accuracy["ppa_half"]) == (0.5, 0.625)

    for prompt in ("0004", "0005"):
        monkeypatch.setitem(SAID, (prompt, "Alder"), ALL)
    before = len(judge.asked)
    call_command("score", "vistar", metrics="hwpq,hwpq_answered")
    # Four pairs of two questions, three times; in 0005 one of them has its answers.
    assert len(judge.asked) - before == 24 + 18
    again = MetricScore.objects.filter(metric="hwpq", story__key__in=["0004", "0005"])
    assert set(again.values_list("value", flat=True)) == {1}
    assert again.count() == 4
