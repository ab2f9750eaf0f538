"""Measure waits for work when other annotators leave in the middle of a story.

    python benchmarks/crowd.py

Simulates 20 people by a fake clock; 8 of them close the tab at a story,
through the functions of the server, on a temporary database. Prints how long anybody
waited while there were free slots that they may fill, how far the units are apart at
the end, and what `verify` finds.
"""

import random
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.temporary_site import temporary_site

CROWD, LEAVERS, MINUTES = 20, 8, 240
# Stories, methods, answers a unit, sessions: a study that is filled, and another.
STUDIES = ((9, 2, 3, 9), (20, 4, 4, 2))


def leave_in_the_middle(shape: tuple[int, ...], dice: random.Random) -> None:
    """Simulate people minute by minute, some of them leaving; print waits."""
    from django.utils import timezone

    from annotate.assignment import choosing
    from annotate.audit_log.verifying import problems
    from annotate.models import Slot
    from tests import answering
    from tests.pressure.grids import add_people, make_grid

    stories, methods, redundancy, sessions = shape
    slug = f"leavers-{stories}-{methods}-{dice.randrange(10**9)}"
    study = make_grid(slug, stories=stories, methods=methods, redundancy=redundancy)
    people, question = add_people(study, CROWD), study.questions.get()
    most = {person.pk: sessions * study.session_size for person in people}
    for leaver in dice.sample(people, LEAVERS):
        most[leaver.pk] = dice.randrange(3)
    leavers = {pk for pk, number in most.items() if number < study.session_size}
    came = {pk: dice.randrange(45 if pk in leavers else 120) for pk in most}
    held, done, waited = {}, Counter(), 0
    start, real_now, minute = timezone.now(), timezone.now, 0
    timezone.now = lambda: start + minute * timedelta(minutes=1)
    try:
        for minute in range(MINUTES):
            for person in dice.sample(people, len(people)):
                slot, enough = held.get(person.pk), done[person.pk] >= most[person.pk]
                if minute < came[person.pk] or (slot and enough):
                    continue  # is not here yet, or has closed the tab
                if slot:
                    given = {"slot": slot, "annotator": person}
                    answering.record_answer(question=question, value=3, **given)
                    answering.submit(**given)
                    done[person.pk] += 1
                    held[person.pk] = None
                if done[person.pk] >= most[person.pk] and person.pk not in leavers:
                    continue
                held[person.pk] = choosing.next_for(person).slot
                if held[person.pk] is None:
                    own = Slot.objects.filter(annotator=person).values("unit")
                    free = Slot.objects.filter(study=study, annotator=None)
                    waited += free.exclude(unit__in=own).exists()
    finally:
        timezone.now = real_now
    counts = study.units.values_list("submitted", flat=True)
    print(
        f"  {stories * methods} units x {redundancy}: {waited} minutes waited while"
        f" there was work; units differ by {max(counts) - min(counts)} at the end;"
        f" promises broken: {len(problems(study))}"
    )


def main() -> None:
    with temporary_site():
        print(f"{CROWD} people, {LEAVERS} close the tab, leases of 30 minutes")
        for number, shape in enumerate(STUDIES * 5):
            leave_in_the_middle(shape, random.Random(number))


if __name__ == "__main__":
    main()
