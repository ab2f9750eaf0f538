"""What the import commands share: their options, their messages, their exit status."""

from collections.abc import Iterable

from django.core.management.base import BaseCommand, CommandError

from analysis.tables import InputError
from evalcore.models import Benchmark


class ImportCommand(BaseCommand):
    """A command that lists every problem and leaves with status 2."""

    def refuse(self, error: InputError) -> CommandError:
        """Return the error that ends the command; nothing was written."""
        lines = [*error.lines(limit=None), "Nothing was written."]
        return CommandError("\n".join(lines), returncode=2)

    def warn(self, warnings: Iterable[str]) -> None:
        """Print what was passed over on purpose."""
        for warning in warnings:
            self.stderr.write(self.style.WARNING(f"note: {warning}"))

    def benchmark(self, slug: str, *, create: bool = False) -> Benchmark:
        """Return the benchmark of that name, or when creating a new unsaved one."""
        found = Benchmark.objects.filter(slug=slug).first()
        if found is None and create:
            return Benchmark(slug=slug, title=slug)
        if found is None:
            known = ", ".join(Benchmark.objects.values_list("slug", flat=True))
            raise CommandError(
                f"No benchmark {slug!r}. There are: {known or 'none yet'}.",
                returncode=2,
            )
        return found
