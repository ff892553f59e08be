"""Where torch keeps a tensor's fields in memory, found by looking for known values and verified on other tensors."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from .symbols import Unavailable, find

_WORDS = 40
"""How many 8-byte words of a TensorImpl are looked at; it is some 200 bytes long."""
INLINE_DIMS = 5
"""Sizes and strides of tensors up to this many dimensions lie in the TensorImpl itself."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Byte offsets. `handle`: in the Python object, of the pointer to the TensorImpl; `storage_data`: in the storage;
    `meta_requires_grad`: in the autograd metadata; all others in the TensorImpl.

    ndim is an int64; up to INLINE_DIMS sizes follow it and INLINE_DIMS words later the strides; beyond that the word
    after ndim points to the sizes, with the strides right behind them.
    """

    handle: int
    storage: int
    storage_data: int
    autograd_meta: int
    meta_requires_grad: int
    ndim: int
    storage_offset: int
    numel: int
    dtype: int
    keyset: int

    @property
    def sizes(self) -> int:
        return self.ndim + 8

    @property
    def strides(self) -> int:
        return self.ndim + 8 + 8 * INLINE_DIMS


def word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def half(address: int) -> int:
    return ctypes.c_uint16.from_address(address).value


def byte(address: int) -> int:
    return ctypes.c_uint8.from_address(address).value


def _only(what: str, candidates: Sequence[int]) -> int:
    if len(candidates) != 1:
        raise Unavailable(f"torch {torch.__version__}: the place of a tensor's {what} was looked for and "
                          f"{len(candidates)} were found, not 1")
    return candidates[0]


def _where(what: str, tests: Sequence[tuple[int, int]], count: int = _WORDS, step: int = 8,
           read: Callable[[int], int] = word, first: bool = False) -> int:
    """The one offset at which, for every (base, value) of tests, base holds value."""
    hits = [k for k in range(0, count * 8, step) if all(read(base + k) == value for base, value in tests)]
    return hits[0] if first and hits else _only(what, hits)


@functools.cache
def layout() -> Layout:
    """The offsets in this build of torch. Raises Unavailable where one cannot be found or does not verify."""
    a = torch.empty_strided((3, 4, 7), (170, 41, 3))
    b = torch.empty(5000, dtype=torch.int64)[11:11 + 9 * 13 * 17].view(9, 13, 17)
    c = torch.zeros(2, 3, dtype=torch.float64)
    plain = (a, b, c)
    handle = _where("handle", [(id(t), t._cdata) for t in plain], 8)
    impl = [t._cdata for t in plain]
    storages = [t.untyped_storage() for t in plain]
    storage = _where("storage", [(i, s._cdata) for i, s in zip(impl, storages)])
    data = _where("storage's data", [(s._cdata, s.data_ptr()) for s in storages], 6, first=True)
    ndims = [k for k in range(0, (_WORDS - 12) * 8, 8) if all(word(i + k) == t.dim() for i, t in zip(impl, plain))
             and all(word(i + k + 8 + 8 * d) == t.size(d) and word(i + k + 48 + 8 * d) == t.stride(d)
                     for i, t in zip(impl, plain) for d in range(t.dim()) if t.dim() == 3)]
    ndim = _only("number of dimensions", [k for k in ndims if word(impl[2] + k) == 2])
    offset = _where("storage offset", [(impl[0], 0), (impl[1], 11)])
    numel = _where("number of elements", [(i, t.numel()) for i, t in zip(impl, plain)])
    dtype = _where("dtype", [(i, dtype_code(t.dtype)) for i, t in zip(impl, plain)], step=2, read=half)
    keyset = _where("dispatch keys", [(i, _keys(t)) for i, t in zip(impl, plain)])
    g = torch.zeros(3)
    before = [word(g._cdata + 8 * k) for k in range(_WORDS)]
    g.requires_grad_(True)
    meta = _only("autograd metadata", [8 * k for k in range(2, 8) if before[k] == 0 and word(g._cdata + 8 * k)])
    found = Layout(handle, storage, data, meta, _requires_grad_byte(word(g._cdata + meta), g), ndim, offset, numel,
                   dtype,
                   keyset)
    verify(found)
    return found


def _requires_grad_byte(meta: int, t: torch.Tensor) -> int:
    on = bytes((ctypes.c_char * 256).from_address(meta))
    t.requires_grad_(False)
    off = bytes((ctypes.c_char * 256).from_address(meta))
    t.requires_grad_(True)
    return _only("requires_grad", [k for k in range(256) if (on[k], off[k]) == (1, 0)])


def _keys(t: torch.Tensor) -> int:
    return int(torch._C._dispatch_keys(t).raw_repr()) & (1 << 64) - 1


def dispatch_keys(t: torch.Tensor) -> int:
    """The raw dispatch key set of a tensor."""
    return _keys(t)


@functools.cache
def dtype_code(dtype: torch.dtype) -> int:
    """torch's number of a dtype (c10::ScalarType), from the stable C shim."""
    name = str(dtype).removeprefix("torch.")
    at = find(f"aoti_torch_dtype_{name}")
    if at is None:
        raise Unavailable(f"torch's C shim does not know the dtype {dtype}")
    return int(ctypes.CFUNCTYPE(ctypes.c_int32)(at)())


def read(o: Layout, t: torch.Tensor) -> tuple[object, ...]:
    """(type's handle word, data pointer, dtype code, sizes, strides, keys) as native code will read them."""
    impl = word(id(t) + o.handle)
    n = word(impl + o.ndim)
    sizes, strides = (impl + o.sizes, impl + o.strides) if n <= INLINE_DIMS else (
        word(impl + o.sizes), word(impl + o.sizes) + 8 * n)
    start = word(word(impl + o.storage) + o.storage_data)
    return (impl, start + word(impl + o.storage_offset) * t.element_size(), half(impl + o.dtype),
            tuple(word(sizes + 8 * d) for d in range(n)), tuple(word(strides + 8 * d) for d in range(n)),
            word(impl + o.keyset))


def verify(o: Layout) -> None:
    """Compare what the offsets give with what torch says, on tensors of many kinds. Raises Unavailable."""
    class Sub(torch.Tensor):
        pass

    grad = torch.ones(3, requires_grad=True)
    kinds = [torch.ones(8), torch.nn.Parameter(torch.ones(2, 4)), grad, grad * 2, torch.arange(24.).view(4, 6)[1:, ::2],
             torch.zeros(2, 3).t(), torch.zeros(1, 2, 3, 1, 2, 2, 1), torch.zeros(()), torch.ones(6).as_subclass(Sub),
             torch.zeros(3, dtype=torch.bool), torch.zeros(3, dtype=torch.bfloat16), torch.zeros(4).detach()]
    for t in itertools.chain(kinds):
        expected = (t._cdata, t.data_ptr(), dtype_code(t.dtype), tuple(t.shape), t.stride(), _keys(t))
        if read(o, t) != expected:
            raise Unavailable(f"torch {torch.__version__}: a {type(t).__name__} of shape {tuple(t.shape)} reads "
                              f"as {read(o, t)}, torch says {expected}")
        meta = word(t._cdata + o.autograd_meta)
        if t.is_leaf and bool(meta and byte(meta + o.meta_requires_grad)) != t.requires_grad:
            raise Unavailable(f"torch {torch.__version__}: requires_grad does not read as torch says")
