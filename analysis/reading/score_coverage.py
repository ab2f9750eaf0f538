"""Remarks on scores that outputs lack, which then enter no comparison."""

import numpy as np

from analysis.printing import counted
from analysis.results import Mask
from analysis.sentences import chained, sentence

OUTPUT, METHOD = "rated output", "rated method"


def coverage_notes(
    rated: Mask,
    methods: tuple[str, ...],
    metrics: tuple[str, ...],
    covered: Mask,
    cells: Mask,
    noun: str = OUTPUT,
) -> list[str]:
    """Say which metrics and cells no comparison uses, and which methods it loses."""
    notes = [
        sentence(
            "metric {metric} has no score for any rated method."
            if noun == METHOD
            else "metric {metric} has no score for any rated output.",
            metric=metric,
        )
        for k, metric in enumerate(metrics)
        if not covered[k].any()
    ]
    lacking = lacking_scores(metrics, covered[:, rated])
    if lacking:
        several = bool(covered.any(axis=(1, 2)).sum() > 1)
        note = common_note(
            int(cells.sum()), counted(int(rated.sum()), noun), lacking, several=several
        )
        lost = rated.any(axis=0) & ~cells.any(axis=0)
        if lost.any() and not lost.all():
            note = sentence(
                "{text} Methods in no comparison: {methods}.",
                text=note,
                methods=[*np.array(methods, object)[lost]],
            )
        notes.append(note)
    return notes


def common_note(n: int, rated: str, lacking: str, *, several: bool) -> str:
    """Say on how many of what is rated one metric is judged, or several compared."""
    return sentence(
        "metrics are compared with each other on {n} of {rated}, which all of them "
        "score ({lacking}); each is held against people on all that it scores."
        if several
        else "{n} of {rated} used, those with a score ({lacking}).",
        n=n,
        rated=rated,
        lacking=lacking,
    )


def few_scores(
    names: "np.typing.NDArray[np.object_]", covered: Mask, few: Mask, noun: str
) -> list[str]:
    """Say which metrics share too little with others to be compared with them."""
    return [
        sentence(
            "metric {metric} has scores of {n} and is held against people on these; it "
            "is not compared with other metrics, which score too few of them.",
            metric=names[k],
            n=counted(int(covered[k].sum()), noun),
        )
        for k in np.flatnonzero(few)
    ]


def lacking_scores(metrics: tuple[str, ...], covered: Mask) -> str:
    """Say how many scores each metric lacks; those that lack the same ones together."""
    alike: dict[bytes, list[int]] = {}
    for k, row in enumerate(covered):
        if row.any() and not row.all():
            alike.setdefault(row.tobytes(), []).append(k)
    parts = []
    for rows in alike.values():
        n = int((~covered[rows[0]]).sum())
        if len(rows) == len(metrics) > 1:
            parts.append(sentence("all {k} lack the same {n}", k=len(metrics), n=n))
        else:
            names = [metrics[k] for k in rows]
            parts.append(
                sentence(
                    "{names} lacks {n}" if len(rows) == 1 else "{names} lack {n}",
                    names=names,
                    n=n,
                )
            )
    return chained("{first}; {second}", parts) if parts else ""
