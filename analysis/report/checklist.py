"""What reviewers ask of a human evaluation, answered from the report's own numbers."""

import math
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from analysis.correlation.metric_clusters import SIGNIFICANT
from analysis.planning.best_subset import SPLITS
from analysis.printing import counted
from analysis.reading.scores import BASELINE, BASELINES, RANDOM
from analysis.report.figure_layout import (
    COEFFICIENT_NAMES,
    LEVEL_NAMES,
    human_ceiling,
)
from analysis.report.wording import (
    interval,
    number,
    per_cent,
    records,
)

ResultTables = Mapping[str, pd.DataFrame]
ChecklistAnswer = tuple[str, str]
# A list of questions longer than this is told as a range.
MOST_LISTED = 6


def answers(
    tables: ResultTables,
    notes: Sequence[str],
    run: Mapping[str, str],
    drawn: Sequence[str],
    by_error: Sequence[str] = (),
) -> list[ChecklistAnswer]:
    """Return what a reviewer asks and what this report answers, in a fixed order.

    Parameters
    ----------
    tables
        The tables of the report; what a table would answer is left out without it.
    notes
        Its remarks: exclusions stand there.
    run
        The run table as key to value.
    drawn
        What was resampled, in words.
    by_error
        Tables whose intervals are by a standard error instead.

    Returns
    -------
    list of (str, str)
        Question and answer.
    """
    return [
        *_people(tables),
        *_exclusions(notes, run),
        *_agreement(tables),
        *_coefficients(tables),
        *_pairs(tables),
        *_uncertainty(tables, drawn, by_error, run),
        *_tests(tables),
        *_board(tables),
        *_other(tables, run),
    ]


def _spread(pairs: Sequence[tuple[object, str, float]]) -> str:
    """Return each question's value, or the range of many."""
    known = [(name, text, value) for name, text, value in pairs if value == value]
    if not known:
        return ""
    if len(known) <= MOST_LISTED:
        return "; ".join(f"{name} {text}" for name, text, _value in known)
    low = min(known, key=lambda one: one[2])
    high = max(known, key=lambda one: one[2])
    return (
        f"from {low[1]} ({low[0]}) to {high[1]} ({high[0]}) over "
        f"{counted(len(known), 'question')}"
    )


def _values(rows: pd.DataFrame, without: str = "") -> str:
    """Return each question's value with its interval, or what is said without one."""
    return _spread(
        [
            (
                row["question"],
                f"{number(row['value'])}{interval(row) or without}",
                float(row["value"]),
            )
            for row in records(rows)
            if pd.notna(row["value"])
        ]
    )


