import argparse
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from analysis.commands.option_values import split_names
from evalcore import members
from evalcore.importing.commands import ImportCommand
from evalcore.members import Role, UnknownAccountError


class Command(ImportCommand):
    help = (
        "List or change the members of a benchmark. Members can see it, plan studies "
        "with it and compute its scores. Owners can also add members in the browser. "
        "Example: benchmark_members vistory --owner alice --add bob,carol --remove eve"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("benchmark", help="identifier (slug) of the benchmark")
        for option, what in (
            ("--owner", "users to make owners"),
            ("--add", "users to add as members; owners stay owners"),
            ("--remove", "users to remove"),
        ):
            parser.add_argument(option, default="", metavar='"A,B"', help=what)

    @transaction.atomic
    def handle(self, *, benchmark: str, **options: Any) -> None:
        row = self.benchmark(benchmark)
        try:
            for name in split_names(options["owner"]):
                members.add(row, members.account(name), Role.OWNER)
            for name in split_names(options["add"]):
                members.add(row, members.account(name), Role.MEMBER)
            for name in split_names(options["remove"]):
                members.remove(row, members.account(name))
        except UnknownAccountError as error:
            raise CommandError(f"{error} Nothing was changed.", returncode=2) from error
        listed = row.members.select_related("user").order_by("-role", "user__username")
        for one in listed:
            self.stdout.write(f"{one.user.get_username()}: {one.get_role_display()}")
        if not listed:
            self.stdout.write("No members: only administrators have access.")
