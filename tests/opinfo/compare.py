"""Whether two outcomes of one program are the same: values, layout, aliasing, written inputs, errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Outcome:
    """What a call gave: its value or its exception, and its arguments afterwards."""

    value: Any
    error: BaseException | None
    args: Any


def difference(want: Outcome, got: Outcome, exact: Outcome | None, *, elementwise: bool, unset: bool) -> str | None:
    """The first difference in words; None where there is none. `exact`: the same call on float64 operands."""
    if want.error is not None or got.error is not None:
        return error_difference(want.error, got.error)
    pairs: list[tuple[str, Any, Any, Any]] = []
    wrong = _zip("result", want.value, got.value, None if exact is None or exact.error else exact.value, pairs)
    wrong = wrong or _zip("argument", want.args, got.args, None if exact is None or exact.error else exact.args, pairs)
    if wrong:
        return wrong
    names = [p for p in pairs if isinstance(p[1], torch.Tensor)]
    wrong = _sharing(names)
    if wrong:
        return wrong
    for where, a, b, ref in pairs:
        wrong = tensor_difference(a, b, ref, elementwise, unset) if isinstance(a, torch.Tensor) else plain(a, b)
        if wrong:
            return f"{where}: {wrong}"
    return None


def error_difference(want: BaseException | None, got: BaseException | None) -> str | None:
    def say(e: BaseException | None) -> str:
        return "a value" if e is None else f"{type(e).__name__}: {e}"
    same = want is not None and got is not None and type(want) is type(got) and str(want) == str(got)
    return None if same else f"eager gives {say(want)[:300]}, compiled gives {say(got)[:600]}"


def _zip(where: str, a: Any, b: Any, ref: Any, out: list[tuple[str, Any, Any, Any]]) -> str | None:
    if type(a) is not type(b):
        return f"{where}: type {type(b).__name__} instead of {type(a).__name__}"
    if isinstance(a, (tuple, list)):
        if len(a) != len(b):
            return f"{where}: {len(b)} items instead of {len(a)}"
        refs = ref if isinstance(ref, (tuple, list)) and len(ref) == len(a) else [None] * len(a)
        return next((w for i in range(len(a)) if (w := _zip(f"{where}[{i}]", a[i], b[i], refs[i], out))), None)
    if isinstance(a, dict):
        if list(a) != list(b):
            return f"{where}: keys {list(b)} instead of {list(a)}"
        refs = ref if isinstance(ref, dict) else {}
        return next((w for k in a if (w := _zip(f"{where}[{k!r}]", a[k], b[k], refs.get(k), out))), None)
    out.append((where, a, b, ref))
    return None


def plain(a: Any, b: Any) -> str | None:
    same = a == b or (isinstance(a, (float, complex)) and repr(a) == repr(b))
    if not same and isinstance(a, float):
        same = math.isclose(a, b, rel_tol=1e-5)
    known = isinstance(a, (bool, int, float, complex, str, torch.dtype))
    return None if same or not known else f"{b!r} instead of {a!r}"


def _storage(t: torch.Tensor) -> int:
    try:
        return t.untyped_storage()._cdata if t.layout is torch.strided else id(t)
    except (NotImplementedError, RuntimeError):
        return id(t)


def _sharing(pairs: list[tuple[str, Any, Any, Any]]) -> str | None:
    """Same objects where eager has the same objects, same storage where eager shares it."""
    for what, key in (("is the same object as", id), ("shares its storage with", _storage)):
        first: dict[int, int] = {}
        back: dict[int, int] = {}
        for i, (where, a, b, _) in enumerate(pairs):
            if a.numel() == 0 and key is _storage and a.layout is torch.strided:
                continue
            j, k = first.setdefault(key(a), i), back.setdefault(key(b), i)
            if j != k:
                return (f"{where} {what} {pairs[k][0]} only in compiled code" if k < i else
                        f"{where} {what} {pairs[j][0]} only in eager")
    return None


def tensor_difference(a: torch.Tensor, b: torch.Tensor, ref: Any, elementwise: bool, unset: bool) -> str | None:
    for what, get in (("dtype", lambda t: t.dtype), ("layout", lambda t: t.layout), ("shape", lambda t: tuple(t.shape)),
                      ("requires_grad", lambda t: t.requires_grad), ("conj", lambda t: t.is_conj()),
                      ("neg", lambda t: t.is_neg())):
        if get(a) != get(b):
            return f"{what} {get(b)} instead of {get(a)}"
    if a.layout is not torch.strided:
        return None if torch.equal(a.to_dense(), b.to_dense()) else "values differ"
    if a.stride() != b.stride():
        return f"strides {b.stride()} instead of {a.stride()} (shape {tuple(a.shape)})"
    if a.storage_offset() != b.storage_offset():
        return f"storage offset {b.storage_offset()} instead of {a.storage_offset()}"
    return None if unset or a.is_quantized else values(a.detach(), b.detach(), ref, elementwise)


def values(a: torch.Tensor, b: torch.Tensor, ref: Any, elementwise: bool) -> str | None:
    if a.dtype.is_complex:
        parts = ref if isinstance(ref, torch.Tensor) and ref.is_complex() and ref.shape == a.shape else None
        return values(torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj()),
                      None if parts is None else torch.view_as_real(parts.resolve_conj()), False)
    if not a.dtype.is_floating_point:
        return None if torch.equal(a, b) else f"values {shown(b, a != b)} instead of {shown(a, a != b)}"
    x, y = a.double(), b.double()
    same = (x == y) & ((x != 0) | (torch.signbit(x) == torch.signbit(y))) | (x.isnan() & y.isnan())
    if bool(same.all()):
        return None
    eps = torch.finfo(a.dtype).eps
    tiny = torch.finfo(a.dtype).tiny
    usable = isinstance(ref, torch.Tensor) and ref.shape == a.shape and not ref.is_complex()
    exact = ref.double() if usable else x
    finite = x.isfinite() & y.isfinite() & exact.isfinite()
    scale = exact.abs()
    err = torch.where(finite, (x - exact).abs(), 0.0)
    if not elementwise and bool(finite.any()):
        scale = torch.maximum(scale, scale[finite].max())
        err = err.max().expand_as(err)
    limit = 2 * err + (4 if usable else 8) * eps * scale + tiny
    ok = same | (finite & ((y - exact).abs() <= limit) & ((x != 0) | (y != 0)))
    zeros = (x == 0) & (y == 0) & ~same
    bad = ~ok
    if not bool(bad.any()):
        return None
    kind = "signs of zero" if bool((zeros | ~bad).all()) else "values"
    return f"{kind} {shown(b, bad)} instead of {shown(a, bad)}" + (f" (exact {shown(exact, bad)})" if usable else "")


def shown(t: torch.Tensor, where: torch.Tensor) -> str:
    return str(t[where][:3].tolist())
