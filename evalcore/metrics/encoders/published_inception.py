"""Which published weights Inception v3 and I3D need: where they lie, how to get them.

Apart from the encoders, so that asking what is lacking imports no network library.
"""

from evalcore.metrics.weights import Weights

TORCHVISION = ("torch", "torchvision")

INCEPTION_FID = Weights(
    path="pt_inception-2015-12-05-6726825d.pth",
    licence="Apache-2.0 (TensorFlow's network, converted for pytorch-fid)",
    origin="from https://github.com/mseitzer/pytorch-fid/releases/tag/fid_weights",
    sha256="6726825d",
)
INCEPTION_IMAGENET = Weights(
    path="inception_v3_google-0cc3c7bd.pth",
    licence="BSD-3-Clause (torchvision)",
    origin="from https://download.pytorch.org/models/inception_v3_google-0cc3c7bd.pth",
    sha256="0cc3c7bd",
)
I3D = Weights(
    path="i3d_torchscript.pt",
    licence="Apache-2.0 (DeepMind's network, converted for StyleGAN-V)",
    origin=(
        "hf download flateon/FVD-I3D-torchscript i3d_torchscript.pt "
        "--local-dir $EVALCORE_WEIGHTS_DIR"
    ),
    hub="flateon/FVD-I3D-torchscript",
    hub_file="i3d_torchscript.pt",
)
