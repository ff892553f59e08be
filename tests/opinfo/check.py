"""One program in eager and compiled: the difference, and by which path the compiled one ran."""

from __future__ import annotations

import copy
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import torch

import pellucid
from pellucid.errors.types import InternalError
from pellucid.events.record import record

from .compare import Outcome, difference
from .samples import OPERATORS, UNSET, Program, elementwise, mapped


@dataclass(frozen=True)
class Result:
    """status: same | wrong | internal. path: lowered | opaque | break | raises (where eager raises), with a reason."""

    variant: str
    status: str
    path: str
    reason: str
    detail: str
    asked: str


def outcome(fn: Any, args: Any, kwargs: Any) -> Outcome:
    args, kwargs = copy.deepcopy((args, kwargs))
    torch.manual_seed(7)
    try:
        return Outcome(fn(*args, **kwargs), None, (list(args), kwargs))
    except InternalError:
        raise
    except Exception as e:  # what the program raises is part of what is compared
        return Outcome(None, e, (list(args), kwargs))


def exact(program: Program) -> Outcome | None:
    """The same call on float64 operands, for the comparison of rounding."""
    def wide(t: torch.Tensor) -> torch.Tensor:
        if t.layout is not torch.strided or t.is_quantized:
            return t
        return t.double() if t.dtype.is_floating_point else t.to(torch.complex128) if t.dtype.is_complex else t
    args, kwargs = mapped((program.args, program.kwargs), wide)
    kwargs = {k: torch.float64 if isinstance(v, torch.dtype) and v.is_floating_point else v for k, v in kwargs.items()}
    try:
        return outcome(program.fn, args, kwargs)
    except Exception:  # no reference: the comparison is with eager alone
        return None


def check(name: str, program: Program, backend: str = "llvm", calls: int = 2) -> Result:
    """Compare the program's compiled form with eager. `calls`: the compiled one is called so often, each compared."""
    op = OPERATORS[name]
    asked = describe(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pellucid.reset()
        want = outcome(program.fn, program.args, program.kwargs)
        fast = pellucid.compile(program.fn, backend=backend, dynamic=False, options={"strict": True})
        status, detail = "same", ""
        ref = exact(program)
        for k in range(calls):
            try:
                got = outcome(fast, program.args, program.kwargs)
            except InternalError as e:
                return Result(program.variant, "internal", "internal", str(e).split("\n")[0], _trace(e), asked)
            wrong = difference(want, got, ref, elementwise=elementwise(op), unset=op.name in UNSET)
            if wrong:
                status, detail = "wrong", wrong + (f" (call {k})" if k else "")
                break
        path, reason = path_of(fast, want)
    return Result(program.variant, status, path, reason, detail, asked)


def path_of(fast: Any, want: Outcome) -> tuple[str, str]:
    """How the call ran."""
    for e in record.events("eager_fallback"):
        if want.error is None:
            return "break", e.message
    breaks = record.events("graph_break")
    if want.error is not None:
        return "raises", ""
    if breaks:
        return "break", f"{breaks[0].data.get('code')} {breaks[0].message}"
    nodes = [n.op for t in pellucid.compiled_of(fast).all_tables() for e in t.entries for n in e.segment.graph.nodes]
    foreign = [n for n in nodes if n.startswith("opaque")]
    return ("opaque", "") if foreign else ("lowered", "")


def describe(program: Program) -> str:
    def say(t: torch.Tensor) -> Any:
        strides = t.stride() if t.layout is torch.strided else t.layout
        return f"{str(t.dtype)[6:]}{list(t.shape)}" + ("" if t.layout is torch.strided and t.is_contiguous()
                                                      else f"/{strides}")
    return str(mapped((program.args, program.kwargs), say))[:300]  # type: ignore[arg-type]


def _trace(e: BaseException) -> str:
    cause = e.__cause__ or e
    return "".join(traceback.format_exception(cause)[-4:])[-900:]
