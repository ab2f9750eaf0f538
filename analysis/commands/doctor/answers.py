"""Checks of one table of people's answers: what it supports, what looks wrong."""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.commands.doctor.findings import Finding, Kind, of_questions
from analysis.options import AlignOptions, OptionError
from analysis.problems import listed
from analysis.rankings.choice_votes import choice_votes
from analysis.rankings.likelihood import separate_parts, why_separated
from analysis.reading.cells import human_cells
from analysis.reading.kept_answers import (
    KeptAnswers,
    are_means,
    isolated,
    isolated_ratings,
    kept_people,
)
from analysis.reading.rankings import OUTCOMES, implied_choices, in_orders
from analysis.reading.shared_names import FILE, OF_ANSWERS, spelling_remarks
from analysis.reliability.alternative_annotators import LEAST_ITEMS
from analysis.report.findings_planning import FEW_ANNOTATORS
from analysis.report.wording import FEW_STORIES
from analysis.sentences import Notes, counted
from analysis.verdicts import FEW_METHODS

# Tests of a difference between metrics over method means need so many methods.
COMPARING_METHODS = 8
# Above this share of ties, little is left to be predicted.
MANY_TIES = 0.5
QUESTION = {"ratings": "dimension", "choices": "criterion", "rankings": "criterion"}


def kept_answers(
    tables: dict[str, pd.DataFrame], findings: list[Finding]
) -> KeptAnswers:
    """Return the answers that a report would use, and note what it would not."""
    kept: dict[str, pd.DataFrame | None] = dict.fromkeys(QUESTION)
    for kind, table in tables.items():
        file = str(table.attrs[FILE])
        alike = [*spelling_remarks({kind: table}, OF_ANSWERS)]
        own_texts = (text.removeprefix(f"{file}: ") for text in alike)
        findings += [Finding(file, Kind.CHECK, text, 1) for text in own_texts]
        notes = Notes()
        try:
            own = kept_people(
                tables.get("ratings") if kind == "ratings" else None,
                tables.get("choices") if kind == "choices" else None,
                AlignOptions(),
                notes,
                rankings=tables.get("rankings") if kind == "rankings" else None,
            )
        except OptionError as error:
            findings.append(Finding(file, Kind.UNUSABLE, str(error), len(table)))
            continue
        kept[kind] = getattr(own, kind)
        said = [text for text in notes.sentences() if text not in alike]
        findings += [Finding(file, Kind.LIMIT, text, 1) for text in said]
    return KeptAnswers(**kept)


def of_answers(kind: str, rows: pd.DataFrame, file: str) -> Iterator[Finding]:
    """Yield what one table of kept answers supports and what looks wrong in it."""
    found: list[tuple[str, Finding]] = []
    questions = rows.groupby(QUESTION[kind], sort=True)
    for name, own in questions:
        pairs = implied_choices(own) if kind == "rankings" else own
        checks = [_annotators(kind, own, file)]
        if kind == "ratings":
            checks += [_values(own, file), _methods(own, file), _pairs(own, file)]
        else:
            checks += [_graph(pairs, file), _votes(pairs, file)]
        found += [(str(name), one) for each in checks for one in each]
    yield Finding(file, Kind.TABLE, _overview(kind, rows), len(rows))
    yield from of_questions(found, len(questions))
    if kind == "choices" and "left_method" not in rows:
        what = "no column left_method: whether people prefer a side cannot be shown."
        yield Finding(file, Kind.LIMIT, what, len(rows))


def isolated_values(ratings: pd.DataFrame) -> Iterator[Finding]:
    """Yield ratings far from all others; lines are those of the table as read."""
    file = str(ratings.attrs[FILE])
    for _question, rows in ratings.groupby("dimension", sort=True):
        n = int(isolated(rows["rating"].to_numpy(float)).sum())
        for remark in isolated_ratings(rows):
            yield Finding(file, Kind.CHECK, remark, n)


