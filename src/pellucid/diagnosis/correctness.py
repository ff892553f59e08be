"""Whether a compiled function computes what eager does, by the distance of both to float64."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..torchdoor.census import census
from .calls import Call, cloned, mapped, tensors


@dataclass(frozen=True, slots=True)
class Correctness:
    """Errors are largest absolute differences over the largest absolute value of the result, the worst over all outputs
    and calls. float64 errors are None where the function cannot run in float64, and `note` says why."""

    ok: bool
    difference: float
    """Of the system and eager."""
    limit: float
    error: float | None
    """Of the system against float64."""
    eager_error: float | None
    reduction: int
    """The longest reduction that was run: the limit grows with its square root."""
    note: str = ""
    problem: str = ""
    """What differs, where ok is False."""


def seeded(call: Callable[[], Any], seed: int) -> Any:
    """The call with torch's generators at `seed`; they are put back afterwards."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        return call()


def double(call: Call) -> Call:
    """The call with its floating-point tensors in float64."""
    def one(x: Any) -> Any:
        return x.detach().double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
    return Call(mapped(one, call.args), mapped(one, dict(call.kwargs)), call.label, call.context)


def limit(reduction: int, dtypes: set[torch.dtype]) -> float:
    """The relative error that rounding alone explains: 8 eps sqrt(n) for a sum of n terms with independent roundings
    (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019), the coarsest dtype's eps."""
    eps = max((torch.finfo(d).eps for d in dtypes), default=0.0)
    return 8 * eps * math.sqrt(reduction)


def compare(fn: Any, plain: Any, calls: tuple[Call, ...], exact: bool = True, seed: int = 0) -> Correctness:
    """`fn` against `plain` (its eager original; both may be modules, which are then run on copies of their state) for
    all calls. exact: also against float64."""
    eager = copy.deepcopy(plain) if isinstance(plain, nn.Module) else plain
    precise, note = _double(plain) if exact else (None, "")
    before = _state(plain)
    worst = worst_ours = worst_eager = bound = 0.0
    longest, ok, problem, judged = 1, True, "", exact and precise is not None
    try:
        for i, call in enumerate(calls, 1):
            mine, its = cloned(call), cloned(call)
            ours = seeded(lambda c=mine: c.make(fn), seed)  # type: ignore[misc]
            want: list[Any] = []
            counted = seeded(lambda c=its, w=want: census(lambda: w.append(c.make(eager))), seed)  # type: ignore[misc]
            a, b = tensors((ours, mine.args, dict(mine.kwargs))), tensors((want[0], its.args, dict(its.kwargs)))
            if len(a) != len(b) or any(x.shape != y.shape or x.dtype != y.dtype for x, y in zip(a, b)):
                return Correctness(False, math.inf, 0.0, None, None, longest, note, f"call {i}: the outputs have other "
                                   f"shapes or dtypes: {[_kind(t) for t in a]}, eager {[_kind(t) for t in b]}")
            longest = max(longest, *(c.reduction for c in counted.counts.values()), 1)
            dtypes = {t.dtype for t in b if t.is_floating_point()} | _dtypes(plain)
            bound = max(bound, limit(longest, dtypes))
            c = None
            if judged and precise is not None:
                try:
                    third = double(cloned(call))
                    c = tensors((seeded(lambda t=third: t.make(precise), seed), third.args,  # type: ignore[misc]
                                 dict(third.kwargs)))
                except (RuntimeError, TypeError, ValueError) as e:
                    judged, note = False, f"not compared with float64: {type(e).__name__}: {str(e)[:120]}"
                if c is not None and [t.shape for t in c] != [t.shape for t in b]:
                    c, judged, note = None, False, "not compared with float64: it gives outputs of other shapes"
            for n, (x, y) in enumerate(zip(a, b)):
                if not x.is_floating_point() and not x.is_complex():
                    if not torch.equal(x, y):
                        ok, problem = False, problem or f"call {i}, output {n}: {str(x.dtype)} values differ"
                    continue
                difference = _error(x, y)
                worst = max(worst, difference)
                if c is not None:
                    mine_, eager_ = _error(x, c[n]), _error(y, c[n])
                    worst_ours, worst_eager = max(worst_ours, mine_), max(worst_eager, eager_)
                    good = mine_ <= max(2 * eager_, bound)
                else:
                    good = difference <= 2 * bound
                if not good:
                    ok, problem = False, problem or f"call {i}, output {n}: error {difference:.2e}, over what " \
                        f"rounding explains ({bound:.1e} for sums of {longest} terms)"
    finally:
        _restore(plain, before)
    return Correctness(ok, worst, bound, worst_ours if judged else None, worst_eager if judged else None, longest, note,
                       problem)


def _double(plain: Any) -> tuple[Any, str]:
    if isinstance(plain, nn.Module):
        try:
            return copy.deepcopy(plain).double(), ""
        except (RuntimeError, TypeError) as e:
            return None, f"not compared with float64: the module cannot be copied ({type(e).__name__}: {e})"
    return plain, ""


def _dtypes(plain: Any) -> set[torch.dtype]:
    return {p.dtype for p in plain.parameters() if p.is_floating_point()} if isinstance(plain, nn.Module) else set()


def _state(plain: Any) -> Any:
    """Buffers and plain numbers of a module, to be put back: the comparison must not leave a trace."""
    if not isinstance(plain, nn.Module):
        return None
    numbers = [(m, {k: v for k, v in vars(m).items() if type(v) in (int, float, bool, str)}) for m in plain.modules()]
    return [(b, b.detach().clone()) for b in plain.buffers()], numbers


def _restore(plain: Any, state: Any) -> None:
    if state is None:
        return
    buffers, numbers = state
    with torch.no_grad():
        for b, old in buffers:
            b.copy_(old)
    for m, old in numbers:
        for k, v in old.items():
            if vars(m).get(k) != v:
                setattr(m, k, v)


def _kind(t: torch.Tensor) -> str:
    return f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}"


def _error(x: torch.Tensor, y: torch.Tensor) -> float:
    """Largest absolute difference over the largest finite magnitude of y; inf where inf or nan differ."""
    if x.numel() == 0:
        return 0.0
    x, y = (t.detach().to(torch.complex128 if t.is_complex() else torch.float64) for t in (x, y))
    same = (x == y) | (x.isnan() & y.isnan())
    if bool(same.all()):
        return 0.0
    x, y = x[~same], y
    other = y[~same]
    if not bool(torch.isfinite(x).all() and torch.isfinite(other).all()):
        return math.inf
    finite = y[torch.isfinite(y)]
    scale = float(finite.abs().max()) if finite.numel() else 1.0
    return float((x - other).abs().max()) / (scale or 1.0)
