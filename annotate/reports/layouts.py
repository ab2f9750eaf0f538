"""Layouts of exported tables: long, wide, and those that other programs read."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.audit_log.as_of_event import Moment
from annotate.kinds.registry import answer_tables
from annotate.models import MAIN, Study
from annotate.reports import downloads, score_tables, study_scores, study_tables
from annotate.reports.table_files import Row, Table
from annotate.reports.table_schema import (
    Field,
    column_field,
    question_titles,
    schema,
    table_schema,
)
from evalcore.models import Method

# The columns of questions and answers of each table.
ANSWERS = {
    "ratings": ("dimension", "rating"),
    "marked_shots": ("dimension", "rating"),
    "choices": ("criterion", "choice"),
    "rankings": ("criterion", "rank"),
    "texts": ("question", "text"),
}
# ViStoryBench's metrics, in the order of its tables.
VISTORYBENCH = (
    "csd_cross",
    "csd_self",
    "cids_cross",
    "cids_self",
    "pa_scene",
    "pa_camera",
    "pa_interaction",
    "pa_action",
    "pa_average",
    "occm",
    "inception_score",
    "aesthetic",
    "copy_paste",
)


class ExportError(ValueError):
    """Tables that cannot be exported so; the message says what would be right."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A study's tables to export: through which view, as of when, with scores beside.

    `note` is called with remarks on what a layout leaves out.
    """

    study: Study
    view: str = MAIN
    as_of: Moment | None = None
    with_scores: bool = False
    note: Callable[[str], object] = bool

    def answers(self, table: str) -> Iterator[study_tables.AnswerRow]:
        return study_tables.answer_rows(
            self.study, table, view=self.view, as_of=self.as_of
        )

    def counted(self, table: str) -> Iterator[study_tables.AnswerRow]:
        """Yield the answers that reports use: none of checks, repeats, left out."""
        for row in self.answers(table):
            if not (row["excluded"] or row["is_gold"] or row["is_repeat"]):
                yield row

    def scores(self) -> Iterator[study_tables.AnswerRow]:
        """Yield scores in the identity of each metric that reports use by default."""
        found = study_scores.identities_of(self.study, self.as_of)
        choice = {metric: those[0].identity.key for metric, those in found.items()}
        return score_tables.score_rows(self.study, as_of=self.as_of, choice=choice)


def _long(asked: Request, table: str) -> Table:
    rows = downloads.table_rows(asked.study, table, view=asked.view, as_of=asked.as_of)
    return Table(table, table_schema(asked.study, table), rows)


def _wide(asked: Request, table: str) -> Table:
    """Return a table with a column for each question, or for each metric."""
    if table == "scores":
        return _wide_scores(asked)
    question, value = ANSWERS[table]
    columns = downloads.header(asked.study, table)
    kept = [name for name in columns if name not in (question, value)]
    titles = question_titles(asked.study, table)
    answer = column_field(asked.study, table, value)
    fields = [column_field(asked.study, table, name) for name in kept]
    fields += [answer | {"name": key, "title": title} for key, title in titles.items()]
    names, scored = _joined(asked, kept)
    fields += names
    _refuse_clashes(table, fields)

    def rows() -> Iterator[Row]:
        answers = asked.answers(table)
        for _slot, same in groupby(answers, lambda row: row["slot"]):
            items: dict[Row, dict[str, object]] = {}
            for row in same:
                key = tuple(row[name] for name in kept)
                items.setdefault(key, {})[row[question]] = row[value]
            for key, given in items.items():
                cells = [given.get(name, "") for name in titles]
                yield [*key, *cells, *scored(dict(zip(kept, key, strict=True)))]

    return Table(f"{table}_wide", schema(fields), rows())


def _refuse_clashes(table: str, fields: Sequence[Field]) -> None:
    """Refuse questions that are called as a column is."""
    counts = Counter(field["name"] for field in fields)
    if doubled := [name for name, n in counts.items() if n > 1]:
        text = _("Table %(table)s has a column %(name)s already: use the long layout.")
        raise ExportError(text % {"table": table, "name": doubled[0]})


def _joined(
    asked: Request, columns: Sequence[str]
) -> tuple[list[Field], Callable[[study_tables.AnswerRow], list[object]]]:
    """Return fields for the scores of each row's outputs, and what finds them."""
    places = {"method": "", "method_a": "a_", "method_b": "b_"}
    shown = {name: places[name] for name in columns if name in places}
    if not asked.with_scores or not shown:
        return [], lambda _row: []
    found, metrics = _by_output(asked)
    fields: list[Field] = [
        {"name": f"score_{letter}{metric}", "type": "number", "description": metric}
        for letter in shown.values()
        for metric in metrics
    ]

    def cells(row: study_tables.AnswerRow) -> list[object]:
        return [
            found.get(
                (row["story"], row[name], metric),
                found.get(("", row[name], metric), ""),
            )
            for name in shown
            for metric in metrics
        ]

    return fields, cells


