"""Small pictures of the models that decide claims: sides, functions, runs; as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from html import escape

from sfl_theory.evidence import Decided
from sfl_theory.kernel.replay import Claim as Replayed
from sfl_theory.ledger import Finding
from sfl_theory.models.federated import FederatedRun
from sfl_theory.models.moments import course
from sfl_theory.proofs.export import ModelData, Shape

WIDTH, HEIGHT, PAD = 300, 170, 30
POINTS = 33
MOST = 4
"""So many clients have a line of their own."""

Points = Sequence[tuple[float, float]]


def short(value: Fraction) -> str:
    """Return a fraction where it is short, else four digits of it."""
    if len(text := str(value)) <= 12:
        return text.replace("-", "\N{MINUS SIGN}")
    try:
        number = f"{float(value):.4g}"
    except OverflowError:
        return "beyond 1e308"
    return ("" if float(value) else "above 0, about ") + number


def of_part(found: Decided, runs: Sequence[Finding], identifier: str) -> str:
    """Return the pictures of the model that decided one part.

    Args:
        found: the part, decided by a model.
        runs: the claim's runs; empty: the model is none.
        identifier: of the claim.

    Returns:
        HTML, or nothing where there is nothing to draw.
    """
    if found.claim is None or found.claim.sides is None or found.data is None:
        return ""
    drawn = [_sides(found.claim)]
    about = [one for one in runs if identifier in _statements(one.run)]
    drawn += [text for one in about if (text := _course(one.run))]
    drawn += _functions(found.data)
    return f'<div class="sketches">{"".join(drawn)}</div>'


def in_words(found: Decided) -> str:
    """Return what the model of a part gives for both sides."""
    if found.claim is None or found.claim.sides is None:
        return ""
    left, right = found.claim.sides
    less = _less(found.claim)
    return f"left side {short(left)} {less} right side {short(right)}"


def _less(claim: Replayed) -> str:
    left, right = claim.sides or (Fraction(0), Fraction(0))
    less = "=" if left == right else "<" if left < right else ">"
    return f"certainly {less}" if claim.enclosed else less


def _statements(run: FederatedRun) -> set[str]:
    """Return the claims whose sides `course` follows."""
    return {run.theorem, f"{run.theorem}/{run.case}"}


def _sides(claim: Replayed) -> str:
    """Return both sides as bars."""
    left, right = claim.sides or (Fraction(0), Fraction(0))
    most = max(abs(left), abs(right)) or Fraction(1)
    rows, space = "", 200
    for place, (name, value) in enumerate((("left", left), ("right", right))):
        y = 22 + 34 * place
        length = max(float(abs(value) / most) * space, 1)
        rows += (
            f'<text x="0" y="{y - 5}">{name} side: {escape(short(value))}</text>'
            f'<rect class="{name}" x="0" y="{y}" width="{length:.1f}" height="10"/>'
        )
    words = f"left {_less(claim)} right"
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} 74" class="sketch" role="img" '
        f'aria-label="{words}">{rows}</svg><figcaption>{escape(words)}, in exact '
        "arithmetic</figcaption></figure>"
    )


def _functions(data: ModelData) -> list[str]:
    """Return the clients' functions along a coordinate of each block, through x^0."""
    named = [(str(key.name), shape) for key, shape in data.named.items()]
    shapes = [(f"F{k + 1}", shape) for k, shape in enumerate(data.functions)]
    lines = [one for one in (*shapes, *named) if not _flat(one[1])][:MOST]
    if not lines:
        return []
    size = len(data.start)
    axes = [("x_c, the client's block", 0), ("x_s, the server's", data.client_size)]
    moving = [
        (label, axis)
        for label, axis in axes
        if axis < size and any(_varies(shape, axis) for _, shape in lines)
    ]
    return [_slice(data, lines, label, axis) for label, axis in moving]


def _flat(shape: Shape) -> bool:
    hessian, linear, bends = shape
    return not (any(map(any, hessian)) or any(linear) or bends)


def _varies(shape: Shape, axis: int) -> bool:
    hessian, linear, bends = shape
    return bool(any(hessian[axis]) or linear[axis] or any(b[1][axis] for b in bends))


