"""What reviewers ask of a human evaluation, answered from the report's own numbers."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.options import KNOWN_COEFFICIENTS
from analysis.planning.best_subset import SPLITS
from analysis.reading.scores import BASELINE, BASELINES, RANDOM
from analysis.report.checklist_people import (
    ChecklistAnswer,
    agreement_of_people,
    answer,
    exclusions,
    people,
    spread,
    values,
)
from analysis.report.language import listed, say, texts
from analysis.report.metric_order import LEVEL_NAMES, levels_in, title_of
from analysis.report.wording import ResultTables, per_cent

# Who says which of a pair is better.
DECIDING = texts(
    ratings="mean ratings",
    choices="the majority of annotators",
    rankings="the majority of annotators over the pairs in their rankings",
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

    What a table would answer is left out without it; exclusions stand in the `notes`.
    Of intervals `drawn` says what was resampled, `by_error` names the tables with a
    standard error instead, `by_answers` the units over which others sum answers.
    """
    known = {name: table for name, table in tables.items() if len(table)}
    return [
        *people(tables),
        *exclusions(notes, run),
        *agreement_of_people(tables),
        *_coefficients(tables),
        *_pairs(known),
        *_uncertainty(known, drawn, by_error, by_answers, run),
        *_tests(known),
        *_boards(known),
        *_other(known, run),
    ]


