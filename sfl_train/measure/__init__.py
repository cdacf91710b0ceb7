"""What the assumptions' constants are where a run has been."""

from sfl_train.measure.constants import (
    PointConstants,
    Trajectory,
    TrajectoryConstants,
    at_point,
)

__all__ = ["PointConstants", "Trajectory", "TrajectoryConstants", "at_point"]
