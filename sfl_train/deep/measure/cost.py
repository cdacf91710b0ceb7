"""What a measurement costs, for who plans runs; nothing here needs PyTorch."""

from __future__ import annotations

CURVATURE_SAMPLES = 1024
LANCZOS_STEPS = 12
GRADIENT, PER_SAMPLE, PRODUCT = 1.0, 3.5, 4.0
"""Cost of a sample's gradient in a pass, per sample, and of a Hessian product, in
training steps' cost per sample; rounded up from what
``tests/benchmarks/deep_measure.py`` measured."""


def cost_of_one(samples: int, blocks: int) -> float:
    """Return what a measurement costs, in training steps' cost per sample.

    Args:
        samples: of all clients together.
        blocks: of the network, those with parameters.

    Returns:
        Three passes of gradients, one per sample, and on some of the samples the
        Hessian products of Lanczos and one for every block.
    """
    products = (LANCZOS_STEPS + blocks) * curvature_count(samples)
    return (3 * GRADIENT + PER_SAMPLE) * samples + PRODUCT * products


def curvature_count(samples: int) -> int:
    """Return how many of the training samples Lanczos uses."""
    return min(samples, CURVATURE_SAMPLES, max(64, samples // 8))
