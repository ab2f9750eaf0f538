import argparse

from django.core.management.base import BaseCommand, CommandError

from annotate.audit_log.verifying import problems, strays
from annotate.management import find_study
from annotate.models import Study
from evalcore.database import damage


class Command(BaseCommand):
    help = (
        "Check the stored data of a study for errors and contradictions. Example: "
        "verify pilot"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "study",
            nargs="?",
            help="identifier (slug) of the study; default: all studies",
        )

    def handle(self, *, study: str | None, **_options: object) -> None:
        if reason := damage.find_damage():
            raise CommandError(damage.describe(reason), returncode=1)
        studies = [find_study(study)] if study else Study.objects.all()
        found = [] if study else strays()
        broken = len(found)
        for problem in found:
            self.stderr.write(problem)
        for row in studies:
            found = _problems(row)
            broken += len(found)
            for problem in found:
                self.stderr.write(f"{row.slug}: {problem}")
            if not found:
                self.stdout.write(f"{row.slug}: no problems found.")
        if broken:
            raise CommandError(f"Problems found: {broken}.", returncode=1)


def _problems(study: Study) -> list[str]:
    """Return what is broken, or that a stored value cannot be read at all."""
    try:
        return problems(study)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        return [
            f"cannot read a stored value ({type(error).__name__}: "
            f"{damage.message_of(error)})"
        ]
