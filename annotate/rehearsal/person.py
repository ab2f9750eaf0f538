"""One simulated person on the way from a link to the last page."""

import math
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from annotate.assignment import choosing
from annotate.kinds.base import AnswerError, Value
from annotate.kinds.registry import is_required, kind_of
from annotate.models import Annotator, Purpose, Question, Skip, Slot, Study
from annotate.people import consenting, outcomes
from annotate.people.places import JoiningError
from annotate.quality import follow_up, monitoring
from annotate.rehearsal.answers import Rater, random_marks, right_answer
from annotate.responses import leasing, submission
from annotate.responses.checklists import TicksRow
from annotate.responses.writing import AnswerRow
from annotate.studies.planning import SECONDS_PER_PICTURE


class PersonKind(models.TextChoices):
    """Behaviour of a simulated person."""

    CAREFUL = "careful", pgettext_lazy("simulated person", "Careful")
    QUICK = "quick", pgettext_lazy("simulated person", "Quick")
    RANDOM = "random", pgettext_lazy("simulated person", "Random")
    SAME = "same", pgettext_lazy("simulated person", "Always the same")
    SKIPS = "skips", pgettext_lazy("simulated person", "Skips a method")
    LEAVES = "leaves", pgettext_lazy("simulated person", "Leaves half-way")
    NEVER = "never", pgettext_lazy("simulated person", "Never comes")

    @property
    def about(self) -> str:
        """Return in a few words what such a person does."""
        return {
            PersonKind.CAREFUL: _("looks, and answers with some noise"),
            PersonKind.QUICK: _("clicks through without looking"),
            PersonKind.RANDOM: _("answers at random, at normal pace"),
            PersonKind.SAME: _("picks the left side, or the same value"),
            PersonKind.SKIPS: _("skips every story of one method"),
            PersonKind.LEAVES: _("closes the page, and stays away"),
            PersonKind.NEVER: _("gets a link, and does not take part"),
        }[self]


# People whom the quality rules should find.
TROUBLE = (PersonKind.QUICK, PersonKind.RANDOM, PersonKind.SAME, PersonKind.SKIPS)
# Seconds on the pages before the first story, and hours between two sittings.
CONSENT_SECONDS, INSTRUCTIONS_SECONDS, BREAK_HOURS = 40, 90, 18
QUICK_SECONDS = 0.25  # for each picture
LEAVING = 0.15  # the usual share of people who leave
COMMENT = "I cannot judge this one."


