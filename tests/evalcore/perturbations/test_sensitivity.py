"""Sensitivity of metrics to degraded copies."""

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
            degraded_copies.make_perturbation(output, name, 1)
    return benchmark


def rows(woods, *names):
    found, failed, _scores = sensitivity.sensitivities(
        woods, {n: registry.load(n) for n in names}
    )
    return {(row.metric, row.degradation): row for row in found}, failed


def test_blur_lowers_sharpness_but_repetition_does_not(woods):
    found, failed = rows(woods, "sharpness", "palette_consistency", "shots_present")
    assert failed == {}
    blurred = found["sharpness", "blurred"]
    assert (blurred.better, blurred.worse, blurred.undefined) == (9, 0, 0)
    assert blurred.mean_original > blurred.mean_twin
    copied = found["palette_consistency", "repeated_shot"]
    assert copied.worse == 9, "copies are more consistent, which the metric likes"
    same = found["shots_present", "blurred"]
    assert (same.alike, same.better) == (9, 0)
    assert not MetricScore.objects.exists()


def test_command_reports_sensitivity(woods):
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
def test_report_compares_real_stories_with_degraded_copies(shared, tmp_path):
    """Means over similar shots rise with repeated ones, in each of the shortest
    stories.

    Four stories are needed: with three, an interval of 80% would include a half.
    """
    benchmark = Benchmark.objects.create(slug="real", title="real")
    folder = shared / "data/real_stories/outputs"
    stories = folder.glob("story-adapter/base/en/*/shots/*")
    for story in sorted(stories, key=lambda path: len(list(path.iterdir())))[:4]:
        shutil.copytree(story, tmp_path / "outputs" / story.relative_to(folder))
    import_outputs(tmp_path / "outputs", benchmark=benchmark, create_stories=True)
    outputs = list(Output.objects.order_by("story__key"))
    degraded_copies.make_perturbations(outputs, ["repeated_shot", "blurred"], seed=5)
    names = ["palette_consistency", "sharpness"]
    path = tmp_path / "twins.csv"
    call_command("compare_twins", "real", metrics=",".join(names), out=path)
    copies = pd.read_csv(path, dtype={"story": str})
    assert len(copies) == 4 * 2 * 2
    scores = copies[copies["twin"] == "blurred"].drop(columns=["twin", "score"])
    # A second method, for a comparison.
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
    verdicts = pd.read_csv(out / "tables/verdicts.csv").set_index("metric")
    assert set(verdicts.loc["palette_consistency", "twins"]) == {"repeated_shot"}
    page = (out / "report.html").read_text()
    missed = "palette_consistency scores copies with repeated shots better than their"
    assert f"{missed} originals in 4 of 4 stories" in page
