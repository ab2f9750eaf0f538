"""What every form of a report asks: through which view, and what is covered."""

from collections.abc import Iterable, Sequence
from dataclasses import fields as fields_of
from difflib import get_close_matches
from typing import Any

from django import forms
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from analysis.options import (
    COEFFICIENTS,
    KNOWN_COEFFICIENTS,
    KNOWN_LEVELS,
    LANGUAGES,
    LEVELS,
    AlignOptions,
)
from analysis.problems import listed, shown
from annotate.kinds.registry import counted
from annotate.models import MAIN, AnalysisView, Question, Study
from annotate.reports import study_scores


def report_language() -> str:
    """Return the language of reports that is that of the page, or else English."""
    here = str(get_language()).lower()
    return next((name for name in LANGUAGES if name.lower() == here), LANGUAGES[0])


def unknown(name: str, names: Sequence[str]) -> forms.ValidationError:
    """Return what is told of a name that is none of those there are."""
    near = get_close_matches(name, names) or names
    return forms.ValidationError(
        _("There is no %(name)s here. Expected: %(names)s."),
        params={"name": shown(name), "names": listed(near)},
    )


class NamesField(forms.MultipleChoiceField):
    """Some of the names that a study has."""

    widget = forms.CheckboxSelectMultiple
    choices: Any

    @property
    def names(self) -> list[str]:
        return [name for name, _label in self.choices]

    def offer(self, choices: Iterable[tuple[str, str]]) -> None:
        """Offer names with their labels, all of them ticked."""
        self.choices = list(choices)
        self.initial = self.names
        self.required = self.required and bool(self.choices)

    def validate(self, value: list[str]) -> None:
        if self.required and not value:
            raise forms.ValidationError(self.error_messages["required"])
        for name in value:
            if name not in self.names:
                raise unknown(name, self.names)

    def chosen(self, value: list[str]) -> tuple[str, ...] | None:
        """Return the names that were ticked, in their order; None: all of them."""
        found = tuple(name for name in self.names if name in value)
        return None if len(found) == len(self.names) else found


class NameField(forms.ChoiceField):
    """One name, or none."""

    choices: Any

    @property
    def names(self) -> list[str]:
        return [name for name, _label in self.choices if name]

    def validate(self, value: str) -> None:
        if value and value not in self.names:
            raise unknown(value, self.names)


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
        return counted(study.questions.all())

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
