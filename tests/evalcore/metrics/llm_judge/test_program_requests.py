"""Requests and values of ViStoryBench's own program beside ours, on five stories.

The program runs unchanged from a checkout; only its network calls, its detector and its
encoders are replaced.
"""

import json
from unittest import mock

import numpy as np
import pytest
from PIL import Image as Pillow

from evalcore.metrics.base import Image, RenderedCharacter, RenderedShot
from evalcore.metrics.base import Rendering as Output
from evalcore.metrics.llm_judge.asking import NoUsableAnswerError
from evalcore.metrics.llm_judge.checkouts import VISTORYBENCH
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.cids import (
    CharacterConsistency,
    CharacterCount,
    CopyPaste,
)
from evalcore.metrics.vistorybench.prompt_alignment import (
    CODE,
    IndividualAction,
    PromptAlignment,
)
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.llm_judge.programs import (
    STORIES,
    Posted,
    asked_of,
    in_order,
    needs,
    png_source,
    program_modules,
    without_name,
)
from tests.evalcore.metrics.llm_judge.serving import answers
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    FigureEncoders,
    FindColours,
    SeeColour,
)

COLOURS = {"Fox": (200, 0, 0), "Owl": (0, 200, 0), "Eel": (0, 0, 200)}
KINDS = {"Fox": "non_human", "Owl": "realistic_human", "Eel": "unrealistic_human"}


