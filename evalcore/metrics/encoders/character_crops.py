"""How people are framed for the pose network, and what their faces may express.

Apart from the networks, so that what reads their features imports no network library.
"""

import numpy as np

from evalcore.metrics.base import Feature, Floats

WIDTH, HEIGHT = 192, 256  # of the pose network's frame
# In the order in which the classifier of faces names them.
EXPRESSIONS = ("angry", "disgust", "fear", "happy", "neutral", "sad", "surprise")


def place(width: int, height: int) -> tuple[int, int, int, int]:
    """Return left, top, width, height of a picture in the middle of the frame.

    `width`, `height`: of the picture; its aspect is kept.

    >>> place(100, 400)
    (64, 0, 64, 256)
    """
    scale = min(WIDTH / width, HEIGHT / height)
    inner = max(1, round(width * scale)), max(1, round(height * scale))
    return (WIDTH - inner[0]) // 2, (HEIGHT - inner[1]) // 2, *inner


def unframed(joints: Feature, size: tuple[int, int]) -> Floats:
    """Return joints in pixels of the picture that was framed.

    `joints`: joints x 3: x and y as shares of the frame, and a score. `size`: width and
    height of the picture.

    >>> unframed(np.array([[0.5, 0.5, 0.9]]), (100, 400))
    array([[ 50. , 200. ,   0.9]])
    """
    left, top, width, height = place(*size)
    found = np.array(joints, dtype=np.float64)
    found[:, 0] = (found[:, 0] * WIDTH - left) * size[0] / width
    found[:, 1] = (found[:, 1] * HEIGHT - top) * size[1] / height
    return found
