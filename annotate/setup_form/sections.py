"""Sections of the set-up form."""

from functools import partial

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotate.kinds.base import Kind
from annotate.people.outcomes import Outcome
from annotate.people.platforms import PLATFORMS
from annotate.setup_form.fields import (
    Choices,
    Field,
    FieldGroup,
    FieldMaker,
    Section,
    language_name,
)
from annotate.setup_form.question_cards import QuestionCards, degradations, named
from annotate.setup_form.values import FormValues, kind_at, questions, sets_key
from annotate.studies.parts import Adaptive, Goals, Presentation, goals_of
from evalcore.models import Benchmark, MetricScore, Output, Story

# More stories than this are typed into a text field instead of ticked.
MOST_TICKS = 300


class Sections(QuestionCards):
    """The sections of one form."""

    def basics(self, *, fixed_slug: bool) -> Section:
        slug = self.one(
            "slug",
            label=_("Web address name"),
            help=_("Letters, digits, - and _. Empty: made from the title."),
            fixed=fixed_slug,
        )
        return Section("basics", _("Name"), [FieldGroup([self.one("title"), slug])])

    # Stories and methods

    def judged(self, benchmark: Benchmark) -> Section:
        """Return the fields for methods, stories, a sample of them, and pairs."""
        outputs = Output.objects.filter(story__benchmark=benchmark)
        methods = sorted(set(outputs.values_list("method__name", flat=True)))
        rows = Story.objects.filter(outputs__in=outputs).distinct().order_by("key")
        stories = [(s.key, f"{s.key} · {s.title}" if s.title else s.key) for s in rows]
        tags = sorted({str(tag) for story in rows for tag in story.tags})
        all_methods = _("All %(n)d methods") % {"n": len(methods)}
        all_stories = _("All %(n)d stories") % {"n": len(stories)}
        some = self.one(
            "method", label=_("Methods"), kind="many", choices=named(methods)
        )
        by_tag = [("", _("no tag")), *named(tags)]
        by = self.one("stories.by", kind="select", choices=by_tag)
        groups = [
            FieldGroup([self.one("all_method", label=all_methods, kind="tick")]),
            FieldGroup([some], "some-method"),
            FieldGroup([self.one("all_story", label=all_stories, kind="tick")]),
            FieldGroup([self._some_stories(stories)], "some-story"),
            FieldGroup([self.one("stories.number"), by, self._spread_of(benchmark)]),
        ]
        if key := sets_key(self.values):
            groups += self._sets(key, tags)
        if self.values.get("late_entry"):
            groups.append(FieldGroup([self.one("late_entry")]))
        return Section("judged", _("Methods and stories"), groups)

    def _spread_of(self, benchmark: Benchmark) -> Field:
        """Return the field for the metric that drawing probabilities depend on."""
        name = "stories.spread_of"
        scores = MetricScore.objects.filter(benchmark=benchmark, story__isnull=False)
        found = {*scores.order_by().values_list("metric", flat=True).distinct()}
        found |= {self.values.get(name) or ""}
        metrics = named(sorted(found - {""}))
        choices = [("", _("nothing (equal probabilities)")), *metrics]
        return self.one(name, kind="select", choices=choices)

    def _some_stories(self, stories: Choices) -> Field:
        some = self.one("story", label=_("Stories"), kind="many", choices=stories)
        if len(stories) > MOST_TICKS:
            some.help = _("One story key per line.")
            some.kind, some.rows, some.choices = "area", 8, ()
            some.values = ["\n".join(some.values)]
        return some

    def _sets(self, key: str, tags: list[str]) -> list[FieldGroup]:
        """Return the fields for methods shown together: pairs, or larger sets."""
        if key == "pairs":
            together, sets = _("Pairs of methods"), _("Pairs")
            kinds = [
                ("all", _("all pairs of methods")),
                ("ring", _("a ring: each method with two others")),
                ("chosen", _("only the pairs listed here")),
                ("cells", _("a number of pairs for each combination of tags")),
            ]
            example = _("One pair per line: method A | method B")
        else:
            together, sets = _("Sets of methods"), _("Sets")
            kinds = [
                ("all", _("all sets of methods")),
                ("ring", _("a ring: each method with the methods after it")),
                ("chosen", _("only the sets listed here")),
            ]
            example = _("One set per line: method A | method B | method C")
        which = self._radio(f"{key}.kind", "all", kinds, label=together)
        chosen = self.one(
            f"{key}.chosen", label=sets, help=example, kind="area", rows=4
        )
        groups = [FieldGroup([which]), FieldGroup([chosen], "pairs-chosen")]
        if key == "pairs":
            text = _("Separate tags with commas. Available tags: %(tags)s.")
            text %= {"tags": ", ".join(tags) or "–"}
            by = self.one("pairs.by", label=_("Tags"), help=text)
            groups.append(FieldGroup([self.one("pairs.number"), by], "pairs-cells"))
        return groups

    def _radio(self, name: str, usual: str, choices: Choices, **options: str) -> Field:
        return self.one(name, kind="radio", usual=usual, choices=choices, **options)

    # Annotators

    def people(self) -> Section:
        assignments = [
            ("planned", _("planned (each annotator gets a balanced share)")),
            ("open", _("open (annotators get the next item as they arrive)")),
        ]
        people = self.one(
            "annotators",
            label=_("Number of annotators"),
            kind="number",
            least=1,
            only="planned",
        )
        numbers = [people, self.one("redundancy"), self.one("session_size")]
        groups = [
            FieldGroup([self._radio("assignment", "planned", assignments)]),
            FieldGroup(numbers),
            FieldGroup([self.one("deadline", kind="date")]),
        ]
        return Section("people", _("Annotators"), groups)

    def assignment_details(self) -> Section:
        """Return the less common fields about annotators, folded."""
        whole = partial(self.one, kind="number", least=1)
        groups = []
        for code in self.languages("languages", "annotators"):
            names = {"language": language_name(code)}
            ratings = _("Ratings per item · %(language)s") % names
            people = _("Annotators · %(language)s") % names
            number = whole(f"languages.{code}", label=ratings)
            annotators = whole(f"annotators.{code}", label=people, only="planned")
            groups.append(FieldGroup([number, annotators]))
        groups[0].fields[0].help = _(
            "Only if every item is rated in several languages. These numbers replace "
            "those above."
        )
        often = _("Number of stories with extra ratings")
        subset = [
            self.one("subset.stories.number", label=often, help=""),
            self.one("subset.stories.by"),
            self.one("subset.redundancy"),
        ]
        groups += [
            self.row("lease_minutes", "cap", "rounds", "seed"),
            FieldGroup(subset),
        ]
        title = _("Languages, limits, rounds")
        return Section("handing", title, groups, folded=True)

    # Presentation and quality

    def presentation(self) -> Section:
        names = [f"presentation.{key}" for key in Presentation.model_fields]
        title = _("Presentation")
        return Section("presentation", title, [self.row(*names)], folded=True)

    def recruitment(self) -> Section:
        """Return the fields about a crowd platform, its codes and pay."""
        platforms = [("", _("none")), *((p.key, p.title) for p in PLATFORMS.values())]
        platforms[-1] = ("codes", _("a list of people, each with an own code"))
        key = "recruitment"
        which = self.one(f"{key}.platform", kind="select", choices=platforms)
        number = partial(self.one, kind="number")
        pay = [
            number(f"{key}.minutes", least=1),
            number(f"{key}.pay_per_hour", least=0, step="any"),
            self.one(f"{key}.currency"),
        ]
        groups = [
            FieldGroup([which, self.one(f"{key}.require_id")]),
            FieldGroup(pay),
        ]
        for outcome in Outcome:
            code = self.one(f"{key}.outcomes.{outcome}.code")
            address = self.one(f"{key}.outcomes.{outcome}.url")
            for one in (code, address):
                one.label = f"{outcome.label} · {one.label}"
            groups.append(FieldGroup([code, address]))
        for group in groups[3:]:
            for one in group.fields:
                one.help = ""
        return Section(key, _("Recruitment and payment"), groups, folded=True)

    def goals(self) -> Section:
        kinds = [kind_at(self.values, i) for i in range(len(questions(self.values)))]
        possible = {key for kind in kinds for key in goals_of(kind)}
        fields = [
            self.one(f"goals.{key}", kind="number", step="1" if key == "top" else "any")
            for key in Goals.model_fields
            if key in possible or self.values.get(f"goals.{key}")
        ]
        return Section("goals", _("Goals"), [FieldGroup(fields)], folded=True)

    def composites(self) -> Section:
        groups = [self.row("composites")]
        return Section("composites", _("Composites"), groups, folded=True)

    def trained_on(self) -> Section:
        groups = [FieldGroup([self.one("trained_on", rows=3)])]
        title = _("Metrics that shaped a method")
        return Section("trained-on", title, groups, folded=True)

    def quality(self) -> Section:
        controls = {
            "gold": _("known-answer checks"),
            "repeat": _("repeats: the same item again"),
            "twin": _("degraded copies, which should be rated lower"),
        }
        kinds = [kind_at(self.values, i) for i in range(len(questions(self.values)))]
        is_known = not kinds or any(kind.has_known_answers for kind in kinds)
        suited = dict.fromkeys(one for kind in kinds for one in kind.controls)
        possible = Kind.controls if is_known else suited
        choices = [(name, controls[name]) for name in possible]
        checks = [self.one("checks.kinds", kind="many", choices=choices)]
        if not is_known:
            groups = [
                self.row("checks.per_session"),
                FieldGroup(checks),
                *self._rules(),
            ]
            return Section("quality", _("Checks and rules"), groups, folded=True)
        worse = degradations()
        checks.append(self.one("checks.degradations", kind="many", choices=worse))
        groups = [
            self.row("checks.per_session", "checks.share"),
            FieldGroup(checks),
            *self._rules(),
            self.row("training.twins", "training.pass_mark", "training.attempts"),
            self.row("training.per_round", "training.units"),
            self.row("checks.gold"),
        ]
        return Section("quality", _("Training, checks and rules"), groups, folded=True)

    def _rules(self) -> list[FieldGroup]:
        rules = [
            ("", _("none")),
            ("default", _("default rules: warn or pause on strong evidence")),
            ("own", _("custom rules")),
        ]
        text = _(
            "YAML list, such as: - {key: skips, signal: skips, above: 0.3, "
            "action: note}"
        )
        own = self.one(
            "rules.own", label=_("Custom rules"), help=text, kind="code", rows=8
        )
        which = self._radio("rules.kind", "", rules, label=_("Rules"))
        return [FieldGroup([which]), FieldGroup([own], "rules-own")]

    def adaptive(self, keys: list[str]) -> Section:
        """Return the fields for adaptive pair selection in an open study."""
        values = self.values if "adaptive.on" in self.values else FormValues()
        for key, usual in Adaptive():
            if usual:
                values.setdefault(f"adaptive.{key}", str(usual))
        how = FieldMaker(values).row(
            *(f"adaptive.{key}" for key in Adaptive.model_fields)
        )
        ranks = how.fields[-1]
        ranks.kind, ranks.choices = "select", named(list(filter(None, keys)))
        chosen = self.one(
            "adaptive.on",
            label=_("Adaptive pair selection"),
            help=_("Only with open assignment."),
            kind="tick",
        )
        groups = [FieldGroup([chosen]), how]
        return Section("adaptive", _("Adaptive pairs"), groups, folded=True)

    def wording(self) -> Section:
        groups = [
            self.texts("consent", _("Consent"), kind="area", rows=6),
            FieldGroup([self.one("consent.version", usual="1")]),
            self.texts("instructions", _("Instructions"), kind="area", rows=6),
        ]
        title = pgettext("section", "Consent and instructions")
        return Section("texts", title, groups, folded=True)
