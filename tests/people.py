"""The people of the tests: Alice manages, Rob researches, Eve is an outsider.

Alice owns the benchmark of the study that she manages.
"""

from django.test import Client
from rest_framework.test import APIClient

from annotate.models import ApiToken, Study, StudyMember, User
from evalcore import members


def log_in(name: str, study: Study | None = None, role: str = "") -> Client:
    """Return a client logged in as that person, a member of the study if asked."""
    user, _created = User.objects.get_or_create(username=name)
    if role:
        StudyMember.objects.get_or_create(study=study, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


def alice(study: Study) -> Client:
    client = log_in("alice", study, "manager")
    members.add(study.benchmark, members.account("alice"), members.Role.OWNER)
    return client


def rob(study: Study) -> Client:
    return log_in("rob", study, "researcher")


def eve() -> Client:
    return log_in("eve")


def program(name: str, scope: str = "manage", study: Study | None = None) -> APIClient:
    """Return a client with a token of that person."""
    user = User.objects.get(username=name)
    _token, secret = ApiToken.issue(user=user, name="test", scope=scope, study=study)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def answer_everything(study: Study, value: int | str = 3) -> None:
    """Submit every open slot with one value (a number, or a, b, tie)."""
    from django.utils import timezone

    from annotate.responses.bulk import SlotAnswers, store_judgements

    answers = dict.fromkeys(study.questions.all(), value)
    slots = study.slots.filter(state="open", annotator__isnull=False)
    if study.questions.filter(kind="checklist").exists():
        store_judgements(
            SlotAnswers(
                slot,
                {},
                timezone.now(),
                20.0,
                {
                    (shot.number, question): value
                    for shot in slot.unit.story.shots.all()
                    for question in answers
                },
            )
            for slot in slots
        )
        return
    store_judgements(SlotAnswers(slot, answers, timezone.now(), 20.0) for slot in slots)
