"""A study as a Hugging Face data set: a folder of pictures and its tables."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from django.utils.translation import ngettext

from annotate.models import Study
from annotate.presentation.slot_view import shot_texts
from annotate.reports.layouts import Request, laid_out
from annotate.reports.study_scores import judged_units
from annotate.reports.table_files import write_tables, write_text
from annotate.reports.table_schema import ROWS
from evalcore import media
from evalcore.models import Frame, Output

OUTPUTS, PICTURES, DATA = "outputs", "pictures", "data"


def write_image_folder(asked: Request, out: Path) -> list[Path]:
    """Write pictures, tables and card, which `datasets.load_dataset` reads.

    Configuration `outputs` has a row for each output with its pictures in order; each
    table is a configuration of its own.
    """
    folder = out / OUTPUTS
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    listed = folder / "metadata.jsonl"
    lines = (
        json.dumps(row, ensure_ascii=False) + "\n" for row in _outputs(asked, folder)
    )
    write_text(listed, lines)
    tables = laid_out(asked, "long")
    data = write_tables(tables, out / DATA, form="parquet", about={})
    card = write_text(out / "README.md", [_card(asked.study, listed, data)])
    pictures = sorted((folder / PICTURES).iterdir())
    return [card, listed, *data, *pictures]


def _outputs(asked: Request, folder: Path) -> Iterator[dict[str, Any]]:
    """Copy the pictures of rated outputs; yield a row for each output that has some."""
    units = judged_units(asked.study, asked.as_of).values_list(
        *asked.study.output_paths()
    )
    shown = {pk for unit in units.distinct() for pk in unit if pk is not None}
    outputs = Output.objects.select_related("story", "method")
    without = 0
    for output in outputs.order_by("story__key", "method__name").iterator(500):
        if output.pk not in shown:
            continue
        frames = Frame.objects.filter(output=output, media__isnull=False)
        frames = frames.select_related("media", "shot").order_by("number")
        if not (rows := list(frames)):
            without += 1
            continue
        names = []
        for frame in rows:
            assert frame.media is not None  # the query says so
            source = media.original_path(frame.media)
            names.append(f"{PICTURES}/{source.name}")
            if not (folder / names[-1]).exists():
                shutil.copyfile(source, folder / names[-1])
        yield {
            "file_names": names,
            "story": output.story.key,
            "method": output.method.name,
            "shots": [frame.number for frame in rows],
            "texts": ["\n".join(shot_texts(frame.shot).values()) for frame in rows],
        }
    if without:
        text = ngettext(
            "%(n)d output has no pictures and is left out of outputs/.",
            "%(n)d outputs have no pictures and are left out of outputs/.",
            without,
        )
        asked.note(text % {"n": without})


def _card(study: Study, listed: Path, data: list[Path]) -> str:
    """Return README.md with the front matter that names the configurations."""
    configs: list[dict[str, Any]] = []
    if listed.stat().st_size:
        configs.append({"config_name": OUTPUTS, "data_dir": OUTPUTS})
    configs += [
        {"config_name": path.stem, "data_files": f"{DATA}/{path.name}"} for path in data
    ]
    configs[0]["default"] = True
    front = yaml.safe_dump(
        {"pretty_name": study.title, "configs": configs},
        sort_keys=False,
        allow_unicode=True,
    )
    lines = [
        f"# {study.title}",
        "",
        f"Human ratings of study `{study.slug}` on benchmark `{study.benchmark.slug}`.",
        "",
        f"- `{OUTPUTS}`: one output a row, with its pictures in the order of the shots",
        *(f"- `{path.stem}`: {ROWS[path.stem]}" for path in data),
    ]
    return f"---\n{front}---\n\n" + "\n".join(lines) + "\n"
