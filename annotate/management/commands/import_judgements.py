import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analysis.commands.arguments import TABLE, wide_options
from analysis.commands.option_values import scale
from analysis.problems import InputError
from annotate.imported_judgements.answer_rows import question_texts
from annotate.imported_judgements.importing import import_answers
from evalcore.importing.commands import ImportCommand, short_name, source


class Command(ImportCommand):
    help = (
        "Import ratings, choices or rankings collected elsewhere into a closed study. "
        "Example: import judgements --ratings ratings.csv --scale 1:5 "
        "--benchmark dsg --study dsg --create"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        table = parser.add_mutually_exclusive_group(required=True)
        table.add_argument("--ratings", type=source, help=TABLE)
        table.add_argument("--choices", type=source, help=TABLE)
        table.add_argument("--rankings", type=source, help=TABLE)
        parser.add_argument(
            "--study",
            required=True,
            type=short_name,
            help="name of the new study in addresses and commands",
        )
        parser.add_argument(
            "--benchmark",
            required=True,
            type=short_name,
            help="benchmark with the stories and outputs",
        )
        parser.add_argument(
            "--scale",
            type=scale,
            default=(0, 4),
            metavar="LOW:HIGH",
            help="lowest and highest rating; default 0:4",
        )
        wide_options(parser)
        parser.add_argument(
            "--questions",
            type=Path,
            metavar="FILE",
            help="table of the questions' titles: columns key, title, and text if any",
        )
        parser.add_argument(
            "--create",
            action="store_true",
            help="create the benchmark and missing stories, methods and outputs",
        )
        self.add_owner(parser)

    def handle(self, **options: Any) -> None:
        # pandas is slow to load, and only tables need it.
        from analysis.commands.given_tables import remarks_on
        from analysis.reading import inputs

        slug, create = str(options["benchmark"]), bool(options["create"])
        kind = next(x for x in ("ratings", "choices", "rankings") if options[x])
        path = Path(str(options[kind]))
        owner = str(options["owner"])
        self.check_owner(owner)
        benchmark = self.benchmark(slug, create=create)
        is_new = benchmark.pk is None
        how: dict[str, Any] = {}
        if kind == "ratings":
            names = ("wide", "method_column", "story_column", "value_columns", "scale")
            how = {name: options[name] for name in names}
        try:
            table, earlier = self.read(getattr(inputs, f"read_{kind}"), path, **how)
            self.warn(remarks_on(table, kind))
            asked = table["dimension" if kind == "ratings" else "criterion"]
            summary = import_answers(
                table,
                kind,
                study=str(options["study"]),
                benchmark=benchmark,
                file=path.name,
                scale=how.get("scale", (None, None)),
                create=create,
                texts=_texts(options, asked),
                earlier=earlier,
            )
        except InputError as error:
            raise self.refuse(error) from error
        self.warn(summary.notes)
        self.stdout.write(summary.line())
        self.give(slug, owner, is_new=is_new)


def _texts(options: dict[str, Any], asked: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return titles and texts of questions, where a file of them is given."""
    path = options["questions"]
    return question_texts(path, set(asked)) if path else {}
