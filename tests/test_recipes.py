"""The papers' pages, from a folder to the paper's table, by their own commands.

Where the paper prints what people said or what metrics scored, simulated people and
result files say the same, and the report's table has to have the printed numbers.
"""

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest
from PIL import Image

from annotate.models import Question, Slot
from tests.recipes import Spread, answer_all, blocks, carry_out

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def folder(tmp_path: Path, settings) -> Path:
    """An empty folder, in which the reader works."""
    settings.DATA_DIR = tmp_path / ".data"
    settings.MEDIA_ROOT = tmp_path / ".data" / "media"
    return tmp_path


def published(shared: Path, name: str) -> list[dict[str, str]]:
    with (shared / "published" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_text = isinstance(content, str)
    path.write_text(content if is_text else json.dumps(content), encoding="utf-8")


def draw(path: Path, *, size: tuple[int, int] = (24, 24)) -> None:
    """Draw a picture in a colour of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = hash(str(path)) % 256**3
    Image.new("RGB", size, (number // 65536, number // 256 % 256, number % 256)).save(
        path
    )


def method_of(slot: Slot) -> str:
    return slot.unit.output_a.method.name


LITE = "01,08,09,15,17,19,24,27,28,29,32,41,52,53,55,57,60,64,68,79".split(",")
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
# Table 3's coefficients from the two published tables, as the README of these says.
TABLE_3 = {
    "csd_self": (0.4198, 0.5639, 0.7130),
    "cids_self": (0.3770, 0.5195, 0.5886),
    "aesthetic": (0.3147, 0.4639, 0.6068),
}


def test_vistorybench_page_ends_with_the_papers_tables(folder, shared):
    people = {
        row["method"]: row for row in published(shared, "vistorybench_user_study")
    }
    scores = {
        row["method"]: row for row in published(shared, "vistorybench_lite_metrics")
    }
    # The paper leaves StoryGen out, and so does the page's last command.
    methods = {name: name for name in people if not name.startswith("StoryGen")}
    methods["StoryGen (variant 1)"] = "StoryGen"
    for story in LITE:
        shot = {"Caption": f"Fox in part {story}"}
        write(folder / f"ViStoryBench/ViStory/{story}/story.json", {"Shots": [shot]})
    for printed, method in methods.items():
        for story in LITE:
            draw(folder / "outputs" / method / story / "shot_01.png")
        home = folder / f"data/bench_results/{method}/base/en/20260101_120000"
        run = {"method": method, "mode": "base", "language": "en"}
        write(home / "metadata.json", {"run": run | {"timestamp": home.name}})
        for metric, key, column in RESULTS:
            value = {key: float(scores[printed][column])}
            results = {s: {"status": "complete", "metrics": value} for s in LITE}
            write(home / f"metrics/{metric}/story_results.json", results)
    means = {
        (method, key): float(people[printed][column])
        for printed, method in methods.items()
        for key, column in zip(KEYS, ASKED, strict=True)
    }
    spread = Spread()

    def answer(slot: Slot, question: Question) -> int:
        key = (method_of(slot), question.key)
        return spread.next(key, means[key])

    said = carry_out(
        "vistorybench", folder, {"coverage": lambda: answer_all("vsb", answer)}
    )
    print(said)
    rows = {row["method"]: row for row in table(folder / "report/tables/by_method.csv")}
    assert rows.keys() == {*methods.values()}
    for (method, key), mean in means.items():
        assert float(rows[method][key]) == pytest.approx(mean, abs=0.0051)
    for row in table(folder / "report-without/tables/correlations.csv"):
        if row["level"] == "method" and (row["dimension"], row["metric"]) in DECLARED:
            place = ("kendall", "spearman", "pearson").index(row["coefficient"])
            known = TABLE_3[row["metric"]][place]
            assert float(row["value"]) == pytest.approx(known, abs=0.01)


KEYS = ("character_identification", "environment_consistency", "subjective_aesthetics")
DECLARED = {*zip(KEYS, ("cids_self", "csd_self", "aesthetic"), strict=True)}
