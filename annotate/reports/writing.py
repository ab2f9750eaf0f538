"""Write the report of a study, with the same functions as for files."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from django.urls import reverse
from django.utils import translation

from analysis.commands.option_values import join_names
from analysis.options import AlignOptions, Progress, drawn, report_date, silent
from analysis.sentences import sentence
from annotate.access.server_address import server_address
from annotate.audit_log.as_of_event import Moment
from annotate.kinds.registry import answer_tables, kind_of
from annotate.models import MAIN, Slot, Study
from annotate.reports import (
    downloads,
    earlier_study,
    score_tables,
    story_tables,
    study_scores,
    study_tables,
)
from annotate.reports.declarations import (
    Files,
    declarations,
    keep,
    kept_name,
    unscored,
)
from annotate.reports.sample_flow import exclusion_reasons, people_rows
from annotate.studies import rewording
from evalcore.metrics import registry
from evalcore.models import Story

if TYPE_CHECKING:
    import pandas as pd

    from analysis.report.tables import Titles
    from analysis.result_tables.contract import Analysis

# The table of shots that people marked, which is held against scores of shots.
MARKED = "marked_shots"
# VISTAR requires this pairwise accuracy of a metric.
VISTAR_DEMANDS = 0.75
# Families of metrics that do not come from papers.
NOT_OF_PAPERS = {
    "baseline": sentence(
        "Baselines, which a learned metric should beat before you trust it"
    ),
    "stand-in": sentence(
        "Proxies, which are no substitute for metrics whose weights are missing"
    ),
}


class ReportError(ValueError):
    """A study that cannot be analysed yet; the message says why."""


@dataclass(frozen=True)
class _Result:
    """An analysis, with the names of its input tables, hashes and notes."""

    analysis: "Analysis"
    tables: tuple[str, ...]
    metrics: list[str]
    hashes: dict[str, str]
    notes: tuple[str, ...]


def as_stored(options: AlignOptions) -> dict[str, Any]:
    """Return options as they are stored with a report."""
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
    files: Files = MappingProxyType({}),
    images: str = "",
    progress: Progress = silent,
) -> Path:
    """Analyse a study and write the report into a folder; return the page."""
    # This precedes the import of scipy, which reads the same variable.
    date = report_date(_newest(study, moment))
    from analysis.report.writing import run_table, write_report

    progress("reading")
    choice = study_scores.choice_of(study, options, moment)
    completed = completed_options(study, options, choice)
    result = _align(study, view, moment, completed, files, progress)
    at = moment.at.isoformat(timespec="seconds")
    run = run_table(
        completed,
        hashes={
            f"{name}.csv": downloads.sha256(study, name, view=view, as_of=moment)
            for name in result.tables
        }
        | result.hashes,
        date=date,
        command=_command(study, options, view, moment, files),
        resample_default=drawn("align"),
        source={"view": view, "as of": f"event {moment.event}, {at}"},
    )
    notes = (
        *_about_programs(study, moment),
        *_about_texts(study, moment),
        *result.notes,
        *_about_metrics(result.metrics),
        *_about_shaping(study, moment),
        *_about_pairs(study),
        *(
            study_scores.notes(study, moment, choice)
            if "scores" in result.tables
            else ()
        ),
        *result.analysis.notes,
    )
    progress("writing")
    page = write_report(
        replace(
            result.analysis,
            notes=notes,
            tables=_with_people(study, moment, result),
        ),
        out=out,
        title=study.title,
        run=run,
        images=images,
        titles=_titles(study, result.metrics, options.language),
        story_link=_story_link(study),
    )
    keep(files, out)
    return page


def _with_people(
    study: Study, moment: Moment, result: _Result
) -> "dict[str, pd.DataFrame]":
    """Return the tables, the way to the analysed answers beginning with people."""
    import pandas as pd

    tables = result.analysis.tables
    flow = tables["sample_flow"]
    people = pd.DataFrame(people_rows(study, moment), columns=flow.columns)
    people = people.astype(flow.dtypes)
    return {**tables, "sample_flow": pd.concat([people, flow], ignore_index=True)}


def _about_texts(study: Study, moment: Moment) -> Iterator[str]:
    """Yield a remark on each correction of texts while people answered."""
    versions = rewording.text_versions(study)
    for version in versions[1:]:
        if version.since <= moment.at:
            yield sentence(
                "Texts were corrected on {day} ({texts}); {n} of the study's ratings "
                "were submitted before.",
                day=version.since.date().isoformat(),
                texts=[one.name for one in version.corrections],
                n=sum(one.ratings for one in versions[: version.number - 1]),
            )


def completed_options(
    study: Study, options: AlignOptions, choice: study_scores.Choice
) -> AlignOptions:
    """Return the options, completed by those of the study."""
    options = replace(options, identity=choice)
    rule = study.adaptive
    left = {*study.method_names} - {*options.exclude_methods}
    if not options.top and rule and rule["top"] < len(left):
        options = replace(options, top=rule["top"], top_confidence=rule["confidence"])
    if not options.demanded and _is_of_vistar(study):
        options = replace(options, demanded=VISTAR_DEMANDS)
    return replace(options, scales=study_tables.scales(study))


def _align(
    study: Study,
    view: str,
    moment: Moment,
    options: AlignOptions,
    files: Files,
    progress: Progress,
) -> _Result:
    """Read the tables of a study, with scores if it has any, and align them."""
    if not moment.submitted:
        raise ReportError("This study has no submitted answers yet.")
    from analysis.commands.alignment import align
    from analysis.result_tables.sample_flow import EXCLUDED_BY

    scores, twins, metrics = None, None, []
    if next(score_tables.score_rows(study, as_of=moment), None) is not None:
        scores = score_tables.scores_frame(study, as_of=moment, choice=options.identity)
        metrics = list(scores["metric"].unique())
        twins = score_tables.twins_frame(
            study, scores, excluded=options.exclude_methods, as_of=moment
        )
    tables: dict[str, pd.DataFrame | None] = {
        table: study_tables.answers_frame(study, table, view=view, as_of=moment)
        for table in answer_tables(study, only_counted=True)
    }
    for frame in tables.values():
        if frame is not None:
            frame[EXCLUDED_BY] = exclusion_reasons(study, view, moment, frame["slot"])
    tables["scores"] = scores
    marked = _marked_shots(study, view, moment)
    stories = story_tables.stories_frame(study, moment)
    trained_on = study_tables.trained_on_frame(study, moment)
    earlier, earlier_hashes, earlier_notes = earlier_study.read(study, view, moment)
    tags = story_tables.tags_frame(stories)
    declared = declarations(study, files, tables, tags, options)
    analysis = align(
        **tables,
        options=options,
        tags=stories,
        composites=declared.composites,
        hypotheses=declared.hypotheses,
        trained_on=trained_on,
        twins=twins,
        marked_shots=marked,
        earlier=earlier,
        progress=progress,
    )
    hashes = {**declared.hashes, **earlier_hashes}
    if stories is not None:
        hashes["stories.csv"] = downloads.sha256(
            study, "stories", view=view, as_of=moment
        )
    if len(trained_on):
        text = "".join(downloads.frame_lines(trained_on))
        hashes["trained_on.csv"] = sha256(text.encode()).hexdigest()
    if twins is not None:
        text = twins.to_csv(index=False, lineterminator="\n")
        hashes["scores of twins"] = sha256(text.encode()).hexdigest()
    tables[MARKED] = marked
    read = tuple(name for name, table in tables.items() if table is not None)
    if options.metrics is not None and metrics:
        metrics = list(options.metrics)
    return _Result(analysis, read, metrics, hashes, earlier_notes + declared.notes)


def _marked_shots(study: Study, view: str, moment: Moment) -> "pd.DataFrame | None":
    """Return which shots people marked, or None."""
    if MARKED not in answer_tables(study):
        return None
    frame = study_tables.answers_frame(study, MARKED, view=view, as_of=moment)
    return None if frame.empty else frame


def _is_of_vistar(study: Study) -> bool:
    """Tell whether the study's stories are prompts of VISTAR."""
    stories = Story.objects.filter(units__study=study)
    return stories.filter(extra__has_key="vistar").exists()


