import pytest
import torch

from evalcore.metrics.encoders import published, scenes, subjects
from evalcore.metrics.encoders import scenes as people
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.vistar import networks

KINDS = {
    "depth": (networks.depth_network, published.DEPTH),
    "objects": (networks.object_network, published.OBJECTS),
    "pose": (networks.pose_network, published.POSE),
    "expression": (networks.expression_network, published.EXPRESSION),
    "cut_out": (networks.cut_out_network, published.CUT_OUT),
    "appearance": (networks.appearance_network, published.APPEARANCE),
}


class TinyWeights:
    """A separate folder of weights, empty at first."""

    def __init__(self, folder):
        self.folder = folder

    def save(self, *kinds, **how):
        """Save tiny random networks; return the last one."""
        for number, kind in enumerate(kinds):
            torch.manual_seed(number)
            make, where = KINDS[kind]
            network = make(**how).eval()
            place = self.folder / where.path
            network.save_pretrained(place)
            if where is published.DEPTH:  # published without safetensors
                (place / "model.safetensors").unlink()
                torch.save(network.state_dict(), place / "pytorch_model.bin")
        return network


def forget_loaded():
    tiny.forget_loaded()
    for encoder in (
        scenes.depth,
        scenes.objects,
        people.pose,
        people.expression,
        subjects.subject_encoder,
    ):
        encoder.cache_clear()


@pytest.fixture
def weights(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("weights")
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(folder))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")
    forget_loaded()
    yield TinyWeights(folder)
    forget_loaded()
