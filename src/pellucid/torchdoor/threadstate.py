"""The thread's global state as native code can read it: a list of probes, each one word by a call of an exported
function.

Together they tell apart every state that changes what a plan without autograd computes, or who must see its operators:
grad, inference and forward modes, dispatch key sets (autocast, functorch, tracing, dispatch modes), function modes,
autocast's dtype, default dtype, determinism, the choice of attention kernels. The float32 matmul precision is not among
them: asking for it costs 45 ns, and plans multiply in full precision whatever it is.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from .symbols import Unavailable, _libraries, addresses

_DLINFO_TLS_MODULE, _DLINFO_TLS_DATA = 9, 10
_CPU = 0
FULL = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Probe:
    """word = function(argument), or the word `offset` bytes behind the pointer that it returns; compared under
    `mask`."""

    name: str
    function: int
    argument: int = 0
    offset: int | None = None
    mask: int = FULL
    hold: Any = field(default=None, compare=False, repr=False)

    def read(self) -> int:
        """The word now, in this thread."""
        value = int(ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)(self.function)(self.argument))
        if self.offset is not None:
            value = ctypes.c_uint64.from_address(value + self.offset).value
        return value & self.mask


_FUNCTIONS = {
    "autograd": "_ZN3c1013AutogradState13get_tls_stateEv",
    "function modes": "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv",
    "function modes disabled": "_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv",
    "default dtype": "_ZN3c1031get_default_dtype_as_scalartypeEv",
    "context": "_ZN2at13globalContextEv",
    "autocast dtype": "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE",
    "autocast cache": "_ZN2at8autocast25is_autocast_cache_enabledEv",
    "tls": "__tls_get_addr",
}
_CONTEXT = {
    "deterministic": ("_ZNK2at7Context23deterministicAlgorithmsEv", 0xFF),
    "math attention": ("_ZNK2at7Context18userEnabledMathSDPEv", 0xFF),
    "flash attention": ("_ZNK2at7Context19userEnabledFlashSDPEv", 0xFF),
    "memory-efficient attention": ("_ZNK2at7Context26userEnabledMemEfficientSDPEv", 0xFF),
}

AUTOCAST = ("autocast dtype", "autocast cache")
ATTENTION = ("math attention", "flash attention", "memory-efficient attention")
"""Names of the probes that matter only under autocast, or only to attention."""


def any_autocast() -> bool:
    return bool(torch._C._is_any_autocast_enabled())


@functools.cache
def probes() -> tuple[Probe, ...]:
    """All probes of this build of torch, verified. Raises Unavailable where one is missing or does not react."""
    at = addresses((*_FUNCTIONS.values(), *(s for s, _ in _CONTEXT.values())))
    f = {n: at[s] for n, s in _FUNCTIONS.items()}
    context = int(ctypes.CFUNCTYPE(ctypes.c_uint64)(f["context"])())
    index = _key_set_index()
    found = [
        Probe("autograd modes", f["autograd"], 0, _autograd_byte(f["autograd"]), 0xFF),
        Probe("included keys", f["tls"], ctypes.addressof(index), 0, FULL, index),
        Probe("excluded keys", f["tls"], ctypes.addressof(index), 8, FULL, index),
        Probe("function modes", f["function modes"]),
        Probe("function modes disabled", f["function modes disabled"], 0, None, 0xFF),
        Probe("default dtype", f["default dtype"], 0, None, 0xFF),
        Probe("autocast dtype", f["autocast dtype"], _CPU, None, 0xFF),
        Probe("autocast cache", f["autocast cache"], 0, None, 0xFF),
    ]
    found += [Probe(n, at[s], context, None, mask) for n, (s, mask) in _CONTEXT.items()]
    made = tuple(found)
    _verify(made)
    return made


def read() -> tuple[int, ...]:
    """Every probe's word now."""
    return tuple(p.read() for p in probes())


def _autograd_byte(function: int) -> int:
    """The byte of the thread's autograd state that holds its modes: the one that no_grad changes."""
    base = int(ctypes.CFUNCTYPE(ctypes.c_uint64)(function)())

    def look(mode: bool) -> bytes:
        before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(mode)
        try:
            return bytes((ctypes.c_char * 32).from_address(base))
        finally:
            torch._C._set_grad_enabled(before)

    on, off = look(True), look(False)
    changed = [i for i in range(32) if on[i] != off[i]]
    if len(changed) != 1:
        raise Unavailable(f"torch {torch.__version__}: the byte of the autograd modes was looked for and "
                          f"{len(changed)} were found, not 1")
    return changed[0]


def _key_set_index() -> Any:
    """The argument of __tls_get_addr for the thread's dispatch key sets: (module, offset in its block)."""
    symbol = "_ZN3c104impl26raw_local_dispatch_key_setE"
    libc10 = _libraries()[2]
    try:
        here = ctypes.addressof(ctypes.c_char.in_dll(libc10, symbol))
    except ValueError as e:
        raise Unavailable(f"this build of torch {torch.__version__} does not export {symbol}") from e
    info = ctypes.CDLL(None).dlinfo
    info.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    module, block = ctypes.c_size_t(), ctypes.c_void_p()
    if info(libc10._handle, _DLINFO_TLS_MODULE, ctypes.byref(module)) or info(
            libc10._handle, _DLINFO_TLS_DATA, ctypes.byref(block)) or not block.value:
        raise Unavailable("dlinfo does not say where libc10's thread-local block lies")
    return (ctypes.c_uint64 * 2)(module.value, here - block.value)


def _verify(found: tuple[Probe, ...]) -> None:
    """Each state that can be entered here must change some probe, and leaving it must restore all."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    def look() -> list[int]:
        return [p.read() for p in found]

    start = look()
    states: list[tuple[str, Callable[[], Any]]] = [
        ("no_grad or enable_grad", lambda: torch.set_grad_enabled(not torch.is_grad_enabled())),
        ("inference_mode", lambda: torch.inference_mode(not torch.is_inference_mode_enabled())),
        ("autocast", lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
        ("a TorchDispatchMode", TorchDispatchMode), ("a TorchFunctionMode", TorchFunctionMode),
        ("DisableTorchFunction", torch._C.DisableTorchFunction),
    ]
    for name, enter in states:
        with enter():
            inside = look()
        if inside == start or look() != start:
            raise Unavailable(f"torch {torch.__version__}: {name} cannot be seen from native code")
