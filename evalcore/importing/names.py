"""Stories, methods and outputs of a benchmark, by their names in tables."""

import difflib
from collections.abc import Iterable

from django.utils.translation import gettext as _

from analysis.problems import Problem
from analysis.reading.texts import Nearest, written
from evalcore.models import Benchmark, Method, Output, Story, most_letters

LONGEST_STORY = most_letters(Story, "key")
LONGEST_METHOD = most_letters(Method, "name")


class Spellings:
    """Names of stories or methods, grouped by similar spelling."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._first = {written(name): name for name in names}

    def note(self, name: str) -> str:
        """Record a name; return an earlier one that differs only in spelling."""
        first = self._first.setdefault(written(name), name)
        return "" if first == name else Nearest([first]).alike(name)


def doubled(file: str, line: int, column: str, name: str, alike: str) -> Problem:
    """Return the problem of a name that already exists in another spelling."""
    rule = _("one spelling of a name")
    advice = _(
        "there is already %(name)s; use that spelling, or a clearly different name"
    )
    what = f"{rule}: {advice % {'name': alike}}"
    return Problem(file, what, line, column, name, rule)


class Names:
    """Rows of a benchmark by the names that tables use; unknown ones are problems."""

    def __init__(self, benchmark: Benchmark, *, create: bool) -> None:
        self.benchmark = benchmark
        self.create = create
        stories = Story.objects.filter(benchmark__slug=benchmark.slug).defer("extra")
        self.stories = {story.key: story for story in stories}
        self.methods = {method.name: method for method in Method.objects.all()}
        self._spellings = {
            "story": Spellings(self.stories),
            "method": Spellings(self.methods),
        }
        self.outputs = set(
            Output.objects.filter(story__benchmark__slug=benchmark.slug).values_list(
                "story__key", "method__name"
            )
        )

    def knows(self, story: str) -> bool:
        """Return whether a story exists or will be created."""
        return self.create or story in self.stories

    def problems(
        self, file: str, line: int, story: str, method: str, column: str = "method"
    ) -> list[Problem]:
        """Return a problem for each unknown or overlong name in a row."""
        found = []
        for where, name, known, longest in (
            ("story", story, self.stories, LONGEST_STORY),
            (column, method, self.methods, LONGEST_METHOD),
        ):
            if len(name) > longest:
                what = _("a name of at most %(most)d letters") % {"most": longest}
                found.append(Problem(file, what, line, where, name[:40] + "..."))
            elif name and name not in known and not self.create:
                close = difflib.get_close_matches(name, known, n=1)
                hint = (
                    _("; did you mean %(name)s?") % {"name": close[0]} if close else ""
                )
                rule = _("a method of %(benchmark)s")
                if where == "story":
                    rule = _("a story of %(benchmark)s")
                rule %= {"benchmark": self.benchmark.slug}
                what = f"{rule}{hint}{_(' (--create adds new ones)')}"
                found.append(Problem(file, what, line, where, name, rule))
            elif name and name not in known:
                alike = self._spellings[where.split("_")[0]].note(name)
                if alike:
                    found.append(doubled(file, line, where, name, alike))
        if found or self.create or not story or not method:
            return found
        if (story, method) not in self.outputs:
            what = _("an output of %(benchmark)s (--create adds new ones)")
            what %= {"benchmark": self.benchmark.slug}
            return [Problem(file, what, line, column, f"{story} / {method}")]
        return []

    def add_missing(self, pairs: set[tuple[str, str]]) -> None:
        """Create missing stories, methods and outputs, without media."""
        for story in sorted({story for story, _method in pairs if story}):
            if story not in self.stories:
                self.stories[story] = Story.objects.create(
                    benchmark=self.benchmark, key=story
                )
        for method in sorted({method for _story, method in pairs}):
            if method not in self.methods:
                self.methods[method] = Method.objects.create(name=method)
        Output.objects.bulk_create(
            [
                Output(story=self.stories[story], method=self.methods[method])
                for story, method in sorted(pairs - self.outputs)
                if story
            ],
            batch_size=500,
        )
