"""What the page of a study's reports asks for an alignment."""

from dataclasses import replace
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from analysis.options import EPSILONS, AlignOptions
from annotate.models import Study
from annotate.reports import study_tables
from annotate.reports.declaration_form import DeclarationForm
from annotate.reports.name_fields import NamesField
from annotate.reports.scope_form import LevelsForm

UNITS = ("stories+methods", "stories", "methods")


class ReportForm(DeclarationForm, LevelsForm):
    """The options of `analysis.options.AlignOptions` that make sense in a browser."""

    split_by = NamesField(label=_("Split by tags of the stories"), required=False)
    resample = forms.ChoiceField(
        label=_("Resample whole"),
        choices=[("", _("what suits each table")), *((unit, unit) for unit in UNITS)],
        required=False,
    )
    top = forms.IntegerField(
        label=_("Best methods, tested as a set (0: none)"),
        min_value=0,
        required=False,
        initial=0,
    )
    epsilon = forms.ChoiceField(
        label=_("Metric ties within"),
        choices=[(name, name) for name in EPSILONS],
        initial=EPSILONS[0],
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        tags = study_tables.tag_names(study)
        self.fields["split_by"].offer((name, name) for name in tags)
        self.fields["metrics"].required = False
        self.fields["top"].initial = study.adaptive.get("top", 0)

    def clean_top(self) -> int:
        return self.cleaned_data["top"] or 0

    def clean(self) -> dict[str, Any]:
        """Hold the set of best methods against the methods that are left."""
        data = super().clean()
        left = {*self.study.method_names} - {*data.get("exclude_methods", ())}
        if data.get("top", 0) >= max(1, len(left)):
            told = _("Choose fewer than the %(n)s methods of the report.")
            self.add_error("top", forms.ValidationError(told, params={"n": len(left)}))
        return data

    def options(self) -> AlignOptions:
        given = self.cleaned_data
        return replace(
            super().options(),
            resample=given["resample"] or None,
            split_by=self.fields["split_by"].chosen(given["split_by"]),
        )
