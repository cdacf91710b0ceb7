"""``python -m bounds.worst_case``: the exact worst case of a run, certified."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bounds.worst_case_options import add_setting, named, setting, swept
from sfl_theory.command import CommandError, Parser, run
from sfl_theory.worst_case.scenarios import count
from sfl_theory.worst_case.setting import Setting

if TYPE_CHECKING:
    from sfl_theory.kernel.replay import Claim
    from sfl_theory.worst_case.solve import WorstCase

ALGORITHMS = {
    "fedavg": "FedAvg",
    "sfl-v1": "SFL-V1",
    "sfl-v2": "SFL-V2",
    "minibatch-sfl": "MiniBatch-SFL",
}
METRICS = {
    ("distance", "last"): "E|x(T) - x*|^2",
    ("gap", "last"): "E f(x(T)) - f*",
    ("gap", "average"): "E f(mean of x(0..T-1)) - f*",
    ("gap", "mean"): "mean over t < T of E f(x(t)) - f*",
    ("gradient", "average"): "mean over t < T of E|grad f(x(t))|^2",
    ("gradient", "minimum"): "least E|grad f(x(t))|^2 over t < T",
}
VISITED = (
    "assumptions on all points are imposed at the visited points, so the value is an "
    "upper bound of the worst case of problems that meet them everywhere"
)
PASTS = (
    "inequalities between points of different pasts are left out, which a proof cannot "
    "say: the value is an upper bound of that with them"
)
NOISE = (
    "of noise its variance is used, and that it is unbiased and independent: the value "
    "is an upper bound of the worst case"
)
BOUNDED = (
    "gradients of strongly convex functions are not bounded: the statement is on runs "
    "whose visited points have gradients of at most G"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: command line without the program's name; None: the real one.

    Returns:
        The exit status.
    """
    return run(_parser(), _work, arguments)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m bounds.worst_case",
        description="The worst value that a run reaches over all admissible problems, "
        "certified in exact arithmetic from above and reached by a problem from below.",
    )
    add_setting(parser)
    add = parser.add_argument
    add("--tolerance", type=float, help="of the solver (default 1e-7, 2e-5 if large)")
    add(
        "--certify",
        action="store_true",
        help="exit with status 1 unless the value is certified from above",
    )
    add("--sweep", metavar="eta-server=0.01:1:30", help="best step size of a range")
    add(
        "--table",
        nargs="?",
        type=int,
        const=20,
        metavar="STEPS",
        help="bounds of Theorems 3.6 and 3.7 (--theorem, --case: of one, of 3.8 and "
        "3.9 too) over their certified worst cases, up to so many local steps "
        "(default 20)",
    )
    add(
        "--proof",
        type=Path,
        metavar="FILE",
        help="prove it by the kernel's rules and write the proof, which "
        "python -I -S sfl_theory/kernel/check.py FILE replays",
    )
    add("--json", type=Path, metavar="FILE", help="also write the result as JSON")
    add("--out", type=Path, metavar="FILE", help="draw the curve of --sweep (png, svg)")
    add("--quiet", action="store_true", help="no progress on standard error")
    return parser


def _work(options: argparse.Namespace) -> int:
    from sfl_train.files import check_files

    if options.out is not None:
        _refuse_picture(options.out)
    asked = None if options.table is not None else setting(options)
    _refuse_unused(options)
    if options.tolerance is not None and not 1e-10 <= options.tolerance <= 1e-2:
        raise CommandError("--tolerance: between 1e-10 and 0.01")
    try:
        written = ("json", "out", "proof")
        check_files({f"--{name}": getattr(options, name) for name in written}, {})
        if asked is None:
            from bounds.worst_case_table import table

            with _progress(options.quiet) as show:
                return table(options, _parser().parse_args([]), show)
        if options.proof:
            from sfl_theory.worst_case.proof import refuse
            from sfl_theory.worst_case.solve import chained, fewest

            refuse(asked)
        with _progress(options.quiet) as show:
            if options.sweep:
                from bounds.worst_case_sweep import sweep

                return sweep(options, asked, *swept(options.sweep), show)
            found = worst(options, asked, show)
            if options.proof:
                found = chained(fewest(found), show)
            claim = _proved(found, options.proof) if options.proof else None
    except MemoryError:
        raise CommandError("not enough memory: use fewer rounds or clients") from None
    except ValueError as error:
        raise CommandError(named(str(error))) from error
    record = as_dict(found)
    if claim is not None:
        record["status"] = "proved"
    if options.json:
        placed(options.json).write_text(json.dumps(record, indent=2) + "\n")
    print("\n".join(lines(found, record)))
    if claim is not None:
        print(f"{claim}\nproof: {options.proof}")
    return 1 if options.certify and found.certificate is None else 0


