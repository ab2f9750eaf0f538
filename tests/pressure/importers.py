"""Every importer and reader: valid files, how it is called, what it may raise."""

import io
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from PIL import Image

from analysis.problems import InputError
from analysis.questions import read_hypotheses
from analysis.rankings.composite_weights import read_composites
from analysis.reading.inputs import (
    read_choices,
    read_rankings,
    read_ratings,
    read_scores,
)
from analysis.reading.story_tags import read_stories
from annotate.models import Study
from annotate.people.invitation_list import invite_list
from annotate.people.inviting import InvitingError
from annotate.schema import DefinitionError
from annotate.studies.definition import TEMPLATES
from annotate.studies.study_file import load_definition
from evalcore.importing.stories import import_benchmark
from evalcore.media import UnreadablePictureError, prepare_file, rendition_path
from evalcore.models import MediaFile, Method, Output, Story
from evalcore.video.decoding import UnreadableVideoError
from evalcore.video.storing import prepare_video, video_still_path
from tests.annotate.imported_judgements.test_import_judgements import CHOICES, RATINGS
from tests.clips import write_clip
from tests.evalcore.formats import (
    test_envision,
    test_envision_results,
    test_oneig,
    test_oneig_results,
    test_storybench,
    test_vistar,
)
from tests.evalcore.formats.test_storybench_results import HEAD
from tests.evalcore.importing import test_benchmark
from tests.evalcore.vistorybench_folder import write_run
from tests.factories import make_benchmark, make_study, picture_bytes

SCORES = (
    "story,method,metric,score,shot,higher_is_better\n"
    "01,Alder,sharp,0.5,1,true\n01,Birch,sharp,1e-3,,true\n,Cedar,fid,30,,false\n"
)
RANKINGS = (
    "story,method,criterion,annotator,rank,slot\n"
    "01,Alder,q,R1,2,7\n01,Birch,q,R1,1,7\n01,Cedar,q,R1,3,7\n"
)
STORIES = "story,genre,length\n01,fable,3\n02,satire,12\n"
HYPOTHESES = "question,metric\ncharacter,sharp\nbeauty,fid\n"
PEOPLE = "person,language,cap,note\nann@example.org,,5,first\nbob,,,\n"
SAMPLES = "0.5\n0.25\n"


@dataclass(frozen=True)
class Importer:
    """Writer and reader of valid files, and the errors that refuse wrong ones.

    An error must name one of the files, if the reader knows their names.
    """

    write: Callable[[Path], Path]
    read: Callable[[Path], object]
    errors: tuple[type[Exception], ...] = (CommandError,)
    names: bool = True


class NotStoredError(ValueError):
    """A request was answered 4xx."""


def prepare() -> None:
    """Store what the files are about."""
    benchmark = make_benchmark(pictures=False)
    make_study(benchmark=benchmark, consented=True)
    study = make_study(slug="people", benchmark=benchmark)
    for name in ("A08", "A09"):
        study.annotators.create(name=name, state="planned")
    make_benchmark(slug="uno", pictures=False, methods=["UNO"])
    stories = [test_envision.sequence(index) for index in (1, 2)]
    with tempfile.TemporaryDirectory() as folder:
        import_benchmark(test_envision.write(Path(folder), stories), slug="e")
        test_oneig_results.import_prompts(Path(folder), slug="ig")
    for name in ("Flux", "Kolors"):
        method = Method.objects.create(name=name)
        for story in Story.objects.filter(benchmark__slug__in=("e", "ig")):
            Output.objects.create(story=story, method=method)


def command(name: str, **options: object) -> Callable[[Path], None]:
    def call(path: Path) -> None:
        call_command(name, path, **options, stdout=io.StringIO(), stderr=io.StringIO())

    return call


