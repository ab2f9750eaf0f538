"""Stories of a session: take, draft, submit, skip."""

from typing import Any, ClassVar

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from annotate.api import annotator_serializers as sent
from annotate.api import annotator_standing
from annotate.api.annotator import (
    NOT_NOW,
    SessionView,
    again,
    next_step,
    refuse_unprepared,
)
from annotate.api.base import refuse_unknown
from annotate.api.operations import operation
from annotate.api.refusals import Conflict, Refused, TooMuch
from annotate.assignment import choosing
from annotate.kinds.base import AnswerError, BadAnswerError, SlotTakenError
from annotate.models import Purpose, Slot
from annotate.people.status import stop_text
from annotate.presentation.broken_media import FaultRow
from annotate.presentation.shot_comments import ShotCommentRow
from annotate.quality import follow_up, monitoring
from annotate.responses import checklists, late, leasing, submission, writing
from annotate.responses.leasing import lacking

NO_STORY = OpenApiResponse(description="this annotator has no such story")
REFUSALS = {404: NO_STORY, 409: NOT_NOW}
ANSWER_REFUSALS = {
    400: OpenApiResponse(description="unknown question or invalid answer"),
    413: OpenApiResponse(description="too many answers; nothing was stored"),
    **REFUSALS,
}


class NextStory(SessionView):
    """The annotator's next story."""

    @operation("take_story", sent.TakenSerializer, other={409: NOT_NOW})
    def post(self) -> dict[str, Any]:
        """Take the next story; repeated requests return the same one."""
        person = self.person
        refuse_unprepared(person)
        if monitoring.unread_warning(person) is None:
            following = choosing.next_for(person)
            person = again(person)
            slot = following.slot
            if following.taken and slot is not None:
                story = annotator_standing.story(person, slot)
                return annotator_standing.of_slot(person, slot) | {"story": story}
        return self.standing() | {"story": None}


class StoryView(SessionView):
    """A view of a story that the annotator has taken."""

    is_late: ClassVar[bool] = False
    slot: Slot

    def check_access(self, request: Request) -> None:
        """Find the annotator's story of the address, or raise `Http404`."""
        super().check_access(request)
        person, code = self.person, self.kwargs["code"]
        refuse_unprepared(person)
        own = Slot.objects.filter(annotator=person, code=code)
        slot = own.exclude(state__in=leasing.CLOSED).first()
        slot = slot or late.regain(person, code, late=self.is_late)
        if slot is None and late.shows_replaced(person.study, code):
            raise Conflict(stop_text("replaced"))
        if slot is None:
            raise Http404
        if first := lacking(person, slot.purpose):
            raise Conflict(first)
        self.slot = slot


class AnswersView(StoryView):
    """A view of answers, which may come late."""

    is_late = True

    def receive(
        self, given: dict[str, Any], closing: submission.Closing | None = None
    ) -> Slot:
        """Store what was sent of a story, and submit it if it is complete."""
        slot, rows = self.slot, _rows(given)
        if len(rows) > writing.MOST_ROWS:
            raise TooMuch(
                f"Send at most {writing.MOST_ROWS} answers and ticked shots in one "
                f"request, not {len(rows)}. Nothing was stored."
            )
        asked = [question.key for question in slot.questions]
        known = f"Unknown question {{}}. The questions are {', '.join(asked)}."
        refuse_unknown(given["answers"], asked, "answers", known)
        try:
            received = submission.submit(
                self.person, slot.code, rows, closing, follow_up=follow_up, whole=True
            )
        except BadAnswerError as error:
            raise Refused({"answers": str(error)}) from error
        except AnswerError as error:
            raise Conflict(str(error)) from error
        if received is None:
            raise Http404
        return received.held.slot


class Story(StoryView):
    """A story that the annotator has taken."""

    @operation("get_story", sent.TakenStorySerializer, other=REFUSALS)
    def get(self) -> dict[str, Any]:
        """Return the story with the answers given so far."""
        return annotator_standing.story(self.person, self.slot)


class Heartbeat(StoryView):
    """A sign that the annotator is at work on a story."""

    @operation("keep_story", sent.SavedSerializer, other=REFUSALS)
    def post(self) -> Slot:
        """Renew the lease of the story."""
        slot = self.slot
        if not leasing.heartbeat(slot, self.person):
            raise Conflict(stop_text("gone"))
        slot.refresh_from_db()
        return slot


class Draft(AnswersView):
    """Answers to a story that are not submitted yet."""

    @operation(
        "draft_answers",
        sent.SavedSerializer,
        takes=sent.DraftSerializer,
        other=ANSWER_REFUSALS,
    )
    def post(self, given: dict[str, Any]) -> Slot:
        """Store answers, comments and reports of faults; all, or nothing."""
        return self.receive(given)


class Submit(AnswersView):
    """Submission of all answers to one story."""

    @operation(
        "submit_answers",
        sent.SubmittedSerializer,
        takes=sent.AnswersSerializer,
        other=ANSWER_REFUSALS,
    )
    def post(self, given: dict[str, Any]) -> dict[str, Any]:
        """Store all answers and submit, or store nothing; repeating is harmless."""
        closing = submission.Closing(given.get("seconds"), given.get("in_sight"))
        slot, person = self.receive(given, closing), again(self.person)
        return annotator_standing.standing(person) | {
            "code": slot.code,
            "state": slot.state,
            "feedback": annotator_standing.feedback(person, slot),
        }


class Skip(StoryView):
    """Refusal of a story."""

    @next_step("skip_story", takes=sent.SkipSerializer)
    def post(self, given: dict[str, Any]) -> dict[str, Any]:
        """Skip a story, with a reason."""
        slot = self.slot
        if slot.purpose == Purpose.TRAINING:
            raise Conflict(_("The stories of the training round cannot be skipped."))
        try:
            follow_up.skip(slot=slot, annotator=self.person, **given)
        except BadAnswerError as error:
            raise Refused({"comment": str(error)}) from error
        except SlotTakenError as error:
            text = _("This answer is closed and cannot be changed.")
            raise Conflict(text) from error
        return self.standing()


def _rows(given: dict[str, Any]) -> list[writing.Row]:
    rows: list[writing.Row] = [
        writing.AnswerRow(question=key, value=value or None)
        for key, value in given["answers"].items()
    ]
    rows += [
        checklists.TicksRow(shot=shot, ticked=frozenset(ticked), looked=True)
        for shot, ticked in given["ticked"].items()
    ]
    if "comment" in given:
        rows.append(writing.CommentRow(text=given["comment"]))
    rows += [ShotCommentRow(**one) for one in given["shot_comments"]]
    return rows + [FaultRow(**one) for one in given["faults"]]
