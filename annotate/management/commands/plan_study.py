import argparse
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotate import lifecycle
from annotate.balance import BalanceReport
from annotate.definition import template_names
from annotate.design import ImpossibleDesignError
from annotate.models import User
from annotate.planning import PlanningError, plan_study
from annotate.study_file import DefinitionError, load_definition
from evalcore.models import Benchmark


def names(text: str) -> list[str]:
    """Read a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


class Command(BaseCommand):
    help = (
        "Plan a study: questions, units, and who judges what. Example: "
        "plan_study pilot --benchmark vistory --template vistorybench-user-study "
        "--annotators 20"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the new study, for addresses")
        parser.add_argument(
            "--benchmark", required=True, help="what is judged: its short name"
        )
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--template", choices=template_names(), help="a study that comes along"
        )
        what.add_argument("--file", type=Path, help="a study file (YAML)")
        parser.add_argument(
            "--annotators", type=int, required=True, help="how many people judge"
        )
        parser.add_argument("--title", default="", help="default: the template's")
        parser.add_argument(
            "--redundancy",
            type=int,
            help="judgements per unit; default: the template's",
        )
        parser.add_argument(
            "--session-size",
            type=int,
            help="slots in one sitting; default: the template's",
        )
        parser.add_argument(
            "--seed",
            type=int,
            help="same seed, same plan; default: the template's",
        )
        parser.add_argument("--methods", type=names, help='"A,B": only these')
        parser.add_argument("--stories", type=names, help='"01,02": only these')
        parser.add_argument("--manager", help="user name of the study's manager")
        parser.add_argument("--launch", action="store_true", help="open it at once")
        parser.add_argument(
            "--dry-run", action="store_true", help="print the balance, keep nothing"
        )

    def handle(self, **options: object) -> None:
        try:
            with transaction.atomic():
                self._plan(**options)
                if options["dry_run"]:
                    transaction.set_rollback(True)
        except (DefinitionError, PlanningError, ImpossibleDesignError) as error:
            raise CommandError(str(error), returncode=2) from error

    def _plan(self, **options: object) -> None:
        benchmark = Benchmark.objects.filter(slug=options["benchmark"]).first()
        if benchmark is None:
            known = ", ".join(Benchmark.objects.values_list("slug", flat=True))
            raise PlanningError(
                f"No benchmark {options['benchmark']!r}. There are: {known or 'none'}."
            )
        user = None
        if options["manager"]:
            user = User.objects.filter(username=options["manager"]).first()
            if user is None:
                raise PlanningError(
                    f"No user {options['manager']!r}; create_manager makes one."
                )
        study = plan_study(
            load_definition(options["template"] or options["file"]),
            benchmark=benchmark,
            slug=options["study"],
            title=options["title"],
            annotators=options["annotators"],
            redundancy=options["redundancy"],
            session_size=options["session_size"],
            seed=options["seed"],
            methods=options["methods"],
            stories=options["stories"],
            user=user,
        )
        if options["launch"]:
            lifecycle.launch(study, user)
        for line in BalanceReport(**study.balance_report).lines():
            self.stdout.write(line)
        if options["dry_run"]:
            self.stdout.write("Dry run: nothing was kept.")
        else:
            self.stdout.write(f"Planned {study.slug}. Next: launch and invite.")
