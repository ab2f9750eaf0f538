"""How even an open study stays while people come and go as they like.

    python benchmarks/crowd.py [--methods 26] [--stories 20] [--people 60] [--seed 1]

Fills a study of ten answers an output, in sessions of seven, through the functions of
the server, on a database of its own: people come in random order and leave one session
in five in the middle. Prints what was reached beside what was possible at best.
"""

import argparse
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.temporary_site import temporary_site

SESSION, REDUNDANCY, ABANDON = 7, 10, 0.2


def filled(given: argparse.Namespace, dice: random.Random) -> None:
    """Fill a study whose people leave in mid-session, and print how even it is."""
    from annotate.answers import writing
    from annotate.history.verifying import problems
    from annotate.next_slot import choosing
    from annotate.slots import leasing
    from annotate.submission import consequences
    from tests.pressure.grids import add_people, make_grid

    size = {"stories": given.stories, "methods": given.methods}
    study = make_grid("crowd", redundancy=REDUNDANCY, session_size=SESSION, **size)
    people, question = add_people(study, given.people), study.questions.get()
    widest, here = 0, list(people)
    while here:
        person = dice.choice(here)
        slot = choosing.take_next(person).slot
        if slot is None:
            here.remove(person)
        elif dice.random() < ABANDON / SESSION:
            study.slots.filter(pk=slot.pk).update(lease_until="2020-01-01T00:00Z")
            leasing.release_expired()
            here = list(people)
        else:
            writing.record_answer(
                slot=slot, annotator=person, question=question, value=3
            )
            consequences.submit(slot=slot, annotator=person)
        counts = study.units.values_list("submitted", flat=True)
        widest = max(widest, max(counts) - min(counts))
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
        filled(given, dice)


if __name__ == "__main__":
    main()
