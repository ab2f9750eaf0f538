import argparse
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby

from django.core.management.base import BaseCommand, CommandError

from evalcore.metrics import fidelity, registry
from evalcore.metrics.base import MetricInfo, MissingRequirement, MissingRequirements

WIDTH = 88


class Command(BaseCommand):
    help = (
        "List all metrics with what they measure and whether they can run on this "
        "machine. Example: metrics --name csd_self"
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--name", help="show the details of one metric")

    def handle(self, *, name: str | None, **_options: object) -> None:
        if name is not None:
            self._tell(name)
            return
        needing: dict[MissingRequirement, list[str]] = defaultdict(list)
        ready = 0
        for family, names in groupby(registry.names(), _family):
            self.stdout.write(f"\n{family}")
            for one in names:
                lacks = self._line(one)
                ready += not lacks
                for lack in lacks:
                    needing[lack].append(one)
        if needing:
            self._lacking(needing)
        self.stdout.write(
            f"\n{ready} of {len(registry.names())} metrics are ready here. For "
            "details, run metrics --name NAME."
        )

    def _line(self, name: str) -> MissingRequirements:
        """Write a metric in a line or two; return what it lacks."""
        metric = registry.load(name)
        lacks = metric.missing()
        state = "lacking" if lacks else "ready  "
        self.stdout.write(f"  {state}  {name:26} {metric.info.title}")
        if lacks:
            self._indented(f"lacks {', '.join(lack.what for lack in lacks)}")
        return lacks

    def _lacking(self, needing: Mapping[MissingRequirement, Sequence[str]]) -> None:
        """Write how to get what is lacking, each thing once."""
        self.stdout.write(
            "\nMissing parts and how to get them. Nothing is downloaded automatically: "
            "put files into\nthe folder set in EVALCORE_WEIGHTS_DIR, or leave them in "
            "the Hugging Face cache."
        )
        for lack, names in needing.items():
            self.stdout.write(f"  {lack.what}")
            self._indented(lack.how, indent=4)
            if lack.licence:
                self._indented(f"licence: {lack.licence}", indent=4)
            self._indented(f"needed by {', '.join(names)}", indent=4)

    def _tell(self, name: str) -> None:
        try:
            metric = registry.load(name)
        except registry.UnknownMetricError as error:
            raise CommandError(str(error), returncode=2) from error
        info, lacks = metric.info, metric.missing()
        profiles = registry.METRICS[info.name].known
        better = "higher" if info.higher_is_better else "lower"
        lines = {
            "measures": info.measures,
            "source": info.source,
            "scores": f"one value per {info.scores}; {better} is better; "
            f"{_range(info)}",
            "version": info.full_version,
            "profiles": ", ".join(f"{info.name}@{p}" for p in profiles),
            "program": _compared(info.name),
            "computed by": f"{info.backend}; queue {info.queue}",
            "state": f"lacks {lacks}" if lacks else "ready",
        }
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
