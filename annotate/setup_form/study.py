"""The set-up form: what was entered, what is wrong with it, what study it would be.

What the form says is read by the schema of study files, so that a study set up in the
browser and one set up by command are the same.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.assignment.designs.balanced import ImpossibleDesignError
from annotate.kinds.base import Kind
from annotate.kinds.registry import KINDS
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
from annotate.studies.planning import Draft, Setup, check_slug, outline, with_plan
from annotate.studies.study_file import (
    define,
    read_definition,
    write_data,
    write_definition,
)
from annotate.studies.units import PlanningError
from evalcore.models import Benchmark

# What is said beside the study file.
BESIDE = re.compile(r"slug|template|(all_)?(method|story)|annotators(\..*)?")


@dataclass(frozen=True)
class FormProblem:
    """What is wrong, and the field it belongs to, if any."""

    field: Field | None
    text: str


class StudyForm:
    """A study on its way: values in, sections, problems and a draft out."""

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
        """Return the form that says what `setup` says."""
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
        """Lay out the sections; beside a file stands only what it does not say."""
        for code in self._languages_of_file():
            self.values.setdefault(f"annotators.{code}", "")
        sections = Sections(self.values)
        self.before = [
            sections.basics(fixed_slug=self.fixed_slug),
            sections.judged(self.benchmark),
        ]
        self.after = [sections.people(), sections.handing_out()]
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
            self.after += [sections.composites(), sections.wording()]
        listed = [*self.before, *self.cards, *self.after]
        fields = [self.file] if self.in_file else []
        fields += [one for section in listed for one in section.fields]
        self.fields = {one.name: one for one in fields}

    def _languages_of_file(self) -> Iterable[str]:
        """Return the languages of the file, whose people are asked for beside it."""
        with suppress(DefinitionError):
            if self.in_file:
                return read_definition(self.file.value, file="", name="study").languages
        return ()

    @property
    def kind(self) -> Kind:
        return kind_at(self.values)

    @property
    def in_file(self) -> bool:
        """Say whether the study is edited as one text."""
        return self.values.get("mode") == "file"

    # What may be done with it

    @property
    def addable(self) -> list[Kind]:
        """Return the kinds that can be asked beside each other here, if several."""
        number = outputs(self.values)
        kinds = [one for one in KINDS.values() if number in one.numbers_of_outputs]
        return kinds if len(kinds) > 1 else []

    def rearrange(self, action: str, index: int, kind: str = "") -> "StudyForm":
        """Return the form with a question added, removed or moved."""
        return self._again(rearranged(self.values, action, index, kind))

    def as_file(self) -> "StudyForm":
        """Return the same study as one text."""
        problems: list[DefinitionError] = []
        data = to_data(self.values, problems)
        if problems:
            self._blame(problems)
            return self
        text = write_data(data)
        with suppress(DefinitionError):  # what is wrong is shown as it is
            text = write_definition(define(data, name="study"))
        return self._again(self._beside(mode=["file"], file=[text]))

    def as_form(self) -> "StudyForm":
        """Return the same study as fields, if the text can be read."""
        definition = self._definition()
        if definition is None:
            return self
        return self._again(self._beside(**dict(to_values(definition).lists())))

    def _beside(self, **also: list[str]) -> FormValues:
        beside = {n: v for n, v in self.values.lists() if BESIDE.fullmatch(n)}
        return FormValues(beside | also)

    def _again(self, values: FormValues) -> "StudyForm":
        return StudyForm(values, self.benchmark, fixed_slug=self.fixed_slug)

    # What it says

    @property
    def slug(self) -> str:
        return (self.values.get("slug") or "").strip()

    def setup(self, *, with_people: bool = True) -> Setup | None:
        """Return what is asked for; None when a problem stands in the way.

        All problems are looked for, whatever else is wrong.
        """
        before = len(self.problems)
        definition = self._definition()
        chosen = [self._names(name) for name in ("method", "story")]
        people = self._annotators(definition) if with_people else 0
        if definition is None or len(self.problems) > before:
            return None
        return Setup(self.slug, self.benchmark, definition, people, *chosen)

    def check_slug(self) -> None:
        try:
            if not self.slug:
                self.add_problem("slug", _("Give the study a short name."))
            elif not self.fixed_slug:
                check_slug(self.slug)
        except PlanningError as error:
            self.blame_planning(error)

    def draft(self) -> Draft | None:
        """Work out the study; None when it is impossible, and the problem says why.

        A large one has no plan yet: it `needs_worker`.
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
        """Return the field of a path, of what it is a part of, or of its first part."""
        at = name
        while at:
            if at in self.fields:
                return self.fields[at]
            at = at.rpartition(".")[0]
        parts = (one for own, one in self.fields.items() if own.startswith(f"{name}."))
        return next(parts, self.fields.get("file"))

    def _blame(self, problems: Iterable[DefinitionError]) -> None:
        for error in problems:
            name, text = ".".join(map(str, error.path)), error.reason
            if name.startswith("rules.") and name not in self.fields:
                name = name.replace("rules.", "rules.own.")
            at = self._field(name)
            if self.in_file:
                reason = ": ".join(filter(None, (name, text)))
                told = _("Line %(line)s: %(reason)s")
                name, text = "file", told % {"line": error.line, "reason": reason}
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
            return 0  # a text that cannot be read says nothing of languages
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
        self.add_problem(name, _("Say how many people judge."))
        return 0


def _keep_beside(section: Section) -> None:
    """Take out of a section the fields that the file holds."""
    for group in section.groups:
        group.fields = [one for one in group.fields if BESIDE.fullmatch(one.name)]
    section.groups = [group for group in section.groups if group.fields]
