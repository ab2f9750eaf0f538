"""What watching the server costs: a request that is counted, its page, a scrape.

Builds a study of a million slots (`--slots`) in a temporary SQLite, the last 25 of them
a second submitted within the last hour, and asks through Django's test client:

    python benchmarks/server.py [--slots 1000000]
    python -m tests.with_postgres python benchmarks/server.py    # on PostgreSQL

Prints, against their limits, the CPU time of a story's page with requests counted and
without, and the milliseconds of the page of the server, of what Prometheus reads, and
of a probe. Exit 1 when a limit is missed.
"""

import argparse
import os
import statistics
import sys
import time
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import dashboard
from benchmarks.temporary_site import temporary_site

COUNTING_MS, PAGE_MS = 0.2, 100
PAIRS, REQUESTS = 1500, 20
A_SECOND = 25


def main() -> int:
    """Measure everything; return 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=1_000_000)
    options = parser.parse_args()
    os.environ["METRICS"] = "1"
    with temporary_site(url=os.environ.get("DATABASE_URL", "")):
        from django.conf import settings

        settings.ALLOWED_HOSTS = ["*"]
        failed = compare()
        build(options.slots)
        failed |= ask("page of the server", "/server/") > PAGE_MS
        ask("scrape", "/metrics")
        ask("probe", "/readyz")
    return int(failed)


def compare() -> bool:
    """Print the CPU time of a story's page with and without counting."""
    from django.conf import settings
    from django.test import Client

    from annotate.assignment import choosing
    from annotate.models import Invitation
    from tests.factories import make_benchmark, make_study

    study = make_study(benchmark=make_benchmark(stories=4, shots=8), consented=True)
    person = study.annotators.first()
    token = Invitation.objects.get(annotator=person).token
    address = f"/rate/{token}/story/{choosing.next_for(person).slot.code}/"
    counting = settings.MIDDLEWARE
    watching = ("count_middleware", "scrape_middleware")
    plain = [one for one in counting if not one.endswith(watching)]
    clients, times = {}, {}
    for name, middleware in (("without", plain), ("with", counting)):
        settings.MIDDLEWARE = middleware
        clients[name], times[name] = Client(), []
        assert clients[name].get(address).status_code == 200
    for turn in range(PAIRS):
        for name in sorted(clients, reverse=bool(turn % 2)):
            began = time.process_time()
            clients[name].get(address)
            times[name].append(1000 * (time.process_time() - began))
    # Other work on the machine makes some slower; the quick ones tell.
    found = {name: statistics.quantiles(all_, n=10)[0] for name, all_ in times.items()}
    more = found["with"] - found["without"]
    print(f"CPU of a story's page: {found['without']:.2f} ms, counted {more:.3f} more")
    return more > COUNTING_MS


def build(n: int) -> None:
    """Store a study of so many slots, an hour of them of the last hour."""
    from django.utils import timezone

    from annotate.models import Annotator, Slot, Unit
    from annotate.responses.bulk import count_units
    from evalcore.database.postgresql import analyze

    study, units, _questions = dashboard.outline(n * dashboard.QUESTIONS)
    people = Annotator.objects.bulk_create(
        Annotator(study=study, name=f"A{i:04}", state="active") for i in range(n // 333)
    )
    step = timedelta(seconds=1 / A_SECOND)
    start = timezone.now() - len(units) * dashboard.REDUNDANCY * step
    rows = dashboard.slots(study, units, people, start, step)
    dashboard.in_chunks(Slot, rows)
    count_units(study)
    analyze(Unit, Slot)


def ask(name: str, address: str) -> float:
    """Print how long an address takes in milliseconds; return the median."""
    from django.test import Client

    from annotate.models import User

    user, _made = User.objects.get_or_create(username="sue", is_superuser=True)
    client = Client()
    client.force_login(user)
    first = dashboard.timed(client, address)
    assert client.get(address).status_code == 200
    times = [dashboard.timed(client, address) for _ in range(REQUESTS)]
    middle = statistics.median(times)
    rest = f"slowest {max(times):.0f}, the first {first:.0f}"
    print(f"{name}: {middle:.0f} ms, {rest}", flush=True)
    return middle


if __name__ == "__main__":
    sys.exit(main())
