"""A study as data: the one schema of study files, the set-up form and drafts.

`study_file` reads one from YAML; `annotate.studies.planning` turns one into a study.
The papers' protocols ship as templates.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from pydantic import (
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    model_serializer,
    model_validator,
)

from analysis.rankings.composite_weights import Composite
from annotate.kinds.question import Scale
from annotate.kinds.registry import KINDS
from annotate.schema import Problem, is_empty, refuse
from annotate.studies import suiting
from annotate.studies.study_fields import StudyFields

TEMPLATES = Path(__file__).resolve().parent / "protocols"


def _is_scale(value: Any) -> bool:
    try:
        TypeAdapter(Scale).validate_python(value)
    except ValidationError:
        return False
    return True


class StudyDefinition(StudyFields):
    """A study whose parts suit each other."""

    @model_validator(mode="before")
    @classmethod
    def _tell_questions(cls, data: Any) -> Any:
        """Give the study's kind and scale to questions that do not say their own."""
        if not isinstance(data, dict):
            return data
        listed = data.get("questions")
        kind, scale = data.get("kind"), data.get("scale")
        questions = [
            {"kind": kind} | {k: v for k, v in one.items() if v is not None}
            if isinstance(one, dict)
            else one
            for one in (listed if isinstance(listed, list | tuple) else ())
        ]
        asked = [one for one in questions if isinstance(one, dict)]
        is_needed = any(one["kind"] is None for one in asked)
        if (is_needed or kind is not None) and str(kind) not in KINDS:
            refuse([Problem(["kind"], f"write one of {', '.join(KINDS)}")])
        for one in asked:
            of_kind = KINDS.get(str(one["kind"]))
            has_scale = of_kind and "scale" in of_kind.definition.model_fields
            if has_scale and scale is not None and "scale" not in one:
                one["scale"] = scale
                if not _is_scale(scale):
                    # That is told of the study, and not of each question.
                    one |= {"scale": (0, 1), "anchors": {}}
        return data | {"questions": questions or listed}

    @model_validator(mode="after")
    def _suit_each_other(self) -> Self:
        """Put in what the kinds of questions imply, and refuse what does not suit."""
        kinds = self.kinds
        self._put("title", self.title or self.name)
        self._put("kind", kinds[0].name if len(kinds) == 1 else None)
        if "outputs" not in self.model_fields_set:
            self._put("outputs", max(kind.least for kind in kinds))
        if "kinds" not in self.checks.model_fields_set:
            controls = dict.fromkeys(c for kind in kinds for c in kind.controls)
            self._put("checks", self.checks.with_changes(kinds=tuple(controls)))
        if self.adaptive and not self.adaptive.question:
            pairs = (q.key for q in self.questions if KINDS[q.kind].is_pairwise)
            first = next(pairs, self.questions[0].key)
            self._put("adaptive", self.adaptive.with_changes(question=first))
        refuse(suiting.problems(self))
        self._put("scale", None)
        if self.outputs > 1:
            self._put(self.sets_key, self.together)
        return self

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @model_serializer(mode="wrap")
    def _filled(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        data["composites"] = composites_data(self.composites)
        if self.outputs == max(kind.least for kind in self.kinds):
            del data["outputs"]
        if self.kind:
            for question in data["questions"]:
                del question["kind"]
        for key in ("consent", "checks", "presentation"):
            if getattr(self, key) == type(getattr(self, key))():
                del data[key]
        return {k: value for k, value in data.items() if not is_empty(value)}


def composites_data(composites: Iterable[Composite]) -> dict[str, Any]:
    """Return composites by their names, as a file has them."""
    return {
        one.name: {
            "over": one.over,
            **({} if one.kind == "mean" else {"kind": one.kind}),
            "weights": dict(one.parts),
        }
        for one in composites
    }


def template_names() -> list[str]:
    return sorted(path.stem for path in TEMPLATES.glob("*.yaml"))
