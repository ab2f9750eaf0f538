"""A study as data: what it asks, of whom, and how it looks after its quality.

`study_file` reads one from YAML and writes one back; `annotate.studies.planning` turns
one into a study. The papers' protocols ship as templates.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analysis.rankings.composite_weights import Composite
from annotate.kinds.base import Kind
from annotate.kinds.registry import KINDS

TEMPLATES = Path(__file__).resolve().parent / "protocols"

Texts = dict[str, str]


@dataclass(frozen=True)
class QuestionDefinition:
    """One dimension or criterion, or one label of a checklist.

    `degradation` is the one that makes its answer worse. `stories` restricts it to
    stories with one of the values of a tag: `{"angle": ("TR",)}`; a story without the
    tag is asked about, too.
    """

    key: str
    kind: str
    titles: Texts
    texts: Texts
    help_texts: Texts
    metric: str
    stories: dict[str, tuple[str, ...]]
    scale: tuple[int, int] | None = None
    anchors: dict[str, Texts] = field(default_factory=dict)
    allow_tie: bool = True
    categories: Texts = field(default_factory=dict)
    degradation: str = ""


@dataclass(frozen=True)
class StorySample:
    """So many random stories, from each value of the tag `by` in proportion."""

    number: int
    by: str = ""


@dataclass(frozen=True)
class CellPairs:
    """So many pairs of methods for each combination of the tags `by`."""

    number: int
    by: tuple[str, ...]


@dataclass(frozen=True)
class Subset:
    """Some stories whose units are judged more often than the others'."""

    redundancy: int
    stories: StorySample


@dataclass(frozen=True)
class KnownUnit:
    """A unit whose right answers are known.

    A range, a method's name or `tie`, or the names of methods in their order.
    """

    story: str
    methods: tuple[str, ...]
    expected: dict[str, tuple[int, int] | tuple[str, ...] | str]
    feedback: Texts


@dataclass(frozen=True)
class Training:
    """Units to begin with, and which share of the answers must be as expected.

    When the study is planned, so many `twins` are made and shown beside their
    originals, or after them where one output is shown at once.
    """

    units: tuple[KnownUnit, ...] = ()
    pass_mark: float = 0.7
    attempts: int = 2
    twins: int = 0


@dataclass(frozen=True)
class Checks:
    """How many slots of a session check the annotator, and of which kinds."""

    per_session: int = 0
    kinds: tuple[str, ...] = ("gold", "repeat", "twin")
    degradations: tuple[str, ...] = ()
    share: float = 0.2
    gold: tuple[KnownUnit, ...] = ()


@dataclass(frozen=True)
class Adaptive:
    """Pairs chosen by what they tell about the ranking, until its top is separated."""

    top: int = 3
    confidence: float = 0.95
    least: int = 30
    explore: float = 0.2
    question: str = ""


@dataclass(frozen=True)
class Presentation:
    """How stories are shown.

    `same_size`: pictures and videos of all methods have one size. `must_watch`: a video
    is seen to its end before answers count. `must_see`: each shot's picture is in sight
    for so many seconds before answers count, where it is not 0. `comments`: annotators
    may write one, `shot_comments`: one on each shot. `shuffle_questions`: each is asked
    in another order. `skip_share`: so much of a sitting may be skipped without words.
    """

    same_size: bool = True
    must_watch: bool = True
    must_see: float = 0.0
    comments: bool = False
    shot_comments: bool = False
    shuffle_questions: bool = False
    skip_share: float = 0.25


@dataclass(frozen=True)
class StudyDefinition:
    """Everything about a study but the benchmark and its outputs."""

    name: str
    title: str
    outputs_at_once: int
    questions: tuple[QuestionDefinition, ...]
    redundancy: int = 3
    session_size: int = 7
    rounds: int = 1
    lease_minutes: int = 30
    seed: int = 0
    assignment: str = "planned"
    cap: int | None = None
    languages: dict[str, int] | None = None
    sets: str | tuple[tuple[str, ...], ...] | CellPairs = "all"
    stories: StorySample | None = None
    subset: Subset | None = None
    training: Training | None = None
    checks: Checks = Checks()
    rules: Any = ()
    adaptive: Adaptive | None = None
    consent: Texts | None = None
    consent_version: str = "1"
    instructions: Texts | None = None
    presentation: Presentation = Presentation()
    composites: tuple[Composite, ...] = ()

    @property
    def asked(self) -> tuple[QuestionDefinition, ...]:
        """Return the questions as they are stored: two boxes for each label."""
        return tuple(
            replace(question, key=key, scale=scale)
            for question in self.questions
            for key, scale in KINDS[question.kind]
            .stored_keys(question.key, question.scale)
            .items()
        )

    @property
    def answers(self) -> dict[str, int]:
        """Return the answers a unit by language, "" where languages play no part."""
        return dict(self.languages or {"": self.redundancy})

    @property
    def kinds(self) -> list[Kind]:
        return list(dict.fromkeys(KINDS[one.kind] for one in self.questions))

    @property
    def sets_key(self) -> str:
        """Return what a study file calls the sets of methods that are shown at once."""
        return "pairs" if self.outputs_at_once == 2 else "sets"

    @property
    def brief(self) -> str:
        """Return what is asked, and how often, in a few words."""
        return self.kinds[0].brief(len(self.questions), self.questions[0].scale)

    @property
    def is_of_shots(self) -> bool:
        return any(kind.of_shots for kind in self.kinds)

    def with_changes(self, **changes: object) -> "StudyDefinition":
        """Return the definition with the values that are not None replaced."""
        given = {key: value for key, value in changes.items() if value is not None}
        return replace(self, **given)  # type: ignore[arg-type]


def template_names() -> list[str]:
    return sorted(path.stem for path in TEMPLATES.glob("*.yaml"))
