"""Studies planned from a few lines of YAML, and annotators who work through them."""

from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlencode

from django.db.models import Max
from django.urls import reverse
from django.utils import timezone

from annotate.assignment import choosing
from annotate.models import Annotator, Invitation, Slot, Study
from annotate.people import inviting
from annotate.responses import giving_back
from annotate.studies import lifecycle
from annotate.studies.planning import plan_study
from annotate.studies.study_file import read_definition
from tests import answering
from tests.factories import make_benchmark

LIKERT = """
kind: likert
scale: [0, 4]
questions:
  - {key: character, title: {en: Character, zh: 角色}, text: {en: "Same?", zh: "一致?"},
     anchors: {3: {en: good, zh: 良好}, 4: {en: perfect, zh: 完美}}}
  - {key: beauty, title: Beauty, text: "How nice?"}
"""
PAIRWISE = """
kind: choice
questions:
  - {key: quality, title: Quality, text: "Which is better?"}
  - {key: text, title: Text, text: "Which follows?"}
"""

Answer = Callable[[Slot, str], str]


def make_planned(text: str, *, benchmark=None, slug="trial", **plan) -> Study:
    """Plan, invite and launch a study; an open one gets no annotators yet."""
    definition = read_definition(text, file="study.yaml", name="trial")
    benchmark = benchmark or make_benchmark(stories=4)
    study = plan_study(definition, benchmark=benchmark, slug=slug, **plan)
    lifecycle.launch(study)
    if not study.is_open:
        inviting.invite(study, count=study.annotators.count())
    return study


def join(study: Study, name: str = "", **fields) -> Annotator:
    """Return an annotator who has agreed and may work; a new one without a name."""
    if name:
        person = study.annotators.get(name=name)
    else:
        number = study.annotators.count() + 1
        person = study.annotators.create(name=f"N{number:02}")
        Invitation.objects.create(annotator=person)
    now = timezone.now()
    Annotator.objects.filter(pk=person.pk).update(
        state="active", consented_at=now, instructed_at=now, **fields
    )
    return study.annotators.select_related("study").get(pk=person.pk)


def always(value: str) -> Answer:
    return lambda _slot, _question: value


def answer(slot: Slot, person: Annotator, given: Answer, seconds: float = 30.0) -> Slot:
    """Answer all questions of a slot as the page would, and submit it."""
    for question in slot.questions:
        value = given(slot, question.key)
        answering.record_answer(
            slot=slot, annotator=person, question=question, value=value
        )
    # As if it had been fetched yesterday: time passes in tests in no time.
    yesterday = timezone.now() - timedelta(days=1)
    return answering.submit(
        slot=slot, annotator=person, seconds=seconds, offered_at=yesterday
    )


def end_leases() -> int:
    """Let every lease run out, and put the slots back; return how many."""
    leased = Slot.objects.filter(state="leased")
    leased.update(lease_until=timezone.now() - timedelta(seconds=1))
    return giving_back.release_expired()


def work(person: Annotator, given: Answer, most: int = 1000, **how) -> list[Slot]:
    """Take and answer slots until nothing comes or `most` are done; return them."""
    done: list[Slot] = []
    while len(done) < most:
        slot = choosing.next_for(person).slot
        if slot is None:
            break
        done.append(answer(slot, person, given, **how))
    return done


def save(
    client,
    address: str,
    *,
    key: str = "",
    submit: bool = False,
    shown: str = "",
    proof: str = "",
    seconds: float | None = 20,
    in_sight: object = None,
    **answers: str | int,
):
    """Send what the page with JavaScript sends of a story; return the response."""
    rows: list[dict[str, object]] = [
        {"kind": "answer", "id": name, "question": name, "value": value, "key": key}
        for name, value in answers.items()
    ]
    if submit:
        told = {"seconds": seconds, "in_sight": in_sight, "shown": shown}
        rows.append({"kind": "submit", "id": "submit", **told})
    return client.post(
        f"{address}save/" + (f"?{urlencode({'proof': proof})}" if proof else ""),
        {"rows": rows},
        content_type="application/json",
        headers={"accept": "application/json"},
    )


def sessions_of(person: Annotator) -> dict[int, list[Slot]]:
    """Return the slots of each session in the order in which they are shown."""
    found: dict[int, list[Slot]] = {}
    slots = person.slots.filter(position__isnull=False).order_by("position")
    for slot in slots.select_related("unit"):
        found.setdefault(slot.session, []).append(slot)
    return found


def last_session(person: Annotator) -> int:
    return person.slots.aggregate(last=Max("session"))["last"]


def form(**answers: str | int) -> dict[str, str]:
    """Return what a page without scripts posts of answers."""
    return {f"q:{key}": str(value) for key, value in answers.items()}


class Browser:
    """One annotator's browser without scripts."""

    def __init__(self, client, person: Annotator) -> None:
        self.client = client
        self.token = Invitation.objects.get(annotator=person).token
        self.at = self.address("entry")

    def address(self, page: str, *args: str) -> str:
        return reverse(f"rate-{page}", args=[self.token, *args])

    def start(self) -> str:
        """Agree, read the instructions, and go to the first story."""
        self.client.post(self.address("consent"))
        return self.post(self.address("instructions"))

    def post(self, address: str, **data: str) -> str:
        """Send a form and follow to the next address, which is kept."""
        response = self.client.post(address, data)
        assert response.status_code == 302, response.content.decode()
        self.at = response["Location"]
        return self.at

    def get(self, address: str = ""):
        return self.client.get(address or self.at)

    def text(self, address: str = "") -> str:
        return self.get(address).content.decode()

    def fill(self, **answers: str) -> str:
        return self.post(f"{self.at}submit/", seconds="20", **form(**answers))

    @property
    def slot(self) -> Slot:
        return Slot.objects.get(code=self.at.rstrip("/").rsplit("/", 1)[-1])
