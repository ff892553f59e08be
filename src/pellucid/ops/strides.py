"""Strides exactly as eager torch gives them: contiguous, elementwise outputs, preserved layouts, reshapes as views.

Questions about symbolic sizes go through `env` and are asked only where plain integers and structural equality do
not answer. Sources: ATen's TensorIterator (fast setup, then a stable sort of dimensions by stride), TensorImpl's
layout predicates, and `computeStride` for views.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..shapes.dim import Size, size_max
from ..shapes.env import ShapeEnv

Shape = tuple[Size, ...]
Operand = tuple[Shape, Shape]
"""(shape, strides)"""

_KNOWN: dict[Shape, tuple[Shape, Shape]] = {}
"""Contiguous strides of shapes seen: (the shape itself, its strides)."""


def contiguous(shape: Shape) -> Shape:
    """Row-major strides; a size 0 counts as 1, as eager has it."""
    known = _KNOWN.get(shape)
    # Equal symbols of different captures differ in range and example: symbolic sizes must be the very same objects.
    if known is not None and (known[0] is shape or all([a is b or type(a) is int for a, b in zip(known[0], shape)])):
        return known[1]
    out: list[Size] = []
    step: Size = 1
    for s in reversed(shape):
        out.append(step)
        if type(s) is int:
            if s > 1:
                step = step * s
        else:
            step = step * size_max(s, 1)
    out.reverse()
    strides = tuple(out)
    if len(_KNOWN) > 4096:
        _KNOWN.clear()
    _KNOWN[shape] = (shape, strides)
    return strides


def _is(env: ShapeEnv, size: Size, value: int) -> bool:
    return size == value if type(size) is int else env.decide("==", size, value)


def has_zero(env: ShapeEnv, shape: Shape) -> bool:
    for s in shape:
        if type(s) is int:
            if s == 0:
                return True
        elif env.decide("==", s, 0):
            return True
    return False


def is_contiguous(env: ShapeEnv, shape: Shape, strides: Shape) -> bool:
    """Tensor.is_contiguous(): strides of size-1 dimensions do not count, an empty tensor is contiguous."""
    if strides == contiguous(shape):
        return True
    return _ordered(env, shape, strides, range(len(shape) - 1, -1, -1)) or has_zero(env, shape)


def _ordered(env: ShapeEnv, shape: Shape, strides: Shape, order: Sequence[int]) -> bool:
    """Whether memory is dense with dimensions from fastest to slowest in `order`."""
    expected: Size = 1
    for d in order:
        if not _is(env, shape[d], 1):
            if not env.same(strides[d], expected):
                return False
            expected = expected * shape[d]
    return True


CHANNELS_LAST = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}
"""Dimensions from fastest to slowest in channels_last (4-d) and channels_last_3d (5-d)."""


def is_channels_last(env: ShapeEnv, shape: Shape, strides: Shape) -> bool:
    """Tensor.is_contiguous(memory_format=channels_last, or channels_last_3d)."""
    order = CHANNELS_LAST.get(len(shape))
    return order is not None and _ordered(env, shape, strides, order)


def channels_last(shape: Shape) -> Shape:
    """Strides of a new channels_last tensor of 4 or 5 dimensions."""
    return strides_in_order(shape, CHANNELS_LAST[len(shape)])


def strides_in_order(shape: Shape, order: Sequence[int], clamp: bool = False) -> Shape:
    """Dense strides with dimensions from fastest to slowest in `order`."""
    out: list[Size] = [0] * len(shape)
    step: Size = 1
    for d in order:
        out[d] = step
        step = step * (size_max(shape[d], 1) if clamp else shape[d])
    return tuple(out)


def like_channels_last(env: ShapeEnv, shape: Shape, strides: Shape) -> bool:
    """Whether Tensor::suggest_memory_format() is channels_last: strides in that order, ambiguous cases counted out."""
    order = CHANNELS_LAST.get(len(shape))
    if order is None or _is(env, strides[1], 0):
        return False
    low: Size = 0
    for d in order:
        if _is(env, shape[d], 0) or env.decide("<", strides[d], low):
            return False
        if d == 0 and env.same(low, strides[1]):
            return False
        low = strides[d]
        if env.decide(">", shape[d], 1):
            low = low * shape[d]
    return True


def suggested(env: ShapeEnv, shape: Shape, strides: Shape, out_shape: Shape | None = None) -> Shape:
    """Strides of a new tensor in the memory format that an operand suggests (contiguous or channels_last)."""
    out_shape = shape if out_shape is None else out_shape
    if len(shape) in CHANNELS_LAST and strides != contiguous(shape) and like_channels_last(env, shape, strides):
        return channels_last(out_shape)
    return contiguous(out_shape)


def is_dense(env: ShapeEnv, shape: Shape, strides: Shape) -> bool:
    """Tensor.is_non_overlapping_and_dense."""
    if strides == contiguous(shape) or has_zero(env, shape):
        return True
    dims = [d for d in range(len(shape)) if env.decide(">=", shape[d], 2)]
    expected: Size = 1
    while dims:
        d = next((d for d in dims if strides[d] == expected), None)
        if d is None:
            d = next((d for d in dims if env.same(strides[d], expected)), None)
        if d is None:
            return False
        dims.remove(d)
        expected = expected * shape[d]
    return True


def _sorted(env: ShapeEnv, shape: Shape, operands: Sequence[Shape]) -> list[int]:
    """TensorIterator's order of dimensions, fastest first: insertion sort by operands' strides, ties left as they are.

    `operands` are strides over `shape`, 0 where an operand broadcasts.
    """
    def compare(d0: int, d1: int) -> int:
        for strides in operands:
            a, b = strides[d0], strides[d1]
            if _is(env, a, 0) or _is(env, b, 0):
                continue
            if a == b:
                if env.decide(">", shape[d0], shape[d1]):
                    return 1
            elif env.decide("<", a, b):
                return -1
            elif env.decide(">", a, b):
                return 1
            elif env.decide(">", shape[d0], shape[d1]):
                return 1
        return 0

    perm = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(perm)):
        at = i
        for j in range(i - 1, -1, -1):
            c = compare(perm[j], perm[at])
            if c > 0:
                perm[j], perm[at] = perm[at], perm[j]
                at = j
            elif c < 0:
                break
    return perm


def _over(env: ShapeEnv, out: Shape, shape: Shape, strides: Shape) -> Shape:
    """An operand's strides over the output's shape: 0 where it broadcasts."""
    lead = len(out) - len(shape)
    return (0,) * lead + tuple([0 if _is(env, s, 1) and not _is(env, o, 1) else t
                                for s, t, o in zip(shape, strides, out[lead:])])


def elementwise(env: ShapeEnv, out: Shape, operands: Sequence[Operand], scalar: bool = False) -> Shape:
    """Strides of a new elementwise output. `scalar`: a Python number takes part as one more (0-d) operand."""
    for shape, strides in operands:
        if strides != contiguous(shape):
            break
    else:
        if not has_zero(env, out):
            return contiguous(out)
    if not (scalar and out) and all([_same(env, shape, out) for shape, _ in operands]):
        fast = _fast(env, out, operands)
        if fast is not None:
            return fast
    perm = _sorted(env, out, [_over(env, out, shape, strides) for shape, strides in operands])
    if perm == list(range(len(out) - 1, -1, -1)):
        return contiguous(out)
    return strides_in_order(out, perm)


def _same(env: ShapeEnv, a: Shape, b: Shape) -> bool:
    return a == b or (len(a) == len(b) and all([env.same(x, y) for x, y in zip(a, b)]))


def _fast(env: ShapeEnv, out: Shape, operands: Sequence[Operand]) -> Shape | None:
    if all([is_contiguous(env, s, t) for s, t in operands]):
        return contiguous(out)
    if len(out) == 4 and all([is_channels_last(env, s, t) for s, t in operands]):
        return channels_last(out)
    first = operands[0][1]
    if all([t == first for _, t in operands]) and is_dense(env, out, first):
        return first
    return None


def preserved(env: ShapeEnv, shape: Shape, strides: Shape) -> Shape:
    """Strides of clone() and empty_like() with memory_format=preserve."""
    if strides == contiguous(shape) or is_dense(env, shape, strides):
        return strides
    return strides_in_order(shape, _sorted(env, shape, (strides,)))


def view(env: ShapeEnv, shape: Shape, strides: Shape, new: Shape) -> Shape | None:
    """Strides of the view of shape `new`, or None where only a copy can have it. Element counts must be equal."""
    if not shape:
        return (1,) * len(new)
    if has_zero(env, shape):
        return strides if shape == new else contiguous(new)
    if strides == contiguous(shape):
        return contiguous(new)
    out: list[Size] = [0] * len(new)
    v = len(new) - 1
    base: Size = strides[-1]
    have: Size = 1
    seen: Size = 1
    for d in range(len(shape) - 1, -1, -1):
        have = have * shape[d]
        if d and (_is(env, shape[d - 1], 1) or env.same(strides[d - 1], have * base)):
            continue
        while v >= 0 and (_is(env, new[v], 1) or (seen != have and env.decide("<", seen, have))):
            out[v] = seen * base
            seen = seen * new[v]
            v -= 1
        if not env.same(seen, have):
            return None
        if d:
            base, have, seen = strides[d - 1], 1, 1
    return tuple(out) if v == -1 else None
