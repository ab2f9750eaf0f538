"""Write VISTAR's prompts as `evalcore.formats.vistar.stories` reads them."""

from collections.abc import Sequence
from typing import Any

from evalcore.formats.originals import Extras, Original, by_file
from evalcore.formats.written_files import Files, as_list


def prompt_files(stories: Extras) -> Files:
    """Return the lists of prompts of which stories were made."""
    files = by_file(stories, "vistar", "prompts.jsonl")
    return {
        file: _lines(originals)
        if file.lower().endswith(".txt")
        else as_list(file, [_row(original) for original in originals])
        for file, originals in files.items()
    }


def _lines(originals: Sequence[Original]) -> str:
    """Return the prompts on their lines; what stood between them was empty."""
    lines: list[str] = []
    for original in originals:
        lines += [""] * (original.place - 1 - len(lines))
        lines.append(original.data["prompt"])
    return "\n".join([*lines, ""])


def _row(original: Original) -> dict[str, Any]:
    """Return the object of one prompt, its questionnaire in the form it had."""
    row = original.row()
    whole = original.data.get("questionnaire") or {}
    if "levels" in original.fields and "levels" not in row:
        row["levels"] = whole["levels"]
    if "questionnaire" in row and isinstance(row["questionnaire"], dict):
        fields = original.origin.get("questionnaire") or list(whole)
        row["questionnaire"] = {name: whole[name] for name in fields}
    return {name: row[name] for name in original.fields if name in row}
