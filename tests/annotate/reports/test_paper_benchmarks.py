"""Benchmarks of papers from a folder to a report, by commands."""

import base64
import csv
import io
import json
import random
from itertools import product

import pytest
from django.core.management import call_command
from django.utils import timezone
from PIL import Image

from annotate.models import Study
from annotate.rehearsal.answers import Rater, Truth
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.metrics.envision import PAPER, PARTS
from evalcore.models import MetricAbsence, MetricScore
from tests.evalcore.formats import test_envision, test_oneig, test_oneig_results
from tests.evalcore.metrics.llm_judge.serving import answers, serving
from tests.evalcore.metrics.test_envision_judged import SAID, reply

pytestmark = pytest.mark.django_db

WORTH = {"Elm": 3.4, "Fir": 2.2, "Oak": 0.8}


def plan(template, annotators, **values):
    """Plan a study by a template without what only teaches, and launch it."""
    changes = {"training": "null", "checks": "null", **values}
    call_command(
        "plan_study",
        "people",
        benchmark="b",
        template=template,
        annotators=annotators,
        set=[f"{key}={value}" for key, value in changes.items()],
        launch=True,
    )
    return Study.objects.get()


def answer(study):
    """Let simulated people answer everything; methods differ as in `WORTH`."""
    truth = Truth(lambda method, _question: WORTH[method])
    for person in study.annotators.all():
        rater = Rater(truth, random.Random(person.name))
        slots = person.slots.select_related("unit__story", "unit__output_a__method")
        store_judgements(
            SlotAnswers(
                slot,
                {question: rater.answer(slot, question) for question in slot.questions},
                timezone.now(),
                20.0,
            )
            for slot in slots
        )


