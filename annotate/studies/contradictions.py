"""Contradictions between the parts of a study definition."""

from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext as _
from pydantic_core import PydanticCustomError

from analysis.problems import InputError
from analysis.rankings.composite_weights import check_composites
from annotate.kinds.base import Kind
from annotate.kinds.question import DegradableQuestion, QuestionDefinition, Scale
from annotate.kinds.registry import KINDS
from annotate.models.studies import LETTERS
from annotate.schema import Path, Problem, write_one_of
from annotate.studies.late_units import LateEntry
from annotate.studies.parts import (
    Adaptive,
    Checks,
    Composites,
    Goals,
    KnownUnit,
    Pairs,
    Rules,
    Sets,
    Training,
    goals_of,
    problems_of_composites,
)

Questions = Sequence[QuestionDefinition]


def of_outputs(
    outputs: int, scale: Scale | None, kinds: Sequence[Kind]
) -> Iterator[Problem]:
    """Yield problems of the number of outputs shown at once, for every kind."""
    least, most = max(k.least for k in kinds), min(k.most for k in kinds)
    names = ", ".join(kind.name for kind in kinds)
    if not kinds[0].is_counted:
        text = f"add at least one question of a kind other than {kinds[0].name}"
        yield Problem(["questions"], text)
    if least > most:
        text = _("%(kinds)s show different numbers of outputs; make two studies")
        text %= {"kinds": names}
        yield Problem(["questions"], text)
    elif not least <= outputs <= most:
        span = f"{least} to {most}" if least < most else str(least)
        yield Problem(["outputs"], f"write {span} for {names}")
    have_scales = any("scale" in kind.definition.model_fields for kind in kinds)
    if scale and not have_scales:
        yield Problem(["scale"], f"a {kinds[0].name} has no scale")


def of_questions(questions: Questions) -> Iterator[Problem]:
    """Yield keys, and kinds of a single question, that occur twice."""
    keys = [question.key for question in questions]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            text = _("%(key)s is used twice") % {"key": key}
            yield Problem(["questions", index, "key"], text)
    kinds = [question.kind for question in questions]
    for index, kind in enumerate(kinds):
        if kind in kinds[:index] and KINDS[kind].is_single:
            yield Problem(["questions", index, "kind"], f"ask only one of kind {kind}")


def of_sets(pairs: Pairs | None, sets: Sets | None, outputs: int) -> Iterator[Problem]:
    """Yield sets of methods that do not suit the number of outputs shown at once."""
    wanted = {
        "pairs": (pairs, outputs == 2, "two"),
        "sets": (sets, outputs > 2, "three to five"),
    }
    for key, (given, suits, number) in wanted.items():
        if given is not None and not suits:
            text = f"only a study that shows {number} outputs at once has {key}"
            yield Problem([key], text)
        listed = given if isinstance(given, tuple) and suits else ()
        for index, one in enumerate(listed):
            if not len(set(one)) == outputs == len(one):
                methods = ", ".join(LETTERS.upper()[:outputs])
                text = f"write {outputs} methods, such as [{methods}]"
                yield Problem([key, index], text)


def of_training(
    training: Training | None, questions: Questions, kinds: Sequence[Kind]
) -> Iterator[Problem]:
    """Yield training that the questions do not allow, and wrong known answers."""
    if training is None:
        return
    if not any(kind.has_known_answers for kind in kinds):
        name = kinds[0].name
        text = f"a {name} has no known answers to train with; remove training"
        yield Problem(["training"], text)
    elif not (training.units or training.twins):
        text = _("write at least one unit, or twins: 3")
        yield Problem(["training", "units"], text)
    elif training.twins and not any(
        isinstance(one, DegradableQuestion) and one.degradation for one in questions
    ):
        text = _("no question names a degradation; remove twins, or add one")
        yield Problem(["training", "twins"], text)
    yield from _known(questions, training.units, ["training", "units"])


