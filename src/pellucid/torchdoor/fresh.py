"""What a newly made CPU tensor looks like in memory, so that native code can make one like it by copying.

A fresh tensor is three small objects: the TensorImpl, its storage, its version counter. Two fresh tensors of the same
shape, strides and dtype differ only in where these and the data are. Where that does not verify in this build of torch,
nothing is copied.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .layout import INLINE_DIMS, byte, dtype_code, layout, word
from .symbols import Unavailable, find

EMPTY_STRIDED = "_ZN2at6detail17empty_strided_cpuEN3c108ArrayRefIlEES3_NS1_10ScalarTypeEb"
"""at::detail::empty_strided_cpu(IntArrayRef, IntArrayRef, ScalarType, bool)"""
WRAP = "_Z16THPVariable_WrapON2at10TensorBaseE"
"""THPVariable_Wrap(at::TensorBase&&)"""
MOST_BYTES = 1 << 16
"""Of a tensor's data: beyond it the time that a copy saves does not count."""
ALIGNMENT = 64
"""Bytes; what torch's own CPU allocator gives."""


@dataclass(frozen=True, slots=True)
class FreshLayout:
    """Byte offsets: `version` in the TensorImpl, of the pointer to its version counter; `context` and `deleter` in the
    storage, of what frees the data and of what it is called with."""

    version: int
    context: int
    deleter: int


@dataclass(frozen=True, slots=True)
class Image:
    """The three objects' bytes. Pointers from one to another and to the data are to be replaced in a copy. nbytes: of
    the data."""

    impl: bytes
    storage: bytes
    version: bytes
    nbytes: int


class _Raw:
    """A tensor made by torch's own function that no Python object knows yet; freed with this object."""

    def __init__(self, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype):
        make = find(EMPTY_STRIDED)
        if make is None or find(WRAP) is None:
            raise Unavailable(f"this build of torch {torch.__version__} does not export empty_strided_cpu")
        n = len(shape)
        sizes, steps = (ctypes.c_int64 * max(n, 1))(*shape), (ctypes.c_int64 * max(n, 1))(*strides)
        self.slot = ctypes.c_void_p()
        signature = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
                                      ctypes.c_int64, ctypes.c_int16, ctypes.c_bool)
        signature(make)(ctypes.addressof(self.slot), ctypes.addressof(sizes), n, ctypes.addressof(steps), n,
                        dtype_code(dtype), False)

    @property
    def impl(self) -> int:
        assert self.slot.value is not None
        return self.slot.value

    @property
    def storage(self) -> int:
        return word(self.impl + layout().storage)

    def __del__(self) -> None:
        if self.slot.value is not None:
            wrap(self.impl)


def wrap(impl: int) -> torch.Tensor:
    """The Python tensor that takes over the one reference to the TensorImpl at `impl`."""
    slot = ctypes.c_void_p(impl)
    address = find(WRAP)
    assert address is not None
    made: torch.Tensor = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(address)(ctypes.addressof(slot))
    return made


@functools.cache
def _usable() -> ctypes._NamedFuncPointer:
    size = ctypes.CDLL(None).malloc_usable_size
    size.argtypes, size.restype = [ctypes.c_void_p], ctypes.c_size_t
    return size


def _object(address: int) -> bytes:
    """The bytes of the object that was allocated at `address`."""
    return ctypes.string_at(address, _usable()(address))


def _differing(objects: Sequence[bytes]) -> list[int]:
    """Offsets of the words that are another one in each object (padding is sometimes equal, sometimes not)."""
    return [k for k in range(0, len(objects[0]) - 7, 8) if len({x[k:k + 8] for x in objects}) == len(objects)]


