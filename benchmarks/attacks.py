"""What four kinds of greedy requests do to eight annotators who save meanwhile.

Serves a study of its own as `make run` does, with a worker, lets eight annotators judge
at a normal pace, and attacks: rows of answers by the thousand, plans of enormous
studies, reports without end, pictures of every size.

    python benchmarks/attacks.py [--attacks none,rows,plans,reports,pictures]
    python benchmarks/attacks.py --seconds 30

Each attack lasts so many seconds, on a site that was started for it. Prints the
milliseconds of the annotators' saves (median, p95, longest), how many failed, and what
the attack came to. A save that failed counts with the time that it took. An attack that
is refused goes on with the most that is not. Another version of the program is measured
by the same file, copied into its tree.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.browser import FORM, Browser
from benchmarks.temporary_site import free_port, temporary_site, wait_for
from benchmarks.throughput import QUESTIONS, START_SECONDS, Annotator, build, p95

PEOPLE, PAUSE_SECONDS = 8, 1.5
# How long an attacker waits after it was refused.
REFUSED_SECONDS = 0.2
# What was asked for in time may be answered so much later.
LATE_SECONDS = 60
FAILURES = (OSError, HTTPException, RuntimeError, AssertionError)


class Site(NamedTuple):
    """What the attackers know: links, accounts' cookies, a picture's address."""

    annotators: list[str]
    attacker: str
    manager: str
    researcher: str
    preview: str
    plan: dict[str, str]


class Worker(Annotator):
    """An annotator who looks at each story for a while, and tries again."""

    def __init__(self, base: str, token: str) -> None:
        super().__init__(base, token)
        self.failed = 0

    def judge(self, end: float) -> None:
        """Judge until the end, at a normal pace."""
        dice = random.Random(self.entry)
        time.sleep(dice.uniform(0, PAUSE_SECONDS))
        at = self.retried(self.start)
        while at and time.perf_counter() < end:
            time.sleep(dice.uniform(0.5, 1.5) * PAUSE_SECONDS)
            start = time.perf_counter()
            following = self.retried(lambda at=at: self.save(at))
            self.times["save"].append(1000 * (time.perf_counter() - start))
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
    parser.add_argument("--attacks", default=",".join(names))
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    wanted = options.attacks.split(",")
    if unknown := set(wanted) - set(names):
        parser.error(f"no attack {min(unknown)}; there are {', '.join(names)}")
    with temporary_site():
        for name in wanted:
            site = make_site(name)
            with serving() as base, a_worker():
                measure(name, base, site, options.seconds)
    return 0


def make_site(name: str) -> Site:
    """Store a study to judge, one to report on, and a benchmark to plan over."""
    from annotate.models import User
    from annotate.setup_form.study import StudyForm
    from annotate.studies.planning import Setup
    from annotate.studies.study_file import load_definition
    from evalcore.models import Output
    from tests.factories import make_benchmark, make_study
    from tests.people import answer_everything, log_in

    options = argparse.Namespace(stories=40, shots=4, redundancy=10)
    many = make_benchmark(slug=f"plan-{name}", stories=20, shots=1)
    reported = make_study(
        benchmark=make_benchmark(slug=f"report-{name}", stories=10, shots=1),
        slug=f"report-{name}",
        annotators=5,
    )
    answer_everything(reported)
    User.objects.update_or_create(username="mary", defaults={"is_superuser": True})
    tokens = build_for(options, name)
    output = Output.objects.filter(story__benchmark=many).earliest("pk")
    form = StudyForm.of(
        Setup("greedy", many, load_definition("vistorybench-user-study"))
    )
    fields = {key: values[-1] for key, values in form.values.lists() if values}
    return Site(
        tokens[:PEOPLE],
        tokens[-1],
        log_in("mary").cookies["sessionid"].value,
        log_in("rob", reported, "researcher").cookies["sessionid"].value,
        f"/preview/{many.slug}/{output.pk}_{{}}x{{}}/only/1/display/",
        fields | {"checks.sent": "1", "do": "check"},
    )


def build_for(options: argparse.Namespace, name: str) -> list[str]:
    """Return the links of the annotators, and of one more, to a study of their own."""
    from annotate.models import Study
    from evalcore.models import Benchmark

    tokens = build(options, PEOPLE + 1)
    # `build` names the next site's study the same.
    slug = f"for-{PEOPLE + 1}"
    Study.objects.filter(slug=slug).update(slug=f"{slug}-{name}")
    Benchmark.objects.filter(slug=slug).update(slug=f"{slug}-{name}")
    return tokens


@contextmanager
def serving() -> Iterator[str]:
    """Serve the pages as `make run` does; yield the address."""
    from evalcore.serving.processes import web_command

    port = free_port()
    command = web_command("127.0.0.1", port)
    server = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        wait_for(port)
        time.sleep(START_SECONDS)  # all processes, not the first one alone
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # it may be busy for minutes
        server.wait()


@contextmanager
def a_worker() -> Iterator[None]:
    """Keep the worker for reports and plans at work."""
    from evalcore.serving.processes import worker_command

    worker = subprocess.Popen(worker_command("cpu"), cwd=ROOT)
    try:
        yield
    finally:
        worker.kill()  # it may be in the middle of a report
        worker.wait()


def measure(name: str, base: str, site: Site, seconds: float) -> None:
    """Attack while the annotators judge, and print what came of it."""
    end = time.perf_counter() + seconds
    people = [Worker(base, token) for token in site.annotators]
    for person in people:
        person.ask("GET", person.entry)
    threads = [threading.Thread(target=one.judge, args=(end,)) for one in people]
    outcome: Counter[str] = Counter()
    for attack in ATTACKS.get(name, ()):
        given = (base, site, end, outcome)
        threads.append(threading.Thread(target=attack, args=given, daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads[:PEOPLE]:
        thread.join()
    for thread in threads[PEOPLE:]:
        thread.join(max(0, end + LATE_SECONDS - time.perf_counter()))
    times = [spent for person in people for spent in person.times["save"]]
    told = [f"{number} {what}" for what, number in sorted(outcome.items())]
    print(
        f"{name}: {len(times)} saves, ms {statistics.median(times):.0f} / "
        f"{p95(times):.0f} / {max(times):.0f} (median / p95 / longest), "
        f"{sum(person.failed for person in people)} failed; {', '.join(told)}",
        flush=True,
    )


def attack_rows(base: str, site: Site, end: float, outcome: Counter[str]) -> None:
    """Send thousands of answers to one question in a request."""
    attacker = Annotator(base, site.attacker)
    attacker.ask("GET", attacker.entry)
    at, number, key = attacker.start(), 2000, 0
    while time.perf_counter() < end:
        rows = []
        for _ in range(number):
            key += 1
            rows.append(
                {"kind": "answer", "id": str(key), "key": f"attack {key}"}
                | {"question": QUESTIONS[0], "value": str(key % 5)}
            )
        try:
            attacker.post(f"{at}save/", {"rows": rows})
        except RuntimeError as error:
            if " 413 " not in str(error):
                raise
            outcome[f"requests of {number} rows refused"] += 1
            number = 200
        else:
            outcome[f"requests of {number} rows stored"] += 1


def attack_plans(base: str, site: Site, end: float, outcome: Counter[str]) -> None:
    """Check a study of 2,000 people and 1,000 ratings of each of 60 units."""
    browser = logged_in(base, site.manager)
    browser.ask("GET", "/setup/")
    address = f"/setup/{site.preview.split('/')[2]}/"
    people, ratings = 2000, 1000
    while time.perf_counter() < end:
        people += 1
        asked = {"annotators": str(people), "redundancy": str(ratings)}
        page = send_form(browser, address, site.plan | asked)
        if "can be planned" in page:
            outcome["checks refused"] += 1
            ratings = 400
        else:
            outcome["checks answered"] += 1
        time.sleep(REFUSED_SECONDS)


def attack_reports(base: str, site: Site, end: float, outcome: Counter[str]) -> None:
    """Ask for one report after the other."""
    browser = logged_in(base, site.researcher)
    address = f"/studies/{report_study(site)}/reports/"
    browser.ask("GET", address)
    while time.perf_counter() < end:
        try:
            send_form(browser, f"{address}new/", REPORT)
        except RuntimeError:
            outcome["reports refused"] += 1
            time.sleep(REFUSED_SECONDS)
        else:
            outcome["reports queued"] += 1


def ask_for_one_report(
    base: str, site: Site, end: float, outcome: Counter[str]
) -> None:
    """Ask for a report as another account, a while later; note how long it takes."""
    time.sleep(5)
    browser = logged_in(base, site.manager)
    address = f"/studies/{report_study(site)}/reports/"
    browser.ask("GET", address)
    send_form(browser, f"{address}new/", REPORT)
    began = time.perf_counter()
    while time.perf_counter() < end + LATE_SECONDS - 5:
        time.sleep(0.5)
        _location, page = browser.ask("GET", address)
        rows = page.decode().split("<tr>")
        own = [row for row in rows if "· mary" in " ".join(row.split())]
        if own and "all.zip" in own[0]:
            outcome["s for another account's report"] = round(
                time.perf_counter() - began
            )
            return
    outcome["report of another account not built"] += 1


def attack_pictures(base: str, site: Site, end: float, outcome: Counter[str]) -> None:
    """Ask for one picture in every size."""
    browser = logged_in(base, site.manager)
    dice = random.Random(threading.get_ident())
    while time.perf_counter() < end:
        size = dice.randint(1000, 2048), dice.randint(1000, 2048)
        try:
            browser.ask("GET", site.preview.format(*size))
        except RuntimeError:
            outcome["sizes refused"] += 1
            time.sleep(REFUSED_SECONDS / 10)
        else:
            outcome["sizes sent"] += 1


# Nothing is computed of metrics, which this study has none of.
REPORT = {
    "questions": ["character", "aesthetics"],
    "resamples": "2000",
    "confidence": "0.95",
    "seed": "0",
    "epsilon": "heldout",
    "levels": ["method", "pooled"],
    "coefficients": ["kendall"],
    "view": "main",
}


def report_study(site: Site) -> str:
    """Return the study that is reported on."""
    return site.preview.split("/")[2].replace("plan-", "report-")


def logged_in(base: str, session: str) -> Browser:
    browser = Browser(base)
    browser.cookies["sessionid"] = session
    return browser


def send_form(
    browser: Browser, address: str, fields: dict[str, str] | dict[str, object]
) -> str:
    """Send a form of a page that has given its token; return what comes back."""
    from urllib.parse import urlencode

    body = urlencode(fields, doseq=True).encode()
    _location, page = browser.ask("POST", address, body, FORM | {"HX-Request": "true"})
    return page.decode()


def quietly(attack: Callable[..., None]) -> Callable[..., None]:
    """Return the attack, which ends where the server does not answer any more."""

    def attacking(*given: object) -> None:
        with suppress(OSError, HTTPException):
            attack(*given)

    return attacking


ATTACKS: dict[str, list[Callable[..., None]]] = {
    "rows": [quietly(attack_rows)],
    "plans": [quietly(attack_plans)] * PEOPLE,
    "reports": [quietly(attack_reports), quietly(ask_for_one_report)],
    "pictures": [quietly(attack_pictures)] * 4,
}

if __name__ == "__main__":
    raise SystemExit(main())
