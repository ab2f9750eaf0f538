"""Imports of uploads through the import functions: everything, or nothing."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from annotate.access.permissions import can_manage
from annotate.imported_judgements.importing import (
    JudgementImport,
    import_answers,
)
from annotate.models import Study, StudyMember
from annotate.studies.changing import ChangeError
from annotate.studies.new_method import join_method
from annotate.uploads.names import RefusedUploadError
from annotate.uploads.task import ImportTask
from evalcore import members
from evalcore.importing.outputs import import_outputs
from evalcore.importing.scores import (
    ScoreImport,
    import_foreign_scores,
    import_scores,
)
from evalcore.importing.stories import import_benchmark
from evalcore.metrics import registry
from evalcore.models import Benchmark
from evalcore.scoring import metric_runs

if TYPE_CHECKING:
    import pandas as pd

# Called in the transaction of the import, with what was made.
Done = Callable[[Benchmark, Study | None], None]
# Called with the number of pictures written and of all.
Tell = Callable[[int, int], object]
Also = Callable[..., None]


def store(task: ImportTask, done: Done, tell: Tell) -> None:
    """Import a part of an upload, and tell how far it is.

    In the same transaction a new benchmark gets its owner, and `done` is called.
    """
    is_new, user = task.is_new, task.upload.created_by
    assert user is not None  # else there is no task

    def also(study: Study | None = None) -> None:
        benchmark = Benchmark.objects.get(slug=task.benchmark.slug)
        if is_new:
            if benchmark.members.exists():
                raise RefusedUploadError(
                    _("Somebody else just took this name. Press Import again.")
                )
            members.add(benchmark, user, members.Role.OWNER)
        if study is not None:
            study.title = task.upload.chosen["title"]
            study.save(update_fields=["title"])
            role = StudyMember.Role.MANAGER
            StudyMember.objects.create(study=study, user=user, role=role)
        if slug := task.upload.chosen.get("joins"):
            study = _join(Study.objects.get(slug=slug), task)
        done(benchmark, study)

    writers: dict[str, Callable[..., object]] = {
        "stories": _store_stories,
        "outputs": partial(_store_outputs, tell=tell),
        "scores": store_scores,
    }
    judgements: Callable[..., object] = store_judgements
    writers.get(task.kind, judgements)(task, also=also)


def _join(study: Study, task: ImportTask) -> Study:
    """Let the method whose outputs were stored join a running study."""
    user, against = task.upload.created_by, task.upload.chosen.get("against", ())
    assert user is not None
    if not can_manage(user, study):
        raise RefusedUploadError(_("Only a manager of this study may do that."))
    try:
        join_method(study, task.method, against=against, user=user)
    except ChangeError as error:
        raise RefusedUploadError(str(error)) from error
    return study


def _store_stories(task: ImportTask, also: Also) -> None:
    import_benchmark(
        task.path,
        slug=task.benchmark.slug,
        title=task.benchmark.title,
        skip_unreadable=task.skip_unreadable,
        also=also,
    )


def _store_outputs(task: ImportTask, also: Also, tell: Tell) -> None:
    options = outputs_options(task)
    summary = import_outputs(task.path, **options, also=also, tell=tell)
    if summary.new_outputs:
        metric_runs.queue_run(task.benchmark, registry.ready_baselines())


def outputs_options(task: ImportTask) -> dict[str, Any]:
    """Return how the outputs of an upload are read."""
    return {
        "benchmark": task.benchmark,
        "method": task.method,
        "create_stories": task.may_create,
        "skip_unreadable": task.skip_unreadable,
    }


def store_scores(
    task: ImportTask, **mode: Any
) -> tuple[ScoreImport, list[tuple[str, str]], list[str]]:
    """Store scores, or check them only; return metric and method of each, and notes."""
    mode |= {
        "benchmark": task.benchmark,
        "create": task.may_create,
        "replace": task.replace,
    }
    foreign = task.read_foreign()
    if foreign is not None:
        names = [(score.metric, score.method) for score in foreign.scores]
        return import_foreign_scores(foreign, **mode), names, list(foreign.notes)
    table, problems, notes = task.read_table()
    summary = import_scores(table, file=task.path.name, earlier=problems, **mode)
    return summary, list(zip(table["metric"], table["method"], strict=True)), notes


def store_judgements(
    task: ImportTask, **mode: Any
) -> tuple[JudgementImport, "pd.DataFrame", list[str]]:
    """Store answers of people, or check them only; return their rows and notes."""
    table, problems, notes = task.read_table()
    mode |= {
        "study": task.study,
        "benchmark": task.benchmark,
        "file": task.path.name,
        "create": task.may_create,
        "earlier": problems,
    }
    if task.kind == "ratings":
        mode["scale"] = task.scale
    return import_answers(table, task.kind, **mode), table, notes
