"""In which order people are asked: as the study file has it, or each in another."""

import random
from collections.abc import Iterable

from annotate.models import Annotator, Question, Study


def in_order(
    questions: Iterable[Question], study: Study, annotator: Annotator | None
) -> list[Question]:
    """Return the questions in the order in which an annotator is asked them."""
    asked = sorted(questions, key=lambda question: question.ordinal)
    if annotator is not None and study.shuffle_questions:
        # One order for all stories, also for those that are asked only some of them.
        dice = random.Random(f"questions {study.seed} {annotator.name}")
        places = {question.pk: dice.random() for question in study.asked}
        asked.sort(key=lambda question: places[question.pk])
    return asked
