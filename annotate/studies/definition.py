"""A study as data: what it asks, of whom, and how it looks after its quality.

`study_file` reads one from YAML and writes one back; `annotate.studies.planning` turns
one into a study. The papers' protocols ship as templates.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).resolve().parent / "protocols"

Texts = dict[str, str]

# The two boxes of a checklist's label; each is a question of its own, `label|box`.
BOXES = ("text", "video")
TICKED = (0, 1)


@dataclass(frozen=True)
class QuestionDefinition:
    """One dimension or criterion, or one label of a checklist.

    `stories` restricts it to stories with one of the values of a tag: `{"angle":
    ("TR",)}`; a story without the tag is asked about, too.
    """

    key: str
    titles: Texts
    texts: Texts
    help_texts: Texts
    anchors: dict[str, Texts]
    scale: tuple[int, int] | None
    allow_tie: bool
    metric: str
    stories: dict[str, tuple[str, ...]]
    categories: Texts = field(default_factory=dict)


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
    """A unit whose right answers are known: a range, a method's name, or `tie`."""

    story: str
    methods: tuple[str, ...]
    expected: dict[str, tuple[int, int] | str]
    feedback: Texts


@dataclass(frozen=True)
class Training:
    """Units to begin with, and which share of the answers must be as expected."""

    units: tuple[KnownUnit, ...]
    pass_mark: float = 0.7
    attempts: int = 2


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
    is seen to its end before answers count. `comments`: annotators may write one.
    """

    same_size: bool = True
    must_watch: bool = True
    comments: bool = False


@dataclass(frozen=True)
class StudyDefinition:
    """Everything about a study but the benchmark and its outputs."""

    name: str
    title: str
    protocol: str
    questions: tuple[QuestionDefinition, ...]
    redundancy: int = 3
    session_size: int = 7
    rounds: int = 1
    lease_minutes: int = 30
    seed: int = 0
    assignment: str = "planned"
    cap: int | None = None
    languages: dict[str, int] | None = None
    pairs: str | tuple[tuple[str, str], ...] | CellPairs = "all"
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

    @property
    def asked(self) -> tuple[QuestionDefinition, ...]:
        """Return the questions as they are stored: two boxes for each label."""
        if self.protocol != "checklist":
            return self.questions
        return tuple(
            replace(label, key=f"{label.key}|{box}", scale=TICKED)
            for label in self.questions
            for box in BOXES
        )

    def with_changes(self, **changes: object) -> "StudyDefinition":
        """Return the definition with the values that are not None replaced."""
        given = {key: value for key, value in changes.items() if value is not None}
        return replace(self, **given)  # type: ignore[arg-type]


def template_names() -> list[str]:
    """Return the names of the templates that ship with the project."""
    return sorted(path.stem for path in TEMPLATES.glob("*.yaml"))
