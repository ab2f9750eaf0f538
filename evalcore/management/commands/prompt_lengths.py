import argparse
from collections.abc import Iterator

from django.core.management.base import CommandError

from evalcore.importing.commands import ImportCommand
from evalcore.metrics.oneig.word_counts import WordCounts, word_counts
from evalcore.models import Benchmark, Shot

# Where a shot says what to draw, the field most like a prompt first.
FIELDS = ("prompt", "caption", "static", "plot", "setting")
HEAD = ("category", "prompts", "words", "short", "middle", "long")


class Command(ImportCommand):
    help = (
        "Print how long a benchmark's prompts are, by category, as OneIG reports it: "
        "short is less than 30 words, long more than 60. Example: prompt_lengths oneig"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("benchmark", help="its short name here")
        parser.add_argument(
            "--tag", default="category", help="tag of the stories to split by"
        )
        parser.add_argument(
            "--language", default="", choices=["en", "zh"], help="default: en, else zh"
        )

    def handle(
        self, *, benchmark: str, tag: str, language: str, **_options: object
    ) -> None:
        languages = (language,) if language else ("en", "zh")
        prompts = list(_prompts(self.benchmark(benchmark), tag, languages))
        if not prompts:
            raise CommandError(
                f"No story of {benchmark} has a text in {' or '.join(languages)}.",
                returncode=2,
            )
        lines = [HEAD, *map(_cells, word_counts(prompts))]
        width = max(len(line[0]) for line in lines)
        for name, *cells in lines:
            numbers = "".join(f"{cell:>9}" for cell in cells)
            self.stdout.write(f"{name:<{width}}{numbers}")


def _prompts(
    benchmark: Benchmark, tag: str, languages: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    shots = Shot.objects.filter(story__benchmark=benchmark)
    rows = shots.order_by("story__key", "number").values_list("story__tags", "text")
    for tags, text in rows:
        told: dict[str, str] = next(
            (text[code] for code in languages if text.get(code)), {}
        )
        wording = next((told[field] for field in FIELDS if told.get(field)), "")
        if wording:
            yield str(tags.get(tag, "(none)")), wording


def _cells(row: WordCounts) -> tuple[str, ...]:
    shares = (f"{share:.1%}" for share in (row.short, row.middle, row.long))
    return row.category, str(row.prompts), f"{row.average:.1f}", *shares
