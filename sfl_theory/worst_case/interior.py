r"""An interior-point method for the programs of this package, in float64, untrusted.

Primal: maximise $\langle C,X\rangle+c^\top f$ subject to
$\langle A_k,X\rangle+F_k^\top f+s_k=b_k$, $X\succeq0$, $s\ge0$ (an equality: $s_k=0$).
Dual: minimise $b^\top y$ subject to $Z=\sum_ky_kA_k-C\succeq0$, $F^\top y=c$, $y\ge0$.

Infeasible primal-dual steps in the direction of Helmberg, Rendl, Vanderbei, Wolkowicz;
Kojima, Shindoh, Hara; Monteiro, with Mehrotra's correction. Every $A_k$ is a signed sum
of at most a few squares of vectors, $A_k=\sum_r\sigma_{kr}u_{kr}u_{kr}^\top$, so the
matrix of the normal equations
$M_{kl}=\langle A_k,XA_lZ^{-1}\rangle=\sum_{rs}\sigma_{kr}\sigma_{ls}
(u_{kr}^\top Xu_{ls})(u_{kr}^\top Z^{-1}u_{ls})$ takes two products of small matrices: a
general conic solver factors systems of the size of all entries of X instead. The last Z
is positive definite, so its multipliers can be rounded to a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.blocks import Array, Block, completed, written
from sfl_theory.worst_case.certificate import Inequality, Space
from sfl_theory.worst_case.factors import Factor, even_part, lower_inverse, whitener
from sfl_theory.worst_case.program import Constraint, Program

Grams = dict[Space, Array]
Progress = Callable[[str], None]

ITERATIONS, PATIENCE = 80, 10
EARLY = 3e-2
DEEP = 5e-3
"""Accuracy of the point from which the next program starts, and its least gap."""
BOUNDARY = 0.95
REFINED, SETTLED, LEFT = 4, 1e-11, 1e-2
"""Equations are solved again at most so often, until so little of them is left."""
EXACT = 1e2
"""How much smaller the dual residual has to be: rounding leaves it no room."""
PAUSES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)


@dataclass(frozen=True)
class State:
    """A point of the method from which a program that is nearly the same may start.

    Attributes:
        rows: (multiplier, slack) of every constraint, by what it says.
        f: function values.
        X: Gram matrices.
        Z: what the multipliers leave.
        mu: the mean complementarity.
    """

    rows: dict[Inequality, tuple[float, float]]
    f: Array
    X: list[Array]
    Z: list[Array]
    mu: float


@dataclass(frozen=True)
class Solution:
    """A float solution of the program and its dual.

    Attributes:
        multipliers: of the constraints, in their order.
        grams: Gram matrix of every space's atoms.
        values: function values.
        upper: the dual's value.
        lower: the primal's value, for the constraints that were given.
        residual: the largest relative violation of the constraints and of the dual.
        status: "solved", or why the method stopped before.
        spread: the value over the trace of the Gram matrices, in the solver's units.
        state: of an early point.
    """

    multipliers: Array
    grams: Grams
    values: Array
    upper: float
    lower: float
    residual: float
    status: str
    spread: float = 0.0
    state: State | None = None


Pause = Callable[[Solution], bool]


def solved(
    program: Program,
    constraints: Sequence[Constraint],
    tolerance: float = 1e-8,
    progress: Progress | None = None,
    floor: float = -np.inf,
    pause: Pause | None = None,
    slack: float = 0.0,
    start: State | None = None,
) -> Solution:
    """Solve the program for some of its constraints.

    Args:
        program: the program.
        constraints: those that are imposed.
        tolerance: of the relative gap and of both residuals.
        progress: told after every step.
        floor: a value that is known to be reached; near it nothing is left to gain.
        pause: asked at some accuracies whether to stop; None: never.
        slack: at least this multiple of the identity is left of every matrix, in the
            solver's units.
        start: a point of nearly the same program.

    Returns:
        The last point.
    """
    imposed = [one for one in constraints if one.inequality not in program.apart]
    wholes = [written(program, imposed, space) for space in program.spaces]
    for whole in wholes:
        whole.goal[np.diag_indices(whole.size)] += slack
    method = _Method(program, imposed, wholes)
    if start is not None:
        method.resume(start)
    found = method.solve(tolerance, floor, progress, pause)
    if len(imposed) == len(constraints):
        return found
    y = found.multipliers * method.unit / method.height
    free = _freed(program, wholes, y, method.height)
    known = iter(found.multipliers)
    multipliers = [
        free[one.inequality] if one.inequality in free else next(known)
        for one in constraints
    ]
    return replace(found, multipliers=np.array(multipliers))


def _freed(
    program: Program, wholes: Sequence[Block], y: Array, height: float
) -> dict[Inequality, float]:
    """Return the multipliers of the orthogonalities that are in no clique."""
    found = {}
    for space, whole in zip(program.spaces, wholes, strict=True):
        atoms = [program.basis[space][k] for k in whole.kept]
        place = {atom: k for k, atom in enumerate(atoms)}
        matrix = whole.combined(y[whole.active]) - whole.goal
        more = completed(matrix, program.cliques[space]) - matrix
        more *= 2 * height / np.outer(whole.scale, whole.scale)
        for (where, noise, atom), says in program.orthogonal.items():
            if where == space and says in program.apart:
                found[says] = float(more[place[noise], place[atom]])
    return found


class _Method:
    """The state of the iteration."""

    def __init__(
        self,
        program: Program,
        constraints: Sequence[Constraint],
        wholes: Sequence[Block],
    ) -> None:
        self.program = program
        self.blocks = [
            whole.within(clique)
            for space, whole in zip(program.spaces, wholes, strict=True)
            for clique in program.cliques[space]
        ]
        self.homes = [space for space in program.spaces for _ in program.cliques[space]]
        self.constraints = constraints
        self.early: State | None = None
        self.fresh = True
        m = len(constraints)
        self.signed = np.array([not one.equality for one in constraints], dtype=bool)
        self.unit = np.array([program.unit(one) for one in constraints])
        self.height, self.value = program.units.objective, _value(program)
        self.b = np.array([float(one.bound) for one in constraints]) / self.unit
        self.F = np.zeros((m, program.values))
        for k, one in enumerate(constraints):
            for index, amount in one.values:
                self.F[k, index] += float(amount) * self.value / self.unit[k]
        self.c = np.zeros(program.values)
        for index, amount in program.objective.values:
            self.c[index] += float(amount) * self.value / self.height
        self.y = np.where(self.signed, 1.0, 0.0)
        self.s = np.where(self.signed, 1.0, 0.0)
        self.f = np.zeros(program.values)
        self.X = [np.eye(block.size) for block in self.blocks]
        self.Z = [
            np.eye(block.size) * max(1.0, 2 * float(np.linalg.norm(block.goal, 2)))
            for block in self.blocks
        ]
        self.order = sum(block.size for block in self.blocks) + int(self.signed.sum())

    def resume(self, state: State) -> None:
        """Go on from another program's point; what is new starts near its path."""
        self.early = state
        fresh = max(float(np.sqrt(state.mu)), 1e-300)
        for k, one in enumerate(self.constraints):
            if self.signed[k]:
                self.y[k], self.s[k] = state.rows.get(one.inequality, (fresh, fresh))
            else:
                self.y[k] = state.rows.get(one.inequality, (0.0, 0.0))[0]
        self.f = state.f.copy()
        self.X = [X.copy() for X in state.X]
        self.Z = [Z.copy() for Z in state.Z]

    def state(self) -> State:
        """Return the point of now."""
        pairs = zip(self.y.tolist(), self.s.tolist(), strict=True)
        rows = {
            one.inequality: pair
            for one, pair in zip(self.constraints, pairs, strict=True)
        }
        return State(rows, self.f.copy(), self.X, self.Z, self.mu)

    @property
    def mu(self) -> float:
        """The mean complementarity."""
        total = float(self.s @ self.y)
        pairs = zip(self.X, self.Z, strict=True)
        return (total + sum(float(np.vdot(X, Z)) for X, Z in pairs)) / self.order

    def residuals(self) -> tuple[Array, list[Array], Array]:
        """Return what is missing from primal, matrix and balance equations."""
        rp = self.b - self.F @ self.f - self.s
        for block, X in zip(self.blocks, self.X, strict=True):
            rp[block.active] -= block.applied(X)
        Rd = [
            block.combined(self.y[block.active]) - block.goal - Z
            for block, Z in zip(self.blocks, self.Z, strict=True)
        ]
        return rp, Rd, self.c - self.F.T @ self.y

    def worth(self) -> tuple[float, float]:
        """Return the dual's and the primal's value."""
        pairs = zip(self.blocks, self.X, strict=True)
        lower = sum(float(np.vdot(block.goal, X)) for block, X in pairs)
        return float(self.b @ self.y), lower + float(self.c @ self.f)

    def solve(
        self,
        tolerance: float,
        floor: float,
        progress: Progress | None,
        pause: Pause | None,
    ) -> Solution:
        """Return the last point: the tolerance is met or steps vanish."""
        status, best = "stopped after the last iteration", np.inf
        kept, since = self._kept(), 0
        levels = [level for level in PAUSES if level > tolerance]
        floor /= self.height
        for count in range(ITERATIONS):
            rp, Rd, rf = self.residuals()
            upper, lower = self.worth()
            size = max(abs(upper), abs(lower), 1e-12)
            wrong = max(
                float(np.abs(rp).max()) / min(size, 1 + float(np.abs(self.b).max())),
                EXACT * self._reached(Rd) / size,
                float(np.abs(rf).max(initial=0.0)),
            )
            gap = self.mu * self.order / size
            if progress:
                progress(
                    f"step {count}: {upper * self.height:.6g} >= value, gap {gap:.1e}"
                )
            if max(wrong, gap) < best:
                best, kept, since = max(wrong, gap), self._kept(), count
            if best < EARLY and self.fresh and gap > DEEP:
                self.early, self.fresh = self.state(), False
            if pause and levels and best < levels[0]:
                levels = [level for level in levels if level < best]
                if pause(self._solution(kept, best, "paused")):
                    status = "paused"
                    break
            reached = wrong < tolerance and upper <= floor * (1 + 5 * tolerance)
            if best < tolerance or reached:
                status = "solved"
                break
            if count - since > PATIENCE:
                status = "the residual no longer falls"
                break
            try:
                if self._step(rp, Rd, rf) < 1e-8:
                    status = "steps vanish"
                    break
            except np.linalg.LinAlgError:
                status = "the equations are singular to float64"
                break
        return self._solution(kept, best, status)

    def _reached(self, Rd: list[Array]) -> float:
        """Return by how much the value is off where the matrix equations are."""
        pairs = zip(Rd, self.X, strict=True)
        return sum(float(np.abs(R).max() * X.trace()) for R, X in pairs)

    def _kept(self) -> tuple[Array, list[Array], Array, tuple[float, float]]:
        return self.y.copy(), [X.copy() for X in self.X], self.f.copy(), self.worth()

    def _solution(
        self,
        kept: tuple[Array, list[Array], Array, tuple[float, float]],
        wrong: float,
        status: str,
    ) -> Solution:
        y, X, f, (upper, lower) = kept
        h = self.height
        grams, values = self._seen(X, f)
        spread = abs(upper) / sum(float(gram.trace()) for gram in X)
        return Solution(
            y * h / self.unit,
            grams,
            values,
            upper * h,
            lower * h,
            wrong,
            status,
            spread,
            self.early,
        )

    def _seen(self, X: list[Array], f: Array) -> tuple[Grams, Array]:
        """Return Gram matrices of all atoms, and the functions' values."""
        sizes = {space: len(self.program.basis[space]) for space in self.homes}
        found = {space: np.zeros((size, size)) for space, size in sizes.items()}
        for space, gram, block in zip(self.homes, X, self.blocks, strict=True):
            here = np.ix_(block.kept, block.kept)
            found[space][here] += gram * np.outer(block.scale, block.scale)
        return found, self.program.straight(found, self.value * f)

    def _step(self, rp: Array, Rd: list[Array], rf: Array) -> float:
        """Return the length of a predictor and corrector step, made now."""
        roots = [np.asarray(np.linalg.cholesky(X), dtype=float) for X in self.X]
        whites = [lower_inverse(np.linalg.cholesky(Z)) for Z in self.Z]
        inverse = [W.T @ W for W in whites]
        normal = np.zeros((len(self.y), len(self.y)))
        for block, C, W in zip(self.blocks, roots, whites, strict=True):
            if len(block.active) == len(normal):
                normal += block.normal(C, W.T)
            else:
                normal[np.ix_(block.active, block.active)] += block.normal(C, W.T)
        ratio = np.divide(self.s, self.y, out=np.zeros_like(self.s), where=self.signed)
        normal[np.diag_indices_from(normal)] += ratio
        even = 1 / np.sqrt(normal.diagonal())
        normal *= even[:, None]
        normal *= even
        factor = Factor.of(normal)
        half = factor.forward(self.F * even[:, None])
        tall = factor.backward(half) * even[:, None]
        balance = half.T @ half
        if len(balance):
            weight = np.sqrt(np.maximum(balance.diagonal(), 1e-300))
            small = whitener(balance / np.outer(weight, weight))

        def prepared(right: Array, rest: Array) -> tuple[Array, Array]:
            """Return multipliers and values of the system as it was factored."""
            dy = factor.backward(factor.forward(right * even)) * even
            if not len(balance):
                return dy, np.zeros(0)
            df = small.T @ (small @ ((rest - self.F.T @ dy) / weight)) / weight
            return dy + tall @ df, df

        def direction(
            target: float, curved: list[Array], bent: Array
        ) -> tuple[Array, Array, Array, list[Array], list[Array]]:
            """Return a direction; what is left of the equations is solved for again.

            Every correction is added to dX: its error is as small as it is, that of a
            dX made of the whole dy is not.
            """
            dy, df = np.zeros_like(self.y), np.zeros_like(self.f)
            settled = max(SETTLED, LEFT * float(np.abs(rp).max()))
            even_y = np.where(self.signed, self.y, 1)
            ds = np.where(self.signed, (target - bent) / even_y - self.s, 0)
            dX = [
                target * Y - X - even_part(X @ R @ Y) - even_part(K @ Y)
                for X, Y, R, K in zip(self.X, inverse, Rd, curved, strict=True)
            ]
            for _ in range(1 + REFINED):
                left = ds + self.F @ df - rp
                for block, P in zip(self.blocks, dX, strict=True):
                    left[block.active] += block.applied(P)
                if float(np.abs(left).max()) < settled:
                    break
                more, extra = prepared(left, rf - self.F.T @ dy)
                dy, df, ds = dy + more, df + extra, ds - ratio * more
                for k, block in enumerate(self.blocks):
                    move = block.combined(more[block.active])
                    dX[k] = dX[k] - even_part(self.X[k] @ move @ inverse[k])
            dZ = [
                block.combined(dy[block.active]) + R
                for block, R in zip(self.blocks, Rd, strict=True)
            ]
            return dy, df, ds, dX, dZ

        mu = self.mu
        none = [np.zeros_like(X) for X in self.X]
        dy, _, ds, dX, dZ = direction(0.0, none, np.zeros_like(self.s))
        a, b = self._lengths(dy, ds, dX, dZ)
        after = float((self.s + a * ds) @ (self.y + b * dy)) + sum(
            float(np.vdot(X + a * P, Z + b * Q))
            for X, Z, P, Q in zip(self.X, self.Z, dX, dZ, strict=True)
        )
        sigma = min(1.0, max(1e-6, (after / self.order / mu) ** 3))
        if min(a, b) < 0.1:
            sigma = max(sigma, 0.3)
        curved = [P @ Q for P, Q in zip(dX, dZ, strict=True)]
        dy, df, ds, dX, dZ = direction(sigma * mu, curved, ds * dy * self.signed)
        a, b = self._lengths(dy, ds, dX, dZ)
        self.y, self.s = self.y + b * dy, self.s + a * ds
        self.f = self.f + a * df
        self.X = [X + a * P for X, P in zip(self.X, dX, strict=True)]
        self.Z = [Z + b * Q for Z, Q in zip(self.Z, dZ, strict=True)]
        return max(a, b)

    def _lengths(
        self, dy: Array, ds: Array, dX: list[Array], dZ: list[Array]
    ) -> tuple[float, float]:
        """Return how far the primal and the dual step stay inside."""
        primal, dual = _room(self.s, ds, self.signed), _room(self.y, dy, self.signed)
        for X, P, Z, Q in zip(self.X, dX, self.Z, dZ, strict=True):
            primal, dual = min(primal, _reach(X, P)), min(dual, _reach(Z, Q))
        return min(1.0, BOUNDARY * primal), min(1.0, BOUNDARY * dual)


def _room(now: Array, move: Array, signed: NDArray[np.bool_]) -> float:
    falling = signed & (move < 0)
    return float(np.min(-now[falling] / move[falling], initial=np.inf))


def _reach(now: Array, move: Array) -> float:
    white = lower_inverse(np.linalg.cholesky(now))
    least = float(np.linalg.eigvalsh(even_part(white @ move @ white.T))[0])
    return -1 / least if least < 0 else np.inf


def _value(program: Program) -> float:
    """Return what function values are measured in; the least metric is one too."""
    return program.units.x * program.units.g
