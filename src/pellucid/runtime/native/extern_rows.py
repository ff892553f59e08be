"""Rows of the native extern table that call one function of torch's C shim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.types import Extern, View
from ...shapes.dim import Size, hint, product
from .externs import ShimCall, row

if TYPE_CHECKING:
    from .table import TableBuilder


def _numel(v: View) -> float:
    return float(hint(product(v.shape)))


@row("convolution")
def convolution(t: "TableBuilder", extern: Extern, params: dict[str, Any]) -> list[int] | None:
    """y = convolution(x, w[, bias]); params: stride padding dilation transposed output_padding groups."""
    x, w, y = extern.ins[0], extern.ins[1], extern.outs[0]
    t.count(2 * _numel(y) * _numel(w) / max(hint(w.shape[0]), 1), (_numel(x) + _numel(y)) * 4, 5000)
    call = ShimCall(t, "aoti_torch_cpu_convolution").tensor(x).tensor(w)
    call.optional_tensor(extern.ins[2] if len(extern.ins) == 3 else None)
    for name in ("stride", "padding", "dilation"):
        call.sizes(params[name])
    call.integer(int(params["transposed"])).sizes(params["output_padding"]).integer(params["groups"])
    return call.returns_to(y).words()


@row("sdpa")
def sdpa(t: "TableBuilder", extern: Extern, params: dict[str, Any]) -> list[list[int]] | None:
    """Flash attention over (B, H, S, E). Where key and value have fewer heads, one call for each of their heads."""
    q, k, v, out = *extern.ins[:3], extern.outs[0]
    mask = extern.ins[3] if len(extern.ins) == 4 else None
    heads, groups = q.shape[1], k.shape[1]
    t.count(4 * _numel(q) * hint(k.shape[2]), 4 * (_numel(q) + _numel(k) + _numel(v)), 5000)
    if heads == groups:
        parts = [(q, k, v, mask, out)]
    else:
        if not isinstance(heads, int) or not isinstance(groups, int) or heads % groups:
            return None
        each = heads // groups
        parts = [(_heads(q, g * each, each), _one_head(k, g, each), _one_head(v, g, each),
                  None if mask is None else _heads(mask, g * each, each), _heads(out, g * each, each))
                 for g in range(groups)]
    made = []
    for a, b, c, m, o in parts:
        call = ShimCall(t, "aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu").tensor(a).tensor(b).tensor(c)
        call.double(0.0).integer(int(params["is_causal"])).optional_tensor(m).optional_double(params["scale"])
        words = call.returns_to(o).returns_to(None).words()
        if words is None:
            return None
        made.append(words)
    return made


def _heads(v: View, first: int, count: int) -> View:
    """Heads first .. first + count - 1 of a (B, H, ..) view; of a mask that is one for all heads, that one."""
    if v.shape[1] == 1:
        return v
    return View(v.buffer, v.dtype, (v.shape[0], count, *v.shape[2:]), v.strides, v.offset + first * v.strides[1])


def _one_head(v: View, g: int, times: int) -> View:
    """Head g of a (B, H, ..) view, repeated."""
    strides: tuple[Size, ...] = (v.strides[0], 0, *v.strides[2:])
    return View(v.buffer, v.dtype, (v.shape[0], times, *v.shape[2:]), strides, v.offset + g * v.strides[1])


@row("sort")
def sort(t: "TableBuilder", extern: Extern, params: dict[str, Any]) -> list[int] | None:
    """(values, indices); params: dim descending stable."""
    t.count(ns=5000 + 20 * _numel(extern.ins[0]))
    call = ShimCall(t, "aoti_torch_cpu_sort_stable").tensor(extern.ins[0])
    call.optional_integer(int(bool(params["stable"]))).integer(params["dim"]).integer(int(params["descending"]))
    return call.returns_to(extern.outs[0]).returns_to(extern.outs[1]).words()


@row("topk")
def topk(t: "TableBuilder", extern: Extern, params: dict[str, Any]) -> list[int] | None:
    """(values, indices); params: k dim largest sorted."""
    t.count(ns=5000 + 5 * _numel(extern.ins[0]))
    call = ShimCall(t, "aoti_torch_cpu_topk").tensor(extern.ins[0]).integer(params["k"]).integer(params["dim"])
    call.integer(int(params["largest"])).integer(int(params["sorted"]))
    return call.returns_to(extern.outs[0]).returns_to(extern.outs[1]).words()
