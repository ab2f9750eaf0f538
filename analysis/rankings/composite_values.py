r"""Composites as answers of people and as scores: a value of every output.

For output o of story s, with the parts p that are taken from s, their weights
:math:`w_p` (which sum to 1 over all parts), N outputs of the method that have a value
and :math:`N_p` of these that have part p,

.. math:: v(o) = \sum_p w_p \frac{N}{N_p} v_p(o)

so that the mean of a method's outputs is the weighted mean of the parts' means. An
output that lacks one of its parts has no value. With tags values of different stories
have no common scale: nothing is pooled over them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.rankings.composite_weights import AT, Composite, leaves, split_part
from analysis.reading.cells import annotator_cells
from analysis.reading.kept_answers import CHOICE_KEYS, RATING_KEYS, KeptAnswers
from analysis.reading.scores import ScoreTable
from analysis.reading.story_tags import tagged
from analysis.results import Mask
from analysis.sentences import Notes, sentence
from analysis.tables import MEAN_OF_RATERS

OUTPUT = ["story", "method"]
PAIR = ["story", "method_a", "method_b", "annotator", "round"]
PREFERS = {"a": 1.0, "b": -1.0}


@dataclass(frozen=True)
class Part:
    """A question or metric, its weight, and from which stories it is (None: all)."""

    text: str
    name: str
    weight: float
    stories: frozenset[str] | None

    def covers(self, stories: "pd.Index[str] | pd.Series[str]") -> Mask:
        """Say from which of these stories it is taken."""
        if self.stories is None:
            return np.ones(len(stories), bool)
        return np.asarray(stories.isin(list(self.stories)), bool)


def parts_of(
    known: Mapping[str, Composite],
    name: str,
    names: tuple[str, ...],
    tags: pd.DataFrame | None,
) -> list[Part]:
    """Return the parts of a mean, with weights that sum to 1; none of another kind."""
    found = []
    for text, weight in leaves(known, name).items():
        part, tag = split_part(text, names)
        found.append(Part(text, part, weight, tagged(tags, tag) if tag else None))
    return found


def composite_answers(
    people: KeptAnswers,
    known: Mapping[str, Composite],
    tags: pd.DataFrame | None,
    notes: Notes,
) -> KeptAnswers:
    """Return the answers with composites over questions among their questions."""
    ratings, choices = people.ratings, people.choices
    rated = () if ratings is None else tuple(ratings["dimension"].unique())
    chosen = () if choices is None else tuple(choices["criterion"].unique())
    for name, composite in known.items():
        parts = parts_of(known, name, (*rated, *chosen), tags)
        if composite.over != "questions" or not parts:
            continue
        asked = {part.name for part in parts}
        if people.ratings is not None and asked <= {*rated}:
            more = _ratings(people.ratings, parts, name, notes)
            ratings = _with(ratings, more.assign(dimension=name), RATING_KEYS)
        elif people.choices is not None and asked <= {*chosen}:
            more = _choices(people.choices, parts, name, notes)
            choices = _with(choices, more.assign(criterion=name), CHOICE_KEYS)
        else:
            gone = sorted(asked - {*rated, *chosen})
            why = (
                sentence("nobody was asked {names}", names=gone)
                if gone
                else sentence("it mixes ratings and choices")
            )
            notes.add(sentence("no composite, since {why}.", why=why), name)
    return replace(people, ratings=ratings, choices=choices)


def composite_scores(
    table: ScoreTable,
    known: Mapping[str, Composite],
    tags: pd.DataFrame | None,
    notes: Notes,
) -> ScoreTable:
    """Return the scores with composites over metrics among the metrics."""
    frames, made = [table.cells], []
    signs = {m: 1 if better else -1 for m, better in table.higher_is_better.items()}
    cells = table.cells.rename(columns={"metric": "name"})
    cells["value"] = cells["score"] * cells["name"].map(signs)
    for name, composite in known.items():
        parts = parts_of(known, name, table.metrics, tags)
        if composite.over != "metrics" or not parts:
            continue
        rows, complete = _summed(cells, parts, ["method"])
        _note_lacking(rows, complete, parts, cells, name, notes)
        rows = rows[complete].rename(columns={"value": "score"})
        frames.append(rows.assign(metric=name)[["metric", *OUTPUT, "score"]])
        made.append(name)
    tagged_ones = {
        name
        for name in known
        if any(AT in text and text not in table.metrics for text in leaves(known, name))
    }
    return replace(
        table,
        cells=pd.concat(frames, ignore_index=True).sort_values(
            ["metric", *OUTPUT], ignore_index=True
        ),
        higher_is_better={**table.higher_is_better, **dict.fromkeys(made, True)},
        composites=frozenset(made),
        mixed=frozenset(tagged_ones),
    )


def _with(
    rows: pd.DataFrame | None, more: pd.DataFrame, keys: tuple[str, ...]
) -> pd.DataFrame:
    """Append answers; a key that they have not, as the shot, is empty."""
    assert rows is not None
    absent = {key: "" for key in keys if key in rows and key not in more}
    return pd.concat([rows, more.assign(**absent)], ignore_index=True)


def _ratings(
    ratings: pd.DataFrame, parts: list[Part], name: str, notes: Notes
) -> pd.DataFrame:
    cells = annotator_cells(ratings)
    cells = cells.rename(columns={"dimension": "name", "rating": "value"})
    keys = ["name", *OUTPUT]
    means = cells.groupby(keys)["value"].mean().reset_index()
    rows, complete = _summed(means, parts, ["method"])
    _note_lacking(rows, complete, parts, means, name, notes)
    rows = rows[complete]
    of_people, by_all = _summed(cells, parts, ["method", "annotator"])
    here = pd.MultiIndex.from_frame(of_people[OUTPUT]).isin(
        pd.MultiIndex.from_frame(rows[OUTPUT])
    )
    if by_all[here].all():
        rows = of_people[here]
    else:
        rows = rows.assign(annotator=MEAN_OF_RATERS)
        notes.add(
            sentence(
                "some annotators did not rate all its parts, so it is made "
                "of mean ratings and says nothing of how well annotators "
                "agree."
            ),
            name,
        )
    return rows.rename(columns={"value": "rating"})[[*OUTPUT, "annotator", "rating"]]


def _choices(
    choices: pd.DataFrame, parts: list[Part], name: str, notes: Notes
) -> pd.DataFrame:
    cells = choices.rename(columns={"criterion": "name"})
    cells = cells.assign(value=cells["choice"].map(PREFERS).fillna(0.0))
    keys = [key for key in PAIR if key in cells]
    rows, complete = _summed(cells, parts, keys[1:], by_stories=False)
    _note_lacking(rows, complete, parts, cells, name, notes, of_answers=True)
    signs = np.sign(rows["value"].round(9))
    rows["choice"] = signs.map({1.0: "a", -1.0: "b", 0.0: "tie"})
    return rows.loc[complete, [*keys, "choice"]]


def _summed(
    cells: pd.DataFrame, parts: list[Part], keys: list[str], *, by_stories: bool = True
) -> tuple[pd.DataFrame, Mask]:
    """Return the weighted sum of the parts there are, and where all are."""
    columns, plain = ["story", *keys], all(part.stories is None for part in parts)
    own = [
        cells[(cells["name"] == part.name) & part.covers(cells["story"])]
        for part in parts
    ]
    if any((rows["story"] == "").any() for rows in own):
        own = [rows.groupby(keys)["value"].mean().reset_index() for rows in own]
        own = [rows.assign(story="") for rows in own]
        parts = [replace(part, stories=None) for part in parts]
    found = pd.concat([rows[[*columns, "value"]].assign(n=1) for rows in own])
    stories = pd.Index(sorted(found["story"].unique()), dtype="str")
    taken = np.array([part.covers(stories) for part in parts]).reshape(len(parts), -1)
    rows = found.groupby(columns)["n"].sum().reset_index()
    needed = taken.sum(axis=0)[stories.get_indexer(rows["story"])]
    # What nobody has, at its tag, is lacking everywhere.
    every = all(len(one) for one in own)
    complete = np.asarray((rows["n"] == needed) & every, bool)
    found["weight"] = np.repeat([part.weight for part in parts], list(map(len, own)))
    if by_stories and not plain:
        found["part"] = np.repeat(np.arange(len(parts)), list(map(len, own)))
        there = _with_factors(found, rows[complete], columns, len(parts), rows)
        complete = complete & there
    found["value"] *= found["weight"]
    rows["value"] = found.groupby(columns)["value"].sum().to_numpy()
    return rows, complete


def _with_factors(
    found: pd.DataFrame,
    used: pd.DataFrame,
    columns: list[str],
    n_parts: int,
    rows: pd.DataFrame,
) -> Mask:
    """Multiply weights by N/N_p of their method; say where it has every part."""
    keys = columns[1:]
    here = pd.MultiIndex.from_frame(found[columns]).isin(
        pd.MultiIndex.from_frame(used[columns])
    )
    whole = used.groupby(keys).size()
    own = found[here].groupby([*keys, "part"]).size()
    of_part = own.reindex(pd.MultiIndex.from_frame(found[[*keys, "part"]])).to_numpy()
    total = whole.reindex(_index(found, keys)).to_numpy()
    found["weight"] *= np.where(
        of_part > 0, total / np.where(of_part > 0, of_part, 1), 0
    )
    there = own.groupby(keys).size().reindex(_index(rows, keys)).to_numpy()
    return np.asarray(there == n_parts, bool)


def _index(rows: pd.DataFrame, keys: list[str]) -> pd.Index:
    return (
        pd.MultiIndex.from_frame(rows[keys])
        if len(keys) > 1
        else pd.Index(rows[keys[0]])
    )


def _note_lacking(
    rows: pd.DataFrame,
    complete: Mask,
    parts: list[Part],
    cells: pd.DataFrame,
    name: str,
    notes: Notes,
    *,
    of_answers: bool = False,
) -> None:
    """Say how many outputs, or answers, have no composite, and what is lacking."""
    nowhere = [
        part.text
        for part in parts
        if not ((cells["name"] == part.name) & part.covers(cells["story"])).any()
    ]
    if not complete.all():
        text = sentence(
            "{n} of {total} answers lack some of its parts, and have no composite"
            if of_answers
            else "{n} of {total} outputs lack some of its parts, and have no composite",
            n=int((~complete).sum()),
            total=len(rows),
        )
        notes.add(
            sentence("{text} (none has {names}).", text=text, names=nowhere)
            if nowhere
            else sentence("{text}.", text=text),
            name,
        )