class Sharp(FindColours):
    """Detector of nearly uniform rectangles; single precision, as the program's."""

    def prepare(self, item):
        return super().prepare(item // 8 * 8 + 7).astype(np.float32)


class HalfBlind(SeeColour):
    """Encoder of faces that are brighter on their left: none in a mirrored anchor."""

    def prepare(self, item):
        grey = item.mean(axis=2)
        half = item.shape[1] // 2
        if grey[:, :half].mean() < grey[:, half:].mean():
            return np.empty((0, 3), np.float32)
        return super().prepare(item)


class Sided(SeeColour):
    """Encoder of the colours left and right, which a mirror exchanges."""

    def prepare(self, item):
        half = item.shape[1] // 2
        sides = [item[:, :half], item[:, half:]]
        colours = np.concatenate([side.mean(axis=(0, 1)) for side in sides])
        return (colours / np.linalg.norm(colours)).astype(np.float32)


ENCODERS = FigureEncoders(
    Sharp(),
    {"one": HalfBlind("half blind", faces=True)},
    {"clip": Sided("clip")},
)


def drawn(rng, *names, size=(83, 57)):
    """Return a picture of rectangles of random sizes on white."""
    picture = np.full((size[1], size[0], 3), 255, np.uint8)
    for place, name in enumerate(names):
        left = 2 + place * 27 + int(rng.integers(0, 4))
        top, width, height = rng.integers([2, 9, 20], [9, 20, 45])
        picture[top : top + height, left : left + width] = COLOURS[name]
        # The left is a little brighter, so that a face is none in the mirror.
        picture[top : top + height, left : left + width // 2] |= 7
    return picture


@pytest.fixture
def world(tmp_path):
    """Five stories on disk as the program reads them: data set and outputs."""
    rng = np.random.default_rng(7)
    for story in STORIES:
        home = tmp_path / "data" / "ViStory" / story
        shots = []
        for number in range(1, 4):
            cast = [n for n in COLOURS if rng.random() < 0.7] or ["Fox"]
            both = {
                name: {"en": f"{name} of {story}, shot {number}, é", "ch": "中"}
                for name in (
                    "Setting Description",
                    "Plot Correspondence",
                    "Static Shot Description",
                    "Shot Perspective Design",
                )
            }
            stage = {"Characters Appearing": {"en": cast, "ch": cast}}
            shots.append({"index": number} | both | stage)
            folder = tmp_path / f"outputs/Alder/base/en/20260101_000000/{story}"
            folder.mkdir(parents=True, exist_ok=True)
            shown = [n for n in COLOURS if rng.random() < 0.8]
            Pillow.fromarray(drawn(rng, *shown)).save(folder / f"shot_{number:02}.png")
        for name in COLOURS:
            folder = home / "image" / name
            folder.mkdir(parents=True)
            # The program globs *.jpg and Pillow reads by content: nothing is lost.
            Pillow.fromarray(drawn(rng, name)).save(folder / "00.jpg", "PNG")
        characters = {
            name: {"tag": kind, "name_en": f"the {name}", "name_ch": "中"}
            for name, kind in KINDS.items()
        }
        data = {"Story_type": {}, "Characters": characters, "Shots": shots}
        (home / "story.json").write_text(json.dumps(data), "utf-8")
    return tmp_path


def output_of(world, story) -> Output:
    data = json.loads((world / f"data/ViStory/{story}/story.json").read_text("utf-8"))
    names = {
        "Setting Description": "setting",
        "Static Shot Description": "static",
        "Shot Perspective Design": "camera",
    }
    folder = world / f"outputs/Alder/base/en/20260101_000000/{story}"
    shots = tuple(
        RenderedShot(
            row["index"],
            (Image(png_source(folder / f"shot_{row['index']:02}.png")),),
            {ours: row[theirs]["en"] for theirs, ours in names.items()},
            tuple(row["Characters Appearing"]["en"]),
        )
        for row in data["Shots"]
    )
    characters = {
        key: RenderedCharacter(
            key,
            row["tag"],
            (Image(png_source(world / f"data/ViStory/{story}/image/{key}/00.jpg")),),
            row["name_en"],
        )
        for key, row in data["Characters"].items()
    }
    return Output(story, "Alder", shots, characters)


@needs(VISTORYBENCH)
class TestViStoryBench:
    CONFIG = "vistorybench.bench.prompt_align.prompt_align_evaluator"
    UTILS = "vistorybench.bench.prompt_align.gptv_utils"

    def config(self, world) -> dict:
        paths = {
            "dataset_path": str(world / "data"),
            "outputs_path": str(world / "outputs"),
            "result_path": str(world / "results"),
            "api_key": "none",
            "base_url": "http://127.0.0.1:9/v1",
            "model_id": "owl",
        }
        return {"cli_args": paths, "core": {"runtime": {"device": "cpu"}}}

    @pytest.mark.parametrize(
        ("aspect", "theirs"),
        [("scene", "scene"), ("camera", "camera"), ("interaction", "character_action")],
    )
    def test_requests_of_shots_equal_the_programs(
        self, world, server, tmp_path, aspect, theirs
    ):
        posted = Posted()
        with program_modules(VISTORYBENCH.find(), self.CONFIG, self.UTILS) as modules:
            evaluator, utils = modules
            with mock.patch.object(utils.requests, "post", posted.post):
                made = evaluator.PromptAlignEvaluator(
                    self.config(world), "20260101_000000", "base", "en"
                )
                results = {s: made.evaluate("Alder", s) for s in STORIES}
        sent = {
            "scene": "Setting Description",
            "camera": "Shot Perspective Design",
            "character_action": "Static Shot Description",
        }[theirs]
        program = [
            body
            for body in posted.bodies
            if body["messages"][0]["content"][1]["text"].startswith(sent)
        ]
        server.then = answers("Score: 3")
        ours = []
        for story in STORIES:
            output = output_of(world, story)
            bodies, values = asked_of(
                server, PromptAlignment(aspect, CODE), output, tmp_path / "features"
            )
            ours += bodies
            mean = results[story]["metrics"][theirs]
            assert np.mean([v.value for v in values]) == mean
        assert len(program) == 15
        assert in_order(ours) == in_order(program)

    def test_attempts_equal_the_programs(self, world, server, tmp_path):
        """The program adds 0.1 up, so that its 0.3 is 0.30000000000000004."""
        posted = Posted("A fine wood.")
        path = world / "outputs/Alder/base/en/20260101_000000/01/shot_01.png"
        with program_modules(VISTORYBENCH.find(), self.CONFIG, self.UTILS) as modules:
            evaluator, utils = modules
            with mock.patch.object(utils.requests, "post", posted.post):
                made = evaluator.PromptAlignEvaluator(
                    self.config(world), "20260101_000000", "base", "en"
                )
                made._eval_single_dimension("scene", "A wood.", str(path))
        server.then = answers("A fine wood.")
        shot = RenderedShot(1, (Image(png_source(path)),), {"setting": "A wood."})
        output = Output("01", "Alder", (shot,))
        with pytest.raises(NoUsableAnswerError, match="in 10 attempts"):
            asked_of(
                server, PromptAlignment("scene", CODE), output, tmp_path / "features"
            )
        bodies = [asked.body for asked in server.asked]
        for body in posted.bodies:
            body["temperature"] = round(body["temperature"], 9)
        assert [*map(without_name, bodies)] == [*map(without_name, posted.bodies)]
        assert len(bodies) == 10

    def test_requests_of_characters_and_values_equal_the_programs(
        self, world, server, tmp_path, monkeypatch
    ):
        """CIDS, OCCM and copy-paste rate too; the Owl's mirrored anchor has no face."""
        monkeypatch.setattr(
            character_matching, "load_figure_encoders", lambda profile: ENCODERS
        )
        monkeypatch.setattr(
            character_matching, "load_figure_detector", lambda: ENCODERS.detector
        )
        posted = Posted("Score: 1", "Score: 2", "Score: 4", "Score: 3")
        name = "vistorybench.bench.content.cids_evaluator"
        with program_modules(VISTORYBENCH.find(), name, self.UTILS) as modules:
            cids, utils = modules
            made = self.evaluator(cids, world)
            with mock.patch.object(utils.requests, "post", posted.post):
                results = {s: made.evaluate("Alder", s) for s in STORIES}
        scores = {
            body["messages"][1]["content"][2]["image_url"]["url"]
            + body["messages"][1]["content"][0]["text"]: reply
            for body, reply in zip(posted.bodies, self.replies(posted), strict=True)
        }
        server.by_question = lambda asked: answers(
            scores[
                asked.pictures[0]["url"]
                + asked.body["messages"][1]["content"][0]["text"]
            ]
        )
        ours = []
        found = {
            "cids_self_mean": CharacterConsistency("self", CODE),
            "cids_cross_mean": CharacterConsistency("cross", CODE),
            "copy_paste_score": CopyPaste(CODE),
        }
        for story in STORIES:
            output = output_of(world, story)
            folder = tmp_path / "features"
            bodies, (action,) = asked_of(server, IndividualAction(CODE), output, folder)
            ours += bodies
            theirs = results[story]["metrics"]
            assert action.value == theirs["single_character_action"]
            for key, metric in found.items():
                (value,) = score(metric, output, folder)
                assert value.value == pytest.approx(theirs[key], abs=1.1e-4), key
            counts = score(CharacterCount(CODE), output, folder)
            mean = np.mean([one.value for one in counts])
            assert mean == pytest.approx(theirs["occm"], abs=1e-4)
        assert len(posted.bodies) > 15
        assert in_order(ours) == in_order(posted.bodies)

    def replies(self, posted):
        rest = posted.replies
        return [rest[min(i, len(rest)) - 1] for i in range(1, len(posted.bodies) + 1)]

    def evaluator(self, cids, world):
        """Return the program's evaluator with the detector and encoders of the test."""
        import torch

        class Evaluator(cids.CIDSEvaluator):
            def _load_models(self, pretrain_path, device="cuda"):
                pass

            def dino_detect(self, path, caption, *rest):
                picture = np.asarray(Pillow.open(path).convert("RGB"))
                boxes = torch.from_numpy(ENCODERS.detector.prepare(picture))
                return boxes[:, :4], boxes[:, 4], [], None

            def get_char_feat(self, img, encoder_name="", *_, return_indices=False):
                is_face = encoder_name == "face_mix"
                encoders = ENCODERS.faces if is_face else ENCODERS.others
                (encoder,) = encoders.values()
                features, places = [], []
                for place, one in enumerate(img):
                    feature = encoder.prepare(np.asarray(one))
                    if not len(feature):
                        continue
                    places.append(place)
                    if is_face:
                        vector = torch.from_numpy(feature)
                        features.append(cids.MultiModelFeatures({"one": vector}))
                    else:
                        features.append(torch.from_numpy(feature))
                if not features:
                    features = None
                elif not is_face:
                    features = torch.stack(features)
                return (features, places) if return_indices else features

        return Evaluator(self.config(world), "20260101_000000", "base", "en")
