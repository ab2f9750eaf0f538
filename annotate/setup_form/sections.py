"""The sections of the set-up form, with their labels and their present values."""

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotate.kinds.base import Kind
from annotate.setup_form.fields import Choices, Field, FieldGroup, Section
from annotate.setup_form.values import FormValues, kind_at, questions, sets_key
from annotate.studies.study_file import DEGRADATIONS
from evalcore.models import Benchmark, Output, Story

LANGUAGES = ("en", "zh")
# More stories than this are named in a text instead of ticked.
MOST_TICKS = 300


def language_name(code: str) -> str:
    """Return the name of a language that a study is written in."""
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


def texts(
    values: FormValues, name: str, label: str, kind: str = "text", rows: int = 3
) -> FieldGroup:
    """Return one field for each language."""
    return FieldGroup(
        [
            Field(
                f"{name}.{code}",
                f"{label} · {language_name(code)}",
                kind,
                values.getlist(f"{name}.{code}"),
                language=code,
                rows=rows,
            )
            for code in languages(values, name)
        ]
    )


def number(
    values: FormValues,
    name: str,
    label: str,
    help: str = "",
    *,
    least: int = 1,
    step: str = "1",
    only: str = "",
) -> Field:
    """Return a field for a number."""
    return Field(
        name,
        label,
        "number",
        values.getlist(name),
        help,
        least=least,
        step=step,
        only=only,
    )


def area(
    values: FormValues, name: str, label: str, help: str = "", rows: int = 8
) -> Field:
    """Return a field for a part of the file in YAML."""
    return Field(name, label, "code", values.getlist(name), help, rows=rows)


def basics(values: FormValues, *, fixed_slug: bool) -> Section:
    slug = Field(
        "slug",
        _("Short name"),
        "text",
        values.getlist("slug"),
        _("Stands in addresses and commands: letters, digits, - and _."),
        fixed=fixed_slug,
    )
    title = Field("title", _("Title"), "text", values.getlist("title"))
    return Section("basics", _("Name"), [FieldGroup([slug, title])])


def judged(values: FormValues, benchmark: Benchmark) -> Section:
    """Return what is judged: methods, stories, a sample of them, pairs."""
    outputs = Output.objects.filter(story__benchmark=benchmark)
    methods = sorted(set(outputs.values_list("method__name", flat=True)))
    stories = list(Story.objects.filter(outputs__in=outputs).distinct().order_by("key"))
    tags = sorted({str(tag) for story in stories for tag in story.tags})
    groups = [
        FieldGroup(
            [_all("method", _("All %(n)d methods") % {"n": len(methods)}, values)]
        ),
        FieldGroup(
            [_some("method", _("Methods"), _named(methods), values)], "some-method"
        ),
        FieldGroup(
            [_all("story", _("All %(n)d stories") % {"n": len(stories)}, values)]
        ),
        FieldGroup([_some_stories(stories, values)], "some-story"),
        FieldGroup(
            [
                number(
                    values,
                    "stories.number",
                    _("Draw so many stories at random"),
                    _("Empty: all of those above."),
                ),
                _tag(values, "stories.by", _("In proportion to the tag"), tags),
            ]
        ),
    ]
    if key := sets_key(values):
        groups += sets(values, key, tags)
    return Section("judged", _("What is judged"), groups)


def _all(name: str, label: str, values: FormValues) -> Field:
    return Field(f"all_{name}", label, "tick", values.getlist(f"all_{name}"))


def _some(name: str, label: str, choices: Choices, values: FormValues) -> Field:
    return Field(name, label, "many", values.getlist(name), choices=choices)


def _some_stories(stories: list[Story], values: FormValues) -> Field:
    if len(stories) <= MOST_TICKS:
        titled = [
            (s.key, f"{s.key} · {s.title}" if s.title else s.key) for s in stories
        ]
        return _some("story", _("Stories"), titled, values)
    return Field(
        "story",
        _("Stories"),
        "area",
        ["\n".join(values.getlist("story"))],
        _("The keys of the stories, one in each line."),
        rows=8,
    )


def _named(names: Iterable[str]) -> Choices:
    return [(name, name) for name in names]


def _tag(values: FormValues, name: str, label: str, tags: list[str]) -> Field:
    choices = [("", _("no tag")), *_named(tags)]
    return Field(name, label, "select", values.getlist(name), choices=choices)