def _by_output(
    asked: Request,
) -> tuple[dict[tuple[str, str, str], float], list[str]]:
    """Return scores by story, method and metric, and the metrics.

    Shots are averaged where the output has no score as a whole; the story is empty for
    scores of a method.
    """
    whole: dict[tuple[str, str, str], float] = {}
    shots: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in asked.scores():
        key = row["story"], row["method"], row["metric"]
        if row["shot"] == "":
            whole[key] = row["score"]
        else:
            shots[key].append(row["score"])
    found = {key: sum(own) / len(own) for key, own in shots.items()} | whole
    return found, sorted({metric for _story, _method, metric in found})


def _wide_scores(asked: Request) -> Table:
    found: dict[tuple[str, str, object], dict[str, float]] = defaultdict(dict)
    for row in asked.scores():
        found[row["story"], row["method"], row["shot"]][row["metric"]] = row["score"]
    metrics = sorted({metric for own in found.values() for metric in own})
    names = ("story", "method", "shot")
    fields = [column_field(asked.study, "scores", name) for name in names]
    fields += [{"name": metric, "type": "number"} for metric in metrics]
    _refuse_clashes("scores", fields)
    ordered = sorted(found.items(), key=lambda one: (*one[0][:2], one[0][2] or 0))
    rows = (
        [*place, *(own.get(metric, "") for metric in metrics)] for place, own in ordered
    )
    return Table("scores_wide", schema(fields), rows)


def _arena(asked: Request, table: str) -> Table:
    """Return comparisons as Chatbot Arena's programs read them; model A stood left."""
    winners = {"a": "model_a", "b": "model_b", "tie": "tie"}
    words = [*winners.values(), "tie (bothbad)"]
    fields: list[Field] = [
        {"name": "question_id", "type": "string", "description": "story"},
        {"name": "model_a", "type": "string", "description": "method on the left"},
        {"name": "model_b", "type": "string", "description": "the other method"},
        {"name": "winner", "type": "string", "constraints": {"enum": words}},
        {"name": "judge", "type": "string", "description": "annotator"},
        {"name": "tstamp", "type": "number", "unit": "s", "description": "Unix time"},
        column_field(asked.study, table, "criterion"),
    ]

    def rows() -> Iterator[Row]:
        for row in asked.counted(table):
            left, right = _left_first(row)
            choice = row["choice"]
            if choice in ("a", "b"):
                choice = "a" if row[f"method_{choice}"] == left else "b"
            at = datetime.fromisoformat(row["submitted_at"]).timestamp()
            winner = winners.get(choice, words[-1])
            judge, about = row["annotator"], row["criterion"]
            yield [row["story"], left, right, winner, judge, at, about]

    return Table("arena", schema(fields), rows())


def _left_first(row: study_tables.AnswerRow) -> tuple[str, str]:
    """Return the methods of a comparison, first the left one if it is known."""
    first, second = row["method_a"], row["method_b"]
    return (second, first) if row["left_method"] == second else (first, second)


