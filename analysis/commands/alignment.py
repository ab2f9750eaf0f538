"""Every table of a report, from ratings, choices, rankings and scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.commands.direction_hints import direction_hints
from analysis.options import (
    AlignOptions,
    OptionError,
    Progress,
    check_known,
    resample_parts,
    silent,
    supported_parts,
)
from analysis.questions import (
    QuestionData,
    chosen_questions,
    covered,
    kept_scores,
    rated_questions,
)
from analysis.rankings import bradley_terry as boards
from analysis.rankings.composite_values import composite_answers, composite_scores
from analysis.rankings.composite_weights import Composite
from analysis.reading.cells import cell_frame
from analysis.reading.identities import twins_of, with_every_identity
from analysis.reading.kept_answers import (
    KeptAnswers,
    check_methods,
    chosen_tables,
    kept_marks,
    kept_people,
    note_directions,
    note_exclusions,
)
from analysis.reading.scores import ScoreTable
from analysis.reading.shared_names import OF_STORIES, OUTPUT_NAMES, check_shared_names
from analysis.reading.story_tags import without_probabilities
from analysis.reliability.agreement import (
    CHOICE_STATISTICS,
    MARK_STATISTICS,
    RATING_STATISTICS,
)
from analysis.reliability.agreement import PARTS as AGREEMENT_PARTS
from analysis.reliability.matrices import (
    Reliability,
    choice_reliability,
    rating_reliability,
)
from analysis.result_tables.contract import (
    Analysis,
    TableCollector,
    add_agreement,
    add_levels,
    add_pairs,
    add_pairs_alone,
)
from analysis.result_tables.late_entry import add_late_entry, check_late
from analysis.result_tables.leaderboards import (
    add_leaderboard,
    add_means,
    add_method_scores,
    add_method_verdicts,
    add_ranking_leaderboard,
)
from analysis.result_tables.metric_claims import add_metric_claims
from analysis.result_tables.parts import add_strata
from analysis.result_tables.prediction import add_predictions
from analysis.result_tables.replacing import add_replacing
from analysis.result_tables.sample_flow import add_sample_flow
from analysis.result_tables.supplementary import (
    add_clusters,
    add_composites,
    add_hypotheses,
    add_identities,
    add_marked_shots,
    add_pairs_further,
    add_people,
    add_ranking_agreement,
    add_rated,
    add_sanity,
    add_sides,
    add_verdicts,
    asked_composites,
    with_counterparts,
)
from analysis.sentences import Notes, sentence

Tables = Mapping[str, pd.DataFrame | None]


@dataclass(frozen=True)
class EarlierStudy:
    """The tables of a study that these answers continue, and the method added since."""

    tables: Tables
    method: str


# What is drawn for comparisons of metrics with people unless options say otherwise.
DRAWN = "stories+methods"


def align(
    *,
    ratings: pd.DataFrame | None = None,
    choices: pd.DataFrame | None = None,
    rankings: pd.DataFrame | None = None,
    scores: pd.DataFrame | None = None,
    options: AlignOptions,
    tags: pd.DataFrame | None = None,
    composites: Sequence[Composite] = (),
    hypotheses: pd.DataFrame | None = None,
    twins: pd.DataFrame | None = None,
    marked_shots: pd.DataFrame | None = None,
    trained_on: pd.DataFrame | None = None,
    earlier: EarlierStudy | None = None,
    progress: Progress = silent,
) -> Analysis:
    """Report people's ratings of methods, and compare every metric with people.

    `tags` may have the probabilities with which stories were drawn.
    """
    if ratings is None and choices is None and rankings is None:
        raise OptionError(
            "--ratings, --choices, --rankings: expected one of them, or several"
        )
    tags, probabilities = without_probabilities(tags)
    found = TableCollector(options)
    judged = {"ratings": ratings, "choices": choices, "rankings": rankings}
    judged = chosen_tables({**judged, "scores": scores}, options, found.notes)
    scored = judged.pop("scores")
    add_identities(scored, found)
    note_exclusions([*judged.values(), scored], options, found.notes)
    people = kept_people(**judged, options=options, notes=found.notes)
    add_sample_flow(judged, people, found)
    check_methods("--baseline", options.baseline, [people.choices])
    table = kept_scores(scored, options.exclude_methods)
    check_shared_names(
        judged, {"scores": scored}, OUTPUT_NAMES, found.notes, options.exclude_methods
    )
    note_directions(table, found.notes)
    found.notes.extend(table.notes)
    if twins is not None and scored is not None:
        twins, remarks = twins_of(twins, scored)
        found.notes.extend(remarks)
    add_sanity(twins, table, found)
    hypotheses = covered(hypotheses, composites, options)
    if hypotheses is not None and scored is not None:
        scores_of = scored[scored["metric"].isin(table.metrics)]
        hypotheses = with_every_identity(hypotheses, scores_of)
    known = asked_composites(composites, found)
    if table.metrics:
        known = with_counterparts(known, hypotheses, found)
    add_composites(people, table, known, tags, found)
    table = composite_scores(table, known, tags, found.notes)
    named = () if hypotheses is None else hypotheses["metric"].astype(str)
    found.own = frozenset(known).union(named)
    add_method_scores(people, table, found)
    asked = composite_answers(people, known, tags, found.notes)
    questions = _questions(asked, people.choices, table, found, progress)
    if table.metrics and not any(question.is_compared for question in questions):
        raise OptionError("scores: no metric has a score of an output that was judged")
    found.notes.extend(direction_hints(questions, table))
    progress("metrics in place of annotators")
    add_replacing(questions, table, scored, hypotheses, found)
    progress("agreement of annotators")
    parts = supported_parts(options.resample, "units", AGREEMENT_PARTS)
    marked = kept_marks(marked_shots, options)
    agreed = [*_reliability(asked, options), *_reliability_of_marks(marked)]
    add_agreement(agreed, found, parts)
    add_ranking_agreement(people, found)
    add_people(people, (judged["ratings"], judged["choices"]), found)
    add_marked_shots(marked, scored, found)
    if earlier is not None:
        before = kept_study(earlier.tables, options, found.notes)
        add_late_entry(before, people, earlier.method, found)
    add_hypotheses(hypotheses, table, found)
    add_clusters(found)
    progress("favoured methods")
    add_metric_claims(questions, hypotheses, trained_on, found)
    add_verdicts(found)
    add_method_verdicts(found)
    add_predictions(questions, table, probabilities, found)
    if tags is not None:
        check_shared_names(
            judged, {"stories": tags}, OF_STORIES, found.notes, both=False
        )
        add_strata(questions, table, tags, found, progress)
    return found.finished()


def agreement(
    *,
    ratings: pd.DataFrame | None = None,
    choices: pd.DataFrame | None = None,
    rankings: pd.DataFrame | None = None,
    options: AlignOptions,
) -> Analysis:
    """Measure how well people agree with one another."""
    if ratings is None and choices is None and rankings is None:
        raise OptionError("expected ratings, choices or rankings")
    found = TableCollector(options)
    note_exclusions([ratings, choices, rankings], options, found.notes)
    people = kept_people(ratings, choices, options, found.notes, rankings=rankings)
    given = {"ratings": ratings, "choices": choices, "rankings": rankings}
    add_sample_flow(given, people, found)
    parts = resample_parts(options.resample, default="units", allowed=AGREEMENT_PARTS)
    add_agreement(_reliability(people, options), found, parts)
    add_ranking_agreement(people, found)
    add_people(people, (ratings, choices), found)
    return found.finished()


def leaderboard(
    *,
    choices: pd.DataFrame | None = None,
    rankings: pd.DataFrame | None = None,
    ties: str = "half",
    majority: bool = False,
    options: AlignOptions,
) -> Analysis:
    """Rank methods by side-by-side answers, or by orders of several outputs."""
    if choices is None and rankings is None:
        raise OptionError("--choices, --rankings: expected one of them, or both")
    asked = {"majority": majority, "ties": ties != boards.TIES[0]}
    for option, given in asked.items():
        if given and choices is None:
            raise OptionError(f"--{option}: expected --choices beside it")
    if rankings is not None and majority:
        raise OptionError("--majority: expected --choices without --rankings beside it")
    check_known("--ties", (ties,), boards.TIES)
    found = TableCollector(options)
    note_exclusions([choices, rankings], options, found.notes)
    people = kept_people(None, choices, options, found.notes, rankings=rankings)
    add_sample_flow({"choices": choices, "rankings": rankings}, people, found)
    check_methods("--baseline", options.baseline, [people.choices])
    allowed = ("stories", "units") if majority else boards.PARTS
    default = "stories" if majority else "stories+annotators"
    parts = resample_parts(options.resample, default=default, allowed=allowed)
    if people.choices is not None:
        add_leaderboard(people.choices, found, parts, ties=ties, by_majority=majority)
        add_sides(people.choices, found)
    if people.rankings is not None:
        add_ranking_leaderboard(people.rankings, found, parts)
    add_method_verdicts(found, by_rates=not majority and ties != "drop")
    return found.finished()


def late_entry(
    before: Tables,
    after: Tables,
    *,
    method: str,
    same_people: bool = False,
    options: AlignOptions,
) -> Analysis:
    """Place a method that a later study judged on the scale of a first one."""
    found = TableCollector(options)
    note_exclusions([*before.values(), *after.values()], options, found.notes)
    first = kept_study(before, options, found.notes)
    later = kept_study(after, options, found.notes)
    check_late(method, first, later)
    add_late_entry(first, later, method, found, same_people=same_people)
    if "late_drift" not in found.rows:
        raise OptionError("before, after: expected questions that both tables have")
    return found.finished()


def kept_study(tables: Tables, options: AlignOptions, notes: Notes) -> KeptAnswers:
    """Return the answers of one of two studies that enter the tables."""
    chosen = chosen_tables(tables, options)
    ratings, choices = (chosen.get(name) for name in ("ratings", "choices"))
    return kept_people(ratings, choices, options, notes)


def _questions(
    people: KeptAnswers,
    sides: pd.DataFrame | None,
    table: ScoreTable,
    found: TableCollector,
    progress: Progress,
) -> list[QuestionData]:
    """Add the tables of every question, and return the questions.

    `sides` are the choices that know where outputs stood, which composites do not.
    """
    options, notes = found.options, found.notes
    questions: list[QuestionData] = []
    if people.ratings is not None:
        rated = rated_questions(people.ratings, table, options, notes)
        for question in rated:
            _add_rated(question, table, found, progress)
            questions.append(question)
    parts = supported_parts(options.resample, "stories+annotators", boards.PARTS)
    for source, answers in (("choices", people.choices), ("rankings", people.rankings)):
        if answers is None:
            continue
        for question in chosen_questions(answers, table, notes, source):
            _add_pairs(question, table, found, progress)
            questions.append(question)
        if source == "choices":
            progress("leaderboard")
            add_leaderboard(answers, found, parts, ties="half", by_majority=False)
            assert sides is not None
            add_sides(sides, found)
        else:
            progress("leaderboard of rankings")
            add_ranking_leaderboard(answers, found, parts)
    return questions


def _add_rated(
    question: QuestionData, table: ScoreTable, found: TableCollector, progress: Progress
) -> None:
    assert question.by_annotator is not None
    assert question.grid is not None
    parts = resample_parts(found.options.resample, default=DRAWN)
    progress(f"{question.name}: means")
    add_means(question, found)
    progress(f"{question.name}: correlations")
    apart = question.grid.apart
    metrics = tuple(name for name in table.metrics if name not in apart)
    add_levels(question.grid, metrics, parts, found)
    for grid in question.judged_grids:
        found.cells.append(cell_frame(grid, table))
    for own in question.alone:
        assert own.grid is not None
        add_levels(own.grid, own.metrics, parts, found)
    if question.is_method_level:
        found.notes.add(
            sentence(
                "ratings are method-level values, so only the method level "
                "is computed and no pairs inside stories."
            ),
            question.name,
        )
    else:
        _add_pairs(question, table, found, progress)
    progress(f"{question.name}: people and leaderboards")
    add_rated(question, table, found)


def _add_pairs(
    question: QuestionData, table: ScoreTable, found: TableCollector, progress: Progress
) -> None:
    parts = resample_parts(found.options.resample, default=DRAWN)
    if question.pairs.metrics:
        progress(f"{question.name}: pairwise accuracy")
        add_pairs(question.pairs, parts, found)
        add_pairs_further(question, table, found)
    for own in question.alone:
        if own.pairs.metrics:
            add_pairs_alone(own.pairs, parts, found)


def _reliability(
    people: KeptAnswers, options: AlignOptions
) -> list[tuple[str, Reliability, tuple[str, ...]]]:
    found: list[tuple[str, Reliability, tuple[str, ...]]] = []
    if people.ratings is not None:
        for name, rows in people.ratings.groupby("dimension", sort=True):
            data = rating_reliability(rows, options.scale_of(str(name)))
            found.append((str(name), data, RATING_STATISTICS))
    if people.choices is not None:
        for name, rows in people.choices.groupby("criterion", sort=True):
            found.append((str(name), choice_reliability(rows), CHOICE_STATISTICS))
    return found


def _reliability_of_marks(
    marked: pd.DataFrame | None,
) -> Iterator[tuple[str, Reliability, tuple[str, ...]]]:
    """Yield the marks of each question, and of each kind of fault, by shot."""
    if marked is not None:
        for name, rows in marked.groupby("dimension", sort=True):
            yield str(name), rating_reliability(rows), MARK_STATISTICS
