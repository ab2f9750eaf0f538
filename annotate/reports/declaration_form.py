"""The part of a report's form that says what is declared.

Untouched it stands for the study's own declarations, whatever these are when the report
is built; what is changed is stored as the texts of the files that the command takes.
"""

import csv
import io
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from analysis.problems import InputError
from analysis.rankings.composite_weights import (
    Composite,
    check_composites,
    composites_of,
)
from analysis.tables import Lines, defused
from annotate.models import Study
from annotate.reports import study_tables
from annotate.reports.declarations import own_composites
from annotate.reports.name_fields import NameField
from annotate.reports.scope_form import ScopeForm
from annotate.schema import DefinitionError
from annotate.studies.definition import composites_data
from annotate.studies.study_file import write_data

LARGEST_FILE = 50_000
DECLARED = "declared_"
NONE_DECLARED = ("", _("none"))
NO_SCORES = _("no scores")
Pairs = list[tuple[str, str]]


def _not_too_large(file: UploadedFile) -> None:
    if (file.size or 0) > LARGEST_FILE:
        raise forms.ValidationError(_("This file is too large."))


class DeclarationForm(ScopeForm):
    """The metric declared for each question, and composites."""

    composites = forms.CharField(
        label=_("Composites, as in a study file"),
        required=False,
        max_length=LARGEST_FILE,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    composites_file = forms.FileField(
        label=_("or from a file (.yaml, .json)"),
        required=False,
        max_length=100,
        validators=[_not_too_large],
    )

    # Why the study's own composites cannot be read.
    unread = ""

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        try:
            self.own = self.made = own_composites(study)
        except DefinitionError as error:
            # Whoever asks for a report of these is told so; others are not held up.
            self.own = self.made = ()
            self.unread = str(error)
        example = ", ".join(f"{key}: 1" for key in self.asked)
        self.fields["composites"].widget.attrs["placeholder"] = (
            f"composites:\n  overall: {{over: questions, weights: {{{example}}}}}"
        )
        if self.own:
            self.fields["composites"].initial = write_data(composites_data(self.own))
        for number, (name, field) in enumerate(self._declared_fields().items()):
            field.widget.attrs["id"] = f"id_{DECLARED}{number}"
            self.fields[DECLARED + name] = field

    def _declared_fields(self) -> dict[str, NameField]:
        """Return a field for each question, and each composite of questions."""
        metrics = self.fields["metrics"].names
        made = {over: _names(self.own, over) for over in ("questions", "metrics")}
        found = {}
        for name in (*self.asked, *made["questions"]):
            question = self.asked.get(name)
            own = question.metric if question else ""
            choices = [(one, one) for one in (*metrics, *made["metrics"])]
            if own and (own, own) not in choices:
                choices.append((own, f"{own} ({NO_SCORES})"))
            found[name] = NameField(
                label=str(question.full_title) if question else name,
                choices=[NONE_DECLARED, *choices],
                initial=own,
                required=False,
            )
        return found

    @property
    def declared(self) -> list[forms.BoundField]:
        """The fields of declared metrics, to be shown."""
        return [self[name] for name in self.fields if name.startswith(DECLARED)]

    @property
    def has_declaration_errors(self) -> bool:
        return any(name.startswith((DECLARED, "composites")) for name in self.errors)

    def clean(self) -> dict[str, Any]:
        """Read composites, and hold what is declared against what is ticked."""
        data = super().clean() or self.cleaned_data
        if {"questions", "metrics", "composites"} <= {*data}:
            self.made = self._composites(data)
            self._check_declared(data)
        return data

    def inputs(self) -> dict[str, str]:
        """Return the texts that stand instead of what the study declares."""
        found = {}
        if self._pairs != self._own_pairs:
            covered = [*self.cleaned_data["questions"], *_names(self.made, "questions")]
            pairs = [
                pair
                for pair in self._pairs
                if pair[0] in covered and pair not in self._without_scores
            ]
            found["hypotheses"] = _csv(pairs) if pairs else ""
        if self.made != self.own:
            text = self.cleaned_data["composites"]
            found["composites"] = text if self.made else ""
        return found

    def _composites(self, data: dict[str, Any]) -> tuple[Composite, ...]:
        name, content = "composites", data["composites"].encode()
        if data.get("composites_file"):
            name, content = self._read(data["composites_file"])
        if not content.strip():
            return ()
        try:
            found = composites_of(content, name)
            if found != self.own:
                check_composites(
                    found,
                    questions=data["questions"],
                    metrics=data["metrics"],
                    tags=self._tag_values(),
                    file=name,
                )
        except InputError as error:
            self.add_error("composites", error.lines())
            return self.own
        return found

    def _read(self, file: UploadedFile) -> tuple[str, bytes]:
        """Return name and content of a file, which then stands in the field of text."""
        content = file.read()
        text = content.decode("utf-8-sig", errors="replace")
        if str(file.name).lower().endswith(".json"):
            text = text.expandtabs()
        self.data = self.data.copy()
        self.data["composites"] = self.cleaned_data["composites"] = text
        return str(file.name), content

    def _tag_values(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for tags in study_tables.story_tags(self.study).values():
            for tag, value in tags.items():
                found.setdefault(tag, set()).update({value} - {""})
        return found

    def _check_declared(self, data: dict[str, Any]) -> None:
        """Refuse what is declared of a question or a metric that is not covered.

        What the study declares is remarked on by the report where it has no scores, as
        one of people alone.
        """
        if not data["metrics"]:
            return
        questions = [*data["questions"], *_names(self.made, "questions")]
        metrics = [*data["metrics"], *_names(self.made, "metrics")]
        for name, metric in self._pairs:
            if name not in questions:
                if (name, metric) not in self._own_pairs:
                    told = _(
                        "%(title)s is not ticked among the questions: tick it, too."
                    )
                    self._refuse(name, told, title=str(self[DECLARED + name].label))
            elif metric not in metrics and (name, metric) not in self._without_scores:
                told = _(
                    "%(metric)s is not among the metrics ticked: tick it, or choose "
                    "another one."
                )
                self._refuse(name, told, metric=metric)

    def _refuse(self, name: str, text: Any, **params: str) -> None:
        self.add_error(DECLARED + name, forms.ValidationError(text, params=params))

    @property
    def _pairs(self) -> Pairs:
        """Each question with the metric that is declared for it."""
        return [
            (field.removeprefix(DECLARED), metric)
            for field, metric in self.cleaned_data.items()
            if field.startswith(DECLARED) and metric
        ]

    @property
    def _without_scores(self) -> Pairs:
        """What the study declares, and what no report can hold against it yet."""
        scored = self.fields["metrics"].names
        return [pair for pair in self._own_pairs if pair[1] not in scored]

    @property
    def _own_pairs(self) -> Pairs:
        return [(key, one.metric) for key, one in self.asked.items() if one.metric]


def _names(composites: tuple[Composite, ...], over: str) -> list[str]:
    return [one.name for one in composites if one.over == over]


def _csv(pairs: Pairs) -> str:
    text = io.StringIO()
    rows = [("question", "metric"), *(map(defused, pair) for pair in pairs)]
    csv.writer(Lines(text)).writerows(rows)
    return text.getvalue()