def _crowd_kit(asked: Request, table: str) -> Table:
    """Return answers as tasks, workers and labels; a task names its question."""
    question, value = ANSWERS[table]
    is_pair = table == "choices"
    names = ["worker", "left", "right"] if is_pair else ["task", "worker"]
    fields: list[Field] = [{"name": name, "type": "string"} for name in names]
    label = column_field(asked.study, table, "method_a" if is_pair else value)
    fields += [label | {"name": "label"}]
    fields += [
        column_field(asked.study, table, question) | {"name": "question"},
        column_field(asked.study, table, "story"),
    ]
    ties = _(
        "Ties are left out, since crowd-kit has no label for them: %(n)d of %(total)d "
        "answers."
    )

    def rows() -> Iterator[Row]:
        total = left_out = 0
        for row in asked.counted(table):
            total += 1
            about = [row[question], row["story"]]
            if not is_pair:
                yield [_task(asked.study, row), row["annotator"], row[value], *about]
            elif row["choice"] in ("a", "b"):
                chosen = row[f"method_{row['choice']}"]
                yield [row["annotator"], *_left_first(row), chosen, *about]
            else:
                left_out += 1
        if left_out:
            asked.note(ties % {"n": left_out, "total": total})

    return Table(f"crowd_kit_{table}", schema(fields), rows())


def _task(study: Study, row: study_tables.AnswerRow) -> str:
    """Return question, output, shot and round as one name; `/` in a name is `%2F`."""
    parts = [row["dimension"], row["story"], row["method"]]
    parts += [str(row["shot"])] if row.get("shot", "") != "" else []
    parts += [f"round {row['round']}"] if study.rounds > 1 else []
    return "/".join(one.replace("%", "%25").replace("/", "%2F") for one in parts)


def _vistorybench(asked: Request, table: str) -> Table:
    """Return a row a method: the paper's metrics, or its user study of the questions.

    An item counts once, however many people rated it.
    """
    if table == "scores":
        found, present = _by_output(asked)
        own = [name for name in VISTORYBENCH if name in present]
        columns = {name: name for name in dict.fromkeys([*own, *present])}
    else:
        sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0, 0])
        for row in asked.counted(table):
            item = sums[row["story"], row["method"], row["dimension"]]
            item[0] += row["rating"]
            item[1] += 1
        found = {key: total / n for key, (total, n) in sums.items()}
        columns = question_titles(asked.study, table)
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    of_method = {(m, name): v for (s, m, name), v in found.items() if not s}
    for (story, method, name), value in found.items():
        if story:
            values[method, name].append(value)
    means = {key: sum(each) / len(each) for key, each in values.items()} | of_method
    families = dict(Method.objects.values_list("name", "family"))
    fields: list[Field] = [
        {"name": "method", "type": "string"},
        {"name": "family", "type": "string"},
    ]
    fields += [
        {"name": name, "type": "number", "title": title}
        for name, title in columns.items()
    ]
    _refuse_clashes(table, fields)
    rows = (
        [method, families[method], *(means.get((method, name), "") for name in columns)]
        for method in asked.study.method_names
    )
    name = "metrics" if table == "scores" else "user_study"
    return Table(name, schema(fields), rows)


@dataclass(frozen=True)
class Layout:
    """A layout: its title, the tables that have it, and what makes one of them."""

    title: Any
    tables: tuple[str, ...]
    make: Callable[[Request, str], Table]


LAYOUTS = {
    "long": Layout(gettext_lazy("long: a row an answer"), (), _long),
    "wide": Layout(
        gettext_lazy("wide: a column a question"), (*ANSWERS, "scores"), _wide
    ),
    "arena": Layout("Chatbot Arena", ("choices",), _arena),
    "crowd-kit": Layout("crowd-kit", ("ratings", "choices"), _crowd_kit),
    "vistorybench": Layout(
        format_lazy("ViStoryBench: {}", gettext_lazy("a row a method")),
        ("ratings", "scores"),
        _vistorybench,
    ),
}


def exportable(study: Study, layout: str) -> list[str]:
    """Return the tables of a study that a layout has."""
    if layout == "long":
        return downloads.exported_tables(study)
    own = [*answer_tables(study), "scores"]
    return [name for name in own if name in LAYOUTS[layout].tables]


def laid_out(asked: Request, layout: str, table: str = "") -> list[Table]:
    """Return the tables of a study in a layout: one of them, or all that have it."""
    names = exportable(asked.study, layout)
    if table and table not in names:
        text = _("Layout %(layout)s has no table %(table)s here. Expected: %(names)s.")
        expected = ", ".join(names) or _("another layout")
        about = {"layout": layout, "table": table, "names": expected}
        raise ExportError(text % about)
    if not names:
        text = _("This study has no answers that layout %(layout)s takes.")
        raise ExportError(text % {"layout": layout})
    return [LAYOUTS[layout].make(asked, name) for name in ([table] if table else names)]
