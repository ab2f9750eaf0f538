"""What reviewers ask of a human evaluation, answered from the report's own numbers."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from analysis.correlations.metric_clusters import SIGNIFICANT
from analysis.planning.best_subset import SPLITS
from analysis.reading.scores import BASELINE, BASELINES, RANDOM
from analysis.report.checklist_people import (
    ChecklistAnswer,
    ResultTables,
    agreement_of_people,
    exclusions,
    people,
    spread,
    values,
)
from analysis.report.figure_layout import (
    COEFFICIENT_NAMES,
    LEVEL_NAMES,
)
from analysis.report.language import listed, say, texts
from analysis.report.wording import (
    per_cent,
)

# Who says which of a pair is better.
DECIDING = texts(
    {
        "ratings": "mean ratings",
        "choices": "the majority of annotators",
        "rankings": "the majority of annotators over the pairs in their rankings",
    }
)


def answers(
    tables: ResultTables,
    notes: Sequence[str],
    run: Mapping[str, str],
    drawn: Sequence[str],
    by_error: Sequence[str] = (),
    by_answers: Sequence[str] = (),
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
    by_answers
        Units over which others sum what answers add, with their tables.

    Returns
    -------
    list of (str, str)
        Question and answer.
    """
    return [
        *people(tables),
        *exclusions(notes, run),
        *agreement_of_people(tables),
        *_coefficients(tables),
        *_pairs(tables),
        *_uncertainty(tables, drawn, by_error, by_answers, run),
        *_tests(tables),
        *_board(tables),
        *_other(tables, run),
    ]


