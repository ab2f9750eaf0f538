"""What the import commands share: their options, their messages, their exit status."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.validators import slug_re

from analysis.tables import InputError, Problem
from evalcore.models import Benchmark

LONGEST_SLUG = 80


def short_name(text: str) -> str:
    """Parse the name by which addresses and commands know a study or benchmark."""
    if not slug_re.fullmatch(text) or len(text) > LONGEST_SLUG:
        raise argparse.ArgumentTypeError(
            f"{text!r}: write letters, digits, - and _, at most {LONGEST_SLUG}"
        )
    return text


class ImportCommand(BaseCommand):
    """A command that lists every problem and leaves with status 2."""

    def refuse(self, error: InputError) -> CommandError:
        """Return the error that ends the command; nothing was written."""
        lines = [*error.lines(limit=None), "Nothing was written."]
        return CommandError("\n".join(lines), returncode=2)

    def read(
        self, reader: Callable[..., Any], path: Path, **options: object
    ) -> tuple[Any, Sequence[Problem]]:
        """Return a table and what is wrong with it, if the rows can be read at all.

        So names are checked as well, and every problem is listed in one go.
        """
        try:
            return reader(path, **options), ()
        except InputError as error:
            if error.table is None:
                raise
            return error.table, error.problems

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
