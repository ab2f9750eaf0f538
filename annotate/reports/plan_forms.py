"""What the pages of plans ask: power, subset and stability of a study."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.kinds.registry import kind_of
from annotate.models import Question, Study
from annotate.reports import study_tables
from annotate.reports.name_fields import NamesField
from annotate.reports.scope_form import MOST_RESAMPLES, LevelsForm, ScopeForm
from annotate.reports.study_analyses import FURTHER, Command

SIZE = re.compile("[1-9][0-9]{0,4}")
SIZES = FURTHER[Command.SUBSET]["sizes"]


class PlanForm(ScopeForm):
    """A plan, which knows ratings of single outputs, and no other answers."""

    def questions_of(self, study: Study) -> list[Question]:
        asked = super().questions_of(study)
        return [one for one in asked if kind_of(one).table == "ratings"]

    def further(self) -> dict[str, Any]:
        """Return what the command takes beside its options; call after validation."""
        return {}


class PowerForm(PlanForm, LevelsForm):
    """What a larger study would show."""

    target = forms.FloatField(
        label=_("Half-width of an interval that is wanted"),
        min_value=0.001,
        max_value=0.999,
        initial=FURTHER[Command.POWER]["target"],
    )
    # The intervals of the pilot need some.
    resamples = forms.IntegerField(
        label=_("Resamples"), min_value=2, max_value=MOST_RESAMPLES, initial=1000
    )

    def further(self) -> dict[str, Any]:
        return {"target": self.cleaned_data["target"]}


class SubsetForm(PlanForm):
    """Whether fewer stories keep the means and the order of the methods."""

    part = forms.ChoiceField(label=_("Subset to be judged, by a tag"), required=False)
    sizes = forms.CharField(
        label=_("Numbers of stories to look for"),
        initial=", ".join(map(str, SIZES)),
        max_length=200,
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        tags = study_tables.story_tags(study).values()
        found = sorted({pair for own in tags for pair in own.items() if pair[1]})
        self.parts = {f"{tag}={value}": (tag, value) for tag, value in found}
        self.fields["part"].choices = [
            ("", _("none: only look for good ones")),
            *((name, name) for name in self.parts),
        ]

    def clean_sizes(self) -> tuple[int, ...]:
        found = set()
        for word in self.cleaned_data["sizes"].replace("，", ",").split(","):
            if not SIZE.fullmatch(word.strip()):
                raise forms.ValidationError(
                    _("“%(word)s”: expected whole numbers from 1, as in 5, 10, 20."),
                    params={"word": word.strip()},
                )
            found.add(int(word))
        return tuple(sorted(found))

    def further(self) -> dict[str, Any]:
        tag, value = self.parts.get(self.cleaned_data["part"], ("", ""))
        return {"sizes": self.cleaned_data["sizes"], "tag": tag, "value": value}


class StabilityForm(PlanForm, LevelsForm):
    """How stable judges are over repeated trials, and whom they agree with."""

    metrics = None  # type: ignore[assignment]  # Django leaves the field out
    judges = NamesField(
        label=_("Judges: annotators whose rounds are trials; all others are people"),
        error_messages={"required": _("Choose at least one annotator.")},
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        answered = study.annotators.filter(slots__submitted_at__isnull=False)
        names = answered.order_by("name").values_list("name", flat=True).distinct()
        self.fields["judges"].offer((name, name) for name in names)
        self.fields["judges"].initial = []

    def further(self) -> dict[str, Any]:
        return {"judges": tuple(self.cleaned_data["judges"])}


FORMS: dict[str, type[PlanForm]] = {
    Command.POWER: PowerForm,
    Command.SUBSET: SubsetForm,
    Command.STABILITY: StabilityForm,
}
