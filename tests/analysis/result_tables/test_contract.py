"""Tables as they are collected: whole at every moment, and nobody's to change."""

from analysis.options import AlignOptions
from analysis.result_tables.contract import TableCollector


def test_frames_hold_what_was_added_since_the_last_ones_and_are_copies():
    found = TableCollector(AlignOptions(resamples=0))
    found.add("power", {"question": "look"})
    first = found.frames()["power"]
    first["question"] = "changed"
    assert found.frames()["power"]["question"].tolist() == ["look"]
    found.extend("power", [{"question": "other"}])
    assert found.frames()["power"]["question"].tolist() == ["look", "other"]
    assert found.finished().tables["power"]["question"].tolist() == ["look", "other"]
