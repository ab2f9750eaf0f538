"""Run a rehearsal in a process and a database of its own.

    python -m annotate.rehearsal FOLDER

The folder holds `order.json` and `copy.jsonl`; `result.json` and `report` come beside
them. Each line of the output is the progress as JSON. The process has a simulated
clock, and none of its rows reaches the server's database.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.rehearsal.clock import Clock

if TYPE_CHECKING:
    from annotate.models import Study

# The longest time for the people; copying and the report come on top.
WALK_SECONDS = 120.0
SIGN_SECONDS = 0.5
# Stays in sight wherever the report is scrolled to, and on paper.
WATERMARK = (
    "position: fixed; right: 1rem; bottom: 1rem; padding: .4rem .8rem; "
    "border-radius: .4rem; background: #8a4b00; color: #fff; "
    "font: 600 1rem sans-serif; opacity: .9; pointer-events: none"
)


def main(folder: Path) -> None:
    """Carry out the order in a folder."""
    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    clock = Clock(datetime.now(UTC))
    clock.take_over()
    os.environ["DJANGO_SETTINGS_MODULE"] = "evalcore.settings"
    import django

    django.setup()
    from django.utils import translation

    from annotate.assignment.designs.balanced import ImpossibleDesignError
    from annotate.studies.units import PlanningError

    with translation.override(order["language"] or None):
        try:
            result = _rehearse(folder, order, clock)
        except (PlanningError, ImpossibleDesignError) as error:
            result = {"error": str(error)}
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


def _rehearse(folder: Path, order: dict[str, Any], clock: Clock) -> dict[str, Any]:
    from annotate.rehearsal import copying, walk
    from annotate.rehearsal.result import result_of

    _tell(step="copying")
    copying.create_tables()
    benchmark = copying.read_copy(folder / "copy.jsonl")
    study = copying.plan(order, benchmark)
    seed = order["seed"]
    truth, best_first = walk.truth_of(study, order["differences"], seed)
    people = walk.gather(study, order["people"], truth, seed)
    wanted = study.slots.filter(ordinal__isnull=False).count()
    _tell(step="answering", wanted=wanted)
    walked = walk.walk(
        study,
        people,
        best_first,
        clock,
        seconds=order.get("seconds", WALK_SECONDS),
        progress=_Progress(),
    )
    result = result_of(walked)
    _tell(step="reporting", rated=result["submitted"])
    return result | _report(folder, walked.study, order["language"])


class _Progress:
    """Tells the number of ratings, at most twice a second."""

    def __init__(self) -> None:
        self._told_at = 0.0

    def __call__(self, rated: int) -> None:
        if time.monotonic() - self._told_at > SIGN_SECONDS:
            self._told_at = time.monotonic()
            _tell(rated=rated)


def _tell(**progress: object) -> None:
    """Write a line for the worker; a worker that is gone ends this process."""
    print(json.dumps(progress), flush=True)


def _report(folder: Path, study: "Study", language: str) -> dict[str, str]:
    """Build the report of the copy, which says by whom it was answered."""
    from django.utils.translation import gettext as _

    from analysis.options import LANGUAGES
    from annotate.models import Report
    from annotate.reports import building

    study.annotators.update(is_simulated=True)
    study.title = _("Rehearsal: simulated answers") + f" – {study.title}"
    study.save(update_fields=["title"])
    own = next((one for one in LANGUAGES if one.lower() == language), "")
    options = {"language": own} if own else {}
    asked = Report.objects.create(study=study, options=options)
    report = building.build_report(asked.pk)
    if report.state != Report.State.DONE:
        return {"report_error": report.error}
    building.folder(report).rename(folder / "report")
    page = folder / "report" / "report.html"
    html = page.read_text(encoding="utf-8")
    text = json.dumps(_("Rehearsal: simulated answers"), ensure_ascii=False)
    mark = f"<style>body::after {{ content: {text}; {WATERMARK} }}</style></head>"
    page.write_text(html.replace("</head>", mark, 1), encoding="utf-8")
    return {}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