def _coefficients(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    if "correlations" not in tables:
        return
    correlations = tables["correlations"]
    known = correlations[correlations["value"].notna()]
    present = set(known["coefficient"])
    names = [title_of(key) for key in KNOWN_COEFFICIENTS if key in present]
    levels = [say(LEVEL_NAMES[level]) for level in levels_in(known)]
    yield answer(
        "Which tau, and at which level?",
        "{coefficients} at {levels}; every row of the table names both.",
        coefficients=listed(names) or say("no coefficient"),
        levels=listed(levels) or say("no level"),
    )
    yield answer("The same items for all metrics?", _same_items(known))
    yield answer(
        "Which sign is good?",
        "Positive always means agreement: lower-is-better metrics are turned first.",
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
    if "pairwise_accuracy" not in tables:
        return
    pairwise = tables["pairwise_accuracy"]
    ties = pairwise.loc[~pairwise["metric"].isin(BASELINES), "metric_tie_rate"].dropna()
    if len(ties):
        yield answer(
            "How often does a metric tie?",
            "{low} to {high} of the pairs; accuracy is given strict and half.",
            low=per_cent(ties.min()),
            high=per_cent(ties.max()),
        )
    base = pairwise[(pairwise["metric"] == BASELINE) & pairwise["ppa_half"].notna()]
    if len(base):
        yield answer(
            "What is chance?",
            "The constant baseline: {half} half, {strict} strict, acc_eq up to "
            "{equal}. Guessing: 50 % half and strict, acc_eq up to {guess}. Each "
            "metric's acc_eq is tested against the chance of its own ties.",
            half=per_cent(base["ppa_half"].mean()),
            strict=per_cent(base["ppa_strict"].mean()),
            equal=per_cent(base["acc_eq"].max()),
            guess=per_cent(pairwise.loc[pairwise["metric"] == RANDOM, "acc_eq"].max()),
        )
    sources = sorted(set(pairwise["source"]))
    deciding = listed((say(DECIDING.get(x, x)) for x in sources), " and ")
    yield answer(
        "Who says which of a pair is better?",
        say("{text}.", text=deciding[:1].upper() + deciding[1:]),
    )
    yield answer(
        "Is the tie threshold tuned on the same data?",
        "Yes, and flagged."
        if pairwise["epsilon_in_sample"].astype(bool).any()
        else "No.",
    )


def _uncertainty(
    tables: ResultTables,
    drawn: Sequence[str],
    by_error: Sequence[str],
    by_answers: Sequence[str],
    run: Mapping[str, str],
) -> Iterator[ChecklistAnswer]:
    parts = [
        drawn
        and say(
            "Whole clusters, {resamples} times at {confidence}: {units}.",
            resamples=run["resamples"],
            confidence=run["confidence"],
            units=listed(drawn, "; "),
        ),
        by_error
        and say(
            "By a standard error for what the columns drawn and test name: {tables}.",
            tables=listed(by_error),
        ),
        by_answers
        and say(
            "By what each answer adds, summed over whole {units}.",
            units=listed(by_answers, "; "),
        ),
        _has_intervals(tables, "best_subset")
        and say(
            "Of best_subset: the middle {confidence} of {n} halvings of the methods.",
            confidence=run["confidence"],
            n=SPLITS,
        ),
        _has_intervals(tables, "stability")
        and say(
            "Of stability, what trials do to means: trials of the same outputs, by "
            "chi-square."
        ),
    ]
    none = say(
        "There are none: --resamples 0."
        if run["resamples"] == "0"
        else "There are none: the tables give the reasons."
    )
    told = listed([str(part) for part in parts if part], " ")
    yield answer("What do the intervals draw?", told or none)


def _has_intervals(tables: ResultTables, name: str) -> bool:
    return name in tables and bool(tables[name]["low"].notna().any())


def _tests(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    if "metric_comparisons" in tables:
        known = tables["metric_comparisons"]["p_adjusted"].dropna()
        if len(known):
            yield answer(
                "Are metrics compared by paired tests, and adjusted?",
                "Yes, Holm: {n} of {total} differences have an adjusted p of .05 or "
                "less.",
                n=int((known <= SIGNIFICANT).sum()),
                total=len(known),
            )
    if "verdicts" in tables:
        told = _unbeaten(tables["verdicts"])
        yield answer("Which metrics does no other beat?", told)


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
    return say("{text}; the table of verdicts names them.", text=spread(counts))


def _boards(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    if "leaderboard" in tables:
        yield answer(
            "Which model of ties has the leaderboard?",
            "The remarks and the command say; the default counts a tie as half a "
            "win for each.",
        )
        yield from _connected(tables["leaderboard"])
    if "ranking_leaderboard" in tables:
        yield answer("May rankings hold ties?", "No: every ranking is a strict order.")
        yield from _connected(tables["ranking_leaderboard"], of_rankings=True)
    side = say("Does the side decide?")
    if "position_bias" in tables:
        text = values(tables["position_bias"], say(", no interval that draws clusters"))
        yield side, text or say("Not known: see the reasons in the table.")
    elif "leaderboard" in tables:
        yield side, say("Not known: left_method is not in the table.")


def _connected(
    board: pd.DataFrame, *, of_rankings: bool = False
) -> Iterator[ChecklistAnswer]:
    """Say of a leaderboard what its ratings and ranks rest on."""
    rated = board.groupby("criterion")["rating"].apply(lambda x: x.notna().all())
    yield answer(
        "Are all methods connected by rankings?"
        if of_rankings
        else "Are all methods connected by comparisons?",
        "Yes, in every question."
        if rated.all()
        else say(
            "Not in {questions}: see the remarks.",
            questions=listed(map(str, rated[~rated].index)),
        ),
    )
    known = board.dropna(subset=["rank_low", "rank_high"])
    settled = int((known["rank_low"] == known["rank_high"]).sum())
    yield answer(
        "Do ranks of the leaderboard of rankings have intervals?"
        if of_rankings
        else "Do ranks have intervals?",
        say(
            "Yes: {n} of {total} ranks are settled, their interval being one rank.",
            n=settled,
            total=len(known),
        )
        if len(known)
        else "No.",
    )


def _other(tables: ResultTables, run: Mapping[str, str]) -> Iterator[ChecklistAnswer]:
    if not {"agreement", "method_means"} & set(tables):
        yield answer("Raw data by annotator?", "Not in this report.")
    yield answer(
        "Can it be made again?",
        "Seed {seed}, versions and hashes of the inputs in run.csv; the command "
        "stands at the end of this page."
        if run.get("command")
        else "Seed {seed}, versions and hashes of the inputs in run.csv.",
        seed=run["seed"],
    )