def report(folder, **options):
    """Write the report; return the rows of a table by its name."""
    call_command("report", "people", out=folder, resamples=0, images="none", **options)

    def rows(name, **wanted):
        with (folder / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        return [row for row in found if wanted.items() <= row.items()]

    return rows


# OneIG --------------------------------------------------------------------------------

# Two prompts of each class; the first anime prompt asks for a style.
CATEGORIES = {
    "Anime_Stylization": "anime",
    "Portrait": "human",
    "Text_Rendering": "text",
    "Knowledge_Reasoning": "reasoning",
}
ASKED = {
    "Anime & Stylization": {"alignment", "diversity", "style"},
    "Portrait": {"alignment", "diversity"},
    "Text Rendering": {"text", "diversity"},
    "Knowledge & Reasoning": {"reasoning", "diversity"},
}


def write_oneig(folder):
    """Write a list of prompts, pictures, and results as OneIG's programs do."""
    rows = [
        {
            "category": category,
            "id": f"{i:03}",
            "prompt_en": f"A {item}, part {i}",
            "class": "fauvism" if (item, i) == ("anime", 0) else "",
        }
        for category, item in CATEGORIES.items()
        for i in (0, 1)
    ]
    test_oneig.write(folder, rows)
    keys = [(item, f"{i:03}") for item in CATEGORIES.values() for i in (0, 1)]
    names = [f"{item}/{m}/{number}.webp" for item, number in keys for m in WORTH]
    test_oneig_results.draw(folder / "images", *names)

    def table(cells):
        lines = [",".join(["", *WORTH])]
        lines += [
            ",".join([name, *(f'"{cell(worth)}"' for worth in WORTH.values())])
            for name, cell in cells.items()
        ]
        return "\n".join(lines) + "\n"

    def share(by):
        return lambda worth: round((worth + by) / 4, 3)

    test_oneig_results.results(
        folder / "results",
        only=True,
        alignment_prompt_score_EN=table(
            {
                f"{item}_{number}": share(int(number) / 10)
                for item, number in keys
                if item in ("anime", "human")
            }
        ),
        diversity_prompt_score_EN=table({f"{c}_{n}": share(0) for c, n in keys}),
        style_prompt_score_EN=table({"000": share(0.1)}),
        reasoning_prompt_score_EN=table({n: share(0) for n in ("000", "001")}),
        text_prompt_score_EN=table(
            {n: lambda worth: [100 - 20 * worth, 0.0, 0.5] for n in ("000", "001")}
        ),
    )


@pytest.mark.slow
def test_oneig_goes_from_folder_to_report(tmp_path):
    write_oneig(tmp_path)
    call_command("import_benchmark", tmp_path, benchmark="b")
    call_command("import_outputs", tmp_path / "images", benchmark="b")
    call_command("import_scores", tmp_path / "results", benchmark="b")
    study = plan("oneig-ratings", 3)
    for category, keys in ASKED.items():
        slots = study.slots.filter(unit__story__tags__category=category)
        asked = {question.key for slot in slots for question in slot.questions}
        assert asked == keys
    answer(study)
    rows = report(tmp_path / "report", split_by=["category"])
    for question in ("alignment", "text", "reasoning", "diversity"):
        means = rows("method_means", dimension=question)
        assert [row["method"] for row in means] == ["Elm", "Fir", "Oak"], question
        (best,) = rows(
            "correlations",
            dimension=question,
            metric=f"oneig_{question}",
            level="method",
            coefficient="kendall",
        )
        assert float(best["value"]) == 1
    # By hand: (3.4 / 4 + 3.5 / 4) / 2, and 1 - 32 * 1 * .5 / 100 for a text.
    means = {
        (row["metric"], row["stratum"]): float(row["value"])
        for row in rows("strata", question="", method="Elm", statistic="mean")
    }
    assert means["oneig_alignment", "Portrait"] == pytest.approx(0.8625)
    assert means["oneig_diversity", "Portrait"] == pytest.approx(0.85)
    assert means["oneig_style", "Anime & Stylization"] == pytest.approx(0.875)
    assert means["oneig_text", "Text Rendering"] == pytest.approx(0.84)


# Envision -----------------------------------------------------------------------------

STEPS = 6
GREY = {"Elm": 240, "Fir": 160, "Oak": 80}
MISSING = ("Oak", "biology_0003", 5)


def write_envision(folder):
    rows = [test_envision.sequence(i, count=STEPS) for i in (1, 2, 3)]
    for i, row in enumerate(rows, start=1):
        row["prompts"] = [
            {"step": step, "prompt": f"Event {i}, step {step}", "explanation": "So."}
            for step in range(1, STEPS + 1)
        ]
    test_envision.write(folder / "lists", rows)
    for method, grey in GREY.items():
        for i, step in product((1, 2, 3), range(1, STEPS + 1)):
            name = f"{method}/bio/index_{i:04}/index_{i:04}_step_{step}.png"
            path = folder / "out" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if (method, f"biology_{i:04}", step) != MISSING:
                Image.new("L", (16, 16), grey).save(path)


@pytest.fixture
def judge(monkeypatch):
    """Return a judge that gives a point less for each darker grey, but at least 0."""

    def behave(asked):
        data = asked.pictures[0]["url"].partition(",")[2]
        picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("L")
        lower = sum(picture.getpixel((8, 8)) < grey - 10 for grey in GREY.values())
        return answers(reply({name: max(n - lower, 0) for name, n in SAID.items()}))

    with serving() as server:
        server.by_question = behave
        monkeypatch.setenv("JUDGE_BASE_URL", server.base_url)
        monkeypatch.setenv("JUDGE_NAME", "owl")
        yield server


@pytest.mark.slow
def test_sequences_of_six_go_from_folder_to_report(tmp_path, judge):
    write_envision(tmp_path)
    call_command("import_benchmark", tmp_path / "lists", benchmark="b")
    call_command("import_outputs", tmp_path / "out", benchmark="b")
    metrics = [f"envision_{part}@{PAPER}-k1" for part in PARTS]
    call_command("score", "b", metrics=",".join(metrics))
    # One request for all thirteen metrics of a sequence; one sequence lacks a picture.
    assert [len(asked.pictures) for asked in judge.asked] == [STEPS] * 8
    assert MetricScore.objects.filter(metric="envision_overall").count() == 8
    absent = MetricAbsence.objects.get(metric="envision_overall")
    assert (absent.method.name, absent.story.key) == MISSING[:2]
    assert absent.reason == "step 5 has no picture"
    call_command("export_scores", "b", tmp_path / "saved", format="envision")
    records = json.loads((tmp_path / "saved/Elm/full_results.json").read_text())
    assert [len(record["steps"]) for record in records] == [STEPS] * 3
    study = plan("envision-expert", 5, rounds=1)
    answer(study)
    rows = report(tmp_path / "report")
    # By hand from SAID, less 0, 1 and 2 points; .4, .4 and .2 over the dimensions.
    judged = {
        "consistency": (4, 3, 2),
        "physicality": (3, 2, 1),
        "aesthetics": (2, 1, 1 / 3),
        "overall": (3.2, 2.2, 0.8 + 0.4 + 0.2 / 3),
    }
    for name, values in judged.items():
        by_judge = rows("composites", composite=f"{name} (metrics)")
        assert [row["method"] for row in by_judge] == [*WORTH], name
        assert [float(row["value"]) for row in by_judge] == pytest.approx(values)
        by_people = rows("composites", composite=name)
        assert [row["method"] for row in by_people] == [*WORTH], name
    pairs = {question.key: question.metric for question in study.questions.all()}
    pairs |= {name: f"envision_{name.removesuffix('s')}" for name in judged}
    for people, metric in pairs.items():
        (agreement,) = rows(
            "correlations",
            dimension=people,
            metric=metric,
            level="method",
            coefficient="kendall",
        )
        # Expressiveness is 1, 0 and 0: tau-b is 2 / sqrt(2 * 3).
        wanted = (2 / 3) ** 0.5 if people == "expressiveness" else 1
        assert float(agreement["value"]) == pytest.approx(wanted), people