def file(name: str, text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def table(name: str, text: str) -> Callable[[Path], Path]:
    """Return a function that converts a CSV text into the format of a suffix."""

    def write(folder: Path) -> Path:
        path = folder / name
        frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        elif path.suffix == ".xlsx":
            book = openpyxl.Workbook()
            book.active.append(list(frame))
            for row in frame.itertuples(index=False):
                book.active.append(list(row))
            book.save(path)
        else:
            frame.to_json(path, orient="records", lines=True)
        return path

    return write


# Benchmarks ---------------------------------------------------------------------------


def _vistorybench(folder: Path) -> Path:
    test_benchmark.write(folder)
    test_benchmark.write(folder, "02")
    book = openpyxl.Workbook()
    book.active.title = "ViStory"
    book.active.append(["story_id", "style"])
    book.active.append([1, "ink"])
    book.save(folder / "metadata.xlsx")
    return folder


def _storybench(folder: Path) -> Path:
    return test_storybench.write_tasks(
        folder, test_storybench.TASK, test_storybench.LATER
    )


def _envision(folder: Path) -> Path:
    rows = [test_envision.sequence(index) for index in (1, 2)]
    test_envision.write(folder, rows)
    return folder


def _vistar_lines(folder: Path) -> Path:
    text = '[GD—TR] A poster {text="SALE", font="Futura"}\n[SA-LI] A fox at dawn\n'
    return test_vistar.write(folder, text)


def _vistar_objects(folder: Path) -> Path:
    row = {"prompt_id": "p1", "prompt": "[CE-CUL] A girl", "levels": test_vistar.LEVELS}
    return test_vistar.write(folder, [row, row | {"prompt_id": "p2"}], "core.jsonl")


def _oneig(folder: Path) -> Path:
    test_oneig.write(folder)
    test_oneig.beside(folder, "Q_D/anime.json", {"000": test_oneig.QUESTIONS})
    test_oneig.beside(folder, "text_content.csv", "id,text_content\n000,5G\n")
    return folder


# Outputs and their media --------------------------------------------------------------


def _outputs(folder: Path) -> Path:
    for method in ("Alder", "Birch"):
        for number, kind in ((1, "png"), (2, "jpg"), (3, "webp")):
            path = folder / method / "01" / f"shot_{number:02}.{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            fmt = {"png": "PNG", "jpg": "JPEG", "webp": "WEBP"}[kind]
            path.write_bytes(picture_bytes(f"{method}{number}", (16, 16), fmt))
    shutil.copy(_clip(folder.parent, ".mp4"), folder / "Birch" / "02.mp4")
    return folder


_CLIPS: dict[str, Path] = {}


def _clip(beside: Path, suffix: str) -> Path:
    if suffix not in _CLIPS:
        path = beside / f"clip{suffix}"
        _CLIPS[suffix] = write_clip(path, frames=6, size=(32, 32), tags={"title": "x"})
    return _CLIPS[suffix]


def video(suffix: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        return Path(shutil.copy(_clip(folder.parent, suffix), folder / f"v{suffix}"))

    return write


def picture(kind: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / f"shot_1.{kind.lower()}"
        one = Image.open(io.BytesIO(picture_bytes("a", (24, 16))))
        exif = Image.Exif()
        exif[0x0112] = 6
        more: dict[str, Any] = {"exif": exif} if kind in ("JPEG", "PNG", "WEBP") else {}
        one.save(path, kind, **more)
        return path

    return write


def _show(path: Path) -> None:
    stored = prepare_file(path)
    row = MediaFile(sha256=stored.sha256, extension="png", width=stored.width)
    row.height = stored.height
    rendition_path(row, "thumb", (640, 480))


def _play(path: Path) -> None:
    row = prepare_video(path)
    row.full_clean(validate_unique=False)
    video_still_path(row, "thumb", (64, 48))


# Scores and judgements ----------------------------------------------------------------


def _envision_results(folder: Path) -> Path:
    rows = [test_envision_results.row(index) for index in (1, 2)]
    test_envision_results.write(folder / "rows.jsonl", rows)
    full = [test_envision_results.full(index) for index in (1, 2)]
    test_envision_results.write(folder / "full.json", full)
    return folder


def _oneig_results(folder: Path) -> Path:
    return test_oneig_results.results(folder)


def _vistorybench_results(folder: Path) -> Path:
    write_run(folder)
    return folder


def _judgements(kind: str) -> Callable[[Path], None]:
    def call(path: Path) -> None:
        call_command(
            "import_judgements",
            benchmark="woods",
            study="past",
            stdout=io.StringIO(),
            stderr=io.StringIO(),
            **{kind: path},
        )

    return call


# What comes by the pages --------------------------------------------------------------


def _invite(path: Path) -> None:
    try:
        text = path.read_bytes().decode("utf-8-sig")  # as the page does
    except UnicodeDecodeError as error:
        raise InvitingError("no UTF-8") from error
    invite_list(Study.objects.get(slug="people"), text)


def _sent(folder: Path) -> Path:
    rows = [
        {"kind": "answer", "id": "1", "key": "k1", "question": "beauty", "value": "3"},
        {"kind": "comment", "id": "2", "key": "l", "text": "good"},
        {"kind": "shot_comment", "id": "3", "key": "m", "side": "only", "shot": 1}
        | {"text": "x"},
        {"kind": "fault", "id": "4", "side": "only", "shot": 2},
        {"kind": "submit", "seconds": 12.5, "in_sight": {"1": 3.5}, "shown": "x"},
    ]
    path = folder / "sent.json"
    path.write_text(json.dumps({"rows": rows}), encoding="utf-8")
    return path


def _send(path: Path) -> None:
    study = Study.objects.get(slug="trial")
    person = study.annotators.first()
    assert person is not None
    slot = person.slots.earliest("ordinal")
    address = f"/rate/{person.invitation.token}/story/{slot.code}/save/"
    answer = Client().generic("POST", address, path.read_bytes(), "application/json")
    if answer.status_code >= 400:
        assert answer.status_code < 500, answer.content
        raise NotStoredError(answer.content)


IMPORTERS: dict[str, Importer] = {
    "benchmark of ViStoryBench": Importer(
        _vistorybench, command("import_benchmark", benchmark="v", format="vistorybench")
    ),
    "benchmark of StoryBench": Importer(
        _storybench, command("import_benchmark", benchmark="s", format="storybench")
    ),
    "benchmark of Envision": Importer(
        _envision, command("import_benchmark", benchmark="n", format="envision")
    ),
    "benchmark of VISTAR, lines": Importer(
        _vistar_lines, command("import_benchmark", benchmark="l", format="vistar")
    ),
    "benchmark of VISTAR, questionnaires": Importer(
        _vistar_objects, command("import_benchmark", benchmark="q", format="vistar")
    ),
    "benchmark of OneIG": Importer(
        _oneig, command("import_benchmark", benchmark="o", format="oneig")
    ),
    "benchmark, format guessed": Importer(
        _storybench, command("import_benchmark", benchmark="g")
    ),
    "outputs": Importer(
        _outputs, command("import_outputs", benchmark="woods", without_baselines=True)
    ),
    "outputs of new stories": Importer(
        _outputs,
        command(
            "import_outputs",
            benchmark="new",
            create_stories=True,
            skip_unreadable=True,
            without_baselines=True,
        ),
    ),
    **{
        f"picture, {kind}": Importer(
            picture(kind), _show, (UnreadablePictureError, OSError), names=False
        )
        for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "AVIF")
    },
    **{
        f"video, {suffix[1:]}": Importer(
            video(suffix), _play, (UnreadableVideoError, OSError), names=False
        )
        for suffix in (".mp4", ".webm")
    },
    "scores, CSV": Importer(
        file("scores.csv", SCORES), command("import_scores", benchmark="woods")
    ),
    **{
        f"scores, {suffix}": Importer(
            table(f"scores.{suffix}", SCORES),
            command("import_scores", benchmark="woods", create=True),
        )
        for suffix in ("parquet", "xlsx", "jsonl")
    },
    "scores, wide": Importer(
        file("wide.csv", "story,method,sharp,fid\n01,Alder,0.5,3\n02,Birch,,4\n"),
        command("import_scores", benchmark="woods", wide=True),
    ),
    "scores of ViStoryBench": Importer(
        _vistorybench_results, command("import_scores", benchmark="uno")
    ),
    "scores of Envision": Importer(
        _envision_results, command("import_scores", benchmark="e", method="Flux")
    ),
    "scores of OneIG": Importer(
        _oneig_results, command("import_scores", benchmark="ig")
    ),
    "scores of DOVER": Importer(
        file("dover.tsv", HEAD + "01\t40.5\t60\t50.25\n02\t1\t2\t3\n"),
        command("import_scores", benchmark="woods", method="Alder"),
    ),
    "scores of StoryBench": Importer(
        file("result.txt", SAMPLES),
        command("import_scores", benchmark="woods", method="Alder", metric="x"),
    ),
    "judgements, ratings": Importer(
        file("ratings.csv", RATINGS), _judgements("ratings")
    ),
    "judgements, choices": Importer(
        file("choices.csv", CHOICES), _judgements("choices")
    ),
    **{
        f"analysis, {name}": Importer(file(f"{name}.csv", text), read, (InputError,))
        for name, text, read in (
            ("ratings", RATINGS, lambda path: read_ratings(path, scale=(0, 4))),
            ("choices", CHOICES, read_choices),
            ("rankings", RANKINGS, read_rankings),
            ("scores", SCORES, read_scores),
            ("stories", STORIES, read_stories),
            (
                "hypotheses",
                HYPOTHESES,
                lambda path: read_hypotheses(
                    path, {"character", "beauty"}, {"sharp", "fid"}
                ),
            ),
        )
    },
    **{
        f"analysis, ratings as {suffix}": Importer(
            table(f"ratings.{suffix}", RATINGS),
            lambda path: read_ratings(path, scale=(0, 4)),
            (InputError,),
        )
        for suffix in ("parquet", "xlsx", "jsonl")
    },
    "analysis, composites": Importer(
        file("c.yaml", (TEMPLATES / "envision-expert.yaml").read_text("utf-8")),
        read_composites,
        (InputError,),
    ),
    **{
        f"study file, {name}": Importer(
            file("study.yaml", (TEMPLATES / f"{name}.yaml").read_text("utf-8")),
            load_definition,
            (DefinitionError,),
        )
        for name in ("vistorybench-user-study", "storybench-diagnostics")
    },
    "people": Importer(
        file("people.csv", PEOPLE), _invite, (InvitingError, OSError), False
    ),
    "what a browser sends": Importer(_sent, _send, (NotStoredError, OSError), False),
}
