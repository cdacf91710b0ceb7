"""Operations, layers and blocks by a network's shape.

Written by ``python -m figures.estimate``; do not edit.
"""

NETWORKS: dict[str, tuple[int, int, int]] = {
    "cnn 3 10 12 0.125 None": (377088, 4, 4),
    "cnn 3 10 32 1.0 None": (101087232, 4, 4),
    "resnet18 1 10 12 0.0625 1": (1002624, 25, 6),
    "resnet18 1 10 28 1.0 None": (2733901824, 41, 6),
    "resnet18 1 20 12 0.0625 1": (1004544, 25, 6),
    "resnet18 1 62 28 1.0 None": (2734061568, 41, 6),
    "resnet18 3 10 12 0.0625 1": (1044096, 25, 6),
    "resnet18 3 10 32 1.0 None": (3328997376, 41, 6),
    "resnet18 3 100 32 1.0 None": (3329273856, 41, 6),
    "resnet18 3 20 12 0.0625 1": (1046016, 25, 6),
    "resnet18 3 7 12 0.0625 1": (1043520, 25, 6),
    "resnet18 3 7 64 1.0 None": (13315888128, 41, 6),
    "resnet50 3 100 32 1.0 None": (7784546304, 107, 6),
    "resnet50 3 200 64 1.0 None": (31135727616, 107, 6),
}
