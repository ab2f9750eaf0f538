"""Cards of the questions in the set-up form."""

from functools import partial

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotate.setup_form.fields import Choices, Field, FieldGroup, FieldMaker, Section
from annotate.setup_form.values import kind_at, steps
from evalcore.metrics import registry

# Longer scales show only the ends, the middle and values with a description.
MOST_ANCHORS = 11


def degradations() -> Choices:
    """Return the kinds of degradation with their labels."""
    return [
        ("shuffled", _("shots in a different order")),
        ("foreign_shot", _("a shot from another story")),
        ("repeated_shot", _("a repeated shot")),
        ("blurred", _("blurred")),
        ("swapped_characters", _("characters swapped")),
    ]


def named(names: list[str]) -> Choices:
    return [(name, name) for name in names]


class QuestionCards(FieldMaker):
    """The cards of one form's questions."""

    def card(self, index: int) -> Section:
        """Return the card of one question."""
        name = f"questions.{index}"
        fields = kind_at(self.values, index).definition.model_fields
        groups = [
            self.texts(f"{name}.title", _("Title")),
            self.texts(f"{name}.text", _("Wording"), kind="area"),
        ]
        if "scale" in fields:
            groups += self._scale(name)
        groups += [
            FieldGroup([self.described(f"{name}.{key}", info)])
            for key, info in fields.items()
            if info.title
        ]
        if "category" in fields:
            groups.append(self.texts(f"{name}.category", _("Category")))
        key = self.one(
            f"{name}.key",
            label=_("Key"),
            help=_("Name of the question in tables: letters, digits, - and _."),
        )
        metric = self.one(
            f"{name}.metric",
            label=_("Metric"),
            help=_("The metric declared to measure this question."),
            choices=named(registry.names()),
        )
        stories = self.one(
            f"{name}.stories",
            label=_("Only for stories with these tags"),
            help=_("YAML, such as: angle: [TR]"),
            kind="code",
        )
        epsilon = self.one(
            f"{name}.epsilon",
            label=_("Margin (ε)"),
            help=_(
                "From 0 to 1, such as 0.1: the metric may be this much worse than an "
                "annotator and still replace one."
            ),
            kind="number",
            least=0,
            step="any",
        )
        more = FieldGroup([key, metric, epsilon, stories])
        if "degradation" in fields:
            nothing = ("", _("no degradation"))
            worse = self.one(
                f"{name}.degradation",
                label=_("Degradation that lowers the answer"),
                help=_("Annotators see an example of it and train with it."),
                kind="select",
                choices=[nothing, *degradations()],
            )
            more.fields.append(worse)
        look = self.texts(f"{name}.help", _("Help text"), kind="area")
        return Section(
            name.replace(".", "-"),
            self._shown(f"{name}.title") or key.value or _("New question"),
            groups,
            more=[look, more],
            index=index,
            kind=self.values.get(f"{name}.kind") or "",
            has_scale="scale" in fields,
            sentence=self._shown(f"{name}.text"),
        )

    def _shown(self, name: str) -> str:
        """Return a text in the language of the page, or else in English."""
        language = (get_language() or "en").split("-")[0]
        values = self.values
        return values.get(f"{name}.{language}") or values.get(f"{name}.en") or ""

    def _scale(self, name: str) -> list[FieldGroup]:
        """Return the ends of the scale and the descriptions of its values."""
        end = partial(self.one, kind="number", least=-100)
        ends = [
            end(f"{name}.scale.0", label=_("Lowest value")),
            end(f"{name}.scale.1", label=_("Highest value")),
        ]
        on_scale = steps(self.values.get(one.name) for one in ends)
        visible = [value for value in on_scale if self._is_shown(value, on_scale, name)]
        groups = [FieldGroup(ends, "scale")]
        for value in visible:
            anchor = self.texts(f"{name}.anchors.{value}", "")
            anchor.only = "anchor"
            for one in anchor.fields:
                one.label = f"{value} · {one.language}"
            groups.append(anchor)
        if len(visible) < len(on_scale):
            label = _("Describe another value")
            another = Field(f"{name}.anchor", label, "number", least=on_scale[0])
            groups.append(FieldGroup([another], "scale"))
        return groups

    def _is_shown(self, value: int, scale: range, name: str) -> bool:
        begin = f"{name}.anchors.{value}."
        return (
            len(scale) <= MOST_ANCHORS
            or value in (scale[0], scale[len(scale) // 2], scale[-1])
            or self.values.get(f"{name}.anchor") == str(value)
            or any(one.startswith(begin) for one in self.values)
        )
