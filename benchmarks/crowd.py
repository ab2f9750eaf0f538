"""Measure how even an open study stays while people come and go as they like.

    python benchmarks/crowd.py [--methods 26] [--stories 20] [--people 60] [--seed 1]

Runs through the functions of the server, on a database of its own. First, people come
in random order and leave one session in five in the middle. Then 20 people come by a
clock that is moved on, of whom 8 close the tab in the middle of a story: how long
anybody waits while there are free slots that they may fill.
"""

import argparse
import random
import sys
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.temporary_site import temporary_site

SESSION, REDUNDANCY, ABANDON = 7, 10, 0.2
CROWD, LEAVERS, MINUTES = 20, 8, 240
# Stories, methods, answers a unit, sessions: a study that is filled, and another.
STUDIES = ((9, 2, 3, 9), (20, 4, 4, 2))


def answer(slot, person, question) -> None:
    """Rate a slot, and submit it."""
    from tests import answering

    answering.record_answer(slot=slot, annotator=person, question=question, value=3)
    answering.submit(slot=slot, annotator=person)


def differ(study) -> int:
    """Return by how many answers the units of a study differ now."""
    counts = study.units.values_list("submitted", flat=True)
    return max(counts) - min(counts)


def fill(given: argparse.Namespace, dice: random.Random) -> None:
    """Fill a study whose people leave in mid-session, and print how even it is."""
    from annotate.assignment import choosing
    from annotate.history.verifying import problems
    from annotate.responses import giving_back
    from tests.pressure.grids import add_people, make_grid

    size = {"stories": given.stories, "methods": given.methods}
    study = make_grid("crowd", redundancy=REDUNDANCY, session_size=SESSION, **size)
    people, question = add_people(study, given.people), study.questions.get()
    widest, here = 0, list(people)
    while here:
        person = dice.choice(here)
        slot = choosing.next_for(person).slot
        if slot is None:
            here.remove(person)
        elif dice.random() < ABANDON / SESSION:
            study.slots.filter(pk=slot.pk).update(lease_until="2020-01-01T00:00Z")
            giving_back.release_expired()
            here = list(people)
        else:
            answer(slot, person, question)
        widest = max(widest, differ(study))
    done = study.slots.filter(state="submitted").select_related("unit__output_a")
    met, stories = defaultdict(Counter), Counter()
    for slot in done:
        met[slot.annotator_id][slot.unit.output_a.method_id] += 1
        stories[slot.annotator_id, slot.session, slot.unit.story_id] += 1
    loads = [sum(own.values()) for own in met.values()]
    # A method that somebody never met counts 0.
    spreads = Counter(
        max(own.values()) - min(own.values()) * (len(own) == given.methods)
        for own in met.values()
    )
    print(f"  {done.count()} of {study.slots.count()} slots filled (at best all)")
    print(f"  answers of units differed by {widest} at any moment (at best 1)")
    print(f"  answers of a person: {min(loads)} to {max(loads)}")
    print(
        f"  methods met by a person differ by {dict(sorted(spreads.items()))}"
        " (difference: people; at best 1)"
    )
    print(f"  stories twice in a session: {sum(n - 1 for n in stories.values())}")
    print(f"  promises broken: {len(problems(study))}")


def leave_in_the_middle(shape: tuple[int, ...], dice: random.Random) -> None:
    """Let people come minute by minute, of whom some leave at a story; print waits."""
    from django.utils import timezone

    from annotate.assignment import choosing
    from annotate.models import Slot
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
                    answer(slot, person, question)
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
    print(
        f"  {stories * methods} units x {redundancy}: {waited} minutes waited while"
        f" there was work; units differ by {differ(study)} at the end"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", type=int, default=26)
    parser.add_argument("--stories", type=int, default=20)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    dice = random.Random(given.seed)
    with temporary_site():
        print(f"{given.methods} methods x {given.stories} stories, {given.people} came")
        fill(given, dice)
        print(f"{CROWD} people, {LEAVERS} close the tab, leases of 30 minutes")
        for shape in STUDIES * 5:
            leave_in_the_middle(shape, dice)


if __name__ == "__main__":
    main()
