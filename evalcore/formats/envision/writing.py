"""Writer of scores in Envision's formats: full records, rows of scores, and a report.

Content imported from such files is written back unchanged. A newer score replaces the
imported one, and values that depend on scores are computed again.
"""

import copy
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalcore.formats.envision.results import (
    DERIVED,
    DOUBLED,
    KEYS,
    OURS,
    PARTS,
    REPORT,
    SINGLE,
)
from evalcore.formats.json_files import as_found, number_of
from evalcore.formats.written_files import Files, as_lines
from evalcore.metrics.envision import WEIGHTS
from evalcore.metrics.identity import Identity, is_more_than_label

METRICS = {metric: key for key, metric in KEYS.items()}
GRADES = (
    (4.5, "Excellent"),
    (4.0, "Very Good"),
    (3.5, "Good"),
    (3.0, "Fair"),
    (2.0, "Poor"),
)
LOWEST_GRADE = "Very Poor"
FULL, ROWS = "full_results.json", "scores.jsonl"
SHOWN = 5  # number of sequences listed at each end of the ranking
NAMED = ("index", "category", "process_type")
ROW = (
    *NAMED,
    *SINGLE,
    *DOUBLED,
    *DERIVED,
    "overall_grade",
    "pass_rate_3",
    "pass_rate_4",
)
RECORD = (
    *NAMED,
    "steps",
    "evaluation",
    "individual_scores",
    "comprehensive_scores",
)


def grade(score: float) -> str:
    """Return the word for a score.

    >>> grade(4.5), grade(3.99), grade(1)
    ('Excellent', 'Good', 'Very Poor')
    """
    return next((word for least, word in GRADES if score >= least), LOWEST_GRADE)


def pass_rate(scores: Mapping[str, float], least: int) -> float:
    """Return the share of the nine scores that reach a value, to two decimals.

    Each score counts once; the programs count dynamics twice.
    """
    single = [value for key, value in scores.items() if key in SINGLE]
    return round(sum(value >= least for value in single) / len(single), 2)


@dataclass(frozen=True)
class ScoredSequence:
    """The scores of one sequence."""

    # The sequence's entry in its list: index, category, process_type, prompts.
    said: Mapping[str, Any]
    scores: Mapping[str, float]
    details: Mapping[str, Any]  # details stored with its scores at import

    @property
    def values(self) -> dict[str, float]:
        """Return the scores by their names in the files."""
        return {
            METRICS[metric]: value if METRICS[metric] in SINGLE else round(value, 2)
            for metric, value in self.scores.items()
            if metric in METRICS
        }

    def found(self, name: str) -> dict[str, Any]:
        """Return an imported row or record; empty if the scores were computed here."""
        return copy.deepcopy(as_found(self.details.get(name) or {}))

    def named(self) -> dict[str, Any]:
        """Return the fields that identify the sequence."""
        return {name: self.said[name] for name in NAMED if name in self.said}


def result_files(
    method: str,
    sequences: Iterable[ScoredSequence],
    *,
    timestamp: str,
    made_by: Mapping[str, Identity],
) -> Files:
    """Return the files of a method's results, in a folder named after it.

    The report also says what made the scores, as far as it is known.
    """
    listed = sorted(sequences, key=_order)
    rows = [_row(sequence) for sequence in listed]
    records = [_record(sequence) for sequence in listed]
    report = _report(rows, timestamp)
    told = {m: one.columns for m, one in made_by.items() if is_more_than_label(one)}
    if told:
        report[OURS] = dict(sorted(told.items()))
    files = {
        FULL: json.dumps(records, ensure_ascii=False, indent=2),
        ROWS: as_lines(rows),
        REPORT: json.dumps(report, ensure_ascii=False, indent=2),
    }
    return {f"{method}/{name}": text for name, text in files.items()}


def _order(sequence: ScoredSequence) -> tuple[str, str, int]:
    said = sequence.said
    return (
        str(said.get("category") or ""),
        str(said.get("process_type") or ""),
        int(said["index"]),
    )


def _set(values: dict[str, Any], scores: Mapping[str, float]) -> bool:
    """Set scores; return whether any of them changed."""
    changed = False
    for name, value in scores.items():
        if number_of(values.get(name)) != value:
            values[name], changed = value, True
    for other, name in DOUBLED.items():
        if (
            other in values
            and name in scores
            and number_of(values[other]) != scores[name]
        ):
            values[other] = scores[name]
    return changed


