"""Writing a study definition as YAML, which `study_file` reads back."""

from collections.abc import Iterable
from typing import Any

import yaml

from analysis.rankings.composite_weights import Composite
from annotate.studies.definition import (
    CellPairs,
    Checks,
    KnownUnit,
    Presentation,
    QuestionDefinition,
    StorySample,
    StudyDefinition,
)

Dumped = dict[str, Any]


def write_definition(definition: StudyDefinition) -> str:
    """Return the definition as YAML that reads as the same definition."""
    return write_data(definition_data(definition))


def write_data(data: object) -> str:
    """Return values as YAML in the style of study files; no value is an alias."""
    return yaml.dump(
        data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=88
    )


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """Escape Unicode's own line breaks, which plain texts would lose."""
    style = '"' if set(text) & set("\r\x85\u2028\u2029\ufeff") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def definition_data(definition: StudyDefinition) -> Dumped:
    """Return what a study file holds, as plain values."""
    kinds = definition.kinds
    data: Dumped = {
        "title": definition.title,
        "kind": kinds[0].name if len(kinds) == 1 else None,
        "outputs": None
        if definition.outputs_at_once == max(kind.least for kind in kinds)
        else definition.outputs_at_once,
        "assignment": definition.assignment,
        "redundancy": definition.redundancy,
        "rounds": definition.rounds,
        "session_size": definition.session_size,
        "cap": definition.cap,
        "lease_minutes": definition.lease_minutes,
        "seed": definition.seed,
        "languages": definition.languages,
        "stories": _sample(definition.stories),
        definition.sets_key: _sets(definition),
        "subset": definition.subset
        and {
            "redundancy": definition.subset.redundancy,
            "stories": _sample(definition.subset.stories),
        },
        "adaptive": definition.adaptive and dict(vars(definition.adaptive)),
        "consent": _consent(definition),
        "instructions": definition.instructions,
        "questions": [
            _question(question, names_kind=len(kinds) > 1)
            for question in definition.questions
        ],
        **composites_data(definition.composites),
        "training": definition.training
        and {
            "pass_mark": definition.training.pass_mark,
            "attempts": definition.training.attempts,
            **_filled(
                {
                    "twins": definition.training.twins,
                    "units": [_known_unit(unit) for unit in definition.training.units],
                }
            ),
        },
        "checks": None
        if definition.checks == Checks()
        else checks_data(definition.checks),
        "rules": definition.rules,
        "presentation": None
        if definition.presentation == Presentation()
        else dict(vars(definition.presentation)),
    }
    return {key: value for key, value in data.items() if value not in (None, {}, [])}


def composites_data(composites: Iterable[Composite]) -> Dumped:
    """Return the composites of a study file, or of a file of their own."""
    return {"composites": {one.name: _composite(one) for one in composites}}


def _consent(definition: StudyDefinition) -> Dumped | None:
    if not definition.consent and definition.consent_version == "1":
        return None
    return {"version": definition.consent_version, **(definition.consent or {})}


def _sample(sample: StorySample | None) -> Dumped | None:
    if sample is None:
        return None
    return _filled({"number": sample.number, "by": sample.by})


def _sets(definition: StudyDefinition) -> object:
    sets = definition.sets
    if definition.outputs_at_once == 1:
        return None
    if isinstance(sets, CellPairs):
        return {"number": sets.number, "by": list(sets.by)}
    return sets if isinstance(sets, str) else [list(together) for together in sets]


def _question(question: QuestionDefinition, *, names_kind: bool) -> Dumped:
    return _filled(
        {
            "key": question.key,
            "kind": question.kind if names_kind else None,
            "category": question.categories,
            "metric": question.metric,
            "degradation": question.degradation,
            "scale": question.scale and list(question.scale),
            "title": question.titles,
            "text": question.texts,
            "help": question.help_texts,
            "anchors": {int(value): texts for value, texts in question.anchors.items()},
            "stories": {tag: list(values) for tag, values in question.stories.items()},
        }
    ) | ({} if question.allow_tie else {"allow_tie": False})


def _composite(composite: Composite) -> Dumped:
    kind = {} if composite.kind == "mean" else {"kind": composite.kind}
    return {"over": composite.over, **kind, "weights": dict(composite.parts)}


def _known_unit(unit: KnownUnit) -> Dumped:
    expected = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in unit.expected.items()
    }
    return _filled(
        {
            "story": unit.story,
            "methods": list(unit.methods),
            "expected": expected,
            "feedback": unit.feedback,
        }
    )


def checks_data(checks: Checks) -> Dumped:
    return {
        "per_session": checks.per_session,
        "kinds": list(checks.kinds),
        "degradations": list(checks.degradations),
        "share": checks.share,
        "gold": [_known_unit(unit) for unit in checks.gold],
    }


def _filled(data: Dumped) -> Dumped:
    return {key: value for key, value in data.items() if value}
