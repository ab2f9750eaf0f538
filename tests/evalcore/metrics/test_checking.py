"""Checks of metrics: expected values, records of real weights, and what has neither."""

import dataclasses

import pytest

from evalcore.metrics import checking, registry
from evalcore.metrics.base import Value
from evalcore.metrics.checking import Record


@pytest.fixture
def record_file(tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "RECORD", tmp_path / "published.json")
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    return tmp_path / "own.json"


@pytest.mark.parametrize(
    "name",
    ["colourfulness", "palette_consistency", "sharpness", "shots_present"],
)
def test_baseline_computes_its_value_by_hand(name):
    found = checking.check(name)
    assert found.state == "agrees", found.text


def test_wrong_formula_differs(monkeypatch):
    monkeypatch.setattr(
        "evalcore.metrics.baselines.palette_consistency", lambda _histograms: 0.5
    )
    found = checking.check("palette_consistency")
    assert (found.state, found.text[:24]) == ("differs", "0.5, expected 0.666667 (")


def test_metric_without_record_was_never_checked(record_file):
    assert checking.check("csd_self").state == "not ready"
    assert checking.status("csd_self") == checking.NEVER
    assert "csd_self" in checking.never_checked()
    assert not {"sharpness", "pa_scene", "oneig_style"} & set(checking.never_checked())
    assert checking.check("oneig_style").state == "import only"
    assert checking.check("pa_scene").state == "judge"


class Steady:
    """A metric with weights that are always here."""

    info = dataclasses.replace(registry.load("csd_self").info, name="csd_self")
    value = 0.25

    def missing(self):
        return ()

    def score(self, subject):
        yield from ()
        return [Value(self.value), Value(None, 2, "no picture")]


@pytest.fixture
def steady(record_file, monkeypatch):
    monkeypatch.setattr(registry, "load", lambda _name: Steady())


def test_recorded_value_is_expected_afterwards(steady, record_file, monkeypatch):
    first = checking.check("csd_self", record_file)
    assert (first.state, first.record.value) == ("computed", 0.25)
    assert checking.record([first], record_file) == ["csd_self"]
    found = checking.check("csd_self", record_file)
    assert found.state == "agrees"
    assert f"recorded on {first.record.date}" in found.text
    monkeypatch.setattr(Steady, "value", 0.26)
    assert checking.check("csd_self", record_file).state == "differs"


def test_record_of_other_weights_is_no_expectation(steady, record_file):
    first = checking.check("csd_self", record_file).record
    other = dataclasses.replace(first, value=0.9, weights={"csd.pth": "ab" * 32})
    checking.record([checking.Check("csd_self", "computed", "", other)], record_file)
    found = checking.check("csd_self", record_file)
    assert found.state == "computed"
    assert "of other weights than on" in found.text


def test_committed_records_are_readable():
    for name, record in checking.records().items():
        assert isinstance(record, Record)
        assert name in registry.names()
        assert all(len(sha256) == 64 for sha256 in record.weights.values())
        assert {"precision", "torch"} <= set(record.run)