def sets(values: FormValues, key: str, tags: list[str]) -> list[FieldGroup]:
    """Return which methods stand side by side: pairs, or larger sets."""
    are_pairs = key == "pairs"
    kinds = [("all", _("every method with every other"))]
    if are_pairs:
        kinds += [
            ("ring", _("a ring: each method with two others")),
            ("chosen", _("these pairs")),
            ("cells", _("so many pairs for each combination of tags")),
        ]
    else:
        kinds += [
            ("ring", _("a ring: each method with those that follow it")),
            ("chosen", _("these sets")),
        ]
    groups = [
        FieldGroup(
            [
                Field(
                    f"{key}.kind",
                    _("Pairs of methods") if are_pairs else _("Sets of methods"),
                    "radio",
                    values.getlist(f"{key}.kind") or ["all"],
                    choices=kinds,
                )
            ]
        ),
        FieldGroup(
            [
                Field(
                    f"{key}.chosen",
                    _("Pairs") if are_pairs else _("Sets"),
                    "area",
                    values.getlist(f"{key}.chosen"),
                    _("One pair in each line: method A | method B")
                    if are_pairs
                    else _("One set in each line: method A | method B | method C"),
                    rows=4,
                )
            ],
            "pairs-chosen",
        ),
    ]
    return groups + ([_of_cells(values, tags)] if are_pairs else [])


def _of_cells(values: FormValues, tags: list[str]) -> FieldGroup:
    """Return how many pairs are drawn for each combination of which tags."""
    listed = ", ".join(tags) or "–"
    return FieldGroup(
        [
            number(values, "pairs.number", _("Pairs for each combination")),
            Field(
                "pairs.by",
                _("Tags"),
                "text",
                values.getlist("pairs.by"),
                _("With commas between them. There are: %(tags)s.") % {"tags": listed},
            ),
        ],
        "pairs-cells",
    )


def people(values: FormValues) -> Section:
    """Return who judges, how often, and how it is handed out."""
    assignment = Field(
        "assignment",
        _("Who comes"),
        "radio",
        values.getlist("assignment") or ["planned"],
        choices=[
            ("planned", _("known annotators, each with a balanced plan")),
            ("open", _("whoever arrives takes free slots")),
        ],
    )
    return Section(
        "people",
        _("Who judges"),
        [
            FieldGroup([assignment]),
            FieldGroup(
                [
                    number(
                        values,
                        "annotators",
                        _("Annotators"),
                        _("How many people judge."),
                        only="planned",
                    ),
                    number(
                        values,
                        "redundancy",
                        _("Answers a unit"),
                        _("How many different people judge each unit."),
                    ),
                    number(
                        values,
                        "session_size",
                        _("Session"),
                        _("At most so many units in one sitting."),
                    ),
                ]
            ),
        ],
    )


def handing_out(values: FormValues) -> Section:
    """Return the folded rest about who judges."""
    spoken = languages(values, "languages", "annotators")
    by_language = [
        FieldGroup(
            [
                number(
                    values,
                    f"languages.{code}",
                    _("Answers a unit · %(language)s")
                    % {"language": language_name(code)},
                ),
                number(
                    values,
                    f"annotators.{code}",
                    _("Annotators · %(language)s") % {"language": language_name(code)},
                    only="planned",
                ),
            ]
        )
        for code in spoken
    ]
    by_language[0].fields[0].help = _(
        "Only if every unit is to be judged in several languages; replaces the numbers "
        "above."
    )
    return Section(
        "handing",
        _("Languages, leases, rounds"),
        [
            *by_language,
            FieldGroup(
                [
                    number(
                        values,
                        "lease_minutes",
                        _("Lease in minutes"),
                        _("So long a story stays with somebody who does nothing."),
                    ),
                    number(
                        values,
                        "cap",
                        _("Cap"),
                        _("Most units that one person may judge. Empty: no limit."),
                    ),
                    number(
                        values,
                        "rounds",
                        _("Rounds"),
                        _("How often the same people judge everything."),
                    ),
                    number(
                        values,
                        "seed",
                        _("Seed"),
                        _("The same seed, the same plan."),
                        least=0,
                    ),
                ]
            ),
            FieldGroup(
                [
                    number(
                        values, "subset.stories.number", _("Stories judged more often")
                    ),
                    Field(
                        "subset.stories.by",
                        _("In proportion to the tag"),
                        "text",
                        values.getlist("subset.stories.by"),
                    ),
                    number(values, "subset.redundancy", _("Answers a unit of these")),
                ]
            ),
        ],
        folded=True,
    )


def presentation(values: FormValues) -> Section:
    """Return how stories are shown."""
    switches = [
        (
            "same_size",
            _("All pictures and videos in one size"),
            _("Edges are added, so that resolution gives no method away."),
        ),
        ("must_watch", _("Videos are seen to the end before answers count"), ""),
        ("comments", _("Annotators may write a comment on a story"), ""),
    ]
    return Section(
        "presentation",
        _("How stories are shown"),
        [
            FieldGroup(
                [
                    Field(
                        f"presentation.{key}",
                        label,
                        "tick",
                        values.getlist(f"presentation.{key}"),
                        help,
                    )
                    for key, label, help in switches
                ]
            ),
        ],
        folded=True,
    )