@functools.cache
def fresh_layout() -> FreshLayout:
    """The offsets in this build of torch. Raises Unavailable where they are not found or a copy does not behave."""
    o = layout()
    with torch.inference_mode(False), torch.enable_grad():
        some = [_Raw((8,), (1,), torch.float32) for _ in range(6)]
        one = some[0]
        versions = [k for k in _differing([_object(x.impl) for x in some]) if k != o.storage]
        counters = [k for k in versions if _counts(one.impl, k)]
        places = _differing([_object(x.storage) for x in some])
        data = word(one.storage + o.storage_data)
        contexts = [k for k in places if k != o.storage_data and word(one.storage + k) == data]
        between = [k for k in range(o.storage_data + 8, max(contexts, default=0), 8)]
        if not len(counters) == len(contexts) == len(between) == 1:
            raise Unavailable(f"torch {torch.__version__}: new tensors are not laid out as was expected")
        found = FreshLayout(counters[0], contexts[0], between[0])
        _verify(found)
    return found


def _counts(impl: int, offset: int) -> bool:
    """Whether the word points to a small object with a 32-bit count of 0 behind its references."""
    address = word(impl + offset)
    if not 4096 < address < 1 << 47 or address % 8:         # padding, not the address of an object
        return False
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        try:
            head = os.pread(memory.fileno(), 8, address - 8)
        except OSError:
            return False
    size = int.from_bytes(head, "little") & ~15
    return 16 < size <= 64 and ctypes.c_uint32.from_address(address + 16).value == 0


def image(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Image:
    """How a new tensor of these sizes and strides (in elements), dtype and the current inference mode looks.

    Raises Unavailable for what is not held in these three objects alone, as more than INLINE_DIMS dimensions, and for
    more than MOST_BYTES of data.
    """
    o, f = layout(), fresh_layout()
    if len(shape) > INLINE_DIMS:
        raise Unavailable(f"sizes of {len(shape)} dimensions lie apart from the tensor")
    spanned = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    if spanned * dtype.itemsize > MOST_BYTES:
        raise Unavailable(f"an image is of at most {MOST_BYTES} bytes")
    raw = _Raw(shape, strides, dtype)
    if word(raw.impl + o.autograd_meta):
        raise Unavailable("a new tensor has autograd metadata")
    counter = word(raw.impl + f.version)
    return Image(_object(raw.impl), _object(raw.storage), _object(counter) if counter else b"",
                 spanned * dtype.itemsize)


def _verify(f: FreshLayout) -> None:
    """Make two tensors by copying and use them as anyone may. Raises Unavailable where one misbehaves."""
    o = layout()
    raw = _Raw((3, 4), (4, 1), torch.float32)
    parts = _object(raw.impl), _object(raw.storage), _object(word(raw.impl + f.version))
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    free = ctypes.cast(libc.free, ctypes.c_void_p).value
    assert free is not None
    made = []
    for k in range(2):
        impl, storage, version = (libc.malloc(len(p)) for p in parts)
        for at, content in zip((impl, storage, version), parts, strict=True):
            ctypes.memmove(at, content, len(content))
        memory = libc.malloc(48 + ALIGNMENT)
        data = (memory + ALIGNMENT - 1) & -ALIGNMENT
        (ctypes.c_float * 12).from_address(data)[:] = [k + 1.0] * 12
        for address, value in ((impl + o.storage, storage), (impl + f.version, version),
                               (storage + o.storage_data, data), (storage + f.context, memory),
                               (storage + f.deleter, free)):
            ctypes.c_uint64.from_address(address).value = value
        made.append(wrap(impl))
    x, y = made
    before = x._version, y._version
    kept = x[1:].t()
    x.add_(1)
    good = (before == (0, 0) and (x._version, y._version, kept._version) == (1, 0, 1)
            and x.shape == (3, 4) and x.stride() == (4, 1) and x.is_contiguous() and x.dtype is torch.float32
            and x.data_ptr() % ALIGNMENT == 0 and not x.requires_grad and not x.is_inference()
            and x.tolist() == [[2.0] * 4] * 3 and y.tolist() == [[2.0] * 4] * 3
            and x.untyped_storage().nbytes() == 48)
    y.requires_grad_(True)
    good = good and (y * 2).requires_grad
    x.resize_(100)
    x.zero_()
    good = good and x.untyped_storage().nbytes() == 400 and float(x.sum()) == 0
    del x, made, kept
    if not good or byte(raw.impl) != parts[0][0]:
        raise Unavailable(f"torch {torch.__version__}: a tensor that was made by copying misbehaves")
