"""The forms of reports and exports."""

from collections.abc import Iterable
from dataclasses import fields as fields_of
from difflib import get_close_matches
from typing import Any

from django import forms
from django.utils.translation import get_language
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
from analysis.problems import listed, shown
from annotate.kinds.registry import counted
from annotate.models import MAIN, AnalysisView, Study
from annotate.reports import downloads, story_tables, study_scores
from annotate.reports.export_folder import FORMATS
from annotate.reports.layouts import IMAGE_FOLDER, LAYOUTS
from annotate.reports.study_scores import distinguished
from evalcore.scoring.identities import MetricIdentity

OPTIONS = {one.name for one in fields_of(AlignOptions)}
UNITS = ("stories+methods", "stories", "methods")


def report_language() -> str:
    """Return the language of the page if reports have it, or English."""
    here = str(get_language()).lower()
    return next((name for name in LANGUAGES if name.lower() == here), LANGUAGES[0])


class NamesField(forms.MultipleChoiceField):
    """Check boxes for names of a study."""

    widget = forms.CheckboxSelectMultiple
    choices: Any

    def offer(self, choices: Iterable[tuple[str, str]]) -> None:
        """Offer names with their labels, all of them ticked."""
        self.choices = list(choices)
        self.names = [name for name, _label in self.choices]
        self.initial = self.names
        self.required = self.required and bool(self.choices)

    def validate(self, value: list[str]) -> None:
        if self.required and not value:
            raise forms.ValidationError(self.error_messages["required"])
        for name in value:
            if name not in self.names:
                near = get_close_matches(name, self.names) or self.names
                raise forms.ValidationError(
                    _("%(name)s is not available. Expected: %(names)s."),
                    params={"name": shown(name), "names": listed(near)},
                )

    def chosen(self, value: list[str]) -> tuple[str, ...] | None:
        """Return the ticked names in order, or None for all of them."""
        ticked = tuple(name for name in self.names if name in value)
        return None if len(ticked) == len(self.names) else ticked


class ReportForm(forms.Form):
    """The options of `analysis.options.AlignOptions` that make sense in a browser."""

    fields: dict[str, Any]  # of several classes with different attributes

    view = forms.ModelChoiceField(
        label=_("Filter"),
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
    metrics = NamesField(label=_("Metrics"), required=False)
    compare_identities = forms.BooleanField(
        label=_("Compare them: each counts as a metric of its own"), required=False
    )
    paper = forms.BooleanField(
        label=_("Also write tables and texts for a paper (in the ZIP file)"),
        required=False,
    )
    exclude_methods = forms.MultipleChoiceField(
        label=_("Leave methods out (the report says so)"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    baseline = forms.MultipleChoiceField(
        label=_("Baselines: win rates are those of the other methods over them"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    resamples = forms.IntegerField(
        label=_("Resamples"), min_value=0, max_value=10_000, initial=1000
    )
    confidence = forms.FloatField(
        label=_("Confidence"), min_value=0.5, max_value=0.999, initial=0.95
    )
    seed = forms.IntegerField(
        label=_("Seed"), min_value=0, max_value=2**31 - 1, initial=0
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
    split_by = NamesField(label=_("Split by tags of the stories"), required=False)
    resample = forms.ChoiceField(
        label=_("Resampled clusters"),
        choices=[("", _("by table")), *((unit, unit) for unit in UNITS)],
        required=False,
    )
    top = forms.IntegerField(
        label=_("Number of best methods to test as a set (0: none)"),
        min_value=0,
        required=False,
    )
    epsilon = forms.ChoiceField(
        label=_("Tie threshold of metrics"),
        choices=[(name, name) for name in EPSILONS],
        initial=EPSILONS[0],
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        self.fields["view"].queryset = study.analysis_views.all()
        self.fields["language"].initial = report_language()
        self.fields["questions"].offer(
            (one.key, str(one.full_title)) for one in counted(study.questions.all())
        )
        for field, names in (
            ("metrics", study_scores.metric_names(study)),
            ("split_by", story_tables.tag_names(study)),
        ):
            self.fields[field].offer((name, name) for name in names)
        methods = [(name, name) for name in study.method_names]
        self.fields["exclude_methods"].choices = methods
        if study.outputs_at_once == 2:
            self.fields["baseline"].choices = methods
        # Of metrics whose scores were made in several ways: a field for each.
        self.several = {
            f"identity-{number}": metric
            for number, (metric, those) in enumerate(self._several().items())
        }
        self.fields["top"].initial = study.adaptive.get("top", 0)

    def _several(self) -> dict[str, list[MetricIdentity]]:
        """Add a field for each metric with several identities; return these."""
        found = study_scores.identities_of(self.study)
        several = {m: those for m, those in sorted(found.items()) if len(those) > 1}
        for number, (metric, those) in enumerate(several.items()):
            self.fields[f"identity-{number}"] = forms.ChoiceField(
                label=metric,
                choices=distinguished(those),
                required=False,
            )
        return several

    @property
    def identities(self) -> list[forms.BoundField]:
        """Return the fields of metrics with several identities."""
        return [self[name] for name in self.several]

    def clean_top(self) -> int:
        return self.cleaned_data["top"] or 0

    def clean(self) -> dict[str, Any]:
        """Check that the set of best methods is smaller than the report's methods."""
        data = super().clean() or self.cleaned_data
        left = {*self.study.method_names} - {*data.get("exclude_methods", ())}
        if data.get("top", 0) >= max(1, len(left)):
            text = _("Choose fewer than the %(n)s methods of the report.")
            self.add_error("top", forms.ValidationError(text, params={"n": len(left)}))
        return data

    def options(self) -> AlignOptions:
        """Return the options of a valid form."""
        options: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.cleaned_data.items()
            if name in OPTIONS
        }
        for name in ("questions", "metrics", "split_by"):
            options[name] = self.fields[name].chosen(options[name])
        options["identity"] = {
            metric: self.cleaned_data[name]
            for name, metric in self.several.items()
            if self.cleaned_data[name] and not options["compare_identities"]
        }
        options["language"] = options["language"] or LANGUAGES[0]
        options["resample"] = options["resample"] or None
        return AlignOptions(**options)


class ExportForm(forms.Form):
    """A choice of tables to export, with their layout and format."""

    fields: dict[str, Any]

    table = forms.ChoiceField(label=_("Table"), required=False)
    layout = forms.ChoiceField(
        label=_("Layout"),
        choices=[
            *((name, layout.title) for name, layout in LAYOUTS.items()),
            (IMAGE_FOLDER, _("Hugging Face: pictures, and tables in Parquet")),
        ],
    )
    format = forms.ChoiceField(
        label=_("Format"),
        choices=list(zip(FORMATS, ("CSV", "Parquet", "JSON lines"), strict=True)),
    )
    view = forms.ChoiceField(label=_("Filter"))
    as_of = forms.IntegerField(
        label=_("As of event (empty: now)"), min_value=1, required=False
    )
    with_scores = forms.BooleanField(
        label=_("Wide: add metric scores as columns"), required=False
    )
    bom = forms.BooleanField(
        label=_("CSV: begin with a byte order mark, for Excel"), required=False
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tables = downloads.exported_tables(study)
        self.fields["table"].choices = [("", _("all")), *((n, n) for n in tables)]
        keys = study.analysis_views.values_list("key", flat=True)
        self.fields["view"].choices = [(key, key) for key in keys]
        self.fields["view"].initial = MAIN