def _people(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    agreement = tables.get("agreement")
    if agreement is not None and len(agreement):
        first = agreement.drop_duplicates("question")
        if not (first["n_units"].astype(float) > 0).any():
            yield (
                "How many annotators, units, answers?",
                "Not known: no unit has two answers that can be told apart.",
            )
            return
        yield (
            "How many annotators, units, answers?",
            _spread(
                [
                    (
                        row["question"],
                        f"{_count(row['n_annotators'], 'annotator')}, "
                        f"{_count(row['n_units'], 'unit')} with two or more answers, "
                        f"{_count(row['n_answers'], 'answer')}",
                        float(row["n_units"]),
                    )
                    for _i, row in first.iterrows()
                ]
            ),
        )
        share = first["n_answers"].astype(float) / first["n_units"].astype(float)
        if share.notna().any() and share.max() < math.inf:
            low, high = share.min(), share.max()
            text = f"{low:.1f}" if high - low < 0.05 else f"{low:.1f} to {high:.1f}"
            yield "How much overlap?", f"{text} answers for each unit with two or more"


def _count(n: object, noun: str) -> str:
    return (
        f"no {noun} known"
        if str(n) in ("nan", "<NA>")
        else counted(float(str(n)), noun)
    )


def _exclusions(
    notes: Sequence[str], run: Mapping[str, str]
) -> Iterator[ChecklistAnswer]:
    said = [note for note in notes if "left out" in note.lower()]
    methods = run.get("excluded methods", "")
    text = " ".join(said) or (
        f"Methods left out: {methods}." if methods else "Nothing was left out."
    )
    if "view" in run:
        text = f"Seen through the view {run['view']} as of {run['as of']}. {text}"
    yield "What was excluded?", f"{text} Rules belong in the paper, fixed beforehand."


def _agreement(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    agreement = tables.get("agreement")
    if agreement is None:
        return
    for statistic, asks in (
        ("alpha_ordinal", "How well do people agree (ordinal alpha)?"),
        ("alpha_nominal", "How well do people agree (nominal alpha)?"),
        ("ac2_quadratic", "And where answers are skewed (AC2)?"),
        ("icc_2_1", "ICC(2,1) of one annotator?"),
        ("kendall_between_annotators", "How alike do two annotators rank (tau)?"),
        ("majority_share", "How large is the majority of a unit?"),
    ):
        if statistic == "alpha_nominal" and _has(agreement, "alpha_ordinal"):
            continue
        if text := _values(agreement[agreement["statistic"] == statistic]):
            yield asks, text
    names = sorted(agreement["question"].unique())
    ceilings = [
        (name, f"{value:.2f}", value)
        for name in names
        if (value := human_ceiling(agreement, str(name), "kendall")) is not None
    ]
    if ceilings:
        yield "The human ceiling (one against the rest, tau-b)?", _spread(ceilings)


def _has(agreement: pd.DataFrame, statistic: str) -> bool:
    return bool(
        agreement.loc[agreement["statistic"] == statistic, "value"].notna().any()
    )


def _coefficients(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    correlations = tables.get("correlations")
    if correlations is None:
        return
    known = correlations[correlations["value"].notna()]
    names = [
        COEFFICIENT_NAMES[c]
        for c in COEFFICIENT_NAMES
        if (known["coefficient"] == c).any()
    ]
    levels = [LEVEL_NAMES[x] for x in LEVEL_NAMES if (known["level"] == x).any()]
    yield (
        "Which tau, and at which level?",
        f"{', '.join(names) or 'no coefficient'} at {', '.join(levels) or 'no level'}; "
        "every row of the table names both.",
    )
    yield "The same items for all metrics?", _same_items(known)
    yield (
        "Which sign is good?",
        "Positive always means agreement: lower-is-better metrics are turned first.",
    )


def _same_items(known: pd.DataFrame) -> str:
    """Say over what metrics are compared, also where a coefficient is undefined."""
    text = (
        "The same cells: each question's metrics are compared on those that people and "
        "all of them cover; remarks list what was dropped."
    )
    inside = known[known["level"] == "story"]
    spread = inside.groupby(["dimension", "coefficient"])["n_groups"].nunique()
    if (spread > 1).any():
        low, high = inside["n_groups"].min(), inside["n_groups"].max()
        text += (
            " But not the same stories where coefficients are averaged inside them "
            f"({low:.0f} to {high:.0f}): a metric that ties all methods of a story has "
            "none there, so nothing is called best by them."
        )
    return text


def _pairs(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    pairwise = tables.get("pairwise_accuracy")
    if pairwise is None or pairwise.empty:
        return
    real = pairwise[~pairwise["metric"].isin(BASELINES)]
    if real["metric_tie_rate"].notna().any():
        low, high = real["metric_tie_rate"].min(), real["metric_tie_rate"].max()
        yield (
            "How often does a metric tie?",
            f"{per_cent(low)} to {per_cent(high)} of the pairs; accuracy is given "
            "strict and half.",
        )
    base = pairwise[(pairwise["metric"] == BASELINE) & pairwise["ppa_half"].notna()]
    guess = pairwise[pairwise["metric"] == RANDOM]
    if len(base):
        yield (
            "What is chance?",
            f"The constant baseline: {per_cent(base['ppa_half'].mean())} half, "
            f"{per_cent(base['ppa_strict'].mean())} strict, acc_eq up to "
            f"{per_cent(base['acc_eq'].max())}. Guessing: 50 % half and strict, acc_eq "
            f"up to {per_cent(guess['acc_eq'].max())}.",
        )
    sources = sorted(set(pairwise["source"]))
    words = {
        "ratings": "mean ratings",
        "choices": "the majority of annotators",
        "rankings": "the majority of annotators over the pairs in their rankings",
    }
    yield (
        "Who says which of a pair is better?",
        " and ".join(words.get(source, source) for source in sources).capitalize()
        + ".",
    )
    tuned = pairwise["epsilon_in_sample"].astype(bool).any()
    yield (
        "Is the tie threshold tuned on the same data?",
        "Yes, and flagged." if tuned else "No.",
    )


def _uncertainty(
    tables: ResultTables,
    drawn: Sequence[str],
    by_error: Sequence[str],
    run: Mapping[str, str],
) -> Iterator[ChecklistAnswer]:
    parts = []
    if drawn:
        times = f"{run['resamples']} times at {run['confidence']}"
        parts.append(f"Whole clusters, {times}: {'; '.join(drawn)}.")
    if by_error:
        parts.append(
            "By a standard error for what the columns drawn and test name: "
            f"{', '.join(by_error)}."
        )
    if _has_intervals(tables, "best_subset"):
        parts.append(
            f"Of best_subset: the middle {run['confidence']} of {SPLITS} halvings of "
            "the methods."
        )
    if _has_intervals(tables, "stability"):
        parts.append(
            "Of stability, what trials do to means: trials of the same outputs, by "
            "chi-square."
        )
    none = "There are none: the tables give the reasons."
    if run["resamples"] == "0":
        none = "There are none: --resamples 0."
    yield "What do the intervals draw?", " ".join(parts) or none


def _has_intervals(tables: ResultTables, name: str) -> bool:
    return name in tables and bool(tables[name]["low"].notna().any())


def _tests(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    comparisons = tables.get("metric_comparisons")
    if comparisons is not None and comparisons["p_adjusted"].notna().any():
        known = comparisons["p_adjusted"].dropna()
        yield (
            "Are metrics compared by paired tests, and adjusted?",
            f"Yes, Holm: {int((known <= SIGNIFICANT).sum())} of {len(known)} "
            "differences have an adjusted p of .05 or less.",
        )
    verdicts = tables.get("verdicts")
    if verdicts is not None and len(verdicts):
        yield "Which metrics does no other beat?", _unbeaten(verdicts)


def _unbeaten(verdicts: pd.DataFrame) -> str:
    """Count those that no test shows to be worse, by what leads each question."""
    leading = verdicts[verdicts["leads"] & verdicts["n_better"].notna()]
    counts = [
        (
            str(question),
            f"{int((own['n_better'] == 0).sum())} of {len(own)}",
            float((own["n_better"] == 0).mean()),
        )
        for question, own in leading.groupby("question", sort=True)
    ]
    if not counts:
        return "Not known: no test was made."
    return f"{_spread(counts)}; the table of verdicts names them."


def _board(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    board = tables.get("leaderboard")
    if board is not None and len(board):
        yield (
            "Which model of ties has the leaderboard?",
            "The remarks and the command say; the default counts a tie as half a win "
            "for each.",
        )
        yield from _connected(board)
    ranked = tables.get("ranking_leaderboard")
    if ranked is not None and len(ranked):
        yield "May rankings hold ties?", "No: every ranking is a strict order."
        yield from _connected(ranked, " of rankings")
    bias = tables.get("position_bias")
    if bias is not None and len(bias):
        text = _values(bias, ", no interval that draws clusters")
        yield (
            "Does the side decide?",
            text or "Not known: see the reasons in the table.",
        )
    elif board is not None and len(board):
        yield "Does the side decide?", "Not known: left_method is not in the table."


def _connected(board: pd.DataFrame, of: str = "") -> Iterator[ChecklistAnswer]:
    """Say of a leaderboard, which `of` names, what its ratings and ranks rest on."""
    rated = board.groupby("criterion")["rating"].apply(lambda x: x.notna().all())
    yield (
        f"Are all methods connected by {'rankings' if of else 'comparisons'}?",
        "Yes, in every question."
        if rated.all()
        else f"Not in {', '.join(map(str, rated[~rated].index))}: see the remarks.",
    )
    known = board.dropna(subset=["rank_low", "rank_high"])
    settled = int((known["rank_low"] == known["rank_high"]).sum())
    yield (
        f"Do ranks{' of the leaderboard' + of if of else ''} have intervals?",
        f"Yes: {settled} of {len(known)} ranks are settled, their interval being one "
        "rank."
        if len(known)
        else "No.",
    )


def _other(tables: ResultTables, run: Mapping[str, str]) -> Iterator[ChecklistAnswer]:
    if not any(len(tables.get(name, ())) for name in ("agreement", "method_means")):
        yield "Raw data by annotator?", "Not in this report."
    text = f"Seed {run['seed']}, versions and hashes of the inputs in run.csv"
    if run.get("command"):
        text += "; the command stands at the end of this page"
    yield "Can it be made again?", f"{text}."