def _story_link(study: Study) -> str:
    """Return the address of an output's page."""
    outputs = reverse("output-detail", args=[study.slug])
    return f"{server_address()}{outputs}?story={{story}}&method={{method}}"


def _titles(study: Study, metrics: Iterable[str], language: str) -> "Titles":
    """Return the titles of the study's questions and metrics in a language."""
    from analysis.report.tables import Titles

    known = set(metrics) & set(registry.names())
    with translation.override(language.lower()):
        questions = {
            key: title
            for question in study.questions.all()
            for key, title in kind_of(question).dimension_titles(question).items()
        }
        named = {
            name: translation.gettext(registry.load(name).info.title) for name in known
        }
    return Titles(questions, named)


def _about_metrics(metrics: Iterable[str]) -> list[str]:
    """Return remarks on metrics that do not come from papers."""
    known = sorted(set(metrics) & set(registry.names()))
    families = {name: registry.load(name).info.family for name in known}
    return [
        sentence("{words}: {metrics}.", words=words, metrics=names)
        for family, words in NOT_OF_PAPERS.items()
        if (names := [name for name in known if families[name] == family])
    ]


def _about_shaping(study: Study, moment: Moment) -> Iterator[str]:
    """Yield a remark on declared metrics that have no scores."""
    if names := unscored(study, moment):
        yield sentence(
            "Declared to have shaped a method, but without scores here: {metrics}.",
            metrics=names,
        )


