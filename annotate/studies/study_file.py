"""Reading and writing of study files, with the place of each error."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from annotate.kinds.registry import KINDS
from annotate.schema import DefinitionError, problems_of
from annotate.schema import Path as Steps
from annotate.studies.definition import TEMPLATES, StudyDefinition, template_names

if TYPE_CHECKING:
    from annotate.studies.yaml_text import Document

__all__ = ["DefinitionError", "define", "load_definition", "read_definition"]


def load_definition(name_or_path: str | Path) -> StudyDefinition:
    """Read a template by name or a study file by path."""
    name = str(name_or_path)
    path = TEMPLATES / f"{name}.yaml" if name in template_names() else Path(name)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        known = ", ".join(template_names())
        raise DefinitionError(
            name, None, f"write the name of a template ({known}) or of a readable file"
        ) from error
    except UnicodeDecodeError as error:
        raise DefinitionError(name, None, "save the file as UTF-8") from error
    return read_definition(text, file=path.name, name=path.stem)


# Reading takes .1 s, and pages read the same templates and studies again.
@lru_cache(maxsize=16)
def read_definition(text: str, *, file: str, name: str) -> StudyDefinition:
    """Read a definition from YAML text; messages name `file`."""
    # The YAML reader is loaded only when a file is read.
    from annotate.studies.yaml_text import Document

    document = Document(text, file)
    if not isinstance(document.data, dict):
        raise document.error("a study file is a mapping of keys to values")
    data = dict(document.data)
    if data.get("composites") is not None:
        data["composites"] = document.block("composites")
    return define(data, name=name, document=document)


def define(
    data: dict[Any, Any], *, name: str, document: "Document | None" = None
) -> StudyDefinition:
    """Return the definition with these values, or raise all problems."""
    if "name" in data:
        # The name comes from the file, not from its values.
        data = {("name of the study" if k == "name" else k): v for k, v in data.items()}
    try:
        return StudyDefinition.model_validate(data | {"name": name})
    except ValidationError as error:
        problems = problems_of(error)
    errors = []
    for one in problems:
        path = _without_tags(one.path)
        place = document.place(path) if document else None
        file = document.file if document else "study.yaml"
        errors.append(DefinitionError(file, one.line or place, one.text, path))
    first, *first.further = sorted(errors, key=lambda one: one.line or 0)
    raise first


def _without_tags(loc: Steps) -> Steps:
    """Remove the tags that pydantic adds for the variants of a type."""
    names_kind = len(loc) > 2 and loc[0] == "questions" and loc[2] in KINDS
    return [
        step
        for index, step in enumerate(loc)
        if not (str(step).startswith("<") or (index == 2 and names_kind))
    ]


# Writing


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """Escape line breaks of Unicode, which plain text would lose."""
    style = '"' if set(text) & set("\r\x85\u2028\u2029\ufeff") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
# Numbers that remember how they were written.
_Dumper.add_multi_representer(int, lambda d, v: d.represent_int(int(v)))
_Dumper.add_multi_representer(float, lambda d, v: d.represent_float(float(v)))


def write_definition(definition: StudyDefinition) -> str:
    """Return the definition as YAML, which reads as an equal definition."""
    return write_data(definition.model_dump())


def write_data(data: object) -> str:
    """Return values as YAML in the style of study files, without aliases."""
    return yaml.dump(
        data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=88
    )
