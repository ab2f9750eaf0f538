"""A person with every kind of personal data, and the texts that identify them."""

import json
from io import StringIO

from django.core.management import call_command
from django.utils import timezone

from annotate.models import Annotator, Study
from annotate.people.invitation_list import invite_list
from annotate.quality import exclusion
from annotate.reports import downloads
from annotate.responses import giving_back, leasing
from tests.factories import make_benchmark
from tests.working import LIKERT, answer, make_planned

ADA, NOTE = "ada.lovelace@example.org", "tall, from room 5"
WORDS = "My sister Byron drew that fox."
COMMENTED = f"{LIKERT}\npresentation: {{comments: true, shot_comments: true}}\n"


def known_person(protocol: str = COMMENTED, value: str = "3") -> Annotator:
    """Return A01, who has answered, commented, skipped, and holds a slot now."""
    stories = 9 if "ranking" in protocol else 3  # all outputs of a story at once
    benchmark = make_benchmark(stories=stories, shots=1)
    study = make_planned(protocol, benchmark=benchmark, redundancy=1, annotators=2)
    study.annotators.update(state="planned")
    for person in study.annotators.all():
        person.invitation.delete()
    invite_list(study, f'{ADA},,,"{NOTE}"\nGrace')
    now = timezone.now()
    study.annotators.update(state="active", consented_at=now, instructed_at=now)
    ada = study.annotators.select_related("study").get(name="A01")
    first, second, third, *_rest = leasing.own_slots(ada)
    for slot in (first, second):
        answer(leasing.take(slot, ada), ada, lambda _slot, _question: value)
    giving_back.skip(leasing.take(third, ada), ada, reason="other", comment=WORDS)
    ada.story_comments.create(slot=first, text=WORDS)
    output = first.unit.output_a
    ada.shot_comments.create(slot=first, output=output, shot=1, text=WORDS)
    ada.faults.create(slot=first, side="only", shot=1)
    exclusion.exclude(second, reason=f"{ADA.title()} was asleep", author=None)
    leasing.take(leasing.waiting(ada).first(), ada)
    return ada


def tables(study: Study) -> dict[str, str]:
    """Return what researchers download, through both views."""
    names = [name for name in downloads.TABLES if name != "scores"]
    return {
        f"{name} {view}": "".join(downloads.csv_lines(study, name, view=view))
        for name in names
        for view in ("main", "everything")
    }


def whole_database() -> str:
    """Return every row of every table."""
    out = StringIO()
    call_command("dumpdata", all=True, stdout=out)
    return json.dumps(json.loads(out.getvalue()), ensure_ascii=False).casefold()
