"""Write a benchmark's stories in the format they came in."""

from collections.abc import Callable
from pathlib import Path

from analysis.problems import InputError, Problem
from evalcore.formats.envision import writing as envision_writing
from evalcore.formats.oneig import writing as oneig_writing
from evalcore.formats.originals import Extras
from evalcore.formats.storybench import writing as storybench_writing
from evalcore.formats.vistar import writing as vistar_writing
from evalcore.formats.written_files import Files, Written, write_files
from evalcore.models import Benchmark

FORMATS: dict[str, Callable[[Extras], Files]] = {
    "storybench": storybench_writing.task_files,
    "envision": envision_writing.sequence_files,
    "vistar": vistar_writing.prompt_files,
    "oneig": oneig_writing.prompt_files,
}


def export_benchmark(
    benchmark: Benchmark, folder: Path, *, form: str = "", replace: bool = False
) -> tuple[int, Written]:
    """Write the files from which a benchmark was imported; a second time changes none.

    `folder`: where the files are written, each with the name it had. `form`: one of
    `FORMATS`; the one that its stories came in, if empty. `replace`: overwrite other
    files there. Result: how many stories were written, and what was done.
    """
    stories = dict(benchmark.stories.order_by("key").values_list("key", "extra"))
    if not stories:
        what = "a benchmark with stories"
        raise InputError([Problem(benchmark.slug, what)])
    files = FORMATS[form or _form_of(benchmark.slug, stories)](stories)
    return len(stories), write_files(folder, files, replace=replace)


def _form_of(slug: str, stories: Extras) -> str:
    found = {form for extra in stories.values() for form in FORMATS if form in extra}
    if len(found) == 1:
        return found.pop()
    known = ", ".join(FORMATS)
    what = f"stories that were imported from one of {known} (--format names one)"
    raise InputError([Problem(slug, what, value=", ".join(sorted(found)))])
