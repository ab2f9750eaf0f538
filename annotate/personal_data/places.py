"""Inventory of database columns with personal data.

Of tables about annotators every column stands here, of others those about people.
"""

from enum import Enum

from annotate.kinds.base import Kind
from annotate.kinds.registry import KINDS


class Says(Enum):
    """The personal content of a column, and its treatment in an erasure."""

    WHO = "identity or personal link of an annotator"  # erased
    COMMENT = "free text by an annotator"  # erased where that is asked for
    DEED = "actions under a pseudonym"  # stays
    WORDS = "free text by managers, and file names"  # theirs to look at
    ACCOUNT = "accounts and their actions"  # erased with it
    NOTHING = "no personal data"


WHO, COMMENT, DEED, WORDS, ACCOUNT, NOTHING = Says

_VISIT = "user_agent ip_address username http_accept path_info attempt_time"
PLACES: dict[str, dict[Says, str]] = {
    "annotate.Annotator": {
        WHO: "external_id completion_code",
        DEED: "name state language cap training_attempts trained_at consented_at "
        "place left_at declined_at consent_version instructed_at last_seen_at "
        "finished_at completed_at created_at withdrawn_at answers_withdrawn erased_at",
        NOTHING: "id study is_simulated",
    },
    "annotate.Invitation": {
        WHO: "token note",
        DEED: "annotator created_at revoked_at",
        ACCOUNT: "created_by",
        NOTHING: "id",
    },
    "annotate.Visit": {
        WHO: "browser session platform_study code",
        DEED: "annotator created_at admitted_at submit_to",
        ACCOUNT: "admitted_by",
        NOTHING: "id",
    },
    "annotate.JoinLink": {WORDS: "note", ACCOUNT: "created_by"},
    "annotate.Slot": {
        DEED: "annotator session position claimed lease lease_until started_at "
        "submitted_at offered_at seconds claimed_seconds in_sight",
        NOTHING: "id study unit code purpose repeat_of round ordinal state a_is_left "
        "turn language level draw probability alternatives",
    },
    "annotate.Look": {DEED: "slot annotator shot created_at", NOTHING: "id"},
    "annotate.StoryComment": {
        COMMENT: "text",
        DEED: "slot annotator written_at",
        NOTHING: "id client_key",
    },
    "annotate.ShotComment": {
        COMMENT: "text",
        DEED: "slot annotator output shot written_at",
        NOTHING: "id client_key",
    },
    "annotate.Skip": {
        COMMENT: "comment",
        DEED: "slot unit annotator reason created_at",
        NOTHING: "id",
    },
    "annotate.Fault": {
        DEED: "slot annotator side shot created_at",
        NOTHING: "id resolved_at",
    },
    "annotate.Flag": {
        DEED: "annotator rule signal action value n finding text created_at shown_at "
        "resolved_at",
        ACCOUNT: "resolved_by",
        NOTHING: "id",
    },
    "annotate.Payment": {
        WORDS: "reason",
        DEED: "annotator decision bonus decided_at paid_at",
        ACCOUNT: "decided_by",
        NOTHING: "id",
    },
    "annotate.Exclusion": {
        WORDS: "reason",
        DEED: "slot rule created_at undone_at",
        ACCOUNT: "author",
    },
    "annotate.AnalysisView": {WORDS: "title"},
    "annotate.Event": {
        WORDS: "details",
        DEED: "at kind annotator slot",
        ACCOUNT: "user",
        NOTHING: "id study",
    },
    "annotate.Snapshot": {DEED: "data"},
    "annotate.Webhook": {ACCOUNT: "created_by", WORDS: "address"},
    "annotate.Delivery": {DEED: "body"},
    "annotate.Report": {ACCOUNT: "created_by"},
    "annotate.Export": {ACCOUNT: "created_by"},
    "annotate.PublicReport": {ACCOUNT: "published_by"},
    "annotate.Rehearsal": {ACCOUNT: "created_by"},
    "annotate.Upload": {ACCOUNT: "created_by"},
    "annotate.StudyPlan": {ACCOUNT: "created_by", WORDS: "definition"},
    "annotate.Study": {WORDS: "definition consent instructions"},
    "annotate.StudyMember": {ACCOUNT: "user role"},
    "annotate.User": {
        ACCOUNT: "password last_login is_superuser username first_name last_name email "
        "is_staff is_active date_joined groups user_permissions",
    },
    "annotate.User_groups": {ACCOUNT: "user group"},
    "annotate.User_user_permissions": {ACCOUNT: "user permission"},
    "annotate.Identity": {
        ACCOUNT: "user issuer subject follows_groups granted created_at"
    },
    "annotate.PasswordLink": {ACCOUNT: "user token_hash expires_at used_at created_by"},
    "annotate.ApiToken": {
        ACCOUNT: "user name secret_hash scope study created_at expires_at last_used_on "
        "revoked_at",
    },
    "annotate.KeptAnswer": {ACCOUNT: "caller body"},
    "axes.AccessAttempt": {ACCOUNT: f"{_VISIT} get_data post_data"},
    "axes.AccessFailureLog": {ACCOUNT: _VISIT},
    "axes.AccessLog": {ACCOUNT: f"{_VISIT} logout_time session_hash"},
    "sessions.Session": {ACCOUNT: "session_key session_data expire_date"},
    "evalcore.Benchmark": {WORDS: "source"},
    "evalcore.BenchmarkMember": {ACCOUNT: "user role"},
    "evalcore.MetricRun": {WORDS: "file_name"},
    "evalcore.Output": {WORDS: "source"},
}


def _of_answers(kind: Kind) -> dict[Says, str]:
    """Return whether a kind's answers are actions or free text."""
    nothing = ["id", "client_key"]
    words = ["value"] if kind.is_free_text else []
    names = [field.name for field in kind.model._meta.concrete_fields]
    deeds = [name for name in names if name not in [*nothing, *words]]
    found = {DEED: deeds, COMMENT: words, NOTHING: nothing}
    return {says: " ".join(held) for says, held in found.items()}


ANSWERS = {kind.model._meta.label: _of_answers(kind) for kind in KINDS.values()}
PLACES |= ANSWERS


def columns(says: Says) -> set[str]:
    """Return the columns with this content, such as `Annotator.external_id`."""
    return {
        f"{'Answer' if table in ANSWERS else table.partition('.')[2]}.{name}"
        for table, held in PLACES.items()
        for name in held.get(says, "").split()
    }
