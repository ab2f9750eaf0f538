"""Declared comparisons of metrics with the papers' programs."""

from django.core.management import call_command

from evalcore.metrics import registry
from evalcore.metrics.fidelity import fidelity_of, reason_texts


def test_every_metric_of_a_paper_is_compared_and_every_reason_is_used():
    used = set()
    for name in registry.declarations():
        found = fidelity_of(name)
        assert str(found)  # KeyError for an unknown reason
        used.update(found.reasons)
        assert not found.profile or registry.METRICS[name].has(found.profile)
    assert used == set(reason_texts())
    assert fidelity_of("sharpness") is None


def test_command_shows_the_comparison(capsys):
    call_command("metrics", name="aesthetic")
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "program: ViStoryBench/vistorybench at 514cc31, as aesthetic@vsb-code-2026.02: "
        "differs on purpose: fp32 (half precision)"
    ) in shown
    call_command("metrics", name="hwpq")
    assert "program: unknown: no program is published" in capsys.readouterr().out
