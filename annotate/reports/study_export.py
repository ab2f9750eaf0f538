"""A study's tables and its description, written into a folder."""

import json
import os
from pathlib import Path
from typing import Any

from annotate import spreadsheet
from annotate.kinds.registry import answer_tables
from annotate.models import Study
from annotate.presentation import shot_comments
from annotate.reports import downloads, shots_in_sight


def write_export(study: Study, out: Path) -> list[Path]:
    """Write the study's tables and its description into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    names = [*answer_tables(study), "scores"]
    found = {f"{name}.csv": downloads.csv_lines(study, name) for name in names}
    description = json.dumps(describe(study), ensure_ascii=False, indent=1) + "\n"
    found["in_sight.csv"] = spreadsheet.csv_lines(
        shots_in_sight.HEADER, shots_in_sight.rows(study)
    )
    if study.may_comment_on_shots:
        found["shot_comments.csv"] = spreadsheet.csv_lines(
            shot_comments.HEADER, shot_comments.rows(study)
        )
    found["study.json"] = iter([description])
    for name, lines in found.items():
        partial = out / f"{name}.part"
        with partial.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(lines)
        os.replace(partial, out / name)
    return [out / name for name in found]


def describe(study: Study) -> dict[str, Any]:
    """Return what a reader of the tables must know about the study."""
    from analysis.version import VERSION

    return {
        "plumbline": VERSION,
        "study": study.slug,
        "title": study.title,
        "benchmark": study.benchmark.slug,
        "outputs_at_once": study.outputs_at_once,
        "template": study.template,
        "redundancy": study.redundancy,
        "rounds": study.rounds,
        "session_size": study.session_size,
        "seed": study.seed,
        "consent_version": study.consent_version,
        "simulated_annotators": list(
            study.annotators.filter(is_simulated=True).values_list("name", flat=True)
        ),
        "questions": [
            {
                "key": q.key,
                "kind": q.kind,
                "title": q.titles,
                "text": q.texts,
                "help": q.help_texts,
                "anchors": q.anchors,
                "scale": [q.scale_min, q.scale_max],
                "allow_tie": q.allow_tie,
                "stories": q.stories,
                "metric": q.metric,
            }
            for q in study.questions.all()
        ],
    }
