"""The handwritten digits that ship with scikit-learn, the embedded default."""

from __future__ import annotations

import numpy as np

from sfl_train import streams
from sfl_train.deep.data.images import Images
from sfl_train.streams import Purpose

TEST_SHARE = 5


def digits() -> Images:
    """Return 8x8 grey images of ten digits; every fifth in a fixed shuffle tests.

    Returns:
        1437 training and 360 test images.
    """
    from sklearn import datasets  # takes seconds, which only who reads them waits for

    x, y = datasets.load_digits(return_X_y=True)
    pixels = np.round(x.reshape(-1, 1, 8, 8) * (255 / 16)).astype(np.uint8)
    labels = y.astype(np.int64)
    u = streams.uniforms(streams.keys(0, Purpose.DATA), len(labels))
    order = np.argsort(u, kind="stable")
    test, train = order[::TEST_SHARE], np.sort(np.delete(order, np.s_[::TEST_SHARE]))
    seen = pixels[train] / 255.0
    return Images(
        name="digits",
        train_x=pixels[train],
        train_y=labels[train],
        test_x=pixels[test],
        test_y=labels[test],
        classes=10,
        mean=(float(seen.mean()),),
        std=(float(seen.std()),),
        source="Optical recognition of handwritten digits (test part), E. Alpaydin and "
        "C. Kaynak, UCI repository, CC BY 4.0, as bundled with scikit-learn",
    )
