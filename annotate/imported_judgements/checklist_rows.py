"""Ticks of a checklist that people gave elsewhere: ratings of 0 or 1 with a shot."""

from collections import defaultdict
from collections.abc import Sequence

from analysis.problems import Problem, Problems
from annotate.kinds.checklist.kind import BOXES, TICKED
from evalcore.importing.names import Names
from evalcore.importing.score_writing import LINE, ScoreRow
from evalcore.models import Shot

MOST_SHOTS = 9999


def is_of_boxes(rows: Sequence[ScoreRow]) -> bool:
    """Say whether a table of ratings is that of a checklist: its answers have shots."""
    return any(row.get("shot") not in (None, "") for row in rows)


def box_problems(
    rows: Sequence[ScoreRow], names: Names, file: str
) -> Problems[Problem]:
    """Return what is wrong with the boxes and shots of a checklist's rows."""
    known = shots_of(names)
    problems: Problems[Problem] = Problems()
    for row in rows:
        line, dimension = row[LINE], row["dimension"]
        label, _bar, box = dimension.rpartition("|")
        if not label or box not in BOXES:
            what = (
                "a box, label|text or label|video: answers about shots are a checklist"
            )
            problems.append(Problem(file, what, line, "dimension", dimension))
        if row["rating"] != "" and float(row["rating"]) not in TICKED:
            what = "0 or 1: a box is ticked or not"
            problems.append(
                Problem(file, what, line, "rating", f"{float(row['rating']):g}")
            )
        shot = str(row.get("shot", ""))
        own = known.get(row["story"])
        if not shot or not 0 < shot_number(row) <= MOST_SHOTS:
            what = "the number of a shot, from 1"
            problems.append(Problem(file, what, line, "shot", shot))
        elif own and shot_number(row) not in own:
            what = f"a shot of story {row['story']}: {', '.join(map(str, sorted(own)))}"
            problems.append(Problem(file, what, line, "shot", shot, "a shot"))
        elif not own and not names.create:
            what = f"a story with shots; {row['story']} has none (--create makes them)"
            problems.append(Problem(file, what, line, "shot", shot, "a story"))
    return problems


def shot_number(row: ScoreRow) -> int:
    """Return the number of the shot that a row is about; 0 without one."""
    return int(float(row.get("shot") or 0))


def shots_of(names: Names) -> dict[str, set[int]]:
    """Return the numbers of the shots of each story there is, by its key."""
    found: dict[str, set[int]] = defaultdict(set)
    rows = Shot.objects.filter(story__benchmark__slug=names.benchmark.slug)
    for key, number in rows.values_list("story__key", "number"):
        found[key].add(number)
    return found


def add_missing_shots(rows: Sequence[ScoreRow], names: Names) -> None:
    """Create the shots that rows name of stories that have none."""
    known = shots_of(names)
    wanted = {(r["story"], shot_number(r)) for r in rows if not known.get(r["story"])}
    Shot.objects.bulk_create(
        Shot(story=names.stories[story], number=number, text={})
        for story, number in sorted(wanted)
    )
