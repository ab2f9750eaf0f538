"""The rows that belong to a study, by model, in order of dependence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Model, Q, QuerySet

from annotate.kinds.registry import KINDS
from annotate.models import (
    AnalysisView,
    Annotator,
    Event,
    Exclusion,
    Fault,
    Flag,
    Look,
    Question,
    Report,
    ShotComment,
    Skip,
    Slot,
    StoryComment,
    StoryDraw,
    Study,
    Unit,
)
from annotate.models.units import OUTPUTS
from evalcore.models import (
    Benchmark,
    Character,
    CharacterImage,
    Frame,
    MediaFile,
    Method,
    MetricAbsence,
    MetricChunk,
    MetricRun,
    MetricScore,
    Output,
    ScoreIdentity,
    Shot,
    Story,
    TwinScore,
)

Rows = QuerySet[Any]


@dataclass(frozen=True)
class Selection:
    """Stories and outputs of a benchmark, and the studies over them."""

    benchmark: int
    stories: frozenset[int]
    outputs: frozenset[int]
    studies: tuple[Study, ...] = ()
    pictures: bool = True

    @cached_property
    def methods(self) -> frozenset[int]:
        """Return the methods of the outputs."""
        rows = Output.everything.filter(pk__in=self.outputs).order_by()
        return frozenset(rows.values_list("method", flat=True))

    @cached_property
    def pictured(self) -> frozenset[int]:
        """Return the stories whose pictures are in the bundle: those shown."""
        if not self.pictures:
            return frozenset()
        rows = Output.everything.filter(pk__in=self.outputs).order_by()
        return frozenset(rows.values_list("story", flat=True))

    def scored(self, model: type[Model]) -> Rows:
        """Return rows of ended runs about the stories and methods."""
        rows: Rows = model._base_manager.filter(
            benchmark=self.benchmark,
            method__in=self.methods,
            run__finished_at__isnull=False,
        )
        return rows.filter(Q(story__isnull=True) | Q(story__in=self.stories))

    def scores(self) -> Rows:
        """Return the benchmark's scores."""
        return self.scored(MetricScore).filter(posted_to="")

    def posted(self) -> Rows:
        """Return the scores that were posted to the studies."""
        slugs = [study.slug for study in self.studies]
        return self.scored(MetricScore).filter(posted_to__in=slugs)

    def absences(self) -> Rows:
        """Return the reasons for missing scores."""
        return self.scored(MetricAbsence).filter(run__posted_to="")

    def twin_scores(self) -> Rows:
        """Return the scores of degraded copies."""
        return TwinScore._base_manager.filter(twin__in=self.outputs)

    def runs(self) -> Rows:
        """Return the runs that made the benchmark's scores and absences."""
        made = Q(pk__in=self.scores().order_by().values("run"))
        made |= Q(pk__in=self.absences().order_by().values("run"))
        return MetricRun._base_manager.filter(made)

    def identities(self) -> Rows:
        """Return the identities of all scores."""
        used = Q()
        for rows in (
            self.scores(),
            self.posted(),
            self.absences(),
            self.twin_scores(),
        ):
            used |= Q(pk__in=rows.order_by().values("identity"))
        return ScoreIdentity._base_manager.filter(used)

    def media(self) -> Rows:
        """Return the pictures and videos of outputs and characters."""
        if not self.pictures:
            return MediaFile._base_manager.none()
        frames = Frame._base_manager.filter(output__in=self.outputs)
        images = CharacterImage._base_manager.filter(character__story__in=self.pictured)
        videos = Output.everything.filter(pk__in=self.outputs)
        used = Q(pk__in=frames.values("media")) | Q(pk__in=images.values("media"))
        used |= Q(pk__in=videos.values("video"))
        return MediaFile._base_manager.filter(used)


def of_study(study: Study, *, pictures: bool = True) -> Selection:
    """Select what belongs to a study, and to the one that it continues.

    Of stories that could be drawn and were not, scores belong to it, and no outputs.
    """
    studies = tuple(filter(None, (study.continues, study)))
    units = Unit.objects.filter(study__in=studies)
    examples = Question.objects.filter(study__in=studies, example__isnull=False)
    shown = {pk for row in units.values_list(*OUTPUTS) for pk in row if pk}
    shown |= {*examples.values_list("example", flat=True)} - {None}
    rows = Output.everything
    drawable = StoryDraw.objects.filter(study__in=studies).values_list(
        "story", flat=True
    )
    twins = rows.filter(pk__in=shown, twin_of__isnull=False)
    shown |= set(twins.values_list("twin_of", flat=True)) - {None}
    shown |= set(rows.filter(twin_of__in=shown).values_list("pk", flat=True))
    stories = rows.filter(pk__in=shown).order_by().values_list("story", flat=True)
    return Selection(
        study.benchmark_id,
        frozenset(stories).union(units.values_list("story", flat=True), drawable),
        frozenset(shown),
        studies,
        pictures,
    )