def _row(sequence: ScoredSequence) -> dict[str, Any]:
    row = sequence.found("row") or sequence.named()
    scores = sequence.values
    if _set(row, scores) or "pass_rate_3" not in row:
        row |= _words(scores)
    return _ordered(row, ROW)


def _ordered(values: Mapping[str, Any], first: Sequence[str]) -> dict[str, Any]:
    """Return an object with some keys first, since databases lose their order."""
    rest = sorted(set(values) - set(first))
    return {name: values[name] for name in (*first, *rest) if name in values}


def _words(scores: Mapping[str, float]) -> dict[str, Any]:
    """Return the further fields of rows that follow from the scores."""
    words: dict[str, Any] = {}
    if "overall_score" in scores:
        words["overall_grade"] = grade(scores["overall_score"])
    if set(scores) & set(SINGLE):
        words["pass_rate_3"] = pass_rate(scores, 3)
        words["pass_rate_4"] = pass_rate(scores, 4)
    return words


def _record(sequence: ScoredSequence) -> dict[str, Any]:
    record = sequence.found("full")
    if not record:
        steps = [
            {
                "step": p["step"],
                "prompt": p["prompt"],
                "explanation": p.get("explanation", ""),
                "image_path": "",
            }
            for p in sequence.said.get("prompts", ())
        ]
        record = {**sequence.named(), "steps": steps, "evaluation": ""}
    scores = sequence.values
    single = {name: value for name, value in scores.items() if name in SINGLE}
    changed = _set(record.setdefault("individual_scores", {}), single)
    whole = record.setdefault("comprehensive_scores", {})
    if _set(whole, scores) or changed or "pass_rate_3" not in whole:
        whole |= _comprehensive(scores)
    return _ordered(record, RECORD)


def _comprehensive(scores: Mapping[str, float]) -> dict[str, Any]:
    """Return the further fields of full records that follow from the scores."""
    fields: dict[str, Any] = {
        "weight_info": {
            **{f"{name}_weight": weight for name, weight in WEIGHTS.items()},
            "total_weight": sum(WEIGHTS.values()),
        }
    }
    groups = {name: list(keys) for name, keys in PARTS.items()} | {"overall": [*SINGLE]}
    for name, keys in groups.items():
        if set(keys) <= set(scores):
            mean = sum(scores[key] for key in keys) / len(keys)
            fields[f"{name}_avg_simple"] = round(mean, 2)
        if f"{name}_score" in scores:
            fields[f"{name}_grade"] = grade(scores[f"{name}_score"])
    return fields | _words(scores)


def _number(row: Mapping[str, Any], key: str) -> float | None:
    number = number_of(row[key]) if key in row else None
    return float(number) if isinstance(number, int | float) else None


def _report(rows: Sequence[Mapping[str, Any]], timestamp: str) -> dict[str, Any]:
    """Return a method's report: each dimension over all sequences, and the ranking."""
    values = {
        name: [number for row in rows if (number := _number(row, key)) is not None]
        for key, name in DERIVED.items()
    }
    ranked = sorted(
        (row for row in rows if _number(row, "overall_score") is not None),
        key=lambda row: float(number_of(row["overall_score"])),
        reverse=True,
    )
    listed = [{"index": row["index"], "score": row["overall_score"]} for row in ranked]
    overall = values["overall"]
    analysis = {
        "dimension_performance": {
            name: _spread(found) for name, found in values.items() if found
        },
        "score_distribution": {},
        "ranking": {"top_5": listed[:SHOWN], "bottom_5": listed[-SHOWN:]},
        "summary": {
            "total_sequences": len(rows),
            "weight_ratio": "Consistency:Physicality:Aesthetic = 4:4:2",
            "average_overall_score": round(statistics.fmean(overall), 2)
            if overall
            else None,
            "excellent_sequences": sum(score >= 4.5 for score in overall),
            "good_sequences": sum(3.5 <= score < 4.5 for score in overall),
            "fair_sequences": sum(3.0 <= score < 3.5 for score in overall),
            "poor_sequences": sum(score < 3.0 for score in overall),
        },
    }
    return {"analysis": analysis, "timestamp": timestamp, "total_sequences": len(rows)}


def _spread(values: Sequence[float]) -> dict[str, float]:
    """Return mean, range and standard deviation (n - 1) to two decimals."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    found = {
        "mean": statistics.fmean(values),
        "max": max(values),
        "min": min(values),
        "std": deviation,
    }
    return {name: round(value, 2) for name, value in found.items()}
