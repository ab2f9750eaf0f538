"""Originals against their degraded twins: what a metric sees of it."""

from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore import media
from evalcore.metrics import registry
from evalcore.models import Frame, MetricScore, Output
from evalcore.twins import sensitivity, twin_outputs
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db


@pytest.fixture
def woods():
    benchmark = make_benchmark(stories=3, shots=4)
    outputs = Output.objects.filter(story__benchmark=benchmark)
    for name in ("blurred", "repeated_shot"):
        for output in outputs:
            twin_outputs.make_twin(output, name, 1)
    return benchmark


def rows(woods, *names):
    found, failed = sensitivity.sensitivities(
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


def test_pairs_without_a_value_are_counted_apart(woods):
    Frame.objects.filter(output__story__key="01", number__gt=1).update(media=None)
    found, _failed = rows(woods, "palette_consistency")
    assert found["palette_consistency", "blurred"].undefined == 3


@pytest.mark.parametrize("size", [1.0, 1e-170, 1e-318])
def test_small_scores_differ_as_large_ones_do(size):
    info = SimpleNamespace(higher_is_better=True)
    values = {(1, "k"): 3 * size, (2, "k"): 2 * size, (3, "k"): 3 * size}
    found = sensitivity._compared(
        "k", SimpleNamespace(info=info), "blur", [(1, 2), (1, 3), (2, 3)], values
    )
    assert (found.better, found.alike, found.worse) == (1, 1, 1)


def test_what_fails_is_named(woods):
    frame = Frame.objects.filter(output__method__name="Alder").first()
    media.original_path(frame.media).write_bytes(b"none")
    _found, failed = rows(woods, "sharpness")
    assert all(what.startswith("Alder / ") for what in failed)
    assert failed


def test_the_command(woods):
    out = StringIO()
    call_command("compare_twins", "woods", metrics="sharpness", stdout=out)
    line = next(li for li in out.getvalue().splitlines() if "blurred" in li)
    assert line.split()[:6] == ["sharpness", "blurred", "9", "0", "0", "0"]
    with pytest.raises(CommandError, match="scores no single outputs"):
        call_command("compare_twins", "woods", metrics="mobilenet_diversity")
    with pytest.raises(CommandError, match="Did you mean"):
        call_command("compare_twins", "woods", metrics="sharpnes")


def test_a_benchmark_without_twins_is_told_how_to_make_them():
    make_benchmark(slug="bare")
    with pytest.raises(CommandError, match="`make_twins bare` makes them"):
        call_command("compare_twins", "bare")
