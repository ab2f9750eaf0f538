"""Commands of a server: Django's own, under short names and with a grouped list."""

import os
import signal
import sys
import textwrap
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand
from django.db import DatabaseError, InterfaceError
from django.db.migrations.exceptions import NodeNotFoundError

from analysis.options import DOES
from evalcore.management import why_unprepared

# Words of the command line, and the commands that they stand for.
NAMES = {
    "plan": "plan_study",
    "export": "export_study",
    "import": "import_bundle",
    **{
        f"import {what}": f"import_{what}"
        for what in ("benchmark", "outputs", "scores", "judgements")
    },
}
GROUPS = {
    "Server": "demo, serve, doctor, create_manager, backup, restore",
    "Benchmarks": "import benchmark, import outputs, import scores, score, metrics",
    "Studies": "plan, check_blinding, launch, invite, coverage, verify, report, export",
    "Tables, without a server": ", ".join([*DOES, "doctor FILE"]),
}
OURS = ("annotate", "evalcore", "fixtures")


class Commands(ManagementUtility):
    """Django's commands by their names here."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Load a command by its short or its own name."""
        return super().fetch_command(NAMES.get(subcommand, subcommand))

    def main_help_text(self, commands_only: bool = False) -> str:
        """List our commands by what they are for; Django's own after `--commands`."""
        if commands_only:
            return super().main_help_text(commands_only)
        known = {name: name for name, app in get_commands().items() if app in OURS}
        known |= {own: name for name, own in NAMES.items() if own in known}
        listed = ", ".join(GROUPS.values()).split(", ")
        others = ", ".join(sorted(set(known.values()).difference(listed)))
        lines = ["Usage: plumbline COMMAND; plumbline COMMAND --help explains one."]
        for title, names in (GROUPS | {"Others": others}).items():
            own = textwrap.indent(textwrap.fill(names, break_on_hyphens=False), "  ")
            lines.append(f"\n{title}\n{own}")
        return "\n".join([*lines, "\nDjango's, too: plumbline help --commands"])


def joined(arguments: Sequence[str]) -> list[str]:
    """Join `import` with the word that says what is imported.

    >>> joined(["import", "scores", "cids.csv"]), joined(["import", "pilot.zip"])
    (['import scores', 'cids.csv'], ['import', 'pilot.zip'])
    """
    first = " ".join(arguments[:2])
    return [first, *arguments[2:]] if first in NAMES else [*arguments]


def run(arguments: Sequence[str]) -> int:
    """Run a command; settings and database fail in one sentence."""
    words = joined(arguments)
    if words[:1] == ["help"]:
        words[1:] = joined(words[1:])
    if words[:1] == ["demo"]:  # its passwords are public: it keeps to its own data
        os.environ |= {"DEMO": "1", "DATABASE_URL": ""}
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
    try:
        _ = settings.PORT  # reads the settings: commands are known only with them
        Commands(["plumbline", *words]).execute()
    except ImproperlyConfigured as error:
        print(f"plumbline: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader, such as head, has seen enough; so has the last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (DatabaseError, InterfaceError, NodeNotFoundError) as error:
        reason = why_unprepared(error, *words[:1])
        if reason is None:
            raise
        print(f"plumbline: {reason}", file=sys.stderr)
        return 1
    return 0