def _overview(kind: str, rows: pd.DataFrame) -> str:
    columns = ["method_a", "method_b"] if kind == "choices" else ["method"]
    methods = pd.unique(rows[columns].to_numpy().ravel())
    who = counted(rows["annotator"].nunique(), "annotator")
    if kind == "ratings" and are_means(rows):
        who = "means of raters"
    total = len(rows) if kind != "rankings" else int(in_orders(rows)[1].max()) + 1
    return (
        f"{total:,} {kind}: {who}, {counted(rows['story'].nunique(), 'story')} x "
        f"{counted(len(methods), 'method')}, "
        f"{counted(rows[QUESTION[kind]].nunique(), 'question')}."
    )


def _annotators(kind: str, rows: pd.DataFrame, file: str) -> Iterator[Finding]:
    """Yield whether annotators' agreement can be measured, and stand for others."""
    if kind == "ratings" and are_means(rows):
        return
    units = {"ratings": "outputs", "choices": "pairs", "rankings": "stories"}[kind]
    keys = {
        "ratings": ["story", "method", "shot", "round"],
        "choices": ["story", "method_a", "method_b", "round"],
        "rankings": ["story", "round"],
    }[kind]
    own = [key for key in keys if key in rows]
    n = rows["annotator"].nunique()
    each = rows.groupby(own, sort=False)["annotator"].nunique()
    several = int((each > 1).sum())
    if several:
        what = f"agreement of annotators: two or more judge {several:,} of "
        what += f"{len(each):,} {units}."
        yield Finding(file, Kind.SUPPORT, what, several)
    else:
        what = f"agreement of annotators: no two of them judge the same {units}."
        advice = f"Needed: a second annotator on {FEW_STORIES} stories or more."
        yield Finding(file, Kind.LIMIT, what, 0, advice)
    if n < FEW_ANNOTATORS:
        what = f"annotators as a sample of others: {n}."
        advice = f"Needed: {FEW_ANNOTATORS}, {FEW_ANNOTATORS - n} more."
        if n == 1:
            advice += " If they are means, give the single answers."
        yield Finding(file, Kind.LIMIT, what, n, advice)
    sizes = rows[["annotator", *own]].drop_duplicates().groupby("annotator").size()
    if few := [*sizes.index[sizes < LEAST_ITEMS]]:
        what = f"metrics in place of annotators: {listed(few[:3])} "
        what += f"{f'and {len(few) - 3} more ' if few[3:] else ''}"
        what += f"{'judge' if few[1:] else 'judges'} fewer than {LEAST_ITEMS} {units}, "
        advice = f"Needed: {LEAST_ITEMS - sizes.min()} more."
        what += "and cannot be tested."
        yield Finding(file, Kind.LIMIT, what, len(few), advice)


def _values(ratings: pd.DataFrame, file: str) -> Iterator[Finding]:
    if ratings["rating"].nunique() == 1 and len(ratings) > 1:
        value = f"{ratings['rating'].iloc[0]:g}"
        what = f"all {len(ratings):,} ratings are {value}: no metric can predict them."
        yield Finding(file, Kind.CHECK, what, len(ratings))


def _methods(ratings: pd.DataFrame, file: str) -> Iterator[Finding]:
    """Yield what the means of so many methods can show."""
    n = ratings["method"].nunique()
    if n < 2:
        what = "order of methods: there is one method."
        yield Finding(
            file, Kind.LIMIT, what, n, f"Needed: {FEW_METHODS}, {FEW_METHODS - n} more."
        )
        return
    if n >= COMPARING_METHODS:
        what = f"order of methods: metrics can be compared over {n} methods."
        yield Finding(file, Kind.SUPPORT, what, n)
        return
    least = f"{2 / math.factorial(n):.3f}".lstrip("0") if n > 2 else "1"
    what = f"order of methods: over {n} methods, a perfect order has p = {least}."
    needed = [
        (FEW_METHODS, "to show agreement"),
        (COMPARING_METHODS, "to compare metrics"),
    ]
    parts = [f"{more} {why} ({more - n} more)" for more, why in needed if n < more]
    yield Finding(file, Kind.LIMIT, what, n, f"Needed: {' and '.join(parts)}.")


