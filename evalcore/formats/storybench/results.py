"""Read results of StoryBench's programs: DOVER's tables, and means of samples."""

import csv
import io
import math
from collections.abc import Collection
from pathlib import Path

from analysis.problems import InputError, Problem, Problems
from analysis.reading.texts import higher_by_name
from analysis.tables import is_text
from evalcore.formats.foreign_scores import ForeignScores, FoundScore
from evalcore.formats.json_files import number_of, read_text, refuse

# A column of DOVER's table, in both spellings, and the metric.
DOVER = {
    "aesthetic": "pqa_aesthetic",
    "technical": "pqa_technical",
    "overall": "pqa",
}
BACKEND = "DOVER"


def read_dover(
    path: Path, stories: Collection[str], *, method: str, version: str, backend: str
) -> ForeignScores:
    """Read a table of perceptual quality: name, aesthetic, technical, overall.

    The name is the story's up to the first dot, as DOVER's program cuts it. Columns may
    end in `_score`.
    """
    text = read_text(path)
    if not is_text(text):
        refuse(path, "text without NUL or broken letters")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    header = [name.strip().removesuffix("_score") for name in next(reader, [])]
    if header[:1] != ["name"] or not set(DOVER) <= set(header):
        refuse(
            path, "tabs between the columns name, aesthetic, technical and overall", 1
        )
    problems: Problems[Problem] = Problems()
    found = ForeignScores()
    seen: dict[str, int] = {}
    for cells in reader:
        line = reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            what = f"{len(header)} columns as in the header, not {len(cells)}"
            problems.append(Problem(str(path), what, line))
            continue
        row = dict(zip(header, cells, strict=True))
        story = _story_of(row["name"].strip(), stories)
        if story in seen:
            what = f"a name that occurs once; line {seen[story]} has the same"
            problems.append(Problem(str(path), what, line, "name", story))
        seen.setdefault(story, line)
        for column, metric in DOVER.items():
            value = number_of(row[column])
            if isinstance(value, str):
                problem = Problem(
                    str(path), "a finite number", line, column, row[column]
                )
                problems.append(problem)
                continue
            found.scores.append(
                FoundScore(
                    metric=metric,
                    method=method,
                    value=value,
                    story=story,
                    version=version,
                    backend=backend or BACKEND,
                    file=str(path),
                    line=line,
                    run=path.name,
                )
            )
    if not seen and not problems:
        problems.append(Problem(str(path), "at least one row below the header", 1))
    if problems:
        raise InputError(problems)
    return found


def _story_of(name: str, stories: Collection[str]) -> str:
    """Return the story that a name stands for; some stories are called x.mp4."""
    cut = [story for story in stories if story.partition(".")[0] == name]
    return cut[0] if name not in stories and len(cut) == 1 else name


def read_samples(
    path: Path, *, method: str, metric: str, version: str, backend: str
) -> ForeignScores:
    """Read `result.txt`: a number a sample, of all of a method's stories.

    The mean over samples is what StoryBench reports; the numbers stay beside it.
    """
    samples: list[float] = []
    problems: Problems[Problem] = Problems()
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        value = number_of(text.strip())
        if isinstance(value, str):
            what = "a finite number a line, one a sample"
            problems.append(Problem(str(path), what, line, value=text.strip()[:60]))
        else:
            samples.append(value)
    if not samples and not problems:
        problems.append(Problem(str(path), "a number a line, one a sample"))
    if problems:
        raise InputError(problems)
    score = FoundScore(
        metric=metric,
        method=method,
        value=math.fsum(samples) / len(samples),
        version=version,
        backend=backend,
        file=str(path),
        higher=higher_by_name(metric) is not False,
        details={"storybench": {"samples": samples}},
        run=path.name,
    )
    return ForeignScores([score])