def _about_programs(study: Study, moment: Moment) -> list[str]:
    """Return a remark on simulated annotators."""
    from analysis.sentences import counted

    people = {slot.annotator for slot in moment.submitted.values()}
    programs = study.annotators.filter(is_simulated=True)
    simulated = len(people & set(programs.values_list("pk", flat=True)))
    if not simulated:
        return []
    who = counted(simulated, "annotator")
    return [
        sentence("The answers of {annotators} come from a program.", annotators=who)
    ]


def _about_pairs(study: Study) -> list[str]:
    """Return a remark on adaptive pair selection, and whether it has stopped."""
    rule = study.adaptive
    if not rule:
        return []
    text = sentence(
        "Pairs were selected adaptively for the best {top} by {question}. Selection "
        "stops when these are separated from all others, with a wrong set in at most "
        "{error} of studies",
        top=rule["top"],
        question=rule["question"],
        error=f"{100 * (1 - rule['confidence']):.0f} %",
    )
    if not rule.get("stopped"):
        return [sentence("{text}. It has not stopped.", text=text)]
    if "p_value" not in rule:
        return [sentence("{text}. It has stopped.", text=text)]
    p_value = f"{rule['p_value']:.2g}"
    return [sentence("{text}. It has stopped at p = {p}.", text=text, p=p_value)]


def _newest(study: Study, moment: Moment) -> float | None:
    """Return the time of the last answer before the moment."""
    slots = Slot.objects.filter(study=study, submitted_at__isnull=False)
    times = cast(
        "Iterable[tuple[int, datetime]]", slots.values_list("pk", "submitted_at")
    )
    then = (at.timestamp() for pk, at in times if pk in moment.submitted)
    return max(then, default=None)


def _command(
    study: Study, options: AlignOptions, view: str, moment: Moment, files: Files
) -> str:
    """Return the command that reproduces the report, inside its folder."""
    parts = ["plumbline", "report", study.slug, "--out", "DIR"]
    parts += ["--view", view, "--as-of", str(moment.event)]
    usual = as_stored(AlignOptions())
    for name, value in as_stored(options).items():
        if value != usual[name]:
            parts += [f"--{name.replace('_', '-')}", *_argument(value)]
    for name, path in files.items():
        parts += [f"--{name}", kept_name(name, path)]
    return shlex.join(parts)


def _argument(value: object) -> list[str]:
    """Return what follows the name of an option on the command line."""
    if value is True:
        return []
    if isinstance(value, dict):
        value = tuple(f"{metric}={identity}" for metric, identity in value.items())
    return [join_names(map(str, value)) if isinstance(value, tuple) else str(value)]