def _pairs(ratings: pd.DataFrame, file: str) -> Iterator[Finding]:
    """Yield how many pairs of outputs inside stories people decide."""
    if (ratings["story"] == "").all():
        what = (
            "pairs inside stories: the ratings are of whole methods, without stories."
        )
        yield Finding(file, Kind.LIMIT, what, len(ratings))
        return
    cells = human_cells(ratings)
    sizes = cells.groupby("story").size()
    alone = int((sizes == 1).sum())
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    if not n_pairs:
        what = "pairs inside stories: no story has outputs of two methods."
        yield Finding(
            file, Kind.LIMIT, what, 0, "Needed: two methods rated for the same story."
        )
        return
    if alone:
        what = f"pairs inside stories: {alone} of {counted(len(sizes), 'story')} "
        what += "have one method only." if alone > 1 else "has one method only."
        yield Finding(file, Kind.LIMIT, what, alone)
    same = cells.groupby(["story", "human"]).size()
    tied = int((same * (same - 1) // 2).sum())
    yield from _stories(int((sizes > 1).sum()), file)
    yield from _ties(tied, n_pairs, "pair", file)


def _stories(n: int, file: str) -> Iterator[Finding]:
    if n < FEW_STORIES:
        what = f"stories as a sample of others: {n}; intervals are too narrow."
        advice = f"Needed: {FEW_STORIES}, {FEW_STORIES - n} more."
        yield Finding(file, Kind.LIMIT, what, n, advice)


def _ties(tied: int, n_pairs: int, noun: str, file: str) -> Iterator[Finding]:
    """Yield how many of all pairs, or answers about pairs, are decided."""
    pairs = f"{n_pairs:,} {noun if n_pairs == 1 else f'{noun}s'}"
    if tied == n_pairs:
        what = f"pairs inside stories: all {pairs} are ties, so that none is decided."
        yield Finding(file, Kind.CHECK, what, tied)
    elif tied > MANY_TIES * n_pairs:
        what = f"pairs inside stories: people tie in {tied / n_pairs:.0%} of {pairs}."
        advice = "A finer scale or more annotators for each output decide more."
        yield Finding(file, Kind.LIMIT, what, tied, advice)
    else:
        what = f"pairs inside stories: people decide {n_pairs - tied:,} of {pairs}."
        yield Finding(file, Kind.SUPPORT, what, n_pairs - tied)


def _graph(choices: pd.DataFrame, file: str) -> Iterator[Finding]:
    """Yield whether answers join all methods of a leaderboard."""
    votes = choice_votes(choices, by_majority=False)
    wins, tied = votes.counts()
    beats = wins + tied + tied.T
    groups = separate_parts(beats)
    if len(groups) > 1:
        names = [listed(votes.methods[k] for k in own) for own in groups]
        what = f"leaderboard: {len(groups)} groups of methods were never compared with "
        what += f"each other ({'; '.join(names)})."
        advice = "Needed: comparisons between them."
        yield Finding(file, Kind.CHECK, what, len(groups), advice)
    elif reason := why_separated(beats, votes.methods):
        what = f"leaderboard: {reason}, so that their rating has no upper limit."
        yield Finding(file, Kind.LIMIT, what, 1, "Needed: more comparisons of them.")
    else:
        what = f"leaderboard: answers join all {counted(len(wins), 'method')}."
        yield Finding(file, Kind.SUPPORT, what, len(wins))


def _votes(choices: pd.DataFrame, file: str) -> Iterator[Finding]:
    yield from _stories(choices["story"].nunique(), file)
    tied = int(choices["choice"].isin(OUTCOMES[2:]).sum())
    yield from _ties(tied, len(choices), "comparison", file)