@dataclass(frozen=True)
class Part:
    """The rows of one file of a bundle.

    Rows are numbered from 1 in the order of their ids, and refer to others by these
    numbers. Those with a `key` are shared by benchmarks and studies, and are referred
    to by that column. Columns that are `left_out` are written nowhere.
    """

    name: str
    model: type[Model]
    rows: Callable[[Selection], Rows]
    key: str = ""
    left_out: tuple[str, ...] = ()
    # The part of a reference, if the model has several.
    parts: Mapping[str, str] = field(default_factory=dict)
    of_benchmark: bool = False

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return f"rows/{self.name}.jsonl"

    @cached_property
    def fields(self) -> tuple[Any, ...]:
        """Return the fields that are written, without the id."""
        found = self.model._meta.concrete_fields
        own = [one for one in found if not one.primary_key or self.key == one.name]
        return tuple(one for one in own if one.name not in self.left_out)


# Pictures are left out by emptying these.
PICTURES = {"Frame": ("media",), "Output": ("video",)}
# Of a chunk stays with what it was computed; the rest is about other outputs, too.
CHUNK = ("method", "outputs", "failures", "replaced", "worker", "heartbeat_at")
# What a browser sent to recognise the same key press.
KEY_PRESS = ("client_key",)


def _of(model: type[Model], path: str) -> Callable[[Selection], Rows]:
    """Return the rows whose study is one of the selection."""
    return lambda chosen: model._base_manager.filter(**{f"{path}__in": chosen.studies})


def _benchmark_parts() -> list[Part]:
    def part(
        model: type[Model],
        rows: Callable[[Selection], Rows],
        key: str = "",
        left_out: tuple[str, ...] = (),
    ) -> Part:
        return Part(model.__name__, model, rows, key, left_out, of_benchmark=True)

    return [
        part(
            Benchmark,
            lambda s: Benchmark.objects.filter(pk=s.benchmark),
            left_out=("source",),
        ),
        part(Method, lambda s: Method.objects.filter(pk__in=s.methods), "name"),
        part(MediaFile, lambda s: s.media(), "sha256"),
        part(Story, lambda s: Story.objects.filter(pk__in=s.stories)),
        part(Character, lambda s: Character.objects.filter(story__in=s.stories)),
        part(
            CharacterImage,
            lambda s: CharacterImage.objects.filter(character__story__in=s.pictured),
        ),
        part(Shot, lambda s: Shot.objects.filter(story__in=s.stories)),
        part(Output, lambda s: Output.everything.filter(pk__in=s.outputs)),
        part(Frame, lambda s: Frame.objects.filter(output__in=s.outputs)),
        part(ScoreIdentity, lambda s: s.identities(), "key"),
        part(MetricRun, lambda s: s.runs()),
        part(
            MetricChunk,
            lambda s: MetricChunk.objects.filter(run__in=s.runs(), state="done"),
            left_out=CHUNK,
        ),
        part(MetricScore, lambda s: s.scores()),
        part(MetricAbsence, lambda s: s.absences()),
        part(TwinScore, lambda s: s.twin_scores()),
    ]


def _study_parts() -> list[Part]:
    posted_runs = Part(
        "posted_runs",
        MetricRun,
        lambda s: MetricRun.objects.filter(pk__in=s.posted().order_by().values("run")),
    )
    posted = Part(
        "posted_scores",
        MetricScore,
        lambda s: s.posted(),
        parts={"run": "posted_runs"},
    )

    def part(model: type[Model], path: str, *left_out: str) -> Part:
        return Part(model.__name__, model, _of(model, path), left_out=left_out)

    answers = dict.fromkeys(kind.model for kind in KINDS.values())
    return [
        Part(
            "Study",
            Study,
            lambda s: Study.objects.filter(pk__in=[study.pk for study in s.studies]),
            left_out=("deletion_asked_at",),
        ),
        posted_runs,
        posted,
        part(Question, "study"),
        part(StoryDraw, "study"),
        part(AnalysisView, "study"),
        part(Annotator, "study", "external_id", "completion_code", "place"),
        part(Unit, "study"),
        part(Slot, "study"),
        *(part(model, "slot__study", *KEY_PRESS) for model in answers),
        part(Look, "slot__study"),
        part(StoryComment, "slot__study", *KEY_PRESS),
        part(ShotComment, "slot__study", *KEY_PRESS),
        part(Skip, "slot__study"),
        part(Fault, "slot__study"),
        part(Flag, "annotator__study"),
        part(Exclusion, "slot__study"),
        part(Event, "study"),
        Part(
            "Report",
            Report,
            lambda s: Report.objects.filter(
                study__in=s.studies, state=Report.State.DONE
            ),
        ),
    ]


PARTS = {part.name: part for part in (*_benchmark_parts(), *_study_parts())}