def _slice(
    data: ModelData, lines: Sequence[tuple[str, Shape]], label: str, axis: int
) -> str:
    start = [float(x) for x in data.start]
    ends = [start[axis], *_wells(lines, axis)]
    middle, half = (max(ends) + min(ends)) / 2, (max(ends) - min(ends)) / 2
    half = 1.6 * half or max(abs(start[axis]), 1.0)
    even = (middle + half * (2 * k / (POINTS - 1) - 1) for k in range(POINTS))
    bent = any(b[0] < 0 for _, shape in lines for b in shape[2])
    places = sorted({*even, *(ends if bent else ())})
    curves = [
        [(z, _value(shape, [*start[:axis], z, *start[axis + 1 :]])) for z in places]
        for _, shape in lines
    ]
    box = _Box([p for curve in curves for p in curve])
    drawn = "".join(
        f'<path class="line c{k}" d="{box.curve(curve, bent or bool(shape[2]))}"/>'
        for k, (curve, (_, shape)) in enumerate(zip(curves, lines, strict=True))
    )
    x, _ = box.place(start[axis], 0)
    drawn += f'<path class="mark" d="M{x:.1f} {PAD - 12}V{HEIGHT - PAD}"/>'
    drawn += f'<text x="{x + 3:.1f}" y="{PAD - 4}">start</text>'
    names = ", ".join(name for name, _ in lines)
    keys = "".join(
        f'<tspan class="key c{k}">{escape(name)} </tspan>'
        for k, (name, _) in enumerate(lines)
    )
    low, high = middle - half, middle + half
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" class="sketch" role="img" '
        f'aria-label="{escape(names)} along {escape(label)}">{box.axes()}{drawn}'
        f'<text x="{PAD}" y="{HEIGHT - 14}">{low:.3g}</text>'
        f'<text x="{WIDTH - PAD}" y="{HEIGHT - 14}" class="end">{high:.3g}</text>'
        f'<text x="{WIDTH - PAD}" y="12" class="end">{keys}</text></svg>'
        f"<figcaption>along {escape(label)}</figcaption></figure>"
    )


def _wells(lines: Sequence[tuple[str, Shape]], axis: int) -> list[float]:
    """Return where convex functions are lowest or bend; of others, where bends end."""
    out = []
    for _, (hessian, linear, bends) in lines:
        own = [b for b in bends if b[1][axis]]
        if any(b[0] < 0 for b in own):
            out += [float((b[2] + w) / b[1][axis]) for b in own for w in (-b[3], b[3])]
            continue
        if hessian[axis][axis]:
            out.append(float(-linear[axis] / hessian[axis][axis]))
        out += [float(b[2] / b[1][axis]) for b in own]
    return out


def _value(shape: Shape, x: Sequence[float]) -> float:
    hessian, linear, bends = shape
    out = sum(float(b) * v for b, v in zip(linear, x, strict=True))
    for row, v in zip(hessian, x, strict=True):
        out += v * sum(float(a) * w for a, w in zip(row, x, strict=True)) / 2
    for weight, slope, shift, width in bends:
        u = sum(float(a) * v for a, v in zip(slope, x, strict=True)) - float(shift)
        u, w = abs(u), float(width)
        out += float(weight) * (u * u / 2 if u <= w else w * u - w * w / 2)
    return out


def _course(run: FederatedRun) -> str:
    """Return both sides over the rounds, both axes logarithmic."""
    table = zip(*(side.tolist() for side in course(run, run.rounds, 60)), strict=True)
    rows = [row for row in table if row[0] > 0]
    sides = [
        [(math.log10(row[0]), math.log10(row[k])) for row in rows if row[k] > 0]
        for k in (1, 2)
    ]
    everything = [point for side in sides for point in side]
    if len(everything) < 3:
        return ""
    box = _Box(everything)
    lines = "".join(
        f'<polyline class="line {name}" points="{box.path(side)}"/>'
        for name, side in zip(("left", "right"), sides, strict=True)
    )
    low, high = (10 ** f(p[1] for p in everything) for f in (min, max))
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" class="sketch" role="img" '
        f'aria-label="Both sides over the rounds">{box.axes()}{lines}'
        f'<text x="{PAD}" y="{HEIGHT - 14}">T = {rows[0][0]}</text>'
        f'<text x="{WIDTH - PAD}" y="{HEIGHT - 14}" class="end">T = {rows[-1][0]}'
        f'</text><text x="0" y="12">{high:.2g}</text>'
        f'<text x="0" y="{HEIGHT - PAD}">{low:.2g}</text>'
        f'<text x="{WIDTH - PAD}" y="12" class="end"><tspan class="key left">left side '
        '</tspan><tspan class="key right">bound</tspan></text></svg>'
        "<figcaption>both sides over the rounds, logarithmic</figcaption></figure>"
    )


class _Box:
    """Places points inside the axes."""

    def __init__(self, points: Points) -> None:
        xs, ys = zip(*points, strict=True)
        self.x, self.y = (min(xs), max(xs)), (min(ys), max(ys))

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point lies in the picture."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return PAD + across * (WIDTH - 2 * PAD), HEIGHT - PAD - up * (HEIGHT - 2 * PAD)

    def path(self, points: Points) -> str:
        """Return a curve's points."""
        return " ".join(f"{x:.0f},{y:.0f}" for x, y in (self.place(*p) for p in points))

    def curve(self, points: Points, bent: bool) -> str:
        """Return a curve; one without bends is a parabola, drawn exactly."""
        if bent:
            return "M" + self.path(points).replace(" ", "L")
        first, middle, last = points[0], points[len(points) // 2], points[-1]
        control = middle[0], 2 * middle[1] - (first[1] + last[1]) / 2
        placed = (self.place(*point) for point in (first, control, last))
        a, b, c = (f"{x:.0f} {y:.0f}" for x, y in placed)
        return f"M{a}Q{b} {c}"

    def axes(self) -> str:
        """Return both axes."""
        right, bottom = WIDTH - PAD, HEIGHT - PAD
        return f'<path class="axes" d="M{PAD} {PAD - 12}V{bottom}H{right}"/>'
