"""Small runs whose worst cases are proved: what the tests of proofs share."""

from __future__ import annotations

from fractions import Fraction as Q

from sfl_theory.worst_case.setting import Setting

HALF = Q(1, 2)


def asked(
    steps: tuple[Q, ...] = (HALF, HALF),
    server: tuple[Q, ...] | None = None,
    **known: object,
) -> Setting:
    given: dict[str, object] = {
        "algorithm": "sfl-v1",
        "tau": 2,
        "S": Q(1),
        "mu": Q(1, 10),
        "zeta2": Q(1),
        **known,
    }
    return Setting(client_steps=steps, server_steps=server or steps, **given)  # type: ignore[arg-type]


BOUNDED: dict[str, object] = {
    "zeta2": None,
    "G2": Q(2),
    "start": "gradients",
    "metric": "distance",
}
NON_CONVEX: dict[str, object] = {
    "zeta2": None,
    "mu": None,
    "start": "gap",
    "metric": "gradient",
}
SMALL = asked((HALF,), algorithm="fedavg", tau=1, metric="distance")
SETTINGS = {
    "one step": SMALL,
    "gap": asked(),
    "gap of the average": asked(mu=Q(0), reading="average"),
    "mean of gaps": asked(mu=Q(0), reading="mean"),
    "start by gap": asked(start="gap"),
    "bounded gradients": asked(**BOUNDED),
    "dissimilarity": asked(zeta2=None, eps2=Q(1)),
    "two rates": asked(server=(Q(1, 3), Q(1, 3))),
    "two paces": asked((HALF,), (Q(1, 3),), tau_server=3, metric="distance"),
    "decaying": asked((HALF, Q(1, 3)), metric="distance"),
    "rates of their own": asked((HALF, Q(2, 3)), metric="distance"),
    "non-convex": asked((Q(1, 4),) * 2, **NON_CONVEX, G2=Q(1), reading="average"),
    "least": asked((Q(1, 4),) * 2, **NON_CONVEX, eps2=Q(1), reading="minimum"),
    "noise": asked(sigma2=Q(1)),
    "noise, two rates": asked((HALF,), (Q(1, 3),), sigma2=Q(1)),
    "noise, bounded": asked(**BOUNDED, sigma2=Q(1)),
    "noise, N given": asked(tau=1, sigma2=Q(1), clients=4, symmetric=True),
}
MINIBATCH: dict[str, object] = {"algorithm": "minibatch-sfl", "sigma2": Q(1)}
SETTINGS |= {
    "minibatch": asked((HALF,), (Q(1, 3),), **{**MINIBATCH, "sigma2": Q(0)}),
    "minibatch, noise": asked((HALF,), (Q(1, 3),), **MINIBATCH),
    "minibatch, N given": asked((HALF, HALF), **MINIBATCH, clients=4, symmetric=True),
    "the same minimiser": asked(zeta2=Q(0)),
    "the same minimiser, two rates": asked((HALF,), (Q(1, 3),), zeta2=Q(0)),
}
GIVEN: dict[str, object] = {"clients": 2}
V2: dict[str, object] = {"algorithm": "sfl-v2", **GIVEN}
UNEQUAL: dict[str, object] = {"clients": 2, "weights": (Q(1, 3), Q(2, 3))}
TURNS: dict[str, object] = {**V2, "order": "interleaved"}
ONE, SLOW = (HALF,), (Q(1, 4),)
SETTINGS |= {
    "noisy steps, N given": asked(
        **UNEQUAL | {"weights": (), "symmetric": True}, sigma2=Q(1)
    ),
    "noisy steps, two paces, N given": asked(
        ONE, (Q(1, 3),), tau_server=3, sigma2=Q(1), clients=3, symmetric=True
    ),
    "one visit each": asked(ONE, SLOW, tau=1, metric="distance", **V2),
    "visits": asked(ONE, SLOW, metric="distance", **V2),
    "visits, other orders": asked(2 * ONE, 2 * SLOW, turns=((1, 0), (0, 1)), **V2),
    "visits in turns, other orders": asked(
        ONE, SLOW, turns=((1, 0), (0, 1)), metric="distance", **TURNS
    ),
    "visits in turns": asked(2 * ONE, 2 * SLOW, metric="distance", **TURNS),
    "visits, gap": asked(2 * ONE, 2 * SLOW, **V2),
    "visits, weighted": asked(ONE, SLOW, **V2 | UNEQUAL, server_moves="weighted"),
    "visits, average": asked(2 * ONE, 2 * SLOW, mu=Q(0), reading="average", **V2),
    "visits, start by gap": asked(ONE, SLOW, start="gap", **V2),
    "visits, bounded": asked(ONE, SLOW, **BOUNDED, **V2),
    "visits, dissimilarity": asked(ONE, SLOW, zeta2=None, eps2=Q(1), **V2),
    "visits, the same minimiser": asked(ONE, SLOW, **V2 | {"zeta2": Q(0)}),
    "visits, two rates": asked((HALF, Q(1, 3)), (Q(1, 4), Q(1, 7)), **V2),
    "visits, least": asked(
        SLOW, SLOW, **NON_CONVEX, **V2, eps2=Q(1), reading="minimum"
    ),
    "visits, noise": asked(ONE, SLOW, sigma2=Q(1), **V2),
    "visits in turns, noise": asked(ONE, SLOW, **BOUNDED, **TURNS, sigma2=Q(1)),
    "visits, server at rest": asked(ONE, (Q(0),), **V2),
    "three visitors": asked(ONE, SLOW, tau=1, **V2 | {"clients": 3}),
    "weights": asked(ONE, **UNEQUAL),
    "weights, two paces": asked(ONE, (Q(1, 3),), tau_server=3, **UNEQUAL),
    "weights, minibatch": asked(ONE, SLOW, algorithm="minibatch-sfl", **UNEQUAL),
    "noise, weights": asked(ONE, **UNEQUAL, sigma2=Q(1)),
    "noise, weights, two paces": asked(
        ONE, (Q(1, 3),), tau_server=3, **UNEQUAL, sigma2=Q(1)
    ),
    "noise, weights, bounded": asked(ONE, **BOUNDED, **UNEQUAL, sigma2=Q(1)),
    "noise, weights, minibatch": asked(ONE, SLOW, **MINIBATCH, **UNEQUAL),
    "noise, three weights": asked(
        ONE,
        algorithm="fedavg",
        clients=3,
        weights=(Q(1, 6), Q(1, 3), HALF),
        sigma2=Q(1),
    ),
    "noise, three weights, minibatch": asked(
        ONE, SLOW, **MINIBATCH, clients=3, weights=(Q(1, 6), Q(1, 3), HALF)
    ),
    "noise, two of three alike": asked(
        ONE,
        algorithm="fedavg",
        clients=3,
        weights=(Q(1, 4), Q(1, 4), HALF),
        sigma2=Q(1),
    ),
    "noise, two of three alike, minibatch": asked(
        ONE, SLOW, **MINIBATCH, clients=3, weights=(Q(1, 4), Q(1, 4), HALF)
    ),
    "noise of three clients that are not said to be alike": asked(
        ONE, clients=3, sigma2=Q(1)
    ),
    "noise of two clients that are not said to be alike": asked(
        ONE, clients=2, sigma2=Q(1)
    ),
    "one client": asked(ONE, algorithm="fedavg", clients=1, zeta2=None),
}
