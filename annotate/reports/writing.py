"""Write the report of a study: the same functions as on files."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.urls import reverse
from django.utils import translation

from analysis.commands.arguments import join_names
from analysis.commands.defaults import drawn, report_date
from analysis.options import AlignOptions, Progress, silent
from analysis.sentences import sentence
from annotate.audit_log.as_of_event import Moment
from annotate.kinds.registry import answer_tables
from annotate.models import MAIN, Report, Slot, Study
from annotate.reports import downloads, study_scores, study_tables
from annotate.reports.study_analyses import (
    FURTHER,
    Files,
    ReportError,
    StudyData,
    analyse,
    keep,
    kept_name,
)
from evalcore.metrics import registry
from evalcore.models import Story

if TYPE_CHECKING:
    from analysis.report.titles import Titles

# VISTAR demands that a metric prefers what people prefer in so many pairs.
VISTAR_DEMANDS = 0.75


# Families of metrics that a reader must tell from those of papers.
NOT_OF_PAPERS = {
    "baseline": sentence(
        "Baselines, which a learned metric should beat before it is believed"
    ),
    "stand-in": sentence(
        "Stand-ins for metrics whose weights are absent, never their equals"
    ),
}


def as_stored(options: AlignOptions) -> dict[str, Any]:
    """Return what was asked for, as it is stored with a report."""
    stored = asdict(options)
    del stored["scale"], stored["scales"]
    return stored


def write_study_report(
    study: Study,
    *,
    moment: Moment,
    options: AlignOptions,
    out: Path,
    view: str = MAIN,
    command: str = Report.Command.ALIGN,
    further: Mapping[str, Any] = MappingProxyType({}),
    files: Files = MappingProxyType({}),
    images: str = "",
    progress: Progress = silent,
) -> Path:
    """Analyse a study and write the report into a folder; return the page."""
    date = report_date(
        _newest(study, moment)
    )  # before scipy, which reads the variable, too
    from analysis.printing import counted
    from analysis.report.writing import run_table, write_report

    progress("reading")
    data = _data(study, view, moment)
    asked = options
    rule = study.adaptive
    left = {*study.method_names} - {*options.exclude_methods}
    if not options.top and rule and rule["top"] < len(left):
        asked = replace(asked, top=rule["top"], top_confidence=rule["confidence"])
    if not asked.demanded and _is_of_vistar(study):
        asked = replace(asked, demanded=VISTAR_DEMANDS)
    asked = replace(asked, scales=study_tables.scales(study))
    further = {**FURTHER[command], **further}
    found = analyse(command, data, asked, further, files, progress)
    metrics = _metrics(data, options) if "scores" in found.tables else []
    at = moment.at.isoformat(timespec="seconds")
    run = run_table(
        asked,
        hashes=_hashes(study, found.tables, view, moment) | dict(found.hashes),
        date=date,
        command=_command(study, command, options, further, view, moment, files),
        resample_default=drawn(command),
        source={
            "view": view,
            "as of": f"event {moment.event}, {at}",
            **{name: _text(value) for name, value in further.items()},
        },
    )
    notes = [
        *found.notes,
        *_about_metrics(metrics),
        *_about_pairs(study),
        *(study_scores.notes(study, moment) if "scores" in found.tables else ()),
    ]
    people = {slot.annotator for slot in moment.submitted.values()}
    programs = study.annotators.filter(is_simulated=True)
    simulated = len(people & set(programs.values_list("pk", flat=True)))
    if simulated:
        who = counted(simulated, "annotator")
        said = sentence(
            "The answers of {annotators} come from a program.", annotators=who
        )
        notes = [said, *notes]
    analysis = replace(found.analysis, notes=(*notes, *found.analysis.notes))
    progress("writing")
    page = write_report(
        analysis,
        out=out,
        title=_heading(study, command, options.language),
        run=run,
        images=images,
        titles=_titles(study, metrics, options.language),
        story_link=_story_link(study),
    )
    keep(files, out)
    return page


def _is_of_vistar(study: Study) -> bool:
    """Tell whether the study's stories are prompts of VISTAR."""
    stories = Story.objects.filter(units__study=study)
    return stories.filter(extra__has_key="vistar").exists()


def _metrics(data: StudyData, options: AlignOptions) -> list[str]:
    return data.metrics if options.metrics is None else list(options.metrics)


