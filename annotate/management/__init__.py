"""Management commands, and the base classes of those on one study."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotate.models import Study


def count_from_one(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: write a whole number, 1 or more")
    return int(text)


def find_study(slug: str) -> Study:
    """Return the study with this identifier, or end the command."""
    found = Study.objects.filter(slug=slug).select_related("benchmark").first()
    if found is None:
        known = ", ".join(Study.objects.values_list("slug", flat=True))
        raise CommandError(
            f"No study {slug!r}. There are: {known or 'none yet'}.", returncode=2
        )
    return found


class StudyCommand(BaseCommand):
    """A command whose first argument is the identifier of a study."""

    work: Callable[..., None]  # with the study and the options
    refused: tuple[type[Exception], ...] = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study", help="identifier (slug) of the study")

    def handle(self, *, study: str, **options: Any) -> None:
        found = find_study(study)
        try:
            self.work(found, **options)
        except self.refused as error:
            raise CommandError(str(error), returncode=2) from error


class WritingCommand(StudyCommand):
    """A command that writes files about a study into a folder."""

    needs_out = True

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--out",
            type=Path,
            required=self.needs_out,
            help="folder for the files; created if missing",
        )

    def handle(self, *, study: str, **options: Any) -> None:
        try:
            super().handle(study=study, **options)
        except OSError as error:
            raise CommandError(
                f"Cannot write to {error.filename or options['out']} "
                f"({error.strerror}). Choose a folder that you can write to",
                returncode=2,
            ) from error