def of_checks(
    checks: Checks, questions: Questions, kinds: Sequence[Kind]
) -> Iterator[Problem]:
    """Yield checks that the kinds of questions do not have."""
    controls = tuple(dict.fromkeys(c for kind in kinds for c in kind.controls))
    for key, control in (("degradations", "twin"), ("gold", "gold")):
        if getattr(checks, key) and control not in controls:
            text = f"a {kinds[0].name} has only {', '.join(controls)}"
            yield Problem(["checks", key], text)
    for index, kind in enumerate(checks.kinds):
        if kind not in controls:
            yield Problem(["checks", "kinds", index], write_one_of(controls))
    if "gold" in controls:
        yield from _known(questions, checks.gold, ["checks", "gold"])


def _known(
    asked: Questions, units: Sequence[KnownUnit], path: Path
) -> Iterator[Problem]:
    """Convert known answers to the form of their kind, or refuse them."""
    questions = {question.key: question for question in asked}
    for index, unit in enumerate(units):
        for key, value in unit.expected.items():
            at: Path = [*path, index, "expected", key]
            if key not in questions:
                text = f"no such question; write one of {', '.join(questions)}"
                yield Problem(at, text)
                continue
            try:
                answer = questions[key].known_answer(value, unit.methods)
                unit.expected[key] = answer
            except PydanticCustomError as error:
                yield Problem(at, error.message())


def of_rules(rules: Rules, kinds: Sequence[Kind]) -> Iterator[Problem]:
    """Yield rules about signals that no kind of question provides."""
    known = dict.fromkeys(s for kind in kinds for s in kind.signals)
    if isinstance(rules, list):
        for index, rule in enumerate(rules):
            if rule["signal"] not in known:
                yield Problem(["rules", index, "signal"], write_one_of(known))


def of_adaptive(
    adaptive: Adaptive | None, questions: Questions, outputs: int, assignment: str
) -> Iterator[Problem]:
    """Yield the reason why a study cannot choose pairs adaptively."""
    if adaptive is None:
        return
    keys = [q.key for q in questions if KINDS[q.kind].is_pairwise]
    if outputs != 2:
        yield Problem(["adaptive"], _("only a study of pairs can be adaptive"))
    elif assignment != "open":
        yield Problem(["adaptive"], _("adaptive pairs need assignment: open"))
    elif adaptive.question not in keys:
        yield Problem(["adaptive", "question"], write_one_of(keys))


def of_composites(composites: Composites, keys: set[str]) -> Iterator[Problem]:
    """Yield composites of questions that the study does not have."""
    try:
        check_composites(composites, questions=keys, file="")
    except InputError as error:
        yield from problems_of_composites(error, ["composites"])


def of_late_entry(late: LateEntry | None, outputs: int) -> Iterator[Problem]:
    """Yield what does not suit a study that shows so many outputs at once."""
    if late is None:
        return
    if outputs > 2:
        text = "only ratings and comparisons of two outputs have a late method"
        yield Problem(["late_entry"], text)
    for index, unit in enumerate(late.linking):
        at: Path = ["late_entry", "linking", index, "methods"]
        if not len(set(unit.methods)) == outputs == len(unit.methods):
            yield Problem(at, f"write {outputs} of the older methods")
        elif late.method in unit.methods:
            yield Problem(at, "write older methods only")


def of_goals(goals: Goals, kinds: Iterable[Kind]) -> Iterator[Problem]:
    """Yield the goals that no question of these kinds can have."""
    possible = {key for kind in kinds for key in goals_of(kind)}
    for key, size in goals:
        if size is None:
            continue
        if key not in possible:
            known = [name for name in Goals.model_fields if name in possible]
            text = f"no question has such a goal; write {', '.join(known)}"
            if not known:
                text = "only ratings on a scale and comparisons have goals; remove it"
            yield Problem(["goals", key], text)
