"""The command `doctor`: what tables support, what they do not, and what to correct."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from analysis.commands.doctor.answers import isolated_values, kept_answers, of_answers
from analysis.commands.doctor.findings import Finding, Kind, exit_status, printed
from analysis.commands.doctor.opening import Opened, opened
from analysis.commands.doctor.scored import of_scores
from analysis.problems import InputError, listed
from analysis.questions import EPSILON
from analysis.reading.kept_answers import KeptAnswers
from analysis.reading.shared_names import FILE, OUTPUT_NAMES, check_shared_names
from analysis.reading.story_tags import DRAWING_PROBABILITY, without_probabilities
from analysis.reading.texts import Nearest
from analysis.sentences import Notes, counted


def examine(paths: Iterable[Path]) -> list[Finding]:
    """Return everything that is found in some tables, in no order of importance.

    Parameters
    ----------
    paths
        Tables of ratings, choices, rankings, scores, tags of stories, hypotheses or
        methods trained on metrics, folders of them, or bundles. What a table is, its
        columns say.

    Returns
    -------
    list of Finding
        Problems of tables that cannot be read are findings, too.
    """
    tables = opened(paths)
    found: list[Finding] = []
    scores = tables.tables.get("scores")
    if scores is not None and tables.answers():
        found += _names(tables, scores)
    people = kept_answers(tables.answers(), found)
    for kind in tables.answers():
        rows = getattr(people, kind)
        if kind == "ratings":
            found += isolated_values(tables.tables[kind])
        if rows is not None:
            found += of_answers(kind, rows, str(tables.tables[kind].attrs[FILE]))
    if scores is not None:
        if not tables.answers():
            what = "no answers of people beside it: agreement cannot be measured."
            found.append(Finding(str(scores.attrs[FILE]), Kind.LIMIT, what, 1))
        found += of_scores(scores, people)
    elif tables.answers():
        file = str(next(iter(tables.answers().values())).attrs[FILE])
        what = "no scores beside it: a report of people alone."
        found.append(Finding(file, Kind.LIMIT, what, 1))
    stories = tables.tables.get("stories")
    found += _tags(stories, people)
    found += _drawn(stories, people)
    if (declared := tables.tables.get("hypotheses")) is not None:
        found += _declared(declared)
    if (trained := tables.tables.get("trained_on")) is not None:
        what = f"{counted(trained['method'].nunique(), 'method')} trained on, or "
        what += f"selected by, {counted(trained['metric'].nunique(), 'metric')}."
        file = str(trained.attrs.get(FILE, "trained_on"))
        found.append(Finding(file, Kind.TABLE, what, len(trained)))
    return found + tables.findings


def _names(tables: Opened, scores: pd.DataFrame) -> Iterator[Finding]:
    """Yield methods and stories that answers and scores do not share."""
    file = str(scores.attrs[FILE])
    notes = Notes()
    people = tables.answers()
    try:
        check_shared_names(people, {"scores": scores}, OUTPUT_NAMES, notes, both=False)
    except InputError as error:
        tables.refuse(file, error)
        return
    for name, columns in OUTPUT_NAMES.items():
        sides = [_distinct(side, columns) for side in ([*people.values()], [scores])]
        nearest = Nearest(sides[1])
        for one in sorted(sides[0] - sides[1]):
            # Stories are often numbered: 2 is no typing error for 12.
            is_method = name == "method"
            near = nearest.describe(one) if is_method else nearest.alike(one)
            if near:
                what = f"no {name} {one!r}; nearest: {near}."
                advice = "If it is the same, write it alike."
                yield Finding(file, Kind.CHECK, what, 1, advice)


def _distinct(frames: list[pd.DataFrame], columns: Iterable[str]) -> set[str]:
    return {
        str(name)
        for frame in frames
        for column in columns
        if column in frame
        for name in frame[column].unique()
    } - {""}


def _declared(hypotheses: pd.DataFrame) -> Iterator[Finding]:
    """Yield how many metrics are declared, and those without an epsilon."""
    file = str(hypotheses.attrs.get(FILE, "hypotheses"))
    what = f"{counted(len(hypotheses), 'declared metric')} of "
    what += f"{counted(hypotheses['question'].nunique(), 'question')}."
    yield Finding(file, Kind.TABLE, what, len(hypotheses))
    given = hypotheses.reindex(columns=[EPSILON])[EPSILON].notna()
    if lacking := [*dict.fromkeys(hypotheses.loc[~given, "metric"])]:
        what = "metrics in place of annotators: no epsilon is declared for "
        what += f"{listed(lacking)}."
        advice = "Needed: how much worse than an annotator it may be, in a column "
        advice += "epsilon or by align --replaces-within."
        yield Finding(file, Kind.LIMIT, what, len(lacking), advice)


def _drawn(stories: pd.DataFrame | None, people: KeptAnswers) -> Iterator[Finding]:
    """Yield whether stories were drawn with known probabilities."""
    _tags, known = without_probabilities(stories)
    if stories is None or known is None:
        return
    file = str(stories.attrs[FILE])
    judged = _distinct([x for x in vars(people).values() if x is not None], ("story",))
    about = "estimates from metric scores of all stories: "
    if unknown := sorted(judged - {*known.index}):
        what = f"{about}no {DRAWING_PROBABILITY} of "
        what += f"{counted(len(unknown), 'judged story')} ({listed(unknown[:3])}), "
        advice = "If they were picked by hand, leave their answers out."
        what += "so that they are refused."
        yield Finding(file, Kind.LIMIT, what, len(unknown), advice)
    elif judged:
        what = f"{about}{len(judged)} of {len(known)} were drawn with known "
        yield Finding(file, Kind.SUPPORT, f"{what}probabilities.", len(judged))


def _tags(stories: pd.DataFrame | None, people: KeptAnswers) -> Iterator[Finding]:
    tags, _known = without_probabilities(stories)
    if tags is None or stories is None:
        return
    tags.attrs[FILE] = stories.attrs[FILE]
    file, names = str(tags.attrs[FILE]), [*tags.columns.drop("story")]
    what = f"{counted(len(tags), 'story')} with {counted(len(names), 'tag')}: "
    yield Finding(file, Kind.TABLE, f"{what}{listed(names)}.", len(tags))
    if same := [name for name in names if tags[name].nunique() == 1]:
        what = f"one value for all stories: {listed(same)}."
        advice = "Such a tag separates nothing."
        yield Finding(file, Kind.CHECK, what, len(same), advice)
    answers = [x for x in vars(people).values() if x is not None]
    judged = _distinct(answers, ("story",))
    missing = sorted(judged - {*tags["story"]})
    if missing:
        what = f"no tags of {len(missing)} of {counted(len(judged), 'judged story')} "
        what += f"({listed(missing[:3])})."
        yield Finding(file, Kind.CHECK, what, len(missing), "Add their rows.")


def run(paths: Iterable[Path]) -> int:
    """Print what is found in tables, and return the exit status.

    0: nothing to correct; 1: a table cannot be used; 2: something is to be checked.
    """
    findings = examine(paths)
    for line in printed(findings):
        print(line)
    return exit_status(findings)
