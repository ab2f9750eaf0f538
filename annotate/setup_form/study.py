"""The set-up form with its values, its problems and the resulting study.

The schema of study files reads the form, so that browser and command set up the same
study.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.assignment.designs.balanced import ImpossibleDesignError
from annotate.kinds.base import Kind
from annotate.kinds.registry import KINDS
from annotate.models import Study
from annotate.schema import DefinitionError
from annotate.setup_form.fields import Field, Section
from annotate.setup_form.sections import Sections
from annotate.setup_form.values import (
    FormValues,
    kind_at,
    outputs,
    questions,
    rearranged,
    sets_key,
    to_data,
    to_values,
    with_questions,
)
from annotate.studies.definition import StudyDefinition
from annotate.studies.drafting import free_slug
from annotate.studies.planning import Draft, Setup, check_slug, outline, with_plan
from annotate.studies.study_file import (
    define,
    read_definition,
    write_data,
    write_definition,
)
from annotate.studies.units import PlanningError
from evalcore.models import Benchmark

# Fields that are not part of the study file.
BESIDE = re.compile(r"slug|template|(all_)?(method|story)|annotators(\..*)?")


@dataclass(frozen=True)
class FormProblem:
    """A problem and its field, if it has one."""

    field: Field | None
    text: str


class StudyForm:
    """A form that turns values into sections, problems and a draft study."""

    def __init__(
        self, values: FormValues, benchmark: Benchmark, *, fixed_slug: bool = False
    ) -> None:
        self.values = with_questions(values, questions(values))
        self.benchmark = benchmark
        self.fixed_slug = fixed_slug
        self.problems: list[FormProblem] = []
        self.cards: list[Section] = []
        self.file = Field(
            "file", _("Study file"), "code", self.values.getlist("file"), rows=30
        )
        self._arrange()

    @classmethod
    def of(cls, setup: Setup, *, fixed_slug: bool = False) -> "StudyForm":
        """Return the form with the values of `setup`."""
        values = to_values(setup.definition)
        values["slug"], values["template"] = setup.slug, setup.definition.name
        for name, chosen in (("method", setup.methods), ("story", setup.stories)):
            values.setlist(name, list(chosen))
            values.setlist(f"all_{name}", [] if chosen else ["1"])
        people = setup.annotators
        if isinstance(people, int):
            values["annotators"] = str(people or "")
        else:
            for language, number in people.items():
                values[f"annotators.{language}"] = str(number)
        return cls(values, setup.benchmark, fixed_slug=fixed_slug)

    def _arrange(self) -> None:
        """Lay out the sections; in file mode, only fields that the file lacks."""
        for code in self._languages_of_file():
            self.values.setdefault(f"annotators.{code}", "")
        sections = Sections(self.values)
        self.before = [
            sections.basics(fixed_slug=self.fixed_slug),
            sections.judged(self.benchmark),
        ]
        self.after = [sections.people(), sections.assignment_details()]
        if self.in_file:
            self.after[1].title = _("Annotators of each language")
            for section in (*self.before, *self.after):
                _keep_beside(section)
        else:
            numbers = range(len(questions(self.values)))
            self.cards = [sections.card(index) for index in numbers]
            self.after += [sections.presentation(), sections.quality()]
            if sets_key(self.values) == "pairs":
                keys = [card.more[-1].fields[0].value for card in self.cards]
                self.after.append(sections.adaptive(keys))
            self.after += [sections.goals(), sections.composites()]
            self.after += [sections.trained_on()]
            self.after += [sections.wording(), sections.recruitment()]
        listed = [*self.before, *self.cards, *self.after]
        fields = [self.file] if self.in_file else []
        fields += [one for section in listed for one in section.fields]
        self.fields = {one.name: one for one in fields}

    def _languages_of_file(self) -> Iterable[str]:
        """Return the languages of the file, which need numbers of annotators."""
        with suppress(DefinitionError):
            if self.in_file:
                return read_definition(self.file.value, file="", name="study").languages
        return ()

    @property
    def kind(self) -> Kind:
        return kind_at(self.values)

    @property
    def in_file(self) -> bool:
        """Return whether the study is edited as a file."""
        return self.values.get("mode") == "file"

    # Actions

    @property
    def addable(self) -> list[Kind]:
        """Return the kinds of questions that this study can combine, if several."""
        number = outputs(self.values)
        kinds = [one for one in KINDS.values() if number in one.numbers_of_outputs]
        return kinds if len(kinds) > 1 else []

    def rearrange(self, action: str, index: int, kind: str = "") -> "StudyForm":
        """Return the form with a question added, removed or moved."""
        return self._again(rearranged(self.values, action, index, kind))

    def as_file(self) -> "StudyForm":
        """Return the form in file mode."""
        problems: list[DefinitionError] = []
        data = to_data(self.values, problems)
        if problems:
            self._blame(problems)
            return self
        text = write_data(data)
        with suppress(DefinitionError):  # a wrong study is shown unchanged
            text = write_definition(define(data, name="study"))
        return self._again(self._beside(mode=["file"], file=[text]))

    def as_form(self) -> "StudyForm":
        """Return the form in field mode, if the file can be read."""
        definition = self._definition()
        if definition is None:
            return self
        return self._again(self._beside(**dict(to_values(definition).lists())))

    def _beside(self, **also: list[str]) -> FormValues:
        beside = {n: v for n, v in self.values.lists() if BESIDE.fullmatch(n)}
        return FormValues(beside | also)

    def _again(self, values: FormValues) -> "StudyForm":
        return StudyForm(values, self.benchmark, fixed_slug=self.fixed_slug)

    # Results

    @property
    def can_be_planned(self) -> bool:
        """Return whether nothing needs to be typed before the plan can be shown."""
        return bool(self.values.get("annotators")) or (
            self.values.get("assignment") == "open"
        )

    @property
    def slug(self) -> str:
        return (self.values.get("slug") or "").strip()

    def setup(self, *, with_people: bool = True) -> Setup | None:
        """Return the setup, or None if there are problems.

        All problems are collected, not only the first.
        """
        before = len(self.problems)
        definition = self._definition()
        methods, stories = (self._names(name) for name in ("method", "story"))
        people = self._annotators(definition) if with_people else 0
        if definition is None or len(self.problems) > before:
            return None
        return Setup(self.slug, self.benchmark, definition, people, methods, stories)

    def check_slug(self) -> None:
        """Check the web address name; make one from the title if it is empty."""
        try:
            if not self.slug:
                title = self.values.get("title") or ""
                self.values["slug"] = free_slug(Study, title)
            elif not self.fixed_slug:
                check_slug(self.slug)
        except PlanningError as error:
            self.blame_planning(error)

    def draft(self) -> Draft | None:
        """Return the draft study, or None after adding the reason to the problems.

        A large draft has no plan yet: it `needs_worker`.
        """
        setup = self.setup()
        if setup is None:
            return None
        try:
            draft = outline(setup)
            return draft if draft.needs_worker else with_plan(draft)
        except (PlanningError, ImpossibleDesignError) as error:
            self.blame_planning(error)
            return None

    def blame_planning(self, error: PlanningError | ImpossibleDesignError) -> None:
        self.add_problem(getattr(error, "field", "") or "annotators", str(error))

    def add_problem(self, name: str, text: str) -> None:
        """Add a problem to the field of that name, or to the form as a whole."""
        one = self._field(name)
        if one is not None:
            one.error = one.error or text
        self.problems.append(FormProblem(one, text))

    def _field(self, name: str) -> Field | None:
        """Return the field of a path, of its nearest parent or of its first child."""
        at = name
        while at:
            if at in self.fields:
                return self.fields[at]
            at = at.rpartition(".")[0]
        parts = (one for own, one in self.fields.items() if own.startswith(f"{name}."))
        return next(parts, self.fields.get("file"))

    def _blame(self, problems: Iterable[DefinitionError]) -> None:
        for error in problems:
            name, text = ".".join(map(str, error.path)), _(error.reason)
            if name.startswith("rules.") and name not in self.fields:
                name = name.replace("rules.", "rules.own.")
            at = self._field(name)
            if self.in_file:
                reason = ": ".join(filter(None, (name, text)))
                message = _("Line %(line)s: %(reason)s")
                name, text = "file", message % {"line": error.line, "reason": reason}
            elif at is not None and at.kind == "code" and at.name != name:
                text = f"{name.removeprefix(at.name + '.')}: {text}"
            self.add_problem(name, text)

    def _definition(self) -> StudyDefinition | None:
        name = self.values.get("template") or self.values.get("slug") or "study"
        problems: list[DefinitionError] = []
        definition = None
        try:
            if self.in_file:
                text = self.file.value
                definition = read_definition(text, file="study.yaml", name=name[:80])
            else:
                definition = define(to_data(self.values, problems), name=name[:80])
        except DefinitionError as error:
            problems += error.each()
        self._blame(problems)
        return None if problems else definition

    def _names(self, name: str) -> tuple[str, ...]:
        if f"all_{name}" in self.values:
            return ()
        lines = "\n".join(self.values.getlist(name)).splitlines()
        chosen = tuple(line.strip() for line in lines if line.strip())
        if not chosen:
            self.add_problem(name, _("Choose at least one."))
        return chosen

    def _annotators(self, definition: StudyDefinition | None) -> int | dict[str, int]:
        if definition is not None:
            is_open, languages = definition.assignment == "open", definition.languages
        elif self.in_file:
            return 0  # the languages of an unreadable file are unknown
        else:
            is_open = self.values.get("assignment") == "open"
            languages = {
                name.removeprefix("languages."): 1
                for name, number in self.values.items()
                if name.startswith("languages.") and str(number).strip()
            }
        if is_open:
            return 0
        if not languages:
            return self._people("annotators")
        return {code: self._people(f"annotators.{code}") for code in languages}

    def _people(self, name: str) -> int:
        text = (self.values.get(name) or "").strip()
        if text.isdecimal() and len(text) < 8:
            return int(text)
        self.add_problem(name, _("Enter the number of annotators."))
        return 0


def _keep_beside(section: Section) -> None:
    """Remove the fields that the file contains from a section."""
    for group in section.groups:
        group.fields = [one for one in group.fields if BESIDE.fullmatch(one.name)]
    section.groups = [group for group in section.groups if group.fields]
