"""SFL-V2's orders of visits: all of them, up to renaming clients that are alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import factorial, inf

from sfl_theory.worst_case.interior import Progress
from sfl_theory.worst_case.setting import ZERO, Order, Setting
from sfl_theory.worst_case.solve import WorstCase, worst_case

MOST_ORDERS = 256
Turns = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Ordered:
    """The worst cases of all orders.

    Attributes:
        found: by order; all other orders are one of these with its clients renamed.
        orders: how many orders there are.
    """

    found: tuple[WorstCase, ...]
    orders: int

    @property
    def worst(self) -> WorstCase:
        """That with the largest value, with the largest certified bound of all."""
        worst = max(self.found, key=lambda one: one.value)
        upper = max(self.found, key=lambda one: one.upper or inf)
        reached = [one for one in self.found if one.lower is not None]
        lower = max(reached, key=lambda one: one.lower or ZERO, default=worst)
        failed = {text for one in self.found for text in one.failed}
        return replace(
            worst,
            certificate=upper.certificate,
            instance=lower.instance,
            failed=tuple(sorted(failed)),
            seconds=sum(one.seconds for one in self.found),
            orders=self.orders,
        )


def orders(setting: Setting) -> Iterator[Setting]:
    """Yield the setting in every order of visits, up to renaming.

    An order is a permutation per round (``client-sequential``), and one per local step
    of every round (``interleaved``; these differ where tau > 1). Renaming clients of
    equal weight and participation changes no worst case, so one order of each class is
    yielded.

    Args:
        setting: of SFL-V2 with a number of clients.

    Yields:
        Settings with their orders.
    """
    clients = range(len(setting.shares))
    known = [(setting.shares[n], setting.chance(n)) for n in clients]
    every = [*permutations(clients)]
    alike = [
        one for one in every if all(known[a] == known[b] for a, b in enumerate(one))
    ]
    kinds: tuple[Order, ...] = ("client-sequential", "interleaved")
    for order in kinds[: 1 + (setting.tau > 1 and len(clients) > 1)]:
        here = replace(setting, order=order, turns=())
        for turns in product(every, repeat=setting.rounds * here.visited_at_once):
            renamed = (_renamed(turns, one) for one in alike)
            if turns == min(renamed):
                yield replace(here, turns=turns)


def _renamed(turns: Turns, names: tuple[int, ...]) -> Turns:
    return tuple(tuple(names[n] for n in one) for one in turns)


def size(setting: Setting) -> int:
    """Return how many orders there are.

    Args:
        setting: of SFL-V2 with a number of clients.

    Returns:
        Of both kinds; for tau = 1 they are one.
    """
    each, tau = int(factorial(len(setting.shares)) ** setting.rounds), setting.tau
    return each if 1 in {tau, each} else each + int(each**tau)


def worst_order(
    setting: Setting, tolerance: float | None, progress: Progress | None
) -> Ordered:
    """Compute the worst cases of all orders of visits.

    For a fixed problem no rule that draws an order does worse than its worst order, so
    the largest value bounds random orders too.

    Args:
        setting: of SFL-V2 with a number of clients.
        tolerance: see ``worst_case``.
        progress: told what happens.

    Returns:
        The worst cases.

    Raises:
        ValueError: if there are too many.
    """
    N, most = len(setting.shares), size(setting)
    alike = most / factorial(N)
    if alike > MOST_ORDERS:
        raise ValueError(
            f"too large: {most:.4g} orders of visits, the limit is "
            f"{MOST_ORDERS * factorial(N)}; use fewer clients, local steps or rounds, "
            "or give an order"
        )
    several, found = [*orders(setting)], []
    if len(several) > MOST_ORDERS:
        raise ValueError(
            f"too large: {len(several)} orders of visits that differ, the limit is "
            f"{MOST_ORDERS}; use equal weights or fewer clients, or give an order"
        )
    for k, one in enumerate(several, 1):
        place = f"order {k} of {len(several)}: "
        told = progress and _prefixed(progress, place)
        found.append(worst_case(one, tolerance, progress=told))
    return Ordered(tuple(found), most)


def _prefixed(progress: Progress, words: str) -> Progress:
    return lambda text: progress(words + text)
