"""The sections of the set-up form, with their labels and their present values."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotate.kinds.base import Kind
from annotate.setup_form.fields import Choices, Field, FieldGroup, Section
from annotate.setup_form.values import FormValues, kind_at, questions, sets_key
from annotate.studies.definition import Adaptive, Presentation
from annotate.studies.study_file import DEGRADATIONS
from evalcore.models import Benchmark, Output, Story

LANGUAGES = ("en", "zh")
# More stories than this are named in a text instead of ticked.
MOST_TICKS = 300


def language_name(code: str) -> str:
    return {"en": _("English"), "zh": _("Chinese")}.get(code, code)


def languages(values: FormValues, *stems: str) -> list[str]:
    """Return English, Chinese and whatever else texts of these names are written in."""
    found = {
        name.rsplit(".", 1)[1]
        for name in values
        for stem in stems
        if name.startswith(f"{stem}.")
    }
    return [*LANGUAGES, *sorted(found - set(LANGUAGES) - {"version"})]


def filled(
    values: FormValues,
    name: str,
    label: str,
    help: str = "",
    kind: str = "text",
    *,
    usual: str | None = None,
    **more: Any,
) -> Field:
    """Return a field with what the form holds of it, or what is usual."""
    held = values.getlist(name) or ([] if usual is None else [usual])
    return Field(name, label, kind, held, help, **more)


def number(
    values: FormValues, name: str, label: str, help: str = "", **more: Any
) -> Field:
    """Return a field for a number of at least 1, unless it is said otherwise."""
    return filled(values, name, label, help, "number", **{"least": 1, **more})


def texts(
    values: FormValues, name: str, label: str, kind: str = "text", rows: int = 3
) -> FieldGroup:
    """Return one field for each language."""
    return FieldGroup(
        [
            filled(
                values,
                f"{name}.{code}",
                f"{label} · {language_name(code)}",
                kind=kind,
                language=code,
                rows=rows,
            )
            for code in languages(values, name)
        ]
    )


def _fields(values: FormValues) -> Iterator[Field]:
    """Yield the fields that every study has, or could have."""
    one = partial(filled, values)
    whole = partial(number, values)
    share = partial(number, values, least=0, step="any")
    code = partial(filled, values, kind="code", rows=8)

    yield one("title", _("Title"))
    yield whole(
        "stories.number",
        _("Draw so many stories at random"),
        _("Empty: all of those above."),
    )
    yield whole("pairs.number", _("Pairs for each combination"))

    comers = [
        ("planned", _("known annotators, each with a balanced plan")),
        ("open", _("whoever arrives takes free slots")),
    ]
    yield one(
        "assignment", _("Who comes"), "", "radio", usual="planned", choices=comers
    )
    yield whole(
        "annotators", _("Annotators"), _("How many people judge."), only="planned"
    )
    yield whole(
        "redundancy",
        _("Answers a unit"),
        _("How many different people judge each unit."),
    )
    yield whole(
        "session_size", _("Session"), _("At most so many units in one sitting.")
    )
    yield whole(
        "lease_minutes",
        _("Lease in minutes"),
        _("So long a story stays with somebody who does nothing."),
    )
    yield whole(
        "cap", _("Cap"), _("Most units that one person may judge. Empty: no limit.")
    )
    yield whole("rounds", _("Rounds"), _("How often the same people judge everything."))
    yield whole("seed", _("Seed"), _("The same seed, the same plan."), least=0)
    yield whole("subset.stories.number", _("Stories judged more often"))
    yield one("subset.stories.by", _("In proportion to the tag"))
    yield whole("subset.redundancy", _("Answers a unit of these"))

    yield one(
        "presentation.same_size",
        _("All pictures and videos in one size"),
        _("Edges are added, so that resolution gives no method away."),
        "tick",
    )
    watched = _("Videos are seen to the end before answers count")
    yield one("presentation.must_watch", watched, kind="tick")
    yield share(
        "presentation.must_see",
        _("Seconds for which each picture is in sight before answers count"),
        _("0: at once. One shot after the other, or all in the overview."),
    )
    commented = _("Annotators may write a comment on a story")
    yield one("presentation.comments", commented, kind="tick")
    on_shots = _("Annotators may write a comment on a single shot")
    yield one("presentation.shot_comments", on_shots, kind="tick")
    shuffled = _("Each annotator is asked the questions in another order")
    yield one("presentation.shuffle_questions", shuffled, kind="tick")
    yield share(
        "presentation.skip_share",
        _("Share of a sitting that may be skipped without words"),
        _("Whoever skips more has to say why. 0: every time."),
    )

    yield whole(
        "checks.per_session",
        _("Checks in a session"),
        _("0: nobody is checked."),
        least=0,
    )
    yield share("checks.share", _("Share of units with a degraded copy"))
    yield one(
        "checks.degradations",
        _("How copies are degraded"),
        kind="many",
        choices=degradations(),
    )
    rules = [
        ("", _("none")),
        ("default", _("the usual ones: warn and pause on strong evidence")),
        ("own", _("these")),
    ]
    yield one("rules.kind", _("Rules"), "", "radio", usual="", choices=rules)
    yield code(
        "rules.own",
        _("Own rules"),
        _(
            "A list in YAML, such as: - {key: skips, signal: skips, above: 0.3, "
            "action: note}"
        ),
    )
    yield whole(
        "training.twins",
        _("Training stories made worse on purpose"),
        _(
            "Made for questions that say which degradation makes their answer worse, "
            "and shown beside their originals, or after them where stories are judged "
            "one at a time. Empty, and no units below: no training."
        ),
        least=0,
    )
    yield share(
        "training.pass_mark",
        _("Pass mark"),
        _("The share of answers that must be as expected."),
    )
    yield whole("training.attempts", _("Attempts"))
    yield code(
        "training.units",
        _("Further training units"),
        _("A list in YAML: - {story: '01', method: A, expected: {KEY: [3, 4]}}"),
    )
    yield code(
        "composites",
        _("Composites"),
        _(
            "YAML, such as: overall: {over: questions, weights: {character: 0.6, "
            "style: 0.4}}. A report treats them as questions, or as metrics."
        ),
    )
    yield code(
        "checks.gold",
        _("Gold units"),
        _("A list in YAML: - {story: '01', method: A, expected: {KEY: [3, 4]}}"),
    )

    yield one(
        "adaptive.on",
        _("Choose the next pair by what it tells"),
        _("Only when whoever arrives takes free slots."),
        "tick",
    )
    yield one("consent.version", _("Version of the consent text"), usual="1")


def degradations() -> Choices:
    """Return the ways in which copies are degraded, in words."""
    words = {
        "shuffled": _("shots in another order"),
        "foreign_shot": _("a shot of another story"),
        "repeated_shot": _("a shot twice"),
        "blurred": _("blurred"),
        "swapped_characters": _("characters swapped"),
    }
    return [(name, words[name]) for name in DEGRADATIONS]


class Sections:
    """The sections of one form."""

    def __init__(self, values: FormValues) -> None:
        self.values = values
        self.fields = {one.name: one for one in _fields(values)}

    def row(self, *names: str, only: str = "") -> FieldGroup:
        """Return the fields of these names, side by side."""
        return FieldGroup([self.fields[name] for name in names], only)

    def basics(self, *, fixed_slug: bool) -> Section:
        slug = filled(
            self.values,
            "slug",
            _("Short name"),
            _("Stands in addresses and commands: letters, digits, - and _."),
            fixed=fixed_slug,
        )
        return Section("basics", _("Name"), [FieldGroup([slug, self.fields["title"]])])

    def judged(self, benchmark: Benchmark) -> Section:
        """Return what is judged: methods, stories, a sample of them, pairs."""
        one = partial(filled, self.values)
        outputs = Output.objects.filter(story__benchmark=benchmark)
        methods = sorted(set(outputs.values_list("method__name", flat=True)))
        rows = Story.objects.filter(outputs__in=outputs).distinct().order_by("key")
        stories = [(s.key, f"{s.key} · {s.title}" if s.title else s.key) for s in rows]
        tags = sorted({str(tag) for story in rows for tag in story.tags})
        all_methods = _("All %(n)d methods") % {"n": len(methods)}
        all_stories = _("All %(n)d stories") % {"n": len(stories)}
        some = one("method", _("Methods"), kind="many", choices=_named(methods))
        by = one(
            "stories.by",
            _("In proportion to the tag"),
            kind="select",
            choices=[("", _("no tag")), *_named(tags)],
        )
        groups = [
            FieldGroup([one("all_method", all_methods, kind="tick")]),
            FieldGroup([some], "some-method"),
            FieldGroup([one("all_story", all_stories, kind="tick")]),
            FieldGroup([self._some_stories(stories)], "some-story"),
            FieldGroup([self.fields["stories.number"], by]),
        ]
        if key := sets_key(self.values):
            groups += self._sets(key, tags)
        return Section("judged", _("What is judged"), groups)

    def _some_stories(self, stories: Choices) -> Field:
        one = partial(filled, self.values, "story", _("Stories"))
        if len(stories) <= MOST_TICKS:
            return one(kind="many", choices=stories)
        help = _("The keys of the stories, one in each line.")
        listed = one(help, kind="area", rows=8)
        listed.values = ["\n".join(listed.values)]
        return listed

    def _sets(self, key: str, tags: list[str]) -> list[FieldGroup]:
        """Return which methods stand side by side: pairs, or larger sets."""
        one = partial(filled, self.values)
        if key == "pairs":
            together, sets = _("Pairs of methods"), _("Pairs")
            ring = _("a ring: each method with two others")
            chosen = _("these pairs")
            written = _("One pair in each line: method A | method B")
        else:
            together, sets = _("Sets of methods"), _("Sets")
            ring = _("a ring: each method with those that follow it")
            chosen = _("these sets")
            written = _("One set in each line: method A | method B | method C")
        kinds = [
            ("all", _("every method with every other")),
            ("ring", ring),
            ("chosen", chosen),
        ]
        if key == "pairs":
            kinds.append(("cells", _("so many pairs for each combination of tags")))
        groups = [
            FieldGroup(
                [one(f"{key}.kind", together, "", "radio", usual="all", choices=kinds)]
            ),
            FieldGroup(
                [one(f"{key}.chosen", sets, written, "area", rows=4)], "pairs-chosen"
            ),
        ]
        if key == "pairs":
            listed = ", ".join(tags) or "–"
            told = _("With commas between them. There are: %(tags)s.")
            by = one("pairs.by", _("Tags"), told % {"tags": listed})
            groups.append(FieldGroup([self.fields["pairs.number"], by], "pairs-cells"))
        return groups

    def people(self) -> Section:
        return Section(
            "people",
            _("Who judges"),
            [
                self.row("assignment"),
                self.row("annotators", "redundancy", "session_size"),
            ],
        )

    def handing_out(self) -> Section:
        """Return the folded rest about who judges."""
        by_language = [
            FieldGroup(self._of_language(code, language_name(code)))
            for code in languages(self.values, "languages", "annotators")
        ]
        by_language[0].fields[0].help = _(
            "Only if every unit is to be judged in several languages; replaces the "
            "numbers above."
        )
        return Section(
            "handing",
            _("Languages, leases, rounds"),
            [
                *by_language,
                self.row("lease_minutes", "cap", "rounds", "seed"),
                self.row(
                    "subset.stories.number", "subset.stories.by", "subset.redundancy"
                ),
            ],
            folded=True,
        )

    def _of_language(self, code: str, name: str) -> list[Field]:
        whole = partial(number, self.values)
        answers = _("Answers a unit · %(language)s") % {"language": name}
        people = _("Annotators · %(language)s") % {"language": name}
        return [
            whole(f"languages.{code}", answers),
            whole(f"annotators.{code}", people, only="planned"),
        ]

    def presentation(self) -> Section:
        shown = [f"presentation.{key}" for key in vars(Presentation())]
        title = _("How stories are shown")
        return Section("presentation", title, [self.row(*shown)], folded=True)

    def composites(self) -> Section:
        groups = [self.row("composites")]
        return Section("composites", _("Composites"), groups, folded=True)

    def quality(self) -> Section:
        kinds = {
            "gold": _("gold: the right answer is known"),
            "repeat": _("repeated: the same unit again"),
            "twin": _("degraded: a copy that must be worse"),
        }
        asked = [kind_at(self.values, i) for i in range(len(questions(self.values)))]
        is_known = not asked or any(kind.has_known_answers for kind in asked)
        controls = filled(
            self.values,
            "checks.kinds",
            _("Kinds of checks"),
            kind="many",
            choices=[(k, kinds[k]) for k in (Kind if is_known else asked[0]).controls],
        )
        ruled = [self.row("rules.kind"), self.row("rules.own", only="rules-own")]
        if not is_known:
            groups = [self.row("checks.per_session"), FieldGroup([controls]), *ruled]
            return Section("quality", _("Checks, rules"), groups, folded=True)
        groups = [
            self.row("checks.per_session", "checks.share"),
            FieldGroup([controls, self.fields["checks.degradations"]]),
            *ruled,
            self.row("training.twins", "training.pass_mark", "training.attempts"),
            self.row("training.units"),
            self.row("checks.gold"),
        ]
        return Section("quality", _("Training, checks, rules"), groups, folded=True)

    def adaptive(self, keys: list[str]) -> Section:
        """Return how an open study of pairs chooses the next pair."""
        given = self.values if "adaptive.on" in self.values else FormValues()
        for key, usual in vars(Adaptive()).items():
            if usual:
                given.setdefault(f"adaptive.{key}", str(usual))
        whole = partial(number, given)
        share = partial(number, given, least=0, step="any")
        ends = _("It ends when these are separated from the rest.")
        how = [
            whole("adaptive.top", _("Methods at the top"), ends),
            share("adaptive.confidence", _("Confidence")),
            whole("adaptive.least", _("Least answers for each method")),
            share("adaptive.explore", _("Share chosen at random")),
            filled(
                given,
                "adaptive.question",
                _("Question that ranks"),
                kind="select",
                choices=_named(list(filter(None, keys))),
            ),
        ]
        groups = [self.row("adaptive.on"), FieldGroup(how)]
        return Section("adaptive", _("Pairs that tell most"), groups, folded=True)

    def wording(self) -> Section:
        return Section(
            "texts",
            pgettext("section", "Consent and instructions"),
            [
                texts(self.values, "consent", _("Consent"), "area", 6),
                self.row("consent.version"),
                texts(self.values, "instructions", _("Instructions"), "area", 6),
            ],
            folded=True,
        )


def _named(names: list[str]) -> Choices:
    return [(name, name) for name in names]
