"""Data sets: the ones that ship with a dependency."""

from sfl_train.data.bundled import Dataset, load

__all__ = ["Dataset", "load"]