def _refuse_picture(path: Path) -> None:
    """Say at once, not after the sweep, that a picture cannot be drawn.

    Raises:
        CommandError: if its name ends in no format that is known.
    """
    canvas = import_module("matplotlib.backend_bases").FigureCanvasBase
    known = canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".").lower() not in known:
        raise CommandError(f"--out: a picture such as curve.svg is needed, got {path}")


def _refuse_unused(options: argparse.Namespace) -> None:
    """Refuse options that would say nothing.

    Raises:
        CommandError: names the option.
    """
    if options.out is not None and not options.sweep:
        raise CommandError("--out: draws the curve of a --sweep, which is not given")
    if not options.sweep:
        return
    varies, _ = swept(options.sweep)
    clash = [varies] + (["eta-client", "eta-server"] if varies == "eta" else [])
    for name in ("proof", "theorem", *clash):
        if getattr(options, name.replace("-", "_")) is not None:
            raise CommandError(f"--{name}: not with --sweep {varies}")


def worst(
    options: argparse.Namespace, asked: Setting, show: Callable[[str], None]
) -> WorstCase:
    """Solve, for the worst of all orders if that is asked.

    Args:
        options: of the command.
        asked: the setting.
        show: shows progress.

    Returns:
        The worst case.
    """
    from sfl_theory.worst_case.orders import worst_order
    from sfl_theory.worst_case.solve import worst_case

    if options.order == "worst" and asked.algorithm == "sfl-v2":
        return worst_order(asked, options.tolerance, show).worst
    return worst_case(asked, options.tolerance, progress=show)


def _proved(found: WorstCase, path: Path) -> Claim:
    """Write the kernel's proof of a certificate.

    Args:
        found: with a certificate.
        path: of the file.

    Returns:
        The claim that the file replays to.

    Raises:
        CommandError: if there is no certificate.
    """
    from sfl_theory.kernel.replay import replay
    from sfl_theory.worst_case.proof import prove

    if found.certificate is None:
        raise CommandError(f"--proof: no certificate: {'; '.join(found.failed)}")
    text = prove(found.certificate, sparse=True).document()
    (claim,) = replay(text)
    placed(path).write_text(text, encoding="utf-8")
    return claim


