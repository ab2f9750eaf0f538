"""How even an open study stays while people come and go as they like.

    python benchmarks/crowd.py [ARRIVALS [SEED]]

Simulates the ViStoryBench user study (26 methods x 20 stories, ten answers each,
sessions of seven) with people who come in random order and leave in mid-session one
time in five, and prints what was reached beside what was possible at best. The rules
are the real ones: `annotate.assignment.designs.shown_sides` chooses, levels are handed
out as by `annotate.assignment.choosing`. Then a smaller study runs through the real
functions on a database of its own (SQLite), and 20 people of whom 8 close the tab in
the middle of a story, by a clock that is moved on: how long anybody waits while there
are free slots that they may fill, and how far units are apart at the end.
"""

import random
import sys
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from annotate.assignment.designs.balance import Assignment, DesignUnit, measure
from annotate.assignment.designs.shown_sides import (
    Candidate,
    SeenSoFar,
    best,
    keeps_even,
)
from benchmarks.temporary_site import temporary_site

METHODS, STORIES, REDUNDANCY, SESSION = 26, 20, 10, 7
ARRIVALS, ABANDON = 60, 0.2
WINDOW, WIDE_WINDOW = 40, 1000
# Of so many people some close the tab at a story; the others do so many sessions.
CROWD, LEAVERS, MINUTES = 20, 8, 240
# Stories, methods, answers a unit, sessions: a study that is filled, and another.
STUDIES = ((9, 2, 3, 9), (20, 4, 4, 2))


class Person:
    """Somebody who takes slots one by one, and what they have judged."""

    def __init__(self, number: int) -> None:
        self.number, self.seen = number, SeenSoFar()
        self.judged: list[tuple[int, int]] = []  # unit, session
        self.units: set[int] = set()
        self.session, self.in_session, self.held = 1, 0, None
        self.sessions_done: set[int] = set()


class OpenStudy:
    """Free slots by level and draw, as the database holds them."""

    def __init__(self, dice: random.Random) -> None:
        self.units = [
            DesignUnit(m * STORIES + s, f"s{s}", (f"m{m}",))
            for m in range(METHODS)
            for s in range(STORIES)
        ]
        self.free = [
            (level, dice.random(), unit.id)
            for unit in self.units
            for level in range(1, REDUNDANCY + 1)
        ]
        self.free.sort()
        self.open = Counter(level for level, _draw, _unit in self.free)
        self.submitted = Counter(dict.fromkeys(range(len(self.units)), 0))
        self.widest = 0

    def take(self, person: Person, dice: random.Random) -> bool:
        """Give the best free slot to a person; say whether there was one."""
        lowest = min((level for level, n in self.open.items() if n), default=0)
        fit = [
            row
            for row in self.free
            if row[0] <= lowest + 1 and row[2] not in person.units
        ]
        chosen = self._best(fit[:WINDOW], person, dice)
        if chosen and len(fit) > WINDOW and not keeps_even(chosen, person.seen):
            chosen = self._best(fit[:WIDE_WINDOW], person, dice)
        if chosen is None:
            return False
        person.held = next(
            row for row in fit if (row[0], row[2]) == (chosen.level, chosen.slot)
        )
        self.free.remove(person.held)
        if chosen.story in person.seen.stories or person.in_session == SESSION:
            self._next_session(person)
        person.units.add(chosen.slot)
        return True

    def _best(
        self, rows: list, person: Person, dice: random.Random
    ) -> Candidate | None:
        candidates = [
            Candidate(unit, self.units[unit].story, self.units[unit].methods, level)
            for level, _draw, unit in rows
        ]
        dice.shuffle(candidates)
        return best(candidates, person.seen)

    def _next_session(self, person: Person) -> None:
        person.session, person.in_session = person.session + 1, 0
        person.seen.stories = set()

    def submit(self, person: Person) -> None:
        level, _draw, unit = person.held
        person.held = None
        self.open[level] -= 1
        self.submitted[unit] += 1
        counts = self.submitted.values()
        self.widest = max(self.widest, max(counts) - min(counts))
        row = self.units[unit]
        person.seen.add(Candidate(unit, row.story, row.methods, level))
        person.judged.append((unit, person.session))
        person.in_session += 1
        if person.in_session == SESSION:
            person.sessions_done.add(person.session)
            self._next_session(person)

    def give_back(self, person: Person) -> None:
        """The lease of somebody who left runs out."""
        self.free.append(person.held)
        self.free.sort()
        person.units.discard(person.held[2])
        person.held = None


def simulate(arrivals: int, dice: random.Random) -> tuple[OpenStudy, list[Person]]:
    """Run until the study is full or nobody can go on; return what came about."""
    study = OpenStudy(dice)
    people = [Person(number) for number in range(arrivals)]
    here = set(range(arrivals))
    while here:
        person = people[dice.choice(sorted(here))]
        if person.held is None:
            if not study.take(person, dice) and not any(p.held for p in people):
                here.discard(person.number)
        # One in five sessions is left in the middle; the person returns later.
        elif dice.random() < ABANDON / SESSION:
            study.give_back(person)
            study._next_session(person)
        else:
            study.submit(person)
    return study, people


def report(study: OpenStudy, people: list[Person]) -> None:
    """Print the balance beside the best that was possible."""
    assignments = [
        Assignment(p.number, unit, 1, session, place, True)
        for p in people
        for place, (unit, session) in enumerate(p.judged, start=1)
    ]
    for line in measure(study.units, assignments, annotators=len(people)).lines():
        print(f"    {line}")
    wanted = len(study.units) * REDUNDANCY
    missing = wanted - len(assignments)
    loads = [len(p.judged) for p in people]
    spreads = [spread_of_methods(study, p) for p in people]
    print(f"    slots that nobody could fill: {missing} of {wanted} (at best 0)")
    print(f"    answers of units differed by at most {study.widest} (at best 1)")
    print(f"    load {min(loads)} to {max(loads)} (even: {wanted / len(people):.1f})")
    print(
        "    methods met in finished sessions differ within a person by "
        f"{dict(sorted(Counter(spreads).items()))} (spread: people; at best 1)"
    )


