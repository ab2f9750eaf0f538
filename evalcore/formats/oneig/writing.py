"""Write OneIG-Bench's prompts, and what lies beside them, as they are read."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from analysis.tables import Lines
from evalcore.formats.oneig.side_files import ANSWERS, QUESTIONS, STYLES, TEXTS
from evalcore.formats.oneig.stories import PROMPTS
from evalcore.formats.originals import Extras, Original, by_file
from evalcore.formats.written_files import Files, as_list


def prompt_files(stories: Extras) -> Files:
    """Return the lists of prompts of which stories were made, with all beside them."""
    files: Files = {}
    for file, originals in by_file(stories, "oneig", "OneIG-Bench.csv").items():
        files[file] = _list(file, originals)
        files |= _sides(originals)
    return files


def _list(file: str, originals: Sequence[Original]) -> str:
    rows = [original.row() for original in originals]
    if file.lower().endswith(".csv"):
        header = dict.fromkeys(field for one in originals for field in one.fields)
        return _csv(header, rows)
    return as_list(file, rows)


def _csv(header: Iterable[str], rows: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(Lines(text), list(header), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _sides(originals: Sequence[Original]) -> Files:
    """Return the files beside a list: what its rows do not say themselves."""
    ending = "" if any(one.data.get("prompt_en") for one in originals) else "_zh"
    questions: dict[str, dict[str, Any]] = defaultdict(dict)
    texts, styles, answers = [], [], {}
    for one in originals:
        number, beside = one.data["id"], set(one.data) - set(one.fields)
        item = one.data["class_item"]
        if "questions" in beside and "question" not in one.data:
            names = (("question", "questions"), ("dependency", "dependencies"))
            questions[item][number] = {name: one.data[ours] for name, ours in names}
        if "text_content" in beside:
            column = next(name for name in PROMPTS if one.data.get(name))
            texts.append(one.row(("id", column, "text_content")))
        if item == "anime":
            styles.append({"id": number, "class": one.data.get("style", "")})
        if "answer" in beside:
            answers[number] = one.data["answer"]
    files = {
        f"{QUESTIONS[0]}/{item}{ending}.json": _object(found)
        for item, found in questions.items()
    }
    if texts:
        files[f"{TEXTS}{ending}.csv"] = _csv(texts[0], texts)
    if any(row["class"] for row in styles):
        files[f"{STYLES}.csv"] = _csv(styles[0], styles)
    if answers:
        files[f"{ANSWERS}{ending}.json"] = _object(answers)
    return files


def _object(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, indent=4)
