"""Models of people and their answers, one module per topic."""

from annotate.models.answers import Answer, Choice, Look, Ranking, Rating
from annotate.models.events import Event, Snapshot
from annotate.models.flags import (
    EVERYTHING,
    FINAL,
    MAIN,
    PICTURE_REPLACED,
    WITHDRAWN,
    AnalysisView,
    Exclusion,
    Flag,
)
from annotate.models.payments import Payment
from annotate.models.people import (
    Annotator,
    Invitation,
    JoinLink,
    StudyMember,
    User,
    Visit,
    mark_of,
    new_token,
)
from annotate.models.reports import (
    Export,
    PublicReport,
    Rehearsal,
    Report,
    StudyPlan,
)
from annotate.models.server import Identity, PasswordLink, ServerAddress
from annotate.models.slots import Fault, ShotComment, Skip, Slot, StoryComment
from annotate.models.studies import (
    BOXES,
    CHECKS,
    PURPOSES,
    Purpose,
    Question,
    Study,
    localised,
)
from annotate.models.tokens import ApiToken, KeptAnswer
from annotate.models.units import StoryDraw, Unit
from annotate.models.uploads import Upload
from annotate.models.webhooks import Delivery, Webhook

__all__ = [
    "BOXES",
    "CHECKS",
    "EVERYTHING",
    "FINAL",
    "MAIN",
    "PICTURE_REPLACED",
    "PURPOSES",
    "WITHDRAWN",
    "AnalysisView",
    "Annotator",
    "Answer",
    "ApiToken",
    "Choice",
    "Delivery",
    "Event",
    "Exclusion",
    "Export",
    "Fault",
    "Flag",
    "Identity",
    "Invitation",
    "JoinLink",
    "KeptAnswer",
    "Look",
    "PasswordLink",
    "Payment",
    "PublicReport",
    "Purpose",
    "Question",
    "Ranking",
    "Rating",
    "Rehearsal",
    "Report",
    "ServerAddress",
    "ShotComment",
    "Skip",
    "Slot",
    "Snapshot",
    "StoryComment",
    "StoryDraw",
    "Study",
    "StudyMember",
    "StudyPlan",
    "Unit",
    "Upload",
    "User",
    "Visit",
    "Webhook",
    "localised",
    "mark_of",
    "new_token",
]