def _story_link(study: Study) -> str:
    """Return where an output stands, with its pictures, answers and scores."""
    outputs = reverse("output-detail", args=[study.slug])
    return f"{settings.BASE_URL}{outputs}?story={{story}}&method={{method}}"


def _data(study: Study, view: str, moment: Moment) -> StudyData:
    """Return the tables of a study; its scores where there are any."""
    if not moment.submitted:
        raise ReportError("Nobody has submitted an answer yet.")
    scores = None
    if next(study_tables.score_rows(study, as_of=moment), None) is not None:
        scores = study_tables.scores_frame(study, as_of=moment)
    answers = {
        table: study_tables.answers_frame(study, table, view=view, as_of=moment)
        for table in answer_tables(study, only_counted=True)
    }
    return StudyData(study, moment, answers, scores, study_tables.tags_frame(study))


def _heading(study: Study, command: str, language: str) -> str:
    """Return the title of a study, and which plan of it this is."""
    if command == Report.Command.ALIGN:
        return study.title
    with translation.override(language.lower()):
        return f"{study.title} · {Report.Command(command).label}"


def _titles(study: Study, metrics: Iterable[str], language: str) -> "Titles":
    """Return what readers of a language call the study's questions and metrics."""
    from analysis.report.titles import Titles

    known = set(metrics) & set(registry.names())
    with translation.override(language.lower()):
        questions = {
            question.key: str(question.full_title) for question in study.questions.all()
        }
        named = {
            name: translation.gettext(registry.load(name).info.title) for name in known
        }
    return Titles(questions, named)


def _about_metrics(metrics: Iterable[str]) -> list[str]:
    """Say which metrics are none of a paper's."""
    known = sorted(set(metrics) & set(registry.names()))
    families = {name: registry.load(name).info.family for name in known}
    return [
        sentence("{words}: {metrics}.", words=words, metrics=names)
        for family, words in NOT_OF_PAPERS.items()
        if (names := [name for name in known if families[name] == family])
    ]


def _about_pairs(study: Study) -> list[str]:
    """Say how an adaptive study chose its pairs, and whether that has ended."""
    rule = study.adaptive
    if not rule:
        return []
    text = sentence(
        "Pairs were chosen by what they tell of the best {top} by {question}. The "
        "study stops where these are told apart from all others, so surely that a "
        "wrong set is declared in at most {error} of studies",
        top=rule["top"],
        question=rule["question"],
        error=f"{100 * (1 - rule['confidence']):.0f} %",
    )
    if not rule.get("stopped"):
        return [sentence("{text}; it has not.", text=text)]
    if "p_value" not in rule:
        return [sentence("{text}; it has.", text=text)]
    p_value = f"{rule['p_value']:.2g}"
    return [sentence("{text}; it has, at p = {p}.", text=text, p=p_value)]


def _hashes(
    study: Study, names: Iterable[str], view: str, moment: Moment
) -> dict[str, str]:
    """Return the hashes of the tables read, as downloads of them have them."""
    return {
        f"{name}.csv": downloads.sha256(study, name, view=view, as_of=moment)
        for name in names
    }


def _newest(study: Study, moment: Moment) -> float | None:
    """Return when the last answer of the moment was submitted."""
    slots = Slot.objects.filter(study=study, submitted_at__isnull=False)
    times = cast(
        "Iterable[tuple[int, datetime]]", slots.values_list("pk", "submitted_at")
    )
    then = (at.timestamp() for pk, at in times if pk in moment.submitted)
    return max(then, default=None)


def _command(
    study: Study,
    command: str,
    options: AlignOptions,
    further: Mapping[str, Any],
    view: str,
    moment: Moment,
    files: Files,
) -> str:
    """Return the command that writes the same report again, inside its folder."""
    parts = ["python", "manage.py", "report", study.slug, "--out", "DIR"]
    parts += ["--view", view, "--as-of", str(moment.event)]
    usual = {**as_stored(AlignOptions()), **FURTHER[command]}
    if command != Report.Command.ALIGN:
        parts += ["--kind", command]
    for name, value in {**as_stored(options), **further}.items():
        if value != usual[name]:
            parts += [f"--{name.replace('_', '-')}", _text(value)]
    for name, path in files.items():
        parts += [f"--{name}", kept_name(name, path)]
    return shlex.join(parts)


def _text(value: object) -> str:
    """Write the value of an option as the command line takes it."""
    return join_names(map(str, value)) if isinstance(value, tuple) else str(value)
