"""All people of a rehearsal, one after the other as simulated time has it."""

import heapq
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from annotate.coverage import snapshots
from annotate.coverage.dashboard import StudyStanding, standing
from annotate.coverage.enough import GoalRow, enough
from annotate.models import Annotator, JoinLink, Question, Rehearsal, Study
from annotate.people import inviting, joining
from annotate.people.visits import Arrival
from annotate.rehearsal.answers import SEVERITY, TOP, Rater, Truth
from annotate.rehearsal.clock import Clock
from annotate.rehearsal.person import PersonKind, SimulatedPerson
from annotate.responses import giving_back

# How far the worst and the best method are apart, on the scale from 0 to 4.
SPANS = {
    Rehearsal.Differences.CLEAR: 2.8,
    Rehearsal.Differences.SMALL: 0.6,
    Rehearsal.Differences.NONE: 0.0,
}
# Mean hours until people open their link, by invitation and from a public page.
INVITED_HOURS, PUBLIC_HOURS = 12, 8
# Days on which the manager looks at *Progress*, and after the last answer.
LOOK_DAYS = (1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 60)
LAST_LOOK = timedelta(days=8)
# People who would still be at work are left out.
LONGEST = timedelta(days=90)

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Seen:
    """Contents of the page *Progress* on a day."""

    at: datetime
    standing: StudyStanding
    goals: list[GoalRow]


@dataclass
class Walked:
    """A study after its people have been, and what its manager saw meanwhile."""

    study: Study
    people: list[SimulatedPerson]
    best_first: list[str]
    started: datetime
    ended: datetime
    seen: list[Seen] = field(default_factory=list)
    was_cut_short: bool = False


def truth_of(study: Study, differences: str, seed: int) -> tuple[Truth, list[str]]:
    """Return what outputs are worth, and the methods from the best to the worst."""
    names = list(study.method_names)
    random.Random(f"{seed} methods").shuffle(names)
    span = SPANS[Rehearsal.Differences(differences)]
    step = span / max(len(names) - 1, 1)
    worth = {name: (TOP + span) / 2 - step * n for n, name in enumerate(names)}

    def quality(method: str, _question: Question) -> float:
        return worth.get(method, TOP / 2)

    return Truth(quality), names


def gather(
    study: Study, numbers: Mapping[str, int], truth: Truth, seed: int
) -> list[SimulatedPerson]:
    """Invite people of each kind, in mixed order; nobody has come yet."""
    dice = random.Random(f"{seed} people")
    kinds = [PersonKind(name) for name, n in numbers.items() for _i in range(n)]
    dice.shuffle(kinds)
    avoided = dice.choice(list(study.method_names))
    joins = _invited(study) if not study.is_open else _by_link(study, len(kinds))
    hours = PUBLIC_HOURS if study.is_open else INVITED_HOURS
    people = []
    for number, (kind, join) in enumerate(zip(kinds, joins, strict=False)):
        own = random.Random(f"{seed} {number} {kind}")
        spread = 2.0 if kind == PersonKind.QUICK else 1.0
        name = f"{seed} {number}"
        rater = Rater(truth, own, own.gauss(0, SEVERITY), spread, name)
        comes_after = timedelta(hours=own.expovariate(1 / hours))
        people.append(SimulatedPerson(kind, join, rater, comes_after, avoided))
    return people


def _invited(study: Study) -> Iterator[Callable[[], Annotator]]:
    """Yield the opening of each personal link."""
    for invitation in inviting.invite(study, note="rehearsal"):
        yield partial(_same, invitation.annotator)


def _same(annotator: Annotator) -> Annotator:
    return annotator


def _by_link(study: Study, places: int) -> Iterator[Callable[[], Annotator]]:
    """Yield the arrival at a public link with places for all."""
    languages = [name for name, n in study.languages.items() for _i in range(n)]
    link = joining.make_link(study, most=places, note="rehearsal")
    for number in range(places):
        language = languages[number % len(languages)] if languages else ""
        yield partial(_join, link, language, f"rehearsal-{number}")


def _join(link: JoinLink, language: str, name: str) -> Annotator:
    has_ids = bool(link.study.recruitment.get("platform"))
    came = Arrival(external_id=name) if has_ids else Arrival()
    return joining.join(link, came, language=language)


def walk(
    study: Study,
    people: Sequence[SimulatedPerson],
    best_first: list[str],
    clock: Clock,
    *,
    seconds: float,
    progress: Progress,
) -> Walked:
    """Let everybody take part in simulated time, within seconds of real time."""
    walked = Walked(study, list(people), best_first, clock.at, clock.at)
    until = time.monotonic() + seconds
    looks = [clock.at + timedelta(days=day) for day in LOOK_DAYS]
    for at, life, again in _in_order(people, clock.at):
        if time.monotonic() > until or at - walked.started > LONGEST:
            walked.was_cut_short = True
            break
        while looks and looks[0] <= at:
            clock.at = looks.pop(0)
            _look(walked, clock)
        clock.at = walked.ended = at
        again(next(life, None))
        progress(sum(one.judged for one in people))
    clock.at = walked.ended + LAST_LOOK
    _look(walked, clock)
    return walked


Again = Callable[[timedelta | None], None]


def _in_order(
    people: Iterable[SimulatedPerson], start: datetime
) -> Iterator[tuple[datetime, Iterator[timedelta], Again]]:
    """Yield the time and life of the next person, and a function for their delay."""
    queue: list[tuple[datetime, int, Iterator[timedelta]]] = []
    for number, one in enumerate(people):
        heapq.heappush(queue, (start, number, one.live()))
    while queue:
        at, number, life = heapq.heappop(queue)

        def again(
            delay: timedelta | None,
            at: datetime = at,
            number: int = number,
            life: Iterator[timedelta] = life,
        ) -> None:
            if delay is not None:
                heapq.heappush(queue, (at + delay, number, life))

        yield at, life, again


def _look(walked: Walked, clock: Clock) -> None:
    """Note what *Progress* shows now, after what the server does each minute."""
    giving_back.release_expired()
    study = walked.study = Study.objects.get(pk=walked.study.pk)
    snapshots.refresh(study, clock.at)
    walked.seen.append(Seen(clock.at, standing(study, clock.at), enough(study)))
