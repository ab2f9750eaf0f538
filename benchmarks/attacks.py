"""Measure three kinds of excessive requests against eight annotators who save.

Serves a study as `make run` does, lets eight annotators judge at a normal
pace, and attacks: rows of answers by the thousand, plans of enormous studies, pictures
of every size.

    python benchmarks/attacks.py [--attacks none rows plans pictures]
                                 [--seconds 30]

Each attack lasts so many seconds, on a server that was started for it. Prints the
milliseconds of the annotators' saves, how many failed, and what the attack came to. A
save that failed counts with the time that it took. An attack that is refused goes on
with the most that is not.
"""

import argparse
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.browser import FORM, Browser
from benchmarks.figures import median_p95
from benchmarks.human_pace import Annotator, open_study
from benchmarks.temporary_site import serve, temporary_site

PEOPLE, PAUSE_SECONDS = 8, 1.5
# How long an attacker waits after it was refused.
REFUSED_SECONDS = 0.2
FAILURES = (OSError, HTTPException, RuntimeError, AssertionError)


class Site(NamedTuple):
    """Knowledge of the attackers: links, accounts' cookies, a picture's address."""

    annotators: list[str]
    attacker: str
    manager: str
    preview: str
    plan: dict[str, str]


class Worker(Annotator):
    """An annotator who looks at each story for a while, and tries again."""

    def __init__(self, base: str, token: str) -> None:
        super().__init__(base, token)
        self.failed, self.times = 0, list[float]()

    def judge(self, end: float) -> None:
        """Judge until the end, at a normal pace."""
        dice = random.Random(self.entry)
        time.sleep(dice.uniform(0, PAUSE_SECONDS))
        at = self.retried(self.start)
        while at and time.perf_counter() < end:
            time.sleep(dice.uniform(0.5, 1.5) * PAUSE_SECONDS)
            start = time.perf_counter()
            following = self.retried(lambda at=at: self.save(at))
            self.times.append(1000 * (time.perf_counter() - start))
            if following is not None:
                there = following if "/story/" in following else ""
                at = there or self.retried(self.start)

    def retried(self, work: Callable[[], str]) -> str | None:
        """Return what the work comes to; None where it failed."""
        self.close()  # which the server has closed meanwhile, as a browser knows
        try:
            return work()
        except FAILURES:
            self.failed += 1
            return None


def main() -> int:
    """Measure without an attack and under each; print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["none", *ATTACKS]
    parser.add_argument("--attacks", nargs="*", choices=names, default=names)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with temporary_site():
        for name in options.attacks:
            site = make_site(name)
            with serve() as base:
                measure(name, base, site, options.seconds)
    return 0


def make_site(name: str) -> Site:
    """Store a study to judge, and a benchmark to plan over."""
    from annotate.models import User
    from annotate.setup_form.study import StudyForm
    from annotate.studies.planning import Setup
    from annotate.studies.study_file import load_definition
    from evalcore.models import Output
    from tests.factories import make_benchmark
    from tests.people import log_in

    many = make_benchmark(slug=f"plan-{name}", stories=20, shots=1)
    User.objects.update_or_create(username="mary", defaults={"is_superuser": True})
    tokens = open_study(PEOPLE + 1, slug=f"for-{name}", stories=40, shots=4)
    output = Output.objects.filter(story__benchmark=many).earliest("pk")
    template = load_definition("vistorybench-user-study")
    form = StudyForm.of(Setup("greedy", many, template))
    fields = {key: values[-1] for key, values in form.values.lists() if values}
    return Site(
        tokens[:PEOPLE],
        tokens[-1],
        log_in("mary").cookies["sessionid"].value,
        f"/preview/{many.slug}/{output.pk}_{{}}x{{}}/only/1/display/",
        fields | {"checks.sent": "1", "do": "check"},
    )


def measure(name: str, base: str, site: Site, seconds: float) -> None:
    """Attack while the annotators judge, and print what came of it."""
    end = time.perf_counter() + seconds
    people = [Worker(base, token) for token in site.annotators]
    for person in people:
        person.ask("GET", person.entry)
    threads = [threading.Thread(target=one.judge, args=(end,)) for one in people]
    outcome: Counter[str] = Counter()

    def quietly(attack: Callable[..., Iterator[str]]) -> None:
        with suppress(OSError, HTTPException):  # the server is gone in the end
            for what in attack(base, site):
                outcome[what] += 1
                if time.perf_counter() > end:
                    return
                time.sleep(REFUSED_SECONDS if "refused" in what else 0)

    for attack in ATTACKS.get(name, ()):
        threads.append(threading.Thread(target=quietly, args=[attack], daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads[:PEOPLE]:
        thread.join()
    for thread in threads[PEOPLE:]:
        thread.join(10)
    times = [spent for person in people for spent in person.times]
    told = [f"{number} {what}" for what, number in sorted(outcome.items())]
    print(
        f"{name}: {len(times)} saves, ms {median_p95(times)} / {max(times):.0f} "
        "(median / p95 / longest), "
        f"{sum(person.failed for person in people)} failed; {', '.join(told)}",
        flush=True,
    )


def attack_rows(base: str, site: Site) -> Iterator[str]:
    """Send thousands of answers to one question in a request."""
    attacker = Annotator(base, site.attacker)
    attacker.ask("GET", attacker.entry)
    at, number, sent = attacker.start(), 2000, 0
    while True:
        rows = [
            {"kind": "answer", "id": str(key), "key": f"attack {key}"}
            | {"question": "beauty", "value": str(key % 5)}
            for key in range(sent, sent + number)
        ]
        refused = is_refused(attacker.post, f"{at}save/", {"rows": rows})
        yield f"requests of {number} rows {'refused' if refused else 'stored'}"
        sent += number
        number = 200 if refused else number


def attack_plans(base: str, site: Site) -> Iterator[str]:
    """Check a study of 2,000 people and 1,000 ratings of each of 60 units."""
    browser = logged_in(base, site.manager)
    browser.ask("GET", "/setup/")
    address, people, ratings = f"/setup/{site.preview.split('/')[2]}/", 2000, 1000
    headers = FORM | {"HX-Request": "true"}
    while True:
        people += 1
        asked = {"annotators": str(people), "redundancy": str(ratings)}
        body = urlencode(site.plan | asked).encode()
        _location, page = browser.ask("POST", address, body, headers)
        refused = b"can be planned" in page
        yield "checks refused" if refused else "checks answered"
        ratings = 400 if refused else ratings


def attack_pictures(base: str, site: Site) -> Iterator[str]:
    """Ask for one picture in every size."""
    browser = logged_in(base, site.manager)
    dice = random.Random(threading.get_ident())
    while True:
        size = dice.randint(1000, 2048), dice.randint(1000, 2048)
        refused = is_refused(browser.ask, "GET", site.preview.format(*size))
        yield "sizes refused" if refused else "sizes sent"


def is_refused(work: Callable[..., object], *given: object) -> bool:
    """Ask for something; say whether the server refuses it."""
    try:
        work(*given)
    except RuntimeError:
        return True
    return False


def logged_in(base: str, session: str) -> Browser:
    browser = Browser(base)
    browser.cookies["sessionid"] = session
    return browser


ATTACKS: dict[str, list[Callable[..., Iterator[str]]]] = {
    "rows": [attack_rows],
    "plans": [attack_plans] * PEOPLE,
    "pictures": [attack_pictures] * 4,
}

if __name__ == "__main__":
    raise SystemExit(main())
