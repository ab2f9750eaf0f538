"""Write a benchmark's stories in the format they came in."""

from collections.abc import Callable
from pathlib import Path

from analysis.problems import InputError, Problem
from evalcore.formats.envision import stories as envision
from evalcore.formats.oneig import stories as oneig
from evalcore.formats.originals import Extras
from evalcore.formats.storybench import stories as storybench
from evalcore.formats.vistar import stories as vistar
from evalcore.formats.written_files import Files, Written, write_files
from evalcore.models import Benchmark

FORMATS: dict[str, Callable[[Extras], Files]] = {
    "storybench": storybench.task_files,
    "envision": envision.sequence_files,
    "vistar": vistar.prompt_files,
    "oneig": oneig.prompt_files,
}


def export_benchmark(
    benchmark: Benchmark, folder: Path, *, form: str = "", replace: bool = False
) -> tuple[int, Written]:
    """Write the files that a benchmark came from; a second time changes none."""
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