def _coefficients(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    correlations = tables.get("correlations")
    if correlations is None:
        return
    known = correlations[correlations["value"].notna()]
    names = [
        say(COEFFICIENT_NAMES[c])
        for c in COEFFICIENT_NAMES
        if (known["coefficient"] == c).any()
    ]
    levels = [say(LEVEL_NAMES[x]) for x in LEVEL_NAMES if (known["level"] == x).any()]
    yield (
        say("Which tau, and at which level?"),
        say(
            "{coefficients} at {levels}; every row of the table names both.",
            coefficients=listed(names) or say("no coefficient"),
            levels=listed(levels) or say("no level"),
        ),
    )
    yield say("The same items for all metrics?"), _same_items(known)
    yield (
        say("Which sign is good?"),
        say(
            "Positive always means agreement: lower-is-better metrics are turned first."
        ),
    )


def _same_items(known: pd.DataFrame) -> str:
    """Say over what metrics are compared, also where a coefficient is undefined."""
    told = [
        say(
            "For comparisons, yes: a question's metrics are compared on the cells that "
            "they share; alone, each is held against people on all cells that it "
            "scores. Remarks say how many these are."
        )
    ]
    inside = known[known["level"] == "story"]
    spread = inside.groupby(["dimension", "coefficient"])["n_groups"].nunique()
    if (spread > 1).any():
        low, high = inside["n_groups"].min(), inside["n_groups"].max()
        told.append(
            say(
                "But not the same stories where coefficients are averaged inside them "
                "({low} to {high}): a metric that ties all methods of a story has none "
                "there, so nothing is called best by them.",
                low=f"{low:.0f}",
                high=f"{high:.0f}",
            )
        )
    return listed(told, " ")


def _pairs(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    pairwise = tables.get("pairwise_accuracy")
    if pairwise is None or pairwise.empty:
        return
    real = pairwise[~pairwise["metric"].isin(BASELINES)]
    if real["metric_tie_rate"].notna().any():
        low, high = real["metric_tie_rate"].min(), real["metric_tie_rate"].max()
        yield (
            say("How often does a metric tie?"),
            say(
                "{low} to {high} of the pairs; accuracy is given strict and half.",
                low=per_cent(low),
                high=per_cent(high),
            ),
        )
    base = pairwise[(pairwise["metric"] == BASELINE) & pairwise["ppa_half"].notna()]
    guess = pairwise[pairwise["metric"] == RANDOM]
    if len(base):
        yield (
            say("What is chance?"),
            say(
                "The constant baseline: {half} half, {strict} strict, acc_eq up to "
                "{equal}. Guessing: 50 % half and strict, acc_eq up to {guess}. Each "
                "metric's acc_eq is tested against the chance of its own ties.",
                half=per_cent(base["ppa_half"].mean()),
                strict=per_cent(base["ppa_strict"].mean()),
                equal=per_cent(base["acc_eq"].max()),
                guess=per_cent(guess["acc_eq"].max()),
            ),
        )
    sources = sorted(set(pairwise["source"]))
    deciding = listed((say(DECIDING.get(x, x)) for x in sources), " and ")
    yield (
        say("Who says which of a pair is better?"),
        say("{text}.", text=deciding[:1].upper() + deciding[1:]),
    )
    tuned = pairwise["epsilon_in_sample"].astype(bool).any()
    yield (
        say("Is the tie threshold tuned on the same data?"),
        say("Yes, and flagged.") if tuned else say("No."),
    )


def _uncertainty(
    tables: ResultTables,
    drawn: Sequence[str],
    by_error: Sequence[str],
    by_answers: Sequence[str],
    run: Mapping[str, str],
) -> Iterator[ChecklistAnswer]:
    parts = []
    if drawn:
        parts.append(
            say(
                "Whole clusters, {resamples} times at {confidence}: {units}.",
                resamples=run["resamples"],
                confidence=run["confidence"],
                units=listed(drawn, "; "),
            )
        )
    if by_error:
        parts.append(
            say(
                "By a standard error for what the columns drawn and test name: "
                "{tables}.",
                tables=listed(by_error),
            )
        )
    if by_answers:
        parts.append(
            say(
                "By what each answer adds, summed over whole {units}.",
                units=listed(by_answers, "; "),
            )
        )
    if _has_intervals(tables, "best_subset"):
        parts.append(
            say(
                "Of best_subset: the middle {confidence} of {n} halvings of the "
                "methods.",
                confidence=run["confidence"],
                n=SPLITS,
            )
        )
    if _has_intervals(tables, "stability"):
        parts.append(
            say(
                "Of stability, what trials do to means: trials of the same outputs, by "
                "chi-square."
            )
        )
    none = say("There are none: the tables give the reasons.")
    if run["resamples"] == "0":
        none = say("There are none: --resamples 0.")
    yield say("What do the intervals draw?"), listed(parts, " ") or none


def _has_intervals(tables: ResultTables, name: str) -> bool:
    return name in tables and bool(tables[name]["low"].notna().any())


def _tests(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    comparisons = tables.get("metric_comparisons")
    if comparisons is not None and comparisons["p_adjusted"].notna().any():
        known = comparisons["p_adjusted"].dropna()
        yield (
            say("Are metrics compared by paired tests, and adjusted?"),
            say(
                "Yes, Holm: {n} of {total} differences have an adjusted p of .05 or "
                "less.",
                n=int((known <= SIGNIFICANT).sum()),
                total=len(known),
            ),
        )
    verdicts = tables.get("verdicts")
    if verdicts is not None and len(verdicts):
        yield say("Which metrics does no other beat?"), _unbeaten(verdicts)


def _unbeaten(verdicts: pd.DataFrame) -> str:
    """Count those that no test shows to be worse, by what leads each question."""
    leading = verdicts[verdicts["leads"] & verdicts["n_better"].notna()]
    counts = [
        (
            str(question),
            say("{n} of {total}", n=int((own["n_better"] == 0).sum()), total=len(own)),
            float((own["n_better"] == 0).mean()),
        )
        for question, own in leading.groupby("question", sort=True)
    ]
    if not counts:
        return say("Not known: no test was made.")
    text = spread(counts)
    return say("{text}; the table of verdicts names them.", text=text)


def _board(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    board = tables.get("leaderboard")
    if board is not None and len(board):
        yield (
            say("Which model of ties has the leaderboard?"),
            say(
                "The remarks and the command say; the default counts a tie as half a "
                "win for each."
            ),
        )
        yield from _connected(board)
    ranked = tables.get("ranking_leaderboard")
    if ranked is not None and len(ranked):
        yield (
            say("May rankings hold ties?"),
            say("No: every ranking is a strict order."),
        )
        yield from _connected(ranked, of_rankings=True)
    bias = tables.get("position_bias")
    if bias is not None and len(bias):
        text = values(bias, say(", no interval that draws clusters"))
        yield (
            say("Does the side decide?"),
            text or say("Not known: see the reasons in the table."),
        )
    elif board is not None and len(board):
        yield (
            say("Does the side decide?"),
            say("Not known: left_method is not in the table."),
        )


def _connected(
    board: pd.DataFrame, *, of_rankings: bool = False
) -> Iterator[ChecklistAnswer]:
    """Say of a leaderboard what its ratings and ranks rest on."""
    rated = board.groupby("criterion")["rating"].apply(lambda x: x.notna().all())
    yield (
        say(
            "Are all methods connected by rankings?"
            if of_rankings
            else "Are all methods connected by comparisons?"
        ),
        say("Yes, in every question.")
        if rated.all()
        else say(
            "Not in {questions}: see the remarks.",
            questions=listed(map(str, rated[~rated].index)),
        ),
    )
    known = board.dropna(subset=["rank_low", "rank_high"])
    settled = int((known["rank_low"] == known["rank_high"]).sum())
    yield (
        say(
            "Do ranks of the leaderboard of rankings have intervals?"
            if of_rankings
            else "Do ranks have intervals?"
        ),
        say(
            "Yes: {n} of {total} ranks are settled, their interval being one rank.",
            n=settled,
            total=len(known),
        )
        if len(known)
        else say("No."),
    )


def _other(tables: ResultTables, run: Mapping[str, str]) -> Iterator[ChecklistAnswer]:
    if not any(len(tables.get(name, ())) for name in ("agreement", "method_means")):
        yield say("Raw data by annotator?"), say("Not in this report.")
    yield (
        say("Can it be made again?"),
        say(
            "Seed {seed}, versions and hashes of the inputs in run.csv; the command "
            "stands at the end of this page."
            if run.get("command")
            else "Seed {seed}, versions and hashes of the inputs in run.csv.",
            seed=run["seed"],
        ),
    )
