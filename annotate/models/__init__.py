"""The tables of people and their answers, a module a topic."""

from annotate.models.answers import Answer, Choice, Look, Ranking, Rating
from annotate.models.events import Event, Snapshot
from annotate.models.exclusions import (
    EVERYTHING,
    MAIN,
    WITHDRAWN,
    AnalysisView,
    Exclusion,
)
from annotate.models.flags import Flag
from annotate.models.people import (
    Annotator,
    Invitation,
    JoinLink,
    mark_of,
    new_token,
)
from annotate.models.plans import StudyPlan
from annotate.models.purposes import CHECKS, PURPOSES, Purpose
from annotate.models.reports import Report
from annotate.models.slots import Fault, ShotComment, Skip, Slot, StoryComment
from annotate.models.studies import BOXES, Question, Study, StudyMember
from annotate.models.texts import localised
from annotate.models.units import Unit
from annotate.models.users import User

__all__ = [
    "BOXES",
    "CHECKS",
    "EVERYTHING",
    "MAIN",
    "PURPOSES",
    "WITHDRAWN",
    "AnalysisView",
    "Annotator",
    "Answer",
    "Choice",
    "Event",
    "Exclusion",
    "Fault",
    "Flag",
    "Invitation",
    "JoinLink",
    "Look",
    "Purpose",
    "Question",
    "Ranking",
    "Rating",
    "Report",
    "ShotComment",
    "Skip",
    "Slot",
    "Snapshot",
    "StoryComment",
    "Study",
    "StudyMember",
    "StudyPlan",
    "Unit",
    "User",
    "localised",
    "mark_of",
    "new_token",
]
