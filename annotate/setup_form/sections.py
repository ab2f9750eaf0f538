"""The sections of the set-up form, with their present values."""

from functools import partial

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotate.kinds.base import Kind
from annotate.setup_form.fields import Choices, Field, FieldGroup, Section
from annotate.setup_form.labels import (
    degradations,
    filled,
    labelled,
    language_name,
    languages,
    named,
    texts,
)
from annotate.setup_form.values import FormValues, kind_at, questions, sets_key
from annotate.studies.parts import Adaptive, Presentation
from evalcore.models import Benchmark, Output, Story

# More stories than this are named in a text instead of ticked.
MOST_TICKS = 300


class Sections:
    """The sections of one form."""

    def __init__(self, values: FormValues) -> None:
        self.values = values
        self.one = partial(labelled, values)

    def row(self, *names: str, only: str = "") -> FieldGroup:
        """Return the fields of these paths, side by side."""
        return FieldGroup([self.one(name) for name in names], only)

    def basics(self, *, fixed_slug: bool) -> Section:
        slug = filled(
            self.values,
            "slug",
            _("Short name"),
            _("Stands in addresses and commands: letters, digits, - and _."),
            fixed=fixed_slug,
        )
        fields = [slug, self.one("title")]
        return Section("basics", _("Name"), [FieldGroup(fields)])

    # What is judged

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
        some = one("method", _("Methods"), kind="many", choices=named(methods))
        by_tag = [("", _("no tag")), *named(tags)]
        by = self.one("stories.by", kind="select", choices=by_tag)
        groups = [
            FieldGroup([one("all_method", all_methods, kind="tick")]),
            FieldGroup([some], "some-method"),
            FieldGroup([one("all_story", all_stories, kind="tick")]),
            FieldGroup([self._some_stories(stories)], "some-story"),
            FieldGroup([self.one("stories.number"), by]),
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
        kinds = [("all", _("every method with every other"))]
        if key == "pairs":
            together, sets = _("Pairs of methods"), _("Pairs")
            kinds += [
                ("ring", _("a ring: each method with two others")),
                ("chosen", _("these pairs")),
                ("cells", _("so many pairs for each combination of tags")),
            ]
            written = _("One pair in each line: method A | method B")
        else:
            together, sets = _("Sets of methods"), _("Sets")
            kinds += [
                ("ring", _("a ring: each method with those that follow it")),
                ("chosen", _("these sets")),
            ]
            written = _("One set in each line: method A | method B | method C")
        which = one(f"{key}.kind", together, "", "radio", usual="all", choices=kinds)
        chosen = one(f"{key}.chosen", sets, written, "area", rows=4)
        groups = [FieldGroup([which]), FieldGroup([chosen], "pairs-chosen")]
        if key == "pairs":
            listed = ", ".join(tags) or "–"
            told = _("With commas between them. There are: %(tags)s.")
            by = one("pairs.by", _("Tags"), told % {"tags": listed})
            groups.append(FieldGroup([self.one("pairs.number"), by], "pairs-cells"))
        return groups

    # Who judges

    def people(self) -> Section:
        comers = [
            ("planned", _("known annotators, each with a balanced plan")),
            ("open", _("whoever arrives takes free slots")),
        ]
        who = self.one("assignment", kind="radio", usual="planned", choices=comers)
        numbers = [
            filled(
                self.values,
                "annotators",
                _("Annotators"),
                _("How many people judge."),
                "number",
                least=1,
                only="planned",
            ),
            self.one("redundancy"),
            self.one("session_size"),
        ]
        return Section(
            "people", _("Who judges"), [FieldGroup([who]), FieldGroup(numbers)]
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
        rows = [
            self.row("lease_minutes", "cap", "rounds", "seed"),
            FieldGroup(
                [
                    self.one(
                        "subset.stories.number",
                        label=_("Stories judged more often"),
                        help="",
                    ),
                    self.one("subset.stories.by"),
                    self.one("subset.redundancy"),
                ]
            ),
        ]
        title = _("Languages, leases, rounds")
        return Section("handing", title, [*by_language, *rows], folded=True)

    def _of_language(self, code: str, name: str) -> list[Field]:
        whole = partial(filled, self.values, kind="number", least=1)
        answers = _("Answers a unit · %(language)s") % {"language": name}
        people = _("Annotators · %(language)s") % {"language": name}
        return [
            whole(f"languages.{code}", answers),
            whole(f"annotators.{code}", people, only="planned"),
        ]

    # How it is shown, and how well it is done

    def presentation(self) -> Section:
        shown = [f"presentation.{key}" for key in Presentation.model_fields]
        title = _("How stories are shown")
        return Section("presentation", title, [self.row(*shown)], folded=True)

    def composites(self) -> Section:
        groups = [self.row("composites")]
        return Section("composites", _("Composites"), groups, folded=True)

    def quality(self) -> Section:
        controls = {
            "gold": _("gold: the right answer is known"),
            "repeat": _("repeated: the same unit again"),
            "twin": _("degraded: a copy that must be worse"),
        }
        asked = [kind_at(self.values, i) for i in range(len(questions(self.values)))]
        is_known = not asked or any(kind.has_known_answers for kind in asked)
        suited = dict.fromkeys(one for kind in asked for one in kind.controls)
        possible = Kind.controls if is_known else suited
        choices = [(name, controls[name]) for name in possible]
        checks = [self.one("checks.kinds", kind="many", choices=choices)]
        rules = [
            ("", _("none")),
            ("default", _("the usual ones: warn and pause on strong evidence")),
            ("own", _("these")),
        ]
        one = partial(filled, self.values)
        ruled = [
            FieldGroup(
                [one("rules.kind", _("Rules"), "", "radio", usual="", choices=rules)]
            ),
            FieldGroup(
                [
                    one(
                        "rules.own",
                        _("Own rules"),
                        _(
                            "A list in YAML, such as: - {key: skips, signal: skips, "
                            "above: 0.3, action: note}"
                        ),
                        "code",
                        rows=8,
                    )
                ],
                "rules-own",
            ),
        ]
        if not is_known:
            groups = [self.row("checks.per_session"), FieldGroup(checks), *ruled]
            return Section("quality", _("Checks, rules"), groups, folded=True)
        worse = degradations()
        checks.append(self.one("checks.degradations", kind="many", choices=worse))
        groups = [
            self.row("checks.per_session", "checks.share"),
            FieldGroup(checks),
            *ruled,
            self.row("training.twins", "training.pass_mark", "training.attempts"),
            self.row("training.units"),
            self.row("checks.gold"),
        ]
        return Section("quality", _("Training, checks, rules"), groups, folded=True)

    def adaptive(self, keys: list[str]) -> Section:
        """Return how an open study of pairs chooses the next pair."""
        given = self.values if "adaptive.on" in self.values else FormValues()
        for key, usual in Adaptive():
            if usual:
                given.setdefault(f"adaptive.{key}", str(usual))
        one = partial(labelled, given)
        how = [one(f"adaptive.{k}") for k in ("top", "confidence", "least", "explore")]
        choices = named(list(filter(None, keys)))
        how.append(one("adaptive.question", kind="select", choices=choices))
        chosen = filled(
            self.values,
            "adaptive.on",
            _("Choose the next pair by what it tells"),
            _("Only when whoever arrives takes free slots."),
            "tick",
        )
        groups = [FieldGroup([chosen]), FieldGroup(how)]
        return Section("adaptive", _("Pairs that tell most"), groups, folded=True)

    def wording(self) -> Section:
        return Section(
            "texts",
            pgettext("section", "Consent and instructions"),
            [
                texts(self.values, "consent", _("Consent"), "area", 6),
                FieldGroup([self.one("consent.version", usual="1")]),
                texts(self.values, "instructions", _("Instructions"), "area", 6),
            ],
            folded=True,
        )