def placed(path: Path) -> Path:
    """Return a path of a file to come, whose folder there is now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def outward(value: Fraction, up: bool) -> float:
    """Return the nearest float that is no less than a value, or no more.

    Args:
        value: exact.
        up: whether it is to be no less.

    Returns:
        The float.
    """
    near = float(value)
    if Fraction(near) < value if up else Fraction(near) > value:
        near = math.nextafter(near, math.inf if up else -math.inf)
    return near


def shown(value: Fraction, up: bool, digits: int = 10) -> str:
    """Return a value in so many digits, rounded as ``outward`` does."""
    rule = Context(digits, ROUND_CEILING if up else ROUND_FLOOR)
    parts = Decimal(value.numerator), Decimal(value.denominator)
    return f"{rule.divide(*parts):g}"


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    if quiet:
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("writing the program") as status:
        yield lambda text: status.update(text)


def as_dict(found: WorstCase) -> dict[str, object]:
    """Return a worst case as JSON.

    Args:
        found: what was computed.

    Returns:
        A record; "upper" and "lower" are exact, rounded outwards to float64. "relaxed":
        they are of a program without inequalities between different pasts.
    """
    upper, lower = found.upper, found.lower
    return {
        "value": found.value,
        "upper": None if upper is None else outward(upper, up=True),
        "lower": None if lower is None else outward(lower, up=False),
        "gap": None if None in {upper, lower} else float(upper - lower),
        "status": "computed",
        "relaxed": found.relaxed,
        "instance": _instance(found),
        "residuals": {
            "solver": found.found.solution.residual,
            "left_out": found.found.broken,
            "status": found.found.solution.status,
            "failed": list(found.failed),
        },
        "size": {
            "grams": [
                len(found.program.basis[space]) for space in found.program.spaces
            ],
            "inequalities": len(found.found.constraints),
            "pairs": len(found.program.pairs),
            "scenarios": count(found.setting),
            "orders": found.orders,
        },
        "seconds": round(found.seconds, 3),
    }


def _instance(found: WorstCase) -> dict[str, object] | None:
    one = found.instance
    if one is None:
        return None
    return {
        "words": one.words,
        "clients": one.clients,
        "dimension": one.dimension,
        "value": str(one.value) if one.dimension < 2 else float(one.value),
    }


def described(asked: Setting) -> str:
    """Return a setting in a line.

    Args:
        asked: the setting.

    Returns:
        Words.
    """
    N = "all N" if asked.clients is None else f"N = {asked.clients}"
    tau = f"tau = {asked.tau}"
    if asked.late != asked.tau:
        tau += f", tau_server = {asked.late}"
    kind = {None: "non-convex", 0: "convex"}.get(asked.mu, f"mu = {asked.mu}")
    parts = [ALGORITHMS[asked.algorithm], N, tau, f"T = {asked.rounds}"]
    steps = (asked.client_steps, asked.server_steps)
    for side, rates in zip(("client", "server"), steps, strict=True):
        first = f"{float(rates[0]):.4g}"
        same = len(set(rates)) == 1
        parts.append(f"eta_{side} = {first}{'' if same else ' ...'}")
    if asked.algorithm == "sfl-v2":
        parts.append(f"{_visits(asked)}, {asked.server_moves} server steps")
    if asked.partial:
        q = dict.fromkeys(asked.participation)
        parts.append(f"participation {', '.join(map(str, q))}")
    known = [f"S = {asked.S}", kind]
    for name, bound in (
        ("zeta^2", asked.zeta2),
        ("eps^2", asked.eps2),
        ("G^2", asked.G2),
        ("sigma^2", asked.sigma2 or None),
    ):
        if bound is not None:
            known.append(f"{name} = {bound}")
    if asked.two_point:
        known.append("noise of two values")
    start = {
        "distance": f"|x(0) - x*|^2 <= {asked.initial}",
        "gap": f"f(x(0)) - f* <= {asked.initial}",
        "gradients": "start by bounded gradients",
    }[asked.start]
    return f"{', '.join(parts)}; {', '.join([*known, start])}"


def _visits(asked: Setting) -> str:
    orders = ";".join(",".join(str(n + 1) for n in one) for one in asked.turns)
    return f"{asked.order} {orders}" if orders else asked.order


def lines(found: WorstCase, record: dict[str, object]) -> list[str]:
    """Return what the command prints.

    Args:
        found: what was computed.
        record: its JSON.

    Returns:
        Lines.
    """
    asked = found.setting
    metric = METRICS[asked.metric, asked.reading]
    told = [described(asked), f"{metric}: {found.value:.8g} (computed in float64)"]
    if found.orders > 1:
        told[0] = f"worst of {found.orders} orders of visits: {told[0]}"
    if found.upper is not None:
        told.append(
            f"at most  {shown(found.upper, up=True)}: certificate of "
            f"{len(found.certificate.uses)} inequalities and "  # type: ignore[union-attr]
            f"{len(found.certificate.squares)} squares, decided in integers"  # type: ignore[union-attr]
        )
    if found.instance is not None:
        one = found.instance
        told.append(
            f"at least {shown(one.value, up=False)}: {one.words}, "
            f"{one.clients} client(s), "
            f"dimension {one.dimension}, admissible in exact arithmetic"
        )
    told += [f"not shown {failed}" for failed in found.failed]
    if found.found.solution.status != "solved":
        told.append(
            f"inaccurate: {found.found.solution.status}, at a relative residual of "
            f"{found.found.solution.residual:.1e}"
        )
    if asked.enumerated:
        told.append(f"all outcomes of chance: {count(asked)} scenarios")
    if found.relaxed:
        told.append(f"note: {PASTS}")
    told.append(f"note: {VISITED}")
    if asked.sigma2 and not asked.two_point:
        told.append(f"note: {NOISE}")
    if asked.G2 is not None and asked.mu:
        told.append(f"note: {BOUNDED}")
    grams = " and ".join(map(str, record["size"]["grams"]))  # type: ignore[index]
    told.append(
        f"Gram matrices of {grams} vectors, {len(found.found.constraints)} "
        f"inequalities, {found.seconds:.1f} s"
    )
    return told


if __name__ == "__main__":
    sys.exit(main())
