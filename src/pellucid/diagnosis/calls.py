"""Calls to watch or time, as data: arguments, a label, and the context they are made in; and the standard sequence."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors.types import UnsupportedInput


@dataclass(frozen=True, slots=True)
class Call:
    """One call to make. context: makes a context manager to call in (`torch.no_grad`), or None."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    context: Callable[[], contextlib.AbstractContextManager[Any]] | None = None

    def make(self, fn: Callable[..., Any]) -> Any:
        """The call itself."""
        if self.context is None:
            return fn(*self.args, **self.kwargs)
        with self.context():
            return fn(*self.args, **self.kwargs)

    def signature(self) -> str:
        """`float32[2, 8], 3, flag=True`: shapes, dtypes and small values of the arguments, and the label."""
        parts = [brief(a) for a in self.args] + [f"{k}={brief(v)}" for k, v in self.kwargs.items()]
        return ", ".join(parts)


def brief(value: Any) -> str:
    """An argument in a few characters."""
    if isinstance(value, torch.Tensor):
        text = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        if value.layout == torch.strided and not value.is_contiguous():
            text += f" strides {tuple(value.stride())}"
        return text + (f" on {value.device}" if value.device.type != "cpu" else "") \
            + (" requires grad" if value.requires_grad else "")
    if isinstance(value, (list, tuple)):
        inside = ", ".join(brief(v) for v in value[:4]) + (f", ... {len(value)} items" if len(value) > 4 else "")
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    text = getattr(value, "__qualname__", None) or repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def parse(calls: Any) -> tuple[Call, ...]:
    """Calls from what a user gives: a sequence of calls, each a `Call`, a tuple of positional arguments, a dict of
    keyword arguments, or one argument (a tensor, say). Raises UnsupportedInput when there is none."""
    if isinstance(calls, Call):
        return (calls,)
    if isinstance(calls, (str, bytes, Mapping, torch.Tensor)) or not isinstance(calls, Sequence):
        if not hasattr(calls, "__iter__") or isinstance(calls, (str, bytes, Mapping, torch.Tensor)):
            raise UnsupportedInput("bad-argument", f"calls={brief(calls)} is not a sequence of calls",
                                   "give a list with one item a call: a tuple of arguments, a dict of keyword "
                                   "arguments, or pellucid.Call(args, kwargs, context=torch.no_grad)")
        calls = list(calls)
    out = []
    for item in calls:
        if isinstance(item, Call):
            out.append(item)
        elif isinstance(item, tuple):
            out.append(Call(item))
        elif isinstance(item, Mapping):
            out.append(Call((), dict(item)))
        else:
            out.append(Call((item,)))
    if not out:
        raise UnsupportedInput("bad-argument", "calls is empty", "give at least one call")
    return tuple(out)


def _resized(value: Any, old: int, new: int) -> Any:
    """Tensors whose first size is `old`, with `new` rows instead (rows repeat)."""
    def one(x: Any) -> Any:
        if isinstance(x, torch.Tensor) and x.dim() and x.shape[0] == old and type(x) is torch.Tensor:
            index = torch.arange(new, device=x.device) % max(old, 1)
            return x.detach()[index].requires_grad_(x.requires_grad) if old else x
        return x
    return mapped(one, value)


def standard(example: Any) -> tuple[Call, ...]:
    """The standard sequence from one example: the same shape twice, a second batch size twice, the first again."""
    (call,) = parse([example])
    batch = next((x.shape[0] for x in tensors((call.args, dict(call.kwargs))) if x.dim()), None)
    first = Call(call.args, call.kwargs, "first shape", call.context)
    if not batch:
        return (first,) * 3
    other = Call(_resized(call.args, batch, batch + 1), _resized(dict(call.kwargs), batch, batch + 1), "second shape",
                 call.context)
    return (first, first, other, other, first)


def cloned(call: Call) -> Call:
    """The same call on copies of its tensors, so that a function that writes its inputs sees them fresh."""
    def one(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            with torch.no_grad():
                fresh = x.detach().clone(memory_format=torch.preserve_format)
            return fresh.requires_grad_(x.requires_grad)
        return x
    return Call(mapped(one, call.args), mapped(one, dict(call.kwargs)), call.label, call.context)


def mapped(fn: Callable[[Any], Any], value: Any) -> Any:
    """`value` with fn applied to what lists, tuples and dicts hold, at any depth."""
    if isinstance(value, Mapping) and type(value) is dict:
        return {k: mapped(fn, v) for k, v in value.items()}
    if type(value) is list:
        return [mapped(fn, v) for v in value]
    if isinstance(value, tuple):
        parts = [mapped(fn, v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return fn(value)


def leaves(value: Any) -> list[Any]:
    """What nested lists, tuples, mappings and dataclasses hold, in order."""
    if isinstance(value, Mapping):
        return [x for v in value.values() for x in leaves(v)]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in leaves(v)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [x for f in dataclasses.fields(value) for x in leaves(getattr(value, f.name))]
    return [value]


def tensors(value: Any) -> list[torch.Tensor]:
    """All tensors in a nested value."""
    return [x for x in leaves(value) if isinstance(x, torch.Tensor)]
