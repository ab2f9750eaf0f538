"""Degraded copies: stored completely, once, and hidden from other queries."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from analysis.problems import InputError
from annotate.models import Unit
from evalcore import media
from evalcore.importing.outputs import import_outputs
from evalcore.models import (
    Benchmark,
    Character,
    MediaFile,
    MetricScore,
    Output,
    Shot,
    Story,
)
from evalcore.perturbations import degraded_copies
from evalcore.scoring import metric_runs
from tests.factories import make_benchmark, make_study, picture_bytes

pytestmark = pytest.mark.django_db

ALL = [
    "shuffled",
    "foreign_shot",
    "repeated_shot",
    "blurred",
    "swapped_characters",
]


def add_characters(benchmark):
    """Put a fox into odd shots and a hare into even ones."""
    for story in benchmark.stories.all():
        names = ("hare", "fox")
        rows = [Character.objects.create(story=story, key=name) for name in names]
        for shot in story.shots.all():
            shot.characters.add(rows[shot.number % 2])
    return benchmark


@pytest.fixture
def woods():
    return add_characters(make_benchmark(shots=4))


def an_output(benchmark, method="Alder", story="01") -> Output:
    return Output.objects.get(
        story__benchmark=benchmark, story__key=story, method__name=method
    )


def shown(output) -> dict[int, str | None]:
    return dict(output.frames.order_by("number").values_list("number", "media"))


# Creation
# -------------------------------------------------------------------------------


@pytest.mark.parametrize("degradation", ALL)
def test_degraded_copy_keeps_shape_but_differs(woods, degradation):
    original = an_output(woods)
    Output.objects.filter(pk=original.pk).update(mode="base", language="en")
    original.refresh_from_db()
    perturbation = degraded_copies.make_perturbation(original, degradation, seed=3)
    assert (perturbation.twin_of, perturbation.degradation) == (original, degradation)
    for field in ("story", "method", "video", "mode", "language", "index_shift"):
        assert getattr(perturbation, field) == getattr(original, field)
    assert perturbation.source == "seed 3"
    before, after = shown(original), shown(perturbation)
    assert list(after) == list(before)
    assert after != before
    for frame in perturbation.frames.select_related("media", "shot"):
        assert frame.shot.number == frame.number
        assert media.original_path(frame.media).is_file()
        assert (frame.media.width, frame.media.height) == (96, 64)
        assert frame.media.content_type == "image/png"


def test_same_seed_makes_the_same_copies():
    def pictures(slug, seed):
        benchmark = add_characters(make_benchmark(slug=slug, shots=8))
        found = [
            shown(
                degraded_copies.make_perturbation(
                    an_output(benchmark), degradation, seed
                )
            )
            for degradation in ALL
        ]
        benchmark.delete()
        return found

    first = pictures("first", 1)
    assert pictures("second", 1) == first
    assert pictures("third", 2) != first


# Refusals
# -------------------------------------------------------------------------------


def test_bad_pictures_are_reported_and_nothing_is_stored(woods):
    output = an_output(woods)
    for number, spoil in (
        (2, lambda p: p.write_bytes(b"x")),
        (3, lambda p: p.unlink()),
    ):
        spoil(media.original_path(output.frames.get(number=number).media))
    stored = MediaFile.objects.count()
    with pytest.raises(InputError) as caught:
        degraded_copies.make_perturbation(output, "blurred", 1)
    broken, gone = map(str, caught.value.problems)
    assert broken.startswith("Alder / 01 / shot 2: ")
    assert broken.endswith(f": expected a readable picture ({media.KINDS})")
    assert gone.startswith("Alder / 01 / shot 3: ")
    assert gone.endswith(": expected a readable file (No such file or directory)")
    assert not Output.twins.exists()
    assert MediaFile.objects.count() == stored


# Other users of outputs
# ----------------------------------------------------------------


@pytest.fixture
def perturbation(woods):
    return degraded_copies.make_perturbation(an_output(woods), "foreign_shot", 1)


def test_degraded_copy_does_not_affect_scores(woods):
    names = ["sharpness", "palette_consistency", "shots_present"]

    def scores():
        run = metric_runs.run(metric_runs.queue_run(woods, names).pk)
        assert (run.state, run.total) == ("done", 18)
        found = MetricScore.objects.order_by("pk").values_list(
            "metric", "method", "story", "shot", "value"
        )
        values = list(found)
        MetricScore.objects.all().delete()
        return values

    before = scores()
    for degradation in ALL:
        degraded_copies.make_perturbation(an_output(woods), degradation, 1)
    assert scores() == before


def drawn_stories(folder):
    for story in ("01", "02"):
        (folder / "UNO" / story).mkdir(parents=True)
        for number in range(1, 5):
            path = folder / "UNO" / story / f"shot_{number}.png"
            path.write_bytes(picture_bytes(f"{story} {number}"))
    return folder


@pytest.fixture
def imported(tmp_path):
    """Return two stories of four shots; the last shot of 02 comes later."""
    benchmark = Benchmark.objects.create(slug="mine", title="mine")
    drawn_stories(tmp_path)
    (tmp_path / "UNO/02/shot_4.png").rename(tmp_path / "later.png")
    import_outputs(tmp_path, benchmark=benchmark, create_stories=True)
    Shot.objects.create(story=Story.objects.get(key="02"), number=4)
    return benchmark


def make_possible() -> list[Output]:
    return [
        degraded_copies.make_perturbation(original, degradation, 1)
        for original in Output.objects.all()
        for degradation in degraded_copies.possible(original)
    ]


@pytest.mark.postgresql
def test_new_shot_deletes_unused_degraded_copies(tmp_path, imported):
    judged, *_others = [t for t in make_possible() if t.story.key == "02"]
    study = make_study(benchmark=imported)
    Unit.objects.create(study=study, story=judged.story, output_a=judged)
    before = shown(judged)
    (tmp_path / "later.png").rename(tmp_path / "UNO/02/shot_4.png")
    summary = import_outputs(tmp_path, benchmark=imported)
    assert (summary.new_outputs, summary.new_pictures) == (0, 1)
    assert list(Output.twins.filter(story__key="02")) == [judged]
    assert Output.twins.filter(story__key="01").count() == 4
    assert shown(judged) == before
    remade = degraded_copies.make_perturbation(judged.twin_of, "blurred", 1)
    assert list(shown(remade)) == [1, 2, 3, 4]


# Constraints of the database
# -----------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"twin_of": None}, "twin_has_a_degradation"),
        ({"degradation": ""}, "twin_has_a_degradation"),
        ({"degradation": "sharpened"}, "degradation_known"),
        ({"twin_of": None, "degradation": ""}, "output_unique_per_story_and_method"),
        ({"degradation": "blurred"}, "twin_unique_per_original_and_degradation"),
    ],
)
def test_database_refuses_wrong_degraded_copy(woods, perturbation, changes, constraint):
    degraded_copies.make_perturbation(perturbation.twin_of, "blurred", 1)
    if connection.vendor == "sqlite" and "unique" in constraint:
        constraint = "UNIQUE constraint failed"
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Output.everything.filter(pk=perturbation.pk).update(**changes)


# The command -------------------------------------------------------------------------


def test_command_makes_possible_copies_and_reports_others(capsys):
    make_benchmark(shots=4)
    call_command("make_twins", "woods", seed=7)
    printed = capsys.readouterr()
    assert printed.out == (
        "Made 24 degraded copies (6 blurred, 6 foreign_shot, 6 repeated_shot, "
        "6 shuffled); 0 already existed; 6 are impossible.\n"
    )
    assert (
        "note: swapped_characters is impossible for 6 outputs: it needs two shots with "
        "different characters on stage (Alder / 01, Birch / 01, "
    ) in printed.err
    assert set(Output.twins.values_list("source", flat=True)) == {"seed 7"}
    call_command("make_twins", "woods", degradations="shuffled,blurred,blurred")
    assert "Made 0 degraded copies; 12 already existed; 0 are impossible." in (
        capsys.readouterr().out
    )


# Real stories ------------------------------------------------------------------------