def quality(values: FormValues) -> Section:
    """Return how the annotators are trained and checked."""
    kinds = {
        "gold": _("gold: the right answer is known"),
        "repeat": _("repeated: the same unit again"),
        "twin": _("degraded: a copy that must be worse"),
    }
    harms = {
        "shuffled": _("shots in another order"),
        "foreign_shot": _("a shot of another story"),
        "repeated_shot": _("a shot twice"),
        "blurred": _("blurred"),
        "swapped_characters": _("characters swapped"),
    }
    rules = [
        ("", _("none")),
        ("default", _("the usual ones: warn and pause on strong evidence")),
        ("own", _("these")),
    ]
    per_session = number(
        values,
        "checks.per_session",
        _("Checks in a session"),
        _("0: nobody is checked."),
        least=0,
    )
    ruled = [
        FieldGroup(
            [
                Field(
                    "rules.kind",
                    _("Rules"),
                    "radio",
                    values.getlist("rules.kind") or [""],
                    choices=rules,
                )
            ]
        ),
        FieldGroup(
            [
                area(
                    values,
                    "rules.own",
                    _("Own rules"),
                    _(
                        "A list in YAML, such as: - {key: skips, signal: skips, above: "
                        "0.3, action: note}"
                    ),
                )
            ],
            "rules-own",
        ),
    ]
    asked = [kind_at(values, i) for i in range(len(questions(values)))]
    if asked and not any(kind.has_known_answers for kind in asked):
        repeats = Field(
            "checks.kinds",
            _("Kinds of checks"),
            "many",
            values.getlist("checks.kinds"),
            choices=[(k, kinds[k]) for k in asked[0].controls],
        )
        groups = [FieldGroup([per_session]), FieldGroup([repeats]), *ruled]
        return Section("quality", _("Checks, rules"), groups, folded=True)
    return Section(
        "quality",
        _("Training, checks, rules"),
        [
            FieldGroup(
                [
                    per_session,
                    number(
                        values,
                        "checks.share",
                        _("Share of units with a degraded copy"),
                        least=0,
                        step="any",
                    ),
                ]
            ),
            FieldGroup(
                [
                    Field(
                        "checks.kinds",
                        _("Kinds of checks"),
                        "many",
                        values.getlist("checks.kinds"),
                        choices=[(k, kinds[k]) for k in Kind.controls],
                    ),
                    Field(
                        "checks.degradations",
                        _("How copies are degraded"),
                        "many",
                        values.getlist("checks.degradations"),
                        choices=[(k, harms[k]) for k in DEGRADATIONS],
                    ),
                ]
            ),
            *ruled,
            FieldGroup(
                [
                    area(
                        values,
                        "training",
                        _("Training round"),
                        _(
                            "YAML with pass_mark, attempts and units: story, method "
                            "and the expected answers. Empty: no training."
                        ),
                    )
                ]
            ),
            FieldGroup(
                [
                    area(
                        values,
                        "checks.gold",
                        _("Gold units"),
                        _(
                            "A list in YAML: - {story: '01', method: A, expected: "
                            "{KEY: [3, 4]}}"
                        ),
                    )
                ]
            ),
        ],
        folded=True,
    )


def adaptive(values: FormValues, keys: list[str]) -> Section:
    """Return how an open study of pairs chooses the next pair."""
    given = values if "adaptive.on" in values else FormValues()
    usual = {"top": "3", "confidence": "0.95", "least": "30", "explore": "0.2"}
    for name, value in usual.items():
        given.setdefault(f"adaptive.{name}", value)
    return Section(
        "adaptive",
        _("Pairs that tell most"),
        [
            FieldGroup(
                [
                    Field(
                        "adaptive.on",
                        _("Choose the next pair by what it tells"),
                        "tick",
                        values.getlist("adaptive.on"),
                        _("Only when whoever arrives takes free slots."),
                    )
                ]
            ),
            FieldGroup(
                [
                    number(
                        given,
                        "adaptive.top",
                        _("Methods at the top"),
                        _("It ends when these are separated from the rest."),
                    ),
                    number(
                        given,
                        "adaptive.confidence",
                        _("Confidence"),
                        least=0,
                        step="any",
                    ),
                    number(given, "adaptive.least", _("Least answers for each method")),
                    number(
                        given,
                        "adaptive.explore",
                        _("Share chosen at random"),
                        least=0,
                        step="any",
                    ),
                    Field(
                        "adaptive.question",
                        _("Question that ranks"),
                        "select",
                        given.getlist("adaptive.question"),
                        choices=_named(filter(None, keys)),
                    ),
                ]
            ),
        ],
        folded=True,
    )


def wording(values: FormValues) -> Section:
    """Return what annotators read before they begin."""
    return Section(
        "texts",
        pgettext("section", "Consent and instructions"),
        [
            texts(values, "consent", _("Consent"), "area", 6),
            FieldGroup(
                [
                    Field(
                        "consent.version",
                        _("Version of the consent text"),
                        "text",
                        values.getlist("consent.version") or ["1"],
                    )
                ]
            ),
            texts(values, "instructions", _("Instructions"), "area", 6),
        ],
        folded=True,
    )
