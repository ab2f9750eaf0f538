"""Law: a result folder survives import and export, checked without a database."""

import json

from hypothesis import given
from hypothesis import strategies as st

from evalcore.formats.json_files import as_found, storable
from evalcore.formats.story_scripts import ForeignScores, GivenByUser
from evalcore.formats.vistorybench.layout import FORM, RunPath
from evalcore.formats.vistorybench.results import read_results
from evalcore.formats.vistorybench.writing import Results, Score, result_files
from evalcore.metrics.identity import from_label
from tests.evalcore.vistorybench_folder import (
    contents,
    item,
    mean_of,
    put,
    record,
    run_info,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=5,
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 4)
ODD = st.sampled_from([None, "null", "0.5", "", "x", True, [1], {"a": 2.5}])
SAID = st.dictionaries(
    st.sampled_from(["self_csd", "cross_csd", "other"]), NUMBERS | ODD, max_size=3
)
FIELDS = st.dictionaries(
    TEXTS.filter(lambda name: name not in HEAD), VALUES, max_size=2
)
HEAD = {"run", "metric", "scope", "status", "metrics", "value"}
STATUS = st.sampled_from(["complete", "complete", "failed"])
RECORDS = st.dictionaries(
    st.sampled_from(["01", "02"]), st.tuples(SAID, FIELDS, STATUS), max_size=2
)
LINES = st.lists(
    st.tuples(
        st.sampled_from(["01", "02"]),
        st.integers(0, 3),
        NUMBERS | ODD,
        FIELDS,
        STATUS,
        st.sampled_from([None, "Mira"]),
    ),
    max_size=4,
)


def exported(found: ForeignScores) -> dict[str, str]:
    """Return the export of imported content, as if it had been in the database."""
    ((_name, options),) = found.options.items()
    kept = json.loads(json.dumps(options[FORM], allow_nan=False, sort_keys=True))
    scores = [
        Score(
            from_label(s.metric, s.version, s.backend),
            s.higher,
            s.value,
            s.reason,
            s.story,
            s.shot,
            json.loads(json.dumps(s.details, allow_nan=False, sort_keys=True)),
        )
        for s in found.scores
    ]
    return result_files(Results(RunPath(**kept["run"]), scores, kept))


@given(RECORDS, LINES)
def test_folder_content_survives_import_and_export(tmp_path_factory, records, lines):
    root = tmp_path_factory.mktemp("law")
    run = run_info()
    folder = root / "in/UNO/base/en/20260102_030405"
    data = {
        story: record(run, "csd", story, {"metrics": said, **more}, status)
        for story, (said, more, status) in records.items()
    }
    data["99"] = record(run, "csd", "99", {"metrics": {"self_csd": 0.5}})
    put(folder / "metrics/csd/story_results.json", data)
    rows = [
        item("csd", "cross_csd", story, shot, value)
        | {**more, "status": status}
        | (
            {"scope": {"story_id": story, "shot_index": shot, "character_key": who}}
            if who
            else {}
        )
        for story, shot, value, more, status, who in lines
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metrics/csd/items.jsonl").write_text(text)
    numbers = [
        {k: v for k, v in r["metrics"].items() if type(v) in (int, float)}
        for r in data.values()
    ]
    summary = {"csd": {"metrics": mean_of(numbers)}} if rows else {}
    put(folder / "metadata.json", {"run": run})
    put(folder / "manifest.json", {"version": 1, "metrics": {}})
    put(folder / "summary.json", {"run": run, "metrics": summary})
    for name, written in exported(read_results(root / "in", (), GivenByUser())).items():
        path = root / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written, encoding="utf-8")
    was, now = contents(root / "in"), contents(root / "out")
    if not rows:
        del was["UNO/base/en/20260102_030405/metrics/csd/items.jsonl"]
    if not summary:  # a folder without a mean gets one
        place = "UNO/base/en/20260102_030405/summary.json"
        was[place]["metrics"] = now[place]["metrics"]
    assert now == was


@given(
    st.recursive(
        st.floats() | st.none() | TEXTS,
        lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
        max_leaves=8,
    )
)
def test_numbers_can_be_stored(value):
    text = json.dumps(storable(value), allow_nan=False)
    assert json.dumps(as_found(json.loads(text))) == json.dumps(value)