def spread_of_methods(study: OpenStudy, person: Person) -> int:
    met = Counter(
        study.units[unit].methods[0]
        for unit, session in person.judged
        if session in person.sessions_done
    )
    counts = [met[f"m{number}"] for number in range(METHODS)]
    return max(counts) - min(counts)


def in_the_database(dice: random.Random) -> None:
    """Run a smaller study through the real functions, and measure it."""
    from annotate.assignment import choosing
    from annotate.history.verifying import problems
    from annotate.responses import giving_back
    from tests import answering
    from tests.pressure.grids import add_people, make_grid

    study = make_grid("crowd", stories=10, methods=8, redundancy=5, session_size=7)
    people, question = add_people(study, 12), study.questions.get()
    widest, waiting = 0, set()
    while len(waiting) < len(people):
        person = dice.choice([one for one in people if one.pk not in waiting])
        slot = choosing.next_for(person).slot
        if slot is None:
            waiting.add(person.pk)
        elif dice.random() < ABANDON / SESSION:
            study.slots.filter(pk=slot.pk).update(lease_until="2020-01-01T00:00Z")
            giving_back.release_expired()
        else:
            answering.record_answer(
                slot=slot, annotator=person, question=question, value=3
            )
            answering.submit(slot=slot, annotator=person)
        counts = list(study.units.values_list("submitted", flat=True))
        widest = max(widest, max(counts) - min(counts))
    done = study.slots.filter(state="submitted").select_related("unit__output_a")
    met, twice = defaultdict(Counter), Counter()
    for slot in done:
        met[slot.annotator_id][slot.unit.output_a.method_id] += 1
        twice[slot.annotator_id, slot.session, slot.unit.story_id] += 1
    spreads = Counter(max(m.values()) - min(m.values()) for m in met.values())
    print(f"    {done.count()} of {study.slots.count()} slots filled")
    print(f"    answers of units differed by at most {widest} at any moment")
    print(f"    methods met differ within a person by {dict(sorted(spreads.items()))}")
    print(f"    stories twice in a session: {sum(n - 1 for n in twice.values())}")
    print(f"    promises broken: {len(problems(study))}")


def leaving_in_the_middle(dice: random.Random, shape: tuple[int, ...]) -> None:
    """Let people come minute by minute, of whom some leave at a story; measure it."""
    from django.utils import timezone

    from annotate.assignment import choosing
    from annotate.models import Slot
    from tests import answering
    from tests.pressure.grids import add_people, make_grid

    stories, methods, redundancy, sessions = shape
    slug = f"leavers-{stories}-{methods}-{dice.random()}".replace(".", "-")
    study = make_grid(slug, stories=stories, methods=methods, redundancy=redundancy)
    people, question = add_people(study, CROWD), study.questions.get()
    most = {person.pk: sessions * study.session_size for person in people}
    for leaver in dice.sample(people, LEAVERS):
        most[leaver.pk] = dice.randrange(3)
    leavers = {pk for pk, number in most.items() if number < study.session_size}
    came = {pk: dice.randrange(45 if pk in leavers else 120) for pk in most}
    held, done, waited, widest = {}, Counter(), 0, 0
    start, real_now, minute = timezone.now(), timezone.now, 0
    timezone.now = lambda: start + minute * timedelta(minutes=1)
    try:
        for minute in range(MINUTES):
            for person in dice.sample(people, len(people)):
                if minute < came[person.pk]:
                    continue
                slot = held.get(person.pk)
                if slot is not None and done[person.pk] >= most[person.pk]:
                    continue  # the tab is closed
                if slot is not None:
                    answering.record_answer(
                        slot=slot, annotator=person, question=question, value=3
                    )
                    answering.submit(slot=slot, annotator=person)
                    done[person.pk] += 1
                    held[person.pk] = None
                    counts = study.units.values_list("submitted", flat=True)
                    widest = max(widest, max(counts) - min(counts))
                if done[person.pk] >= most[person.pk] and person.pk not in leavers:
                    continue
                held[person.pk] = choosing.next_for(person).slot
                if held[person.pk] is None:
                    own = Slot.objects.filter(annotator=person).values("unit")
                    free = Slot.objects.filter(study=study, annotator=None)
                    waited += free.exclude(unit__in=own).exists()
    finally:
        timezone.now = real_now
    counts = list(study.units.values_list("submitted", flat=True))
    print(
        f"    {stories * methods} units x {redundancy}: {sum(counts)} answers; "
        f"{waited} minutes waited while there was work; units differ by "
        f"{max(counts) - min(counts)} at the end, by {widest} at most"
    )


def main() -> None:
    arrivals = int(sys.argv[1]) if len(sys.argv) > 1 else ARRIVALS
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(f"{METHODS} methods x {STORIES} stories x {REDUNDANCY}, {arrivals} arrivals")
    report(*simulate(arrivals, dice))
    print("8 methods x 10 stories x 5, 12 people, in the database")
    with temporary_site():
        in_the_database(dice)
        print(
            f"{CROWD} people, {LEAVERS} close the tab at a story, leases of 30 minutes"
        )
        for shape in STUDIES:
            for _run in range(5):
                leaving_in_the_middle(dice, shape)


if __name__ == "__main__":
    main()
