"""What the import commands share: their options, their messages, their exit status."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.validators import slug_re

from analysis.problems import (
    InputError,
    Problem,
    Problems,
    WordedProblem,
    without_numbers,
)
from evalcore import members
from evalcore.members import UnknownAccountError
from evalcore.models import Benchmark

LONGEST_SLUG = 80
SHOWN_NOTES = 10


def short_name(text: str) -> str:
    """Parse the name by which addresses and commands know a study or benchmark."""
    if not slug_re.fullmatch(text) or len(text) > LONGEST_SLUG:
        raise argparse.ArgumentTypeError(
            f"{text!r}: write letters, digits, - and _, at most {LONGEST_SLUG}"
        )
    return text


class ImportCommand(BaseCommand):
    """A command that tells every kind of problem and leaves with status 2."""

    def execute(self, *args: object, **options: object) -> str | None:
        """Run the command; problems of its input end it, and nothing was written."""
        try:
            return super().execute(*args, **options)
        except InputError as error:
            raise self.refuse(error) from error

    def add_owner(self, parser: argparse.ArgumentParser) -> None:
        """Add the option that says whose a benchmark is."""
        parser.add_argument(
            "--owner",
            default="",
            metavar="USERNAME",
            help="account that the benchmark belongs to; default: managers of "
            "everything alone",
        )

    def check_owner(self, name: str) -> None:
        """End the command before anything is written if there is no such account."""
        if name:
            try:
                members.account(name)
            except UnknownAccountError as error:
                told = f"{error} create_manager makes one. Nothing was written."
                raise CommandError(told, returncode=2) from error

    def give(self, slug: str, name: str, *, is_new: bool) -> None:
        """Give a benchmark to somebody, or say how a new one is given away."""
        if name:
            row = Benchmark.objects.get(slug=slug)
            members.add(row, members.account(name), members.Role.OWNER)
        elif is_new:
            how = f"benchmark_members {slug} --owner USERNAME gives it to somebody"
            self.warn([f"{slug} belongs to managers of everything; {how}"])

    def refuse(self, error: InputError) -> CommandError:
        """Return the error that ends the command; nothing was written."""
        lines = [*error.lines(), "Nothing was written."]
        return CommandError("\n".join(lines), returncode=2)

    def read(
        self, reader: Callable[..., Any], path: Path, **options: object
    ) -> tuple[Any, Sequence[Problem]]:
        """Return a table and what is wrong with it, if the rows can be read at all."""
        try:
            return reader(path, **options), ()
        except InputError as error:
            if error.table is None:
                raise
            return error.table, error.problems

    def add_skip_unreadable(self, parser: argparse.ArgumentParser) -> None:
        """Add the option of the commands that read pictures."""
        parser.add_argument(
            "--skip-unreadable",
            action="store_true",
            help="leave out files that are no picture or video, cut short or too large",
        )

    def tell_unreadable(self, files: Sequence[str], consequence: str) -> None:
        """Print all files that were left out, and why: nothing else remembers them."""
        if files:
            s = "s" * (len(files) != 1)
            self.stdout.write(
                f"Left out {len(files)} unreadable file{s}; {consequence}:"
            )
            for file in files:
                self.stdout.write(f"  {file}")

    def warn(self, warnings: Iterable[str], kind: str = "") -> None:
        """Print what was passed over on purpose, each kind at its first places."""
        notes = Problems(
            WordedProblem(
                f"note: {text}",
                kind or without_numbers(text.partition(": ")[2] or text),
            )
            for text in warnings
        )
        for line in notes.lines(shown=SHOWN_NOTES):
            self.stderr.write(self.style.WARNING(line))

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
