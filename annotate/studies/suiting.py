"""What the parts of a study ask of each other."""

from collections.abc import Iterator, Sequence

from pydantic_core import PydanticCustomError

from analysis.problems import InputError
from analysis.rankings.composite_weights import check_composites
from annotate.kinds.registry import KINDS
from annotate.models.studies import LETTERS
from annotate.schema import Path, Problem
from annotate.studies.parts import KnownUnit
from annotate.studies.study_fields import StudyFields, problems_of_composites

Problems = Iterator[Problem]


def problems(study: StudyFields) -> Problems:
    """Yield what does not suit the rest of a study."""
    yield from _outputs(study)
    yield from _keys(study)
    yield from _sets(study)
    yield from _training(study)
    yield from _checks(study)
    yield from _rules(study)
    yield from _adaptive(study)
    yield from _composites(study)


def _outputs(study: StudyFields) -> Problems:
    """Hold the number of outputs shown at once against every kind."""
    kinds = study.kinds
    if not kinds[0].is_counted:
        told = f"ask at least one question that is no {kinds[0].name}"
        yield Problem(["questions"], told)
    least, most = max(k.least for k in kinds), min(k.most for k in kinds)
    names = ", ".join(kind.name for kind in kinds)
    if least > most:
        told = f"{names}: not asked of equally many outputs; make it two studies"
        yield Problem(["questions"], told)
    elif not least <= study.outputs <= most:
        span = f"{least} to {most}" if least < most else str(least)
        yield Problem(["outputs"], f"write {span} for {names}")
    have_scales = any("scale" in kind.definition.model_fields for kind in kinds)
    if study.scale and not have_scales:
        yield Problem(["scale"], f"a {kinds[0].name} has no scale")


def _keys(study: StudyFields) -> Problems:
    keys = [question.key for question in study.questions]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            yield Problem(["questions", index, "key"], f"{key} is used twice")


def _sets(study: StudyFields) -> Problems:
    wanted = {
        "pairs": (study.pairs, study.outputs == 2, "two"),
        "sets": (study.sets, study.outputs > 2, "three to five"),
    }
    for key, (sets, suits, number) in wanted.items():
        if sets is not None and not suits:
            told = f"only a study of {number} outputs at once has {key}"
            yield Problem([key], told)
        for index, one in enumerate(sets if isinstance(sets, tuple) and suits else ()):
            if not len(set(one)) == study.outputs == len(one):
                methods = ", ".join(LETTERS.upper()[: study.outputs])
                told = f"write {study.outputs} methods, such as [{methods}]"
                yield Problem([key, index], told)


def _training(study: StudyFields) -> Problems:
    training = study.training
    if training is None:
        return
    if not any(kind.has_known_answers for kind in study.kinds):
        name = study.kinds[0].name
        told = f"a {name} has no known answers to train with; leave it out"
        yield Problem(["training"], told)
    elif not (training.units or training.twins):
        told = "write at least one unit, or twins: 3"
        yield Problem(["training", "units"], told)
    elif training.twins and not study.degradable:
        told = "no question says which degradation makes its answer worse"
        yield Problem(["training", "twins"], told)
    yield from _known(study, training.units, ["training", "units"])


def _checks(study: StudyFields) -> Problems:
    checks, kinds = study.checks, study.kinds
    controls = tuple(dict.fromkeys(c for kind in kinds for c in kind.controls))
    for key, control in (("degradations", "twin"), ("gold", "gold")):
        if getattr(checks, key) and control not in controls:
            told = f"a {kinds[0].name} has only {', '.join(controls)}"
            yield Problem(["checks", key], told)
    for index, kind in enumerate(checks.kinds):
        if kind not in controls:
            told = f"write one of {', '.join(controls)}"
            yield Problem(["checks", "kinds", index], told)
    if "gold" in controls:
        yield from _known(study, checks.gold, ["checks", "gold"])


def _known(study: StudyFields, units: Sequence[KnownUnit], path: Path) -> Problems:
    """Put answers that are known in the form of their kind, or refuse them."""
    questions = {question.key: question for question in study.questions}
    for index, unit in enumerate(units):
        for key, value in unit.expected.items():
            at: Path = [*path, index, "expected", key]
            if key not in questions:
                told = f"no such question; there are {', '.join(questions)}"
                yield Problem(at, told)
                continue
            try:
                answer = questions[key].known_answer(value, unit.methods)
                unit.expected[key] = answer
            except PydanticCustomError as error:
                yield Problem(at, error.message())


def _rules(study: StudyFields) -> Problems:
    known = dict.fromkeys(s for kind in study.kinds for s in kind.signals)
    if isinstance(study.rules, list):
        for index, rule in enumerate(study.rules):
            if rule["signal"] not in known:
                told = f"write one of {', '.join(known)}"
                yield Problem(["rules", index, "signal"], told)


def _adaptive(study: StudyFields) -> Problems:
    adaptive = study.adaptive
    if adaptive is None:
        return
    keys = [q.key for q in study.questions if KINDS[q.kind].is_pairwise]
    if study.outputs != 2:
        yield Problem(["adaptive"], "only pairs can be chosen adaptively")
    elif study.assignment != "open":
        told = "pairs are chosen as annotators ask for them: write assignment: open"
        yield Problem(["adaptive"], told)
    elif adaptive.question not in keys:
        yield Problem(["adaptive", "question"], f"write one of {', '.join(keys)}")


def _composites(study: StudyFields) -> Problems:
    stored = study.stored_questions
    keys = {row["key"] for row in stored if KINDS[row["kind"]].is_counted}
    try:
        check_composites(study.composites, questions=keys, file="")
    except InputError as error:
        yield from problems_of_composites(error, ["composites"])
