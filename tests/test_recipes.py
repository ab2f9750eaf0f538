"""The papers' pages, from a folder to the paper's table, by their own commands.

Where the paper prints what people said or what metrics scored, simulated people and
result files say the same, and the report's table has to have the printed numbers.
"""

import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from annotate.models import Question, Slot
from evalcore.formats.envision.results import KEYS
from evalcore.formats.vistar import questionnaire_files
from evalcore.models import Story
from tests.clips import numbered, write_clip
from tests.recipes import (
    PAGES,
    Spread,
    answer_all,
    carry_out,
    draw,
    method_of,
    published,
    table,
    write,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def folder(tmp_path: Path, settings, monkeypatch) -> Path:
    """An empty folder, in which the reader works."""
    # Chromium draws figures for minutes on a busy machine; nothing here reads them.
    monkeypatch.setattr("analysis.report.rendering.BROWSERS", ())
    settings.DATA_DIR = tmp_path / ".data"
    settings.MEDIA_ROOT = tmp_path / ".data" / "media"
    return tmp_path


(LITE,) = re.findall(r"lite=(\S+)", (PAGES / "vistorybench.md").read_text("utf-8"))
STORIES = LITE.split(",")
ASKED = (
    "character_identification_consistency",
    "environment_consistency",
    "subjective_aesthetics",
)
# Of result folders: the folder, the key there, and the column of the paper's table.
RESULTS = (
    ("cids", "cids_self_mean", "cids_self"),
    ("csd", "self_csd", "csd_self"),
    ("aesthetic", "aesthetic_score", "aesthetic"),
)
# Methods of the study here: of all 26, the analysis would take minutes.
SOME = ("UNO", "AIbrm", "GPT-4o", "Doubao", "SEED-Story", "TheaterGen")


def test_vistorybench_page_ends_with_the_papers_tables(folder, shared):
    people = {
        row["method"]: row for row in published(shared, "vistorybench_user_study")
    }
    scores = {
        row["method"]: row for row in published(shared, "vistorybench_lite_metrics")
    }
    # The paper leaves StoryGen out, and so does the page's last command.
    methods = {name: name for name in SOME}
    methods["StoryGen (variant 1)"] = "StoryGen"
    for story in STORIES:
        shot = {"Caption": f"Fox in part {story}"}
        write(folder / f"ViStoryBench/ViStory/{story}/story.json", {"Shots": [shot]})
    for printed, method in methods.items():
        for story in STORIES:
            draw(folder / "outputs" / method / story / "shot_01.png")
        home = folder / f"data/bench_results/{method}/base/en/20260101_120000"
        run = {"method": method, "mode": "base", "language": "en"}
        write(home / "metadata.json", {"run": run | {"timestamp": home.name}})
        for metric, key, column in RESULTS:
            value = {key: float(scores[printed][column])}
            results = {s: {"status": "complete", "metrics": value} for s in STORIES}
            write(home / f"metrics/{metric}/story_results.json", results)
    means = {
        (method, key): float(people[printed][column])
        for printed, method in methods.items()
        for key, column in zip(QUESTIONS, ASKED, strict=True)
    }
    spread = Spread()

    def answer(slot: Slot, question: Question) -> int:
        key = (method_of(slot), question.key)
        return spread.next(key, means[key])

    carry_out("vistorybench", folder, {"coverage": lambda: answer_all("vsb", answer)})
    rows = {row["method"]: row for row in table(folder / "report/tables/by_method.csv")}
    assert rows.keys() == {*methods.values()}
    for (method, key), mean in means.items():
        assert float(rows[method][key]) == pytest.approx(mean, abs=0.0051)
    for _folder, _key, metric in RESULTS:
        value = float(rows["UNO"][metric])
        assert value == pytest.approx(float(scores["UNO"][metric]), abs=1e-9)
    printed = [
        (float(people[name][column]), float(scores[name][metric]))
        for column, (_folder, _key, metric) in zip(ASKED, RESULTS, strict=True)
        for name in SOME
    ]
    found = {
        row["metric"]: float(row["value"])
        for row in table(folder / "report-without/tables/correlations.csv")
        if (row["level"], row["coefficient"]) == ("method", "pearson")
        and (row["dimension"], row["metric"]) in DECLARED
    }
    for place, (_folder, _key, metric) in enumerate(RESULTS):
        pairs = printed[place * len(SOME) : (place + 1) * len(SOME)]
        known = np.corrcoef(np.array(pairs).T)[0, 1]
        assert found[metric] == pytest.approx(known, abs=0.005)


QUESTIONS = (
    *("character_identification", "environment_consistency"),
    "subjective_aesthetics",
)
DECLARED = {*zip(QUESTIONS, ("cids_self", "csd_self", "aesthetic"), strict=True)}


STORYBENCH_COUNTS = {"action_exe": 2, "story_cont": 34, "story_gen": 2}
DATA_SETS = {"action_exe": "uvo", "story_cont": "oops", "story_gen": "didemo"}


def test_storybench_page_ends_with_table_3(folder, shared):
    """Rates of the pair that is Ours and Baseline here: Cont-ST over Gen-ZS."""
    printed = {
        row["criterion"]: [row["right_wins_pct"], row["tie_pct"], row["left_wins_pct"]]
        for row in published(shared, "storybench_oops_story_continuation_human")
        if (row["left"], row["right"]) == ("Phenaki-Gen-ZS", "Phenaki-Cont-ST")
    }
    number = 0
    for task, count in STORYBENCH_COUNTS.items():
        data = DATA_SETS[task]
        comments = [f"{data}_val_{n}_0" for n in range(count)]
        rows = [
            {
                "comment": comment,
                "texts": ["A man runs.", "He falls."],
                "exact_frames_per_prompt": [2, 2],
                "npz_video_end_frame": 0 if task == "story_gen" else 2,
                "background": "A street" if task == "story_gen" else None,
                "storybench_mode": task,
            }
            for comment in comments
        ]
        write(folder / f"data/tasks/{data}-val/{task}.json", rows)
        for method in ("Ours", "Baseline"):
            for comment in comments:
                number += 1
                path = folder / f"outputs/{method}/{task}/{comment}.mp4"
                shown = numbered(number)
                write_clip(
                    path, frames=6, rate=8, pictures=lambda _n, shown=shown: shown
                )
    for method, quality in (("ours", 0.6), ("baseline", 0.4)):
        lines = [f"oops_val_{n}_0\t{quality}\t{quality}\t{quality}" for n in range(34)]
        head = "name\taesthetic_score\ttechnical_score\toverall_score"
        write(folder / f"scores/story_cont/{method}.tsv", "\n".join([head, *lines, ""]))
    given: dict[str, int] = defaultdict(int)

    def answer(slot: Slot, question: Question) -> str:
        if not slot.unit.story.key.endswith("-story_cont"):
            return "tie"
        place = given[question.key]
        given[question.key] += 1
        wins, ties, _losses = (
            int(float(x) * 102 / 100 + 0.5) for x in printed[question.key]
        )
        if wins <= place < wins + ties:
            return "tie"
        is_first = method_of(slot) == "Ours"
        return "a" if is_first == (place < wins) else "b"

    carry_out("storybench", folder, {"coverage": lambda: answer_all("sbs", answer)})
    rows = table(folder / "report/tables/strata_win_rates.csv")
    assert {row["stratum"] for row in rows} == {*DATA_SETS, *DATA_SETS.values()}
    assert {(row["method_a"], row["method_b"]) for row in rows} == {
        ("Ours", "Baseline")
    }
    for row in rows:
        if row["stratum"] == "story_cont":
            counts = [int(row[name]) for name in ("wins_a", "ties", "wins_b")]
            shares = [100 * count / sum(counts) for count in counts]
            known = [*map(float, printed[row["criterion"]])]
            assert sum(counts) == 102
            assert shares == pytest.approx(known, abs=1)
    (wins,) = {
        row["rate_a"]
        for row in table(folder / "report/tables/win_rates.csv")
        if row["criterion"] == "background_consistency"
    }
    assert float(wins) > 0.5
    rows = table(folder / "report/tables/by_method.csv")
    scores = {row["method"]: row["pqa"] for row in rows if not row["stratum"]}
    assert scores == {"Ours": "0.6", "Baseline": "0.4"}


OF_ANGLE = {
    **{"TR": "text_rendering", "LI": "light_integrity", "CSE": "composition"},
    **{"CPA": "character_portrayal", "PSC": "physical_consistency"},
    **{"GC": "geometric_coherence", "SF": "hwpq", "CUL": "hwpq", "MA": "hwpq"},
}
ANGLES = tuple(OF_ANGLE)
TITLES = {"SF": "Style Fusion", "MA": "Material Accuracy"}


def test_vistar_page_ends_with_table_2(folder, shared):
    """40 pairs by role and angle: accuracies are met within half a pair, 1.25 %."""
    known = {
        row["metric"]: float(row["ppa_pct"]) for row in published(shared, "vistar_ppa")
    }
    methods = ("A", "B", "C", "D")
    lines, scores = [], ["story,method,metric,score"]
    combined = [("GD", angle) for angle in ANGLES]
    combined += [("SA", angle) for angle in ANGLES[6:]]
    for place in range(7 * len(combined)):
        (role, angle), key = combined[place // 7], f"{place + 1:04}"
        lines.append(f'[{role}-{angle}] A fox in part {place} {{text="OPEN"}}')
        for rank, method in enumerate(methods):
            draw(folder / f"flat/{method}/{key}.png")
            scores.append(f"{key},{method},{OF_ANGLE[angle]},{1 - rank / 4}")
    write(folder / "core.txt", "\n".join(lines) + "\n")
    write(folder / "scores.csv", "\n".join(scores) + "\n")
    yaml = re.search(
        r"```yaml\n(.*?)```", (PAGES / "vistar.md").read_text("utf-8"), re.S
    )
    assert yaml is not None
    write(folder / "roles.yaml", yaml[1])
    order: dict[tuple[str, str], list[int]] = defaultdict(list)

    def answer(slot: Slot, question: Question) -> str:
        """Agree with the metric on as many pairs of the angle as the paper prints."""
        tags = slot.unit.story.tags
        pairs = order[tags["role"], tags["angle"]]
        if slot.unit_id not in pairs:
            pairs.append(slot.unit_id)
        is_right = pairs.index(slot.unit_id) < round(0.4 * known[tags["angle"]])
        first, second = (output.method.name for output in slot.unit.outputs)
        return "a" if (first < second) == is_right else "b"

    def write_questionnaires() -> None:
        question = {"id": "fox", "positive": "Is there a fox?", "negative": "No fox?"}
        level = {
            "level": "L1",
            "weight": 1.0,
            "questions": [question | {"weight": 1.0}],
        }
        told = {"author": {"name": "Judge"}, "levels": [level]}
        stories = Story.objects.filter(tags__angle__in=ANGLES[6:])
        prompts = {}
        for story in stories:
            prompt = story.extra["vistar"]
            own = {"prompt_id": story.key, "prompt": prompt["prompt"], **told}
            prompts[story.key] = prompt | {"questionnaire": own}
        for name, text in questionnaire_files(prompts).items():
            write(folder / "questionnaires" / name, text)

    carry_out(
        "vistar",
        folder,
        {
            "coverage": lambda: answer_all("vistar-pairs", answer),
            "write_questionnaires!": write_questionnaires,
            "score vistar --metrics hwpq!": lambda: None,
        },
    )
    found = {
        (row["question"], row["metric"]): row
        for row in table(folder / "report/tables/pairwise_accuracy.csv")
    }
    questions = ("style_fusion", "cultural_fidelity", "material_accuracy")
    for angle, question in zip(ANGLES[6:], questions, strict=True):
        row = found[question, "hwpq"]
        assert int(row["n_pairs"]) == 80
        assert 100 * float(row["ppa_strict"]) == pytest.approx(known[angle], abs=1.25)
    row = found["text_rendering", "text_rendering"]
    assert 100 * float(row["ppa_strict"]) == pytest.approx(known["TR"], abs=1.25)
    heat = {
        row["Question: metric"].partition(":")[0]: row
        for row in table(folder / "report/paper/heat_1.csv")
    }
    assert len(heat) == len(ANGLES)
    for angle, title in TITLES.items():
        for role in ("GD", "SA"):
            value = 100 * float(heat[title][f"role: {role}"])
            assert value == pytest.approx(known[angle], abs=1.25)
    assert any((folder / "published").iterdir())
    rates = table(folder / "report-roles/tables/method_win_rates.csv")
    assert {
        row["method"] for row in rates if row["criterion"] == "graphic_designer"
    } == {*methods}


DIMENSIONS = ("consistency_score", "physicality_score", "aesthetic_score")
DOMAINS = {"physics": "Physics", "biology": "Biology"}
# The paper's columns, the names in Envision's results, and the study's questions.
ENVISION = (
    ("SC", "semantic_consistency", "semantic_consistency"),
    ("FC", "factual_consistency", "factual_consistency"),
    ("STC", "spatial_temporal_consistency", "spatial_temporal_consistency"),
    ("BP", "basic_properties", "basic_properties"),
    ("DI", "dynamics_interactivity", "dynamics_interactivity"),
    ("PR", "physical_reliability", "physical_reliability"),
    ("Exp", "expressiveness", "expressiveness"),
    ("AQ", "artistic_quality", "aesthetic_quality"),
    ("Auth", "authenticity", "authenticity"),
)


def test_envision_page_ends_with_its_tables_for_four_and_six_panels(folder, shared):
    """Printed values are 20 times those of the scale from 0 to 5."""
    rows = published(shared, "envision_dimensions")
    methods = ("FLUX-dev", "FLUX-pro-1.1")
    known = {
        (row["domain"], row["model"]): row
        for row in rows
        if row["domain"] in DOMAINS and row["model"] in methods
    }
    for domain, name in DOMAINS.items():
        sequences = []
        for index, steps in ((1, 4), (2, 6)):
            prompts = [
                {"step": n, "prompt": f"Part {n}", "explanation": ""}
                for n in range(1, steps + 1)
            ]
            about = {"index": index, "category": "Science", "process_type": name}
            sequences.append(about | {"prompts": prompts})
            for method in methods:
                home = folder / f"outputs/{method}/{domain}/index_{index:04}"
                for n in range(1, steps + 1):
                    draw(home / f"index_{index:04}_step_{n}.png")
        write(folder / f"Envision/data/envision_{domain[:3]}.json", sequences)
    for method in methods:
        lines = []
        for domain, name in DOMAINS.items():
            row = known[domain, method]
            judged = {key: float(row[printed]) / 20 for printed, key, _q in ENVISION}
            c, p, a = (float(row[part]) / 20 for part in ("CS", "PS", "AS"))
            judged |= dict(zip(DIMENSIONS, (c, p, a), strict=True))
            judged |= {"overall_score": 0.4 * c + 0.4 * p + 0.2 * a}
            about = {"category": "Science", "process_type": name}
            lines += [json.dumps({"index": n} | about | judged) for n in (1, 2)]
        write(folder / f"results/{method}/scores.jsonl", "\n".join(lines) + "\n")
    spread = Spread()

    def answer(slot: Slot, question: Question) -> int:
        domain = slot.unit.story.key.rpartition("_")[0]
        column = next(
            printed for printed, _k, asked in ENVISION if asked == question.key
        )
        mean = float(known[domain, method_of(slot)][column]) / 20
        return spread.next((domain, method_of(slot), question.key), mean)

    carry_out("envision", folder, {"coverage": lambda: answer_all("experts", answer)})
    by_method = {
        (row["stratum"].lower(), row["method"]): row
        for row in table(folder / "report/tables/by_method.csv")
    }
    for place, row in known.items():
        found = by_method[place]
        for printed, key, question in ENVISION:
            value = float(row[printed])
            # 50 answers of whole numbers meet a mean within half a step of 1/50.
            assert 20 * float(found[question]) == pytest.approx(value, abs=0.21)
            metric = KEYS[key]
            assert 20 * float(found[metric]) == pytest.approx(value, abs=0.001)
        for key, printed in zip(DIMENSIONS, ("CS", "PS", "AS"), strict=True):
            value = 20 * float(found[KEYS[key]])
            assert value == pytest.approx(float(row[printed]), abs=0.001)
        total = 0.4 * float(row["CS"]) + 0.4 * float(row["PS"]) + 0.2 * float(row["AS"])
        assert 20 * float(found["overall"]) == pytest.approx(total, abs=0.25)
        assert 20 * float(found["envision_overall"]) == pytest.approx(total, abs=0.01)


def test_oneig_page_ends_with_the_table_of_styles(folder, shared):
    known = {row["method"]: row for row in published(shared, "oneig_style_scores")[:3]}
    styles = {"traditional": "Pop art", "media": "Clay", "anime": "Pixar"}
    lines = ["category,id,prompt_en,class"]
    lines += [
        f"Anime_Stylization,{n:03},A fox {n},{style}"
        for n, style in enumerate(styles.values())
    ]
    lines += [f"Portrait,{n:03},A fox in part {n},{n}" for n in range(2)]
    write(folder / "OneIG-Benchmark/OneIG-Bench.csv", "\n".join(lines) + "\n")
    for method in known:
        for kind, count in (("anime", 3), ("human", 2)):
            for n in range(count):
                draw(folder / f"images/{kind}/{method}/{n:03}.webp", size=(48, 48))
    head = ",".join(["", *known])
    rows = [
        ",".join([f"{n:03}", *(row[group] for row in known.values())])
        for n, group in enumerate(styles)
    ]
    name = "style_prompt_score_EN_2026-01-02_03-04-05.csv"
    write(folder / "results" / name, "\n".join([head, *rows]) + "\n")
    means = dict(zip(known, (3.5, 2.25, 1.0), strict=True))
    spread = Spread()

    def answer(slot: Slot, question: Question) -> int:
        method = method_of(slot)
        return spread.next((method, question.key), means[method])

    carry_out("oneig", folder, {"coverage": lambda: answer_all("oneig", answer)})
    rows_of = {
        (row["stratum"], row["method"]): row
        for row in table(folder / "report/tables/by_method.csv")
    }
    for method, row in known.items():
        for group in styles:
            value = float(rows_of[group, method]["oneig_style"])
            assert value == pytest.approx(float(row[group]), abs=1e-9)
        mean = float(rows_of["", method]["alignment"])
        assert mean == pytest.approx(means[method], abs=0.04)
    latex = (folder / "report/tables/by_method.tex").read_text()
    assert "oneig\\_style" in latex
