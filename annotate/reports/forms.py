"""The forms of reports and of plans."""

import csv
import io
import re
from dataclasses import replace
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from analysis.options import EPSILONS, AlignOptions
from analysis.problems import InputError
from analysis.rankings.composite_weights import (
    Composite,
    check_composites,
    composites_of,
)
from analysis.tables import Lines, defused
from annotate.kinds.registry import kind_of
from annotate.models import Question, Study
from annotate.reports import study_tables
from annotate.reports.scope_form import (
    MOST_RESAMPLES,
    LevelsForm,
    NameField,
    NamesField,
    ScopeForm,
)
from annotate.reports.study_analyses import FURTHER, Command, own_composites
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
        """Refuse what is declared of a question or a metric that is not covered."""
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


SIZE = re.compile("[1-9][0-9]{0,4}")
SIZES = FURTHER[Command.SUBSET]["sizes"]


class PlanForm(ScopeForm):
    """A plan, which knows ratings of single outputs, and no other answers."""

    def questions_of(self, study: Study) -> list[Question]:
        asked = super().questions_of(study)
        return [one for one in asked if kind_of(one).is_numeric]

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
