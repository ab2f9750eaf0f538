"""Folders of OneIG's pictures, and the CSV files of its programs."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.importing.outputs import import_outputs
from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark, Method, MetricScore, Output, Story
from tests.evalcore.formats.test_oneig import beside, write
from tests.factories import picture_bytes

pytestmark = pytest.mark.django_db

LIST = [
    {"category": "Anime_Stylization", "id": "000", "class": "Pop art"},
    {"category": "Anime_Stylization", "id": "001", "class": ""},
    {"category": "Text_Rendering", "id": "000", "class": "menu"},
    {"category": "Knowledge_Reasoning", "id": "000", "class": "biology"},
]
TIME, LATER = "2026-01-02_03-04-05", "2026-01-03_00-00-00"
# As the programs write them: the index has no name, and a missing value is empty.
RESULTS = {
    "alignment_prompt_score_EN": ",Flux,Kolors\nanime_000,0.5,1.0\nanime_001,0.25,\n",
    "alignment_score_EN": ",alignment\nFlux,0.375\nKolors,1.0\n",
    "diversity_prompt_score_EN": ",Flux\nanime_000,0.4\ntext_000,0.2\n",
    "diversity_score_EN": ",anime,text,total average\nFlux,0.4,0.2,0.3\n",
    "style_prompt_score_EN": ",Flux\n000,0.7\n",
    "style_score_EN": ",style\nFlux,0.7\n",
    "style_style_score_EN": ",pop_art,cubism\nFlux,0.7,\n",
    "reasoning_prompt_score_EN": ",Flux\n000,0.31\n",
    "reasoning_score_EN": ",reasoning\nFlux,0.31\n",
    "text_prompt_score_EN": ',Flux,Kolors\n000,"[12.0, 0.5, 0.75]",\n',
    "text_score_EN": ",ED,CR,WAC,text score\nFlux,12.0,0.5,0.75,0.985\n",
}


def results(folder, time=TIME, **changes):
    for name, text in ({} if changes.pop("only", False) else RESULTS).items():
        beside(folder, f"{name}_{time}.csv", text)
    for name, text in changes.items():
        beside(folder, f"{name}_{time}.csv", text)
    return folder


def draw(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture_bytes(name, size=(8, 8), fmt="WEBP"))
    return folder


def import_prompts(folder, slug):
    rows = [row | {"prompt_en": f"A {row['class'] or 'cat'}"} for row in LIST]
    import_benchmark(write(folder, rows), slug=slug)


@pytest.fixture
def benchmark(tmp_path):
    import_prompts(tmp_path / "list", slug="o")
    return Benchmark.objects.get()


@pytest.fixture
def scored(benchmark):
    """Return the benchmark with outputs of two methods, without pictures."""
    for name in ("Flux", "Kolors"):
        method = Method.objects.create(name=name)
        for story in Story.objects.all():
            Output.objects.create(story=story, method=method)
    return benchmark


def load(path, **options):
    call_command("import_scores", path, benchmark="o", **options)


def complaint(path, **options):
    with pytest.raises(CommandError) as refused:
        load(path, **options)
    assert not MetricScore.objects.exists()
    return str(refused.value)


def stored(metric, method="Flux"):
    rows = MetricScore.objects.filter(metric=metric, method__name=method)
    return dict(rows.values_list("story__key", "value"))


# Prompts and pictures -----------------------------------------------------------------


def test_columns_of_analysis_become_tags(benchmark):
    tags = dict(Story.objects.values_list("key", "tags"))
    assert tags["anime_000"]["stylization"] == "traditional"
    assert tags["anime_001"]["stylization"] == "none"
    assert tags["text_000"]["class"] == "menu"
    assert "stylization" not in tags["reasoning_000"]
    assert {one["language"] for one in tags.values()} == {"en"}


@pytest.mark.parametrize(
    "layout",
    ["{item}/{method}/{id}.webp", "{method}/{item}/{id}_seed 7.webp"],
)
def test_folders_of_classes_are_recognised(tmp_path, benchmark, layout):
    names = [
        layout.format(item=item, method=method, id=number)
        for item, number in (("anime", "000"), ("anime", "001"), ("text", "000"))
        for method in ("Flux", "Kolors 2.1")
    ]
    summary = import_outputs(draw(tmp_path / "images", *names), benchmark=benchmark)
    assert summary.methods == ["Flux", "Kolors 2.1"]
    assert (summary.pictures, summary.missing, summary.warnings) == (6, [], [])
    output = Output.objects.get(story__key="anime_001", method__name="Flux")
    assert [(f.number, bool(f.media)) for f in output.frames.all()] == [(1, True)]
    assert output.index_shift == 0


def test_picture_of_unknown_prompt_is_refused(tmp_path, benchmark):
    images = draw(tmp_path / "images", "anime/Flux/000.webp", "anime/Flux/009.webp")
    with pytest.raises(CommandError, match="anime_009: expected a story of the bench"):
        call_command("import_outputs", images, benchmark="o")
    assert not Output.objects.exists()


def test_two_pictures_of_a_prompt_are_refused(tmp_path, benchmark):
    images = draw(tmp_path / "images", "anime/Flux/000.webp", "anime/Flux/000_1.webp")
    with pytest.raises(CommandError, match="expected one picture of shot 1"):
        call_command("import_outputs", images, benchmark="o")


def test_format_names_layout_when_no_prompts_are_stored(tmp_path):
    images = draw(tmp_path / "images", "human/Flux/003.webp")
    options = {"benchmark": "new", "create_stories": True, "format": "oneig"}
    call_command("import_outputs", images, **options)
    output = Output.objects.get()
    assert (output.method.name, output.story.key) == ("Flux", "human_003")


# Results ------------------------------------------------------------------------------


@pytest.mark.parametrize("by_method", [False, True])
def test_folder_of_results_is_read(tmp_path, scored, by_method, capsys):
    folder = results(tmp_path / "r" / ("both" if by_method else ""))
    load(tmp_path / "r")
    assert stored("oneig_alignment") == {"anime_000": 0.5, "anime_001": 0.25}
    assert stored("oneig_alignment", "Kolors") == {"anime_000": 1.0}
    assert stored("oneig_diversity") == {"anime_000": 0.4, "text_000": 0.2}
    assert stored("oneig_style") == {"anime_000": 0.7}
    assert stored("oneig_reasoning") == {"reasoning_000": 0.31}
    # By hand: 1 - 12 * (1 - .5) * (1 - .75) / 100, for one prompt and for all.
    assert stored("oneig_text") == {"text_000": pytest.approx(0.985)}
    assert stored("oneig_text_pooled") == {None: 0.985}
    text = MetricScore.objects.get(metric="oneig_text")
    assert text.details == {"oneig": {"ED": 12.0, "CR": 0.5, "WAC": 0.75}}
    assert (text.metric_version, text.backend) == (
        "oneig-code",
        "Qwen2.5-VL-7B-Instruct",
    )
    notes = capsys.readouterr().err
    assert "1 prompts of Kolors have no value; left out" in notes
    assert f"style_style_score_EN_{TIME}.csv: no scores by prompt" in notes
    load(folder)
    assert "Nothing new" in capsys.readouterr().out


def test_newest_run_of_a_method_counts(tmp_path, scored, capsys):
    folder = results(tmp_path)
    newer = ",Flux\nanime_000,0.75\nanime_001,0.25\n"
    results(folder, LATER, only=True, alignment_prompt_score_EN=newer)
    load(folder)
    assert stored("oneig_alignment") == {"anime_000": 0.75, "anime_001": 0.25}
    assert stored("oneig_alignment", "Kolors") == {"anime_000": 1.0}
    notes = capsys.readouterr().err
    assert "Flux has newer results; left out" in notes
    assert "Flux has prompts of another time; left out" in notes


def test_chosen_run_and_method_are_read(tmp_path, scored):
    folder = results(tmp_path)
    newer = ",Flux\nanime_000,0.75\n"
    results(folder, LATER, only=True, alignment_prompt_score_EN=newer)
    load(folder, timestamp=TIME, method="Flux")
    assert stored("oneig_alignment") == {"anime_000": 0.5, "anime_001": 0.25}
    assert not stored("oneig_alignment", "Kolors")


def test_mean_of_a_method_is_checked_or_stored(tmp_path, scored, capsys):
    folder = results(
        tmp_path,
        only=True,
        alignment_prompt_score_EN=RESULTS["alignment_prompt_score_EN"],
        alignment_score_EN=",alignment\nFlux,0.5\n",
        diversity_score_EN=RESULTS["diversity_score_EN"],
    )
    load(folder)
    assert "Flux has 0.5000, its prompts a mean of 0.3750" in capsys.readouterr().err
    assert stored("oneig_diversity") == {None: 0.3}


def test_results_in_another_language_are_left_out_or_refused(tmp_path, scored, capsys):
    table = RESULTS["alignment_prompt_score_EN"]
    folder = results(tmp_path, only=True, alignment_prompt_score_ZH=table)
    what = "expected results of EN, the language of the prompts"
    assert what in complaint(folder)
    load(results(folder))
    assert "ZH_2026-01-02_03-04-05.csv: another language; left out" in (
        capsys.readouterr().err
    )
    assert stored("oneig_alignment") == {"anime_000": 0.5, "anime_001": 0.25}


WRONG = {
    "no number": ("alignment", ",Flux\nanime_000,good\n", ":2: Flux: good: expected a"),
    "no list": ("text", ",Flux\n000,0.5\n", ":2: Flux: 0.5: expected [ED, CR, WAC] as"),
    "twice": ("style", ",Flux\n000,0.5\n000,0.5\n", ":3: 000: expected each prompt"),
    "unknown prompt": ("style", ",Flux\n777,0.5\n", ":2: story: anime_777: expected"),
    "unknown method": ("style", ",Nobody\n000,0.5\n", ":2: method: Nobody: expected"),
    "no values": ("style", ",Flux\n", "expected results of OneIG's programs"),
    "no columns": ("style", "", ":1: expected a column of prompts or methods, and at"),
}


@pytest.mark.parametrize(("metric", "text", "what"), WRONG.values(), ids=WRONG.keys())
def test_wrong_cell_is_reported_with_its_line(tmp_path, scored, metric, text, what):
    results(tmp_path, only=True, **{f"{metric}_prompt_score_EN": text})
    assert what in complaint(tmp_path)
