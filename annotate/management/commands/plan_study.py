import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from analysis.commands.option_values import split_names
from annotate.access.permissions import can_use_benchmark
from annotate.assignment.designs.balanced import ImpossibleDesignError
from annotate.models import User
from annotate.studies import lifecycle
from annotate.studies.definition import StudyDefinition, template_names
from annotate.studies.planning import (
    SECONDS_PER_PICTURE,
    Draft,
    Setup,
    check_slug,
    prepare,
    store,
    with_twins,
)
from annotate.studies.study_file import (
    DefinitionError,
    define,
    load_definition,
)
from annotate.studies.units import PlanningError
from annotate.studies.yaml_text import Document
from evalcore.models import Benchmark


def names(text: str) -> list[str]:
    return list(split_names(text))


def people(text: str) -> int | dict[str, int]:
    """Parse a number of people, or one for each language, such as en=10,zh=8."""
    if text.strip().isdecimal():
        return int(text)
    parts = [part.partition("=") for part in names(text)]
    try:
        return {name.strip(): int(number) for name, _equals, number in parts}
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: write numbers by language, such as en=10,zh=8"
        ) from None


class Command(BaseCommand):
    help = (
        "Set up a study: questions, items and assignment. Example: "
        "plan pilot --benchmark vistory --template vistorybench-user-study "
        "--annotators 20"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "study", help="name of the new study in addresses and commands"
        )
        parser.add_argument(
            "--benchmark", required=True, help="benchmark with the stories and outputs"
        )
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--template", choices=template_names(), help="template to start from"
        )
        what.add_argument(
            "--file", type=Path, help="study file (docs/reference/study-file.md)"
        )
        parser.add_argument(
            "--annotators",
            type=people,
            default=0,
            help="number of annotators, in total or by language: en=10,zh=8; not "
            "needed for open assignment",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="replace a value of the template or file, written as in a file: "
            "--set redundancy=5 --set 'stories={number: 30, by: genre}'",
        )
        parser.add_argument(
            "--methods", type=names, default=[], help='"A,B": use only these methods'
        )
        parser.add_argument(
            "--stories", type=names, default=[], help='"01,02": use only these stories'
        )
        parser.add_argument("--manager", help="user name of the study's manager")
        parser.add_argument(
            "--launch", action="store_true", help="open the study at once"
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="print cost and balance without storing anything",
        )

    def handle(self, **options: Any) -> None:
        try:
            self._plan(**options)
        except (DefinitionError, PlanningError, ImpossibleDesignError) as error:
            raise CommandError(str(error), returncode=2) from error

    def _plan(self, **options: Any) -> None:
        benchmark, slug = _benchmark(options["benchmark"]), str(options["study"])
        check_slug(slug)
        user = _user(options["manager"])
        setup = Setup(
            slug,
            benchmark,
            _definition(options),
            options["annotators"],
            tuple(options["methods"]),
            tuple(options["stories"]),
        )
        draft = prepare(setup)
        if options["dry_run"]:
            with transaction.atomic():
                store(draft, user)
                transaction.set_rollback(True)
            self._print(draft)
            self.stdout.write("Dry run: nothing was stored.")
            return
        study = store(with_twins(draft), user)
        if options["launch"]:
            lifecycle.launch(study, user)
        # A reader that closes the pipe early must not stop the study from being stored.
        self._print(draft)
        following = "invite" if options["launch"] else "launch and invite"
        self.stdout.write(f"Planned {study.slug}. Next: {following}.")
        if user is not None and not can_use_benchmark(user, study):
            slug = study.benchmark.slug
            self.stderr.write(
                f"note: {user} is no member of {slug} and cannot extend the study or "
                f"compute scores; run: benchmark_members {slug} --add {user}"
            )

    def _print(self, draft: Draft) -> None:
        self.stdout.write(
            f"{len(draft.units)} items, {draft.slots} ratings, "
            f"at least {draft.sessions} sittings, {draft.hours():.1f} annotator hours "
            f"({SECONDS_PER_PICTURE} s per picture and, per question, "
            f"{draft.assumed()})"
        )
        if draft.plan is not None:
            for line in draft.plan.balance.lines():
                self.stdout.write(line)
        for note in draft.notes():
            self.stderr.write(f"note: {note}")
        for one in draft.shape_notes():
            self.stderr.write(f"note: {one.text}")


def _definition(options: dict[str, Any]) -> StudyDefinition:
    """Return the template or file with the values of --set."""
    definition = load_definition(options["template"] or options["file"])
    changes = {}
    for one in options["set"]:
        key, equals, value = one.partition("=")
        if not equals:
            raise DefinitionError("--set", None, f"{one}: write KEY=VALUE")
        changes[key.strip()] = Document(value, f"--set {key}").data
    return define(definition.model_dump() | changes, name=definition.name)


def _benchmark(slug: object) -> Benchmark:
    benchmark = Benchmark.objects.filter(slug=slug).first()
    if benchmark is None:
        known = ", ".join(Benchmark.objects.values_list("slug", flat=True))
        raise PlanningError(f"No benchmark {slug!r}. Available: {known or 'none'}.")
    return benchmark


def _user(name: object) -> User | None:
    if not name:
        return None
    user = User.objects.filter(username=name).first()
    if user is None:
        raise PlanningError(f"No user {name!r}; create one with create_manager.")
    return user
