"""Originals against their degraded twins: what a metric sees of it."""

import shutil
from io import StringIO

import pandas as pd
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.__main__ import main
from evalcore.importing.outputs import import_outputs
from evalcore.metrics import registry
from evalcore.models import Benchmark, MetricScore, Output
from evalcore.perturbations import degraded_copies, sensitivity
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db


@pytest.fixture
def woods():
    benchmark = make_benchmark(stories=3, shots=4)
    outputs = Output.objects.filter(story__benchmark=benchmark)
    for name in ("blurred", "repeated_shot"):
        for output in outputs:
            degraded_copies.make_twin(output, name, 1)
    return benchmark


def rows(woods, *names):
    found, failed, _scores = sensitivity.sensitivities(
        woods, {n: registry.load(n) for n in names}
    )
    return {(row.metric, row.degradation): row for row in found}, failed


def test_blurring_costs_sharpness_and_a_copied_shot_does_not(woods):
    found, failed = rows(woods, "sharpness", "palette_consistency", "shots_present")
    assert failed == {}
    blurred = found["sharpness", "blurred"]
    assert (blurred.better, blurred.worse, blurred.undefined) == (9, 0, 0)
    assert blurred.share == 1
    assert blurred.mean_original > blurred.mean_twin
    copied = found["palette_consistency", "repeated_shot"]
    assert copied.worse == 9, "copies are more consistent, which the metric likes"
    same = found["shots_present", "blurred"]
    assert (same.alike, same.share) == (9, 0)
    assert not MetricScore.objects.exists()


def test_command(woods):
    out = StringIO()
    call_command("compare_twins", "woods", metrics="sharpness", stdout=out)
    line = next(li for li in out.getvalue().splitlines() if "blurred" in li)
    assert line.split()[:6] == ["sharpness", "blurred", "9", "0", "0", "0"]
    with pytest.raises(CommandError, match="does not score single outputs"):
        call_command("compare_twins", "woods", metrics="mobilenet_diversity")
    with pytest.raises(CommandError, match="Did you mean"):
        call_command("compare_twins", "woods", metrics="sharpnes")


@pytest.mark.slow
@pytest.mark.shared
def test_real_stories_are_held_against_their_twins_in_a_report(shared, tmp_path):
    """Means of similar shots rise with repeated ones, in each of the shortest stories.

    There are no fewer than four: of three an interval of 80% would hold a half.
    """
    benchmark = Benchmark.objects.create(slug="real", title="real")
    folder = shared / "data/real_stories/outputs"
    stories = folder.glob("story-adapter/base/en/*/shots/*")
    for story in sorted(stories, key=lambda path: len(list(path.iterdir())))[:4]:
        shutil.copytree(story, tmp_path / "outputs" / story.relative_to(folder))
    import_outputs(tmp_path / "outputs", benchmark=benchmark, create_stories=True)
    outputs = list(Output.objects.order_by("story__key"))
    degraded_copies.make_twins(outputs, ["repeated_shot", "blurred"], seed=5)
    names = ["palette_consistency", "sharpness"]
    path = tmp_path / "twins.csv"
    call_command("compare_twins", "real", metrics=",".join(names), out=path)
    twins = pd.read_csv(path, dtype={"story": str})
    assert len(twins) == 4 * 2 * 2
    scores = twins[twins["twin"] == "blurred"].drop(columns=["twin", "score"])
    # A second method, so that there is something to compare.
    second = scores.assign(method="second", original=scores["original"] / 2)
    scores = pd.concat([scores, second]).rename(columns={"original": "score"})
    scores.to_csv(tmp_path / "scores.csv", index=False)
    rated = scores[scores["metric"] == names[0]].rename(columns={"score": "rating"})
    rated = rated.assign(dimension="look", annotator="Ann")
    rated.to_csv(tmp_path / "ratings.csv", index=False)
    given = [
        part
        for name in ("ratings", "scores", "twins")
        for part in (f"--{name}", str(tmp_path / f"{name}.csv"))
    ]
    given += ["--resamples", "0", "--confidence", "0.8", "--images", "none"]
    out = tmp_path / "out"
    assert main(["align", *given, "--out", str(out)]) == 0
    found = pd.read_csv(out / "tables/sanity.csv").set_index(["metric", "twin"])
    missed = found[["n_missed", "n_stories", "verdict"]].T
    repeated = missed["palette_consistency", "repeated_shot"]
    assert repeated.tolist() == [4, 4, "does not see"]
    assert missed["sharpness", "blurred"].tolist() == [0, 4, "sees"]
    told = pd.read_csv(out / "tables/verdicts.csv").set_index("metric")
    assert set(told.loc["palette_consistency", "twins"]) == {"repeated_shot"}
    page = (out / "report.html").read_text()
    assert "palette_consistency prefers repeated shots in 4 of 4 stories" in page
