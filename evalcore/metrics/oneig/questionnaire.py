"""A prompt of OneIG as questions that build on each other, and their score."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

NONE = 0  # stands for no other question


@dataclass(frozen=True)
class DependentQuestionnaire:
    """Questions by number, and the numbers of those that each one presupposes."""

    questions: Mapping[int, str]
    parents: Mapping[int, tuple[int, ...]]


def read_questionnaire(questions: Any, dependencies: Any) -> DependentQuestionnaire:
    """Read and check the questions of a prompt.

    `questions`: question by number: an object, or JSON of one. `dependencies`: lists of
    numbers by number, in the same form; 0 stands for none. A question that does not
    occur presupposes none.

    >>> read = read_questionnaire('{"1": "A fox?", "2": "A red fox?"}', '{"2": [1]}')
    >>> read.parents
    {1: (), 2: (1,)}
    """
    asked = dict(_numbered(questions, "questions"))
    if not asked:
        raise ValueError("questions: at least one")
    for number, question in asked.items():
        if not isinstance(question, str) or not question.strip():
            raise ValueError(f"question {number} is a text, not {question!r}")
    parents: dict[int, tuple[int, ...]] = dict.fromkeys(asked, ())
    for number, presupposed in _numbered(dependencies, "dependencies"):
        if number not in asked:
            raise ValueError(f"dependencies: there is no question {number}")
        parents[number] = _parents(number, presupposed, asked)
    _refuse_circles(parents)
    return DependentQuestionnaire(asked, parents)


def alignment(
    answers: Mapping[int, bool], parents: Mapping[int, tuple[int, ...]]
) -> float:
    """Return the share of questions that count as answered yes.

    `answers`: whether each question was answered yes, by number. `parents`: which
    questions each one presupposes directly. Result: from 0 to 1. A question counts 0 if
    any that it presupposes directly was answered no, whatever was answered to itself.
    Only answers are looked at: a question whose parent was answered yes counts, though
    the parent itself counts 0 because of its own parent.

    Source: OneIG-Bench's program, scripts/alignment; Cho et al. (2024), Davidsonian
    scene graph, section 3, where the rule comes from.

    >>> alignment({1: False, 2: True, 3: True}, {1: (), 2: (1,), 3: ()})
    0.3333333333333333
    """
    counted = [
        yes and all(answers[parent] for parent in parents.get(number, ()))
        for number, yes in answers.items()
    ]
    return sum(counted) / len(counted)


def _numbered(value: Any, what: str) -> Iterator[tuple[int, Any]]:
    """Yield the entries of an object, or of JSON of one, with keys as numbers."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(f"{what}: an object as JSON ({error})") from error
    if not isinstance(value, Mapping):
        raise ValueError(f"{what}: an object by number, not {type(value).__name__}")
    for key, entry in value.items():
        if not str(key).isdecimal() or int(key) == NONE:
            raise ValueError(f"{what}: numbers from 1, not {key!r}")
        yield int(key), entry


def _parents(
    number: int, presupposed: Any, asked: Mapping[int, str]
) -> tuple[int, ...]:
    if not isinstance(presupposed, list) or any(
        type(p) is not int for p in presupposed
    ):
        raise ValueError(
            f"dependencies: question {number} has a list of numbers, not "
            f"{presupposed!r}"
        )
    parents = tuple(parent for parent in presupposed if parent != NONE)
    unknown = [str(parent) for parent in parents if parent not in asked]
    if unknown:
        raise ValueError(
            f"dependencies: question {number} presupposes {', '.join(unknown)}, which "
            "does not exist"
        )
    return parents


def _refuse_circles(parents: Mapping[int, tuple[int, ...]]) -> None:
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        named = " -> ".join(map(str, reversed(error.args[1])))
        raise ValueError(f"questions presuppose each other: {named}") from error
