"""Options, messages and exit status shared by the import commands."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.validators import slug_re
from django.db.models import Value
from django.db.models.functions import Replace

from analysis.problems import (
    InputError,
    Problem,
    Problems,
    WordedProblem,
    without_numbers,
)
from evalcore import members
from evalcore.importing.copies import copied
from evalcore.members import UnknownAccountError
from evalcore.models import Benchmark, Output
from evalcore.object_store import StoreError, is_address

LONGEST_SLUG = 80
SHOWN_NOTES = 10


class Address(str):
    """The address of a folder or file in an object store."""

    __slots__ = ()


def source(text: str) -> Path | Address:
    """Return the path or address of what a command imports."""
    return Address(text.rstrip("/")) if is_address(text) else Path(text)


def short_name(text: str) -> str:
    """Return a valid name for addresses and commands, or raise an error."""
    if not slug_re.fullmatch(text) or len(text) > LONGEST_SLUG:
        raise argparse.ArgumentTypeError(
            f"{text!r}: use only letters, digits, - and _, at most {LONGEST_SLUG}"
        )
    return text


class ImportCommand(BaseCommand):
    """A command that reports every problem and exits with status 2."""

    # The folder of a copy, and the address that it came from.
    copied = ("", "")

    def execute(self, *args: object, **options: object) -> str | None:
        """Run the command; problems in its input end it before anything is written.

        Options that are addresses of object stores become copies of what lies there.
        """
        try:
            with ExitStack() as copies:
                for name, value in options.items():
                    if isinstance(value, Address):
                        options[name] = copies.enter_context(self._copy(value))
                return super().execute(*args, **options)
        except InputError as error:
            raise self.refuse(error) from error
        except StoreError as error:
            message = f"{error}. Nothing was written."
            raise CommandError(message, returncode=2) from error

    @contextmanager
    def _copy(self, address: str) -> Iterator[Path]:
        with copied(address, tell=self.stderr.write) as path:
            self.copied = str(path), address
            yield path
            named = Replace("source", Value(str(path)), Value(address))
            for table in (Benchmark, Output):
                copies = table.objects.filter(source__startswith=str(path))
                copies.update(source=named)

    def _named(self, text: str) -> str:
        """Return a text about files with the address, not the copy's folder."""
        return text.replace(*self.copied) if self.copied[0] else text

    def add_benchmark(self, parser: argparse.ArgumentParser) -> None:
        """Add the option that names the benchmark to import into."""
        parser.add_argument(
            "--benchmark",
            required=True,
            type=short_name,
            help="identifier (slug) of the benchmark",
        )

    def add_folder(self, parser: argparse.ArgumentParser) -> None:
        """Add the benchmark and the folder of an export."""
        parser.add_argument("benchmark", help="identifier (slug) of the benchmark")
        parser.add_argument("folder", type=Path, help="folder for the files")
        what = "overwrite existing files that differ"
        parser.add_argument("--replace", action="store_true", help=what)

    def add_owner(self, parser: argparse.ArgumentParser) -> None:
        """Add the option that names the benchmark's owner."""
        parser.add_argument(
            "--owner",
            default="",
            metavar="USERNAME",
            help="account that owns the benchmark; default: only managers of "
            "everything",
        )

    def check_owner(self, name: str) -> None:
        """End the command before anything is written if the account is unknown."""
        if name:
            try:
                members.account(name)
            except UnknownAccountError as error:
                message = f"{error} Create it with create_manager. Nothing was written."
                raise CommandError(message, returncode=2) from error

    def give(self, slug: str, name: str, *, is_new: bool) -> None:
        """Make an account the owner, or tell how to assign a new benchmark."""
        if name:
            row = Benchmark.objects.get(slug=slug)
            members.add(row, members.account(name), members.Role.OWNER)
        elif is_new:
            how = f"benchmark_members {slug} --owner USERNAME makes somebody its owner"
            self.warn([f"{slug} belongs to managers of everything; {how}"])

    def refuse(self, error: InputError) -> CommandError:
        """Return the error that ends the command."""
        lines = [*map(self._named, error.lines()), "Nothing was written."]
        return CommandError("\n".join(lines), returncode=2)

    def read(
        self, reader: Callable[..., Any], path: Path, **options: object
    ) -> tuple[Any, Sequence[Problem]]:
        """Return a table and its problems, if the rows can be read at all."""
        try:
            return reader(path, **options), ()
        except InputError as error:
            if error.table is None:
                raise
            return error.table, error.problems

    def add_skip_unreadable(self, parser: argparse.ArgumentParser) -> None:
        """Add the option to leave out unreadable files."""
        parser.add_argument(
            "--skip-unreadable",
            action="store_true",
            help="leave out files that are not pictures or videos, or are damaged or "
            "too large",
        )

    def report_unreadable(self, files: Sequence[str], consequence: str) -> None:
        """Print every file that was left out; the list is stored nowhere else."""
        if files:
            s = "s" * (len(files) != 1)
            self.stdout.write(
                f"Left out {len(files)} unreadable file{s}; {consequence}:"
            )
            for file in files:
                self.stdout.write(f"  {self._named(file)}")

    def warn(self, warnings: Iterable[str], kind: str = "") -> None:
        """Print notes on what was left out, each kind with its first places."""
        notes = Problems(
            WordedProblem(
                f"note: {self._named(text)}",
                kind or without_numbers(text.partition(": ")[2] or text),
            )
            for text in warnings
        )
        for line in notes.lines(shown=SHOWN_NOTES):
            self.stderr.write(self.style.WARNING(line))

    def benchmark(self, slug: str, *, create: bool = False) -> Benchmark:
        """Return the benchmark of that name, or a new unsaved one with `create`."""
        found = Benchmark.objects.filter(slug=slug).first()
        if found is None and create:
            return Benchmark(slug=slug, title=slug)
        if found is None:
            known = ", ".join(Benchmark.objects.values_list("slug", flat=True))
            raise CommandError(
                f"No benchmark {slug!r}. Benchmarks: {known or 'none yet'}.",
                returncode=2,
            )
        return found
