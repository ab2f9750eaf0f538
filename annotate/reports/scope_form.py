"""What every form of a report asks: through which view, and what is covered."""

from dataclasses import fields as fields_of
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from analysis.options import (
    COEFFICIENTS,
    KNOWN_COEFFICIENTS,
    KNOWN_LEVELS,
    LANGUAGES,
    LEVELS,
    AlignOptions,
)
from annotate.models import MAIN, AnalysisView, Question, Study
from annotate.reports import study_scores
from annotate.reports.languages import report_language
from annotate.reports.name_fields import NamesField

NAMES = {one.name for one in fields_of(AlignOptions)}
MOST_RESAMPLES = 10_000


class ScopeForm(forms.Form):
    """The options that all analyses of a study take."""

    fields: dict[str, Any]  # of several classes, each with attributes of its own
    data: Any

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
    questions = NamesField(
        label=_("Questions"),
        error_messages={"required": _("Choose at least one question.")},
    )
    metrics = NamesField(
        label=_("Metrics"),
        error_messages={"required": _("Choose at least one metric.")},
    )
    exclude_methods = forms.MultipleChoiceField(
        label=_("Leave methods out (the report says so)"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    resamples = forms.IntegerField(
        label=_("Resamples"), min_value=0, max_value=MOST_RESAMPLES, initial=1000
    )
    confidence = forms.FloatField(
        label=_("Confidence"), min_value=0.5, max_value=0.999, initial=0.95
    )
    seed = forms.IntegerField(
        label=_("Seed"), min_value=0, max_value=2**31 - 1, initial=0
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        self.asked = {one.key: one for one in self.questions_of(study)}
        self.fields["view"].queryset = study.analysis_views.all()
        self.fields["language"].initial = report_language()
        self.fields["questions"].offer(
            (key, str(one.full_title)) for key, one in self.asked.items()
        )
        if "metrics" in self.fields:
            names = study_scores.metric_names(study)
            self.fields["metrics"].offer((name, name) for name in names)
        self.fields["exclude_methods"].choices = [
            (name, name) for name in study.method_names
        ]

    def questions_of(self, study: Study) -> list[Question]:
        """Return the questions that can be covered."""
        return list(study.questions.all())

    def options(self) -> AlignOptions:
        """Return what was asked for; call after validation."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.cleaned_data.items()
            if name in NAMES
        }
        for name in {"questions", "metrics"} & {*given}:
            given[name] = self.fields[name].chosen(given[name])
        given["language"] = given["language"] or LANGUAGES[0]
        return AlignOptions(**given)


class LevelsForm(forms.Form):
    """The levels and coefficients of correlations."""

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
