"""What a report page asks for."""

from dataclasses import fields
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from analysis.options import (
    COEFFICIENTS,
    EPSILONS,
    KNOWN_COEFFICIENTS,
    KNOWN_LEVELS,
    LANGUAGES,
    LEVELS,
    AlignOptions,
)
from annotate.models import MAIN, AnalysisView, Study
from annotate.reports import study_tables
from annotate.reports.declaration_form import DeclarationForm
from annotate.reports.languages import report_language
from annotate.reports.name_fields import NamesField

NAMES = {one.name for one in fields(AlignOptions)}
MOST_RESAMPLES = 10_000
UNITS = ("stories+methods", "stories", "methods")


class ReportForm(DeclarationForm):
    """The options of `analysis.options.AlignOptions` that make sense in a browser."""

    fields: dict[str, Any]  # of several classes, each with attributes of its own

    view = forms.ModelChoiceField(
        label=_("View"),
        queryset=AnalysisView.objects.none(),
        to_field_name="key",
        initial=MAIN,
        empty_label=None,
        required=False,
    )
    language = forms.ChoiceField(
        label=_("Language of the report"),
        choices=list(zip(LANGUAGES, (_("English"), _("Chinese")), strict=True)),
        required=False,
    )
    levels = forms.MultipleChoiceField(
        label=_("Levels"),
        choices=[(level, level) for level in KNOWN_LEVELS],
        initial=LEVELS,
        widget=forms.CheckboxSelectMultiple,
    )
    coefficients = forms.MultipleChoiceField(
        label=_("Coefficients"),
        choices=[(name, name) for name in KNOWN_COEFFICIENTS],
        initial=COEFFICIENTS,
        widget=forms.CheckboxSelectMultiple,
    )
    exclude_methods = forms.MultipleChoiceField(
        label=_("Leave methods out (the report says so)"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    split_by = NamesField(label=_("Split by tags of the stories"), required=False)
    resamples = forms.IntegerField(
        label=_("Resamples"), min_value=0, max_value=MOST_RESAMPLES, initial=1000
    )
    resample = forms.ChoiceField(
        label=_("Resample whole"),
        choices=[("", _("what suits each table")), *((unit, unit) for unit in UNITS)],
        required=False,
    )
    confidence = forms.FloatField(
        label=_("Confidence"), min_value=0.5, max_value=0.999, initial=0.95
    )
    epsilon = forms.ChoiceField(
        label=_("Metric ties within"),
        choices=[(name, name) for name in EPSILONS],
        initial=EPSILONS[0],
    )
    seed = forms.IntegerField(
        label=_("Seed"), min_value=0, max_value=2**31 - 1, initial=0
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        self.fields["view"].queryset = study.analysis_views.all()
        self.fields["language"].initial = report_language()
        self.fields["exclude_methods"].choices = [
            (name, name) for name in study.method_names
        ]
        tags = study_tables.tag_names(study)
        self.fields["split_by"].offer((name, name) for name in tags)

    def options(self) -> AlignOptions:
        """Return what was asked for; call after validation."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.cleaned_data.items()
            if name in NAMES
        }
        given["resample"] = given["resample"] or None
        given["language"] = given["language"] or LANGUAGES[0]
        for name in ("questions", "metrics", "split_by"):
            given[name] = self.fields[name].chosen(given[name])
        return AlignOptions(**given)