@dataclass
class SimulatedPerson:
    """A simulated person; `join` returns the annotator once the link is opened."""

    kind: PersonKind
    join: Callable[[], Annotator]
    rater: Rater
    comes_after: timedelta
    avoids: str = ""
    judged: int = 0
    annotator: Annotator | None = field(default=None, init=False)

    @property
    def dice(self) -> random.Random:
        return self.rater.dice

    def live(self) -> Iterator[timedelta]:
        """Take part as the pages have it, and yield each time that passes."""
        yield self.comes_after
        try:
            self.annotator = self.join()
        except JoiningError:  # the page says that no place is free
            return
        if self.kind == PersonKind.NEVER:
            return
        yield self._about(CONSENT_SECONDS)
        consenting.agree(self.annotator, self.annotator.language or "en")
        yield self._about(INSTRUCTIONS_SECONDS)
        consenting.begin(self._person())
        while (yield from self._sit()):
            yield self._about(BREAK_HOURS * 3600, spread=0.5)

    def _person(self) -> Annotator:
        """Return the annotator as the next request would read them."""
        assert self.annotator is not None
        people = Annotator.objects.select_related("study")
        self.annotator = people.get(pk=self.annotator.pk)
        return self.annotator

    def _sit(self) -> Generator[timedelta, None, bool]:
        """Work through one sitting; return whether there will be another."""
        session: int | None = None
        while True:
            person = self._person()
            while (warning := monitoring.unread_warning(person)) is not None:
                monitoring.confirm_warning(warning)
            step = choosing.next_for(person, session=session)
            slot = step.slot
            if slot is None or not step.taken:
                return self._rest(person, step)
            slot.study = person.study
            if self._leaves(person, slot):
                return False
            if self._skips(slot):
                yield self._about(8)
                follow_up.skip(
                    slot=slot,
                    annotator=person,
                    reason=Skip.Reason.UNCLEAR,
                    comment=COMMENT,
                )
            else:
                seconds = self._seconds(slot)
                yield from self._stay(slot, seconds)
                if not self._submit(slot, seconds):
                    return False
                self.judged += slot.purpose == Purpose.REAL
            session = None if slot.purpose == Purpose.TRAINING else slot.session

    def _rest(self, person: Annotator, step: choosing.NextStep) -> bool:
        """Stop for now, or for good; people of an open study do one sitting."""
        is_stopped = step.kind == choosing.Next.STOPPED
        if not is_stopped and (person.study.is_open or step.slot is None):
            outcomes.finish_if_done(person, wanted=person.study.is_open)
        return not person.study.is_open and step.slot is not None

    def _leaves(self, person: Annotator, slot: Slot) -> bool:
        """Say whether the person closes the page here, with the story in hand."""
        if self.kind != PersonKind.LEAVES or slot.purpose == Purpose.TRAINING:
            return False
        study = person.study
        planned = person.slots.filter(purpose=Purpose.REAL, claimed=False).count()
        share = study.session_size if study.is_open else planned
        return self.judged >= max(1, share // 2)

    def _skips(self, slot: Slot) -> bool:
        is_shown = self.avoids in slot.unit.methods
        return (
            self.kind == PersonKind.SKIPS
            and slot.purpose != Purpose.TRAINING
            and is_shown
        )

    def _seconds(self, slot: Slot) -> float:
        """Return how long the person takes for a story."""
        shots = slot.unit.story.shots.count()
        pictures = shots * len(slot.unit.outputs)
        looking = SECONDS_PER_PICTURE * pictures
        kinds = [kind_of(question) for question in slot.questions]
        answering = sum(one.seconds * (shots if one.of_shots else 1) for one in kinds)
        seconds = (looking + answering) * self.dice.lognormvariate(0, 0.3)
        if self.kind == PersonKind.QUICK and slot.purpose != Purpose.TRAINING:
            seconds = 1 + QUICK_SECONDS * pictures * self.dice.uniform(0.5, 1)
        return round(max(seconds, slot.study.must_see * shots + 1), 1)

    def _stay(self, slot: Slot, seconds: float) -> Iterator[timedelta]:
        """Stay on the page, which renews the lease."""
        signs = leasing.lease_length(slot.study) / 2
        left = timedelta(seconds=seconds)
        while left > signs:
            yield signs
            leasing.heartbeat(slot, self._person())
            left -= signs
        yield left

    def _submit(self, slot: Slot, seconds: float) -> bool:
        """Send all answers as the page does; return whether they were taken."""
        shots = list(slot.unit.story.shots.values_list("number", flat=True))
        in_sight = dict.fromkeys(shots, seconds / max(len(shots), 1))
        closing = submission.Closing(seconds=seconds, in_sight=in_sight)
        rows = [*self._answers(slot), *self._ticks(slot, shots)]
        send = partial(submission.submit, follow_up=follow_up, whole=True)
        try:
            received = send(self._person(), slot.code, rows, closing)
        except AnswerError:  # paused, or the study was stopped meanwhile
            return False
        return received is not None

    def _answers(self, slot: Slot) -> Iterator[AnswerRow]:
        for question in slot.questions:
            kind = kind_of(question)
            is_asked = is_required(question) or self.dice.random() < 0.3
            if kind.of_shots or not is_asked:
                continue
            value = kind.as_displayed(slot, self.value(slot, question))
            yield AnswerRow(question=question.key, value=value)

    def value(self, slot: Slot, question: Question) -> Value:
        """Return the answer to a question, as it is stored."""
        if slot.purpose == Purpose.TRAINING:  # everybody takes care there
            is_free = question.key not in slot.unit.expected
            is_known = self.rater.knows(slot, question) or (
                is_free and kind_of(question).is_numeric
            )
        elif self.kind == PersonKind.RANDOM:
            return self._random(slot, question)
        elif self.kind == PersonKind.SAME:
            return self._same(slot, question)
        else:
            is_attentive = self.kind != PersonKind.QUICK
            is_known = is_attentive and self.rater.knows(slot, question)
        if is_known:
            return right_answer(slot, question)
        return self.rater.answer(slot, question)

    def _random(self, slot: Slot, question: Question) -> Value:
        kind = kind_of(question)
        if kind.is_free_text:
            return "ok"
        if question.kind == "marks":
            return random_marks(self.dice, slot, question)
        options = [value for value, *_rest in kind.options(slot, question)]
        if kind.is_numeric or kind.is_pairwise:
            return as_stored(slot, question, self.dice.choice(options))
        self.dice.shuffle(options)
        return as_stored(slot, question, ">".join(options))

    def _same(self, slot: Slot, question: Question) -> Value:
        kind = kind_of(question)
        if kind.is_free_text:
            return "ok"
        if kind.is_numeric:
            return (question.scale_min or 0) + 3 * _steps(question) // 4
        return as_stored(slot, question, kind.example(slot, question))

    def _ticks(self, slot: Slot, shots: Sequence[int]) -> Iterator[TicksRow]:
        boxes = [one for one in slot.questions if kind_of(one).of_shots]
        for shot in shots if boxes else ():
            ticked = self.rater.ticks(slot, boxes, shot)
            if self.kind == PersonKind.SAME:
                ticked = frozenset()
            elif self.kind == PersonKind.RANDOM:
                ticked = frozenset(b.key for b in boxes if self.dice.random() < 0.5)
            yield TicksRow(shot=shot, ticked=ticked, looked=True)

    def _about(self, seconds: float, spread: float = 0.3) -> timedelta:
        drawn = self.dice.lognormvariate(math.log(seconds), spread)
        return timedelta(seconds=round(drawn, 1))


def _steps(question: Question) -> int:
    return (question.scale_max or 0) - (question.scale_min or 0)


def as_stored(slot: Slot, question: Question, value: Value) -> Value:
    """Return an answer of the page as it is stored."""
    stored: Value = kind_of(question).fields(slot, question, value)["value"]
    return stored


def usual_people(study: Study) -> dict[str, int]:
    """Return how many people of each kind a rehearsal has by default.

    They are as many as the plan has, or an open study needs. About one in seven leaves,
    and of ten people one clicks at random.
    """
    n = _people_needed(study)
    numbers = dict.fromkeys(PersonKind.values, 0)
    numbers[PersonKind.LEAVES] = round(LEAVING * n)
    numbers[PersonKind.RANDOM] = n // 10
    numbers[PersonKind.CAREFUL] = n - sum(numbers.values())
    return numbers


def _people_needed(study: Study) -> int:
    if not study.is_open:
        return study.annotators.exclude(state=Annotator.State.REVOKED).count()
    real = study.slots.filter(ordinal__isnull=False).exclude(state=Slot.State.WITHDRAWN)
    stories = study.units.filter(purpose=Purpose.REAL)
    each = min(
        study.session_size,
        study.cap or study.session_size,
        stories.order_by().values("story").distinct().count() or 1,
    )
    return max(study.redundancy * study.rounds, math.ceil(real.count() / each))
