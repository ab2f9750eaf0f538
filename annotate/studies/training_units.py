"""The units of a training round, and the examples of questions, as they are stored.

On a scale an output is shown as it was made and then its degraded twin, which must be
rated lower than it was: that the one is worse than the other is known, how good either
is, is not. Of several outputs shown at once, the original must win. Which of them is
the twin depends on the slot: the page says it before the stored text.
"""

from collections.abc import Callable, Sequence

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from annotate.models import Purpose, Question, Study, Unit, localised
from annotate.models.studies import LETTERS
from annotate.models.units import as_fields
from annotate.presentation.examples import (
    changed_shots,
    picked,
    quoted,
    what_is_wrong,
)
from annotate.studies.training_material import Contrast, TrainingMaterial
from evalcore.models import Output

Expected = dict[str, list[int] | str]


def store(study: Study, material: TrainingMaterial) -> None:
    """Store the units of the training round and the examples of the questions."""
    if study.outputs_at_once == 1:
        _store_one_after_the_other(study, material.training)
    else:
        Unit.objects.bulk_create(
            _side_by_side(study, one, one.twin) for one in material.training if one.twin
        )
    rows = {row.key: row for row in study.questions.all()}
    illustrated = [
        _illustrated(rows[one.questions[0].key], one.twin)
        for one in material.examples
        if one.twin
    ]
    Question.objects.bulk_update(illustrated, ["example", "example_shots"])


def _illustrated(question: Question, twin: Output) -> Question:
    question.example = twin
    question.example_shots = picked(changed_shots(twin), question.degradation)
    return question


def _store_one_after_the_other(study: Study, training: Sequence[Contrast]) -> None:
    """Store each original, which has no right answers, directly before its twin."""
    pairs = [
        (_original_alone(study, one, one.twin), _twin_alone(study, one, one.twin))
        for one in training
        if one.twin
    ]
    Unit.objects.bulk_create(unit for pair in pairs for unit in pair)
    for original, twin in pairs:
        twin.original = original
    Unit.objects.bulk_update([twin for _original, twin in pairs], ["original"])


def _original_alone(study: Study, contrast: Contrast, twin: Output) -> Unit:
    told = _in_each_language(_original_text, contrast, twin)
    return _unit(study, [contrast.original], {}, told)


def _original_text() -> str:
    return _("The next story is compared with this one.")


def _twin_alone(study: Study, contrast: Contrast, twin: Output) -> Unit:
    told = _in_each_language(_twin_text, contrast, twin)
    expected: Expected = {one.key: one.alone() for one in contrast.questions}
    return _unit(study, [twin], expected, told)


def _twin_text() -> str:
    return _(
        "This is the story before, made worse on purpose. %(wrong)s So it deserves "
        "less than that for %(questions)s."
    )


def _side_by_side(study: Study, contrast: Contrast, twin: Output) -> Unit:
    """Return the original beside its twin, and beside others where more are shown."""
    outputs = [contrast.original, *contrast.others]
    outputs.sort(key=lambda output: output.method.name)
    place = outputs.index(contrast.original)
    outputs.insert(place + 1, twin)
    is_pair = len(outputs) == 2
    text = _pair_text if is_pair else _several_text
    told = _in_each_language(text, contrast, twin)
    # Of a pair the better one is expected, of more the two letters in their order.
    right = "a" if is_pair else LETTERS[place : place + 2]
    expected: Expected = dict.fromkeys((one.key for one in contrast.questions), right)
    return _unit(study, outputs, expected, told)


def _pair_text() -> str:
    return _("%(wrong)s So the other one is better in %(questions)s.")


def _several_text() -> str:
    return _(
        "It is a copy of another one. %(wrong)s So it comes after that one in "
        "%(questions)s."
    )


def _unit(
    study: Study,
    outputs: Sequence[Output],
    expected: Expected,
    feedback: dict[str, str],
) -> Unit:
    return Unit(
        study=study,
        story=outputs[0].story,
        purpose=Purpose.TRAINING,
        **as_fields(outputs),
        expected=expected,
        feedback=feedback,
    )


def _in_each_language(
    text: Callable[[], str], contrast: Contrast, twin: Output
) -> dict[str, str]:
    """Return a text of what was done to a twin, in all languages of the pages."""
    shots = [one.number for one in changed_shots(twin) if one.is_changed]
    told = {}
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            told[code.split("-")[0]] = text() % {
                "wrong": what_is_wrong(twin, shots),
                "questions": quoted([localised(q.title) for q in contrast.questions]),
            }
    return told
