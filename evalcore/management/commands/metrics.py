import argparse
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from evalcore.metrics import checking, fidelity, registry
from evalcore.metrics.base import MetricInfo, MissingRequirement, MissingRequirements
from evalcore.metrics.weights import HOW

WIDTH = 88


class Command(BaseCommand):
    help = (
        "List all metrics with what they measure and whether they can run on this "
        "machine, or check their values. Example: metrics --name csd_self"
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--name", help="show the details of one metric")
        parser.add_argument(
            "--check",
            action="store_true",
            help="compute metrics on pictures drawn by code, and compare with expected "
            "values",
        )
        parser.add_argument(
            "--for",
            dest="names",
            default="",
            help="metrics to check, comma-separated; cids stands for all cids_*",
        )
        parser.add_argument(
            "--record",
            action="store_true",
            help="with --check: record values as the expected ones, with the hashes of "
            "the weights",
        )

    def handle(
        self,
        *,
        name: str | None,
        check: bool,
        names: str,
        record: bool,
        **_options: object,
    ) -> None:
        if (record or names) and not check:
            raise CommandError("--for and --record need --check", returncode=2)
        try:
            if check:
                self._check(names, record)
            elif name is not None:
                self._tell(name)
            else:
                self._list()
        except registry.UnknownMetricError as error:
            raise CommandError(str(error), returncode=2) from error

    def _list(self) -> None:
        ready = 0
        for family, names in groupby(registry.names(), _family):
            self.stdout.write(f"\n{family}")
            for one in names:
                ready += not self._line(one)
        if needing := registry.needing(registry.computable()):
            self._lacking(needing)
        every, never = (
            registry.names(),
            checking.never_checked(settings.CHECKED_METRICS),
        )
        self.stdout.write(
            f"\n{ready} of {len(every)} metrics are ready here, {len(never)} were "
            f"{checking.NEVER}\n(metrics --check --record). Details: metrics --name "
            "NAME."
        )

    def _line(self, name: str) -> MissingRequirements:
        """Write a metric in a line or two; return what it lacks."""
        metric = registry.load(name)
        lacks = metric.missing()
        imported = registry.import_only(name)
        state = "import " if imported else "lacking" if lacks else "ready  "
        self.stdout.write(f"  {state}  {name:26} {metric.info.title}")
        if imported:
            self._indented(f"import only: {imported}")
        elif lacks:
            self._indented(f"lacks {', '.join(lack.what for lack in lacks)}")
        return lacks

    def _lacking(self, needing: Mapping[MissingRequirement, Sequence[str]]) -> None:
        """Write what is lacking, each thing once, and how to get it."""
        self.stdout.write(
            f"\nMissing. Nothing is fetched automatically; {HOW} --for METRICS says "
            "what to fetch."
        )
        for lack, names in needing.items():
            how = "" if lack.how == HOW else f" ({lack.how})"
            self._indented(f"{lack.what}{how}: {', '.join(names)}", indent=2)

    def _check(self, names: str, record: bool) -> None:
        chosen = registry.select(names)
        checks = []
        for name in chosen or registry.names():
            one = checking.check(name, settings.CHECKED_METRICS)
            checks.append(one)
            if chosen or one.state not in {"judge", "import only"}:
                self.stdout.write(f"{one.state:11} {name:26} {one.text}")
        counts = [
            f"{number} {state}"
            for state in ("agrees", "differs", "computed", "failed", "not ready")
            if (number := sum(one.state == state for one in checks))
        ]
        self.stdout.write(", ".join(counts))
        if record:
            place = settings.CHECKED_METRICS
            recorded = ", ".join(checking.record(checks, place)) or "nothing"
            self.stdout.write(f"Recorded in {place}: {recorded}")
        elif any(one.state in {"differs", "failed"} for one in checks):
            raise CommandError("some metrics do not compute what they should")

    def _tell(self, name: str) -> None:
        metric = registry.load(name)
        info, lacks = metric.info, metric.missing()
        profiles = registry.METRICS[info.name].known
        better = "higher" if info.higher_is_better else "lower"
        imported = registry.import_only(info.name)
        lines = {
            "measures": info.measures,
            "source": info.source,
            "scores": f"one value per {info.scores}; {better} is better; "
            f"{_range(info)}",
            "version": info.full_version,
            "profiles": ", ".join(f"{info.name}@{p}" for p in profiles),
            "program": _compared(info.name),
            "computed by": f"{info.backend}; queue {info.queue}",
            "state": f"lacks {lacks}" if lacks and not imported else "ready",
            "check": checking.status(info.name, settings.CHECKED_METRICS),
        }
        if imported:
            lines["state"] = f"import only: {imported}"
        self.stdout.write(f"{info.name}: {info.title} ({info.family})")
        for label, text in lines.items():
            if text:
                self._indented(f"{label}: {text}", indent=4)

    def _indented(self, text: str, indent: int = 11) -> None:
        for line in textwrap.wrap(
            text,
            WIDTH,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 2),
            break_long_words=False,
            break_on_hyphens=False,
        ):
            self.stdout.write(line)


def _compared(name: str) -> str:
    """Return how a metric compares with its paper's program; empty if it has none."""
    found = fidelity.fidelity_of(name)
    if found is None or not found.program:
        return str(found or "")
    at = f", as {name}@{found.profile}" if found.profile else ""
    return f"{found.program}{at}: {found}"


def _family(name: str) -> str:
    return registry.load(name).info.family


def _range(info: MetricInfo) -> str:
    low, high = info.low, info.high
    if low is None and high is None:
        return "without bounds"
    if high is None:
        return f"from {low:g} upwards"
    if low is None:
        return f"up to {high:g}"
    return f"from {low:g} to {high:g}"
