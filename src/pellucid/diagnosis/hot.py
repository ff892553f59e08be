"""Which function of the user's program the time outside torch is in."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .observe import LIBRARY

Key = tuple[str, int, str]
OWN = str(Path(__file__).resolve().parents[1])
TORCH = str(Path(torch.__file__).parent)
INNER = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>")


def hottest(run: Callable[[], Any]) -> tuple[str, int, str, float, float] | None:
    """(file, first line, function, its share of the time outside torch, the share of that in the run) of the user's
    function in which most time outside torch is spent; what it calls of libraries and of C counts as its
    own. None where there is none.

    Every call and return is timed, which costs more the more calls there are: read the share as a rough one.
    """
    spent: Counter[Key | None] = Counter()
    stack: list[Key | None] = [None]
    clock, last = time.perf_counter, [time.perf_counter()]

    def seen(frame: FrameType, event: str, arg: Any) -> None:
        now = clock()
        spent[stack[-1]] += now - last[0]  # type: ignore[assignment]
        if event == "call":
            stack.append(_key(frame, stack[-1]))
        elif event == "c_call":
            stack.append(None if _torch(arg) else stack[-1])
        elif len(stack) > 1:
            stack.pop()
        last[0] = clock()

    class Operators(TorchFunctionMode):
        """Python's operators on tensors, which are no calls that a profiler sees."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            spent[stack[-1]] += clock() - last[0]  # type: ignore[assignment]
            stack.append(None)
            last[0] = clock()
            try:
                return func(*args, **(kwargs or {}))
            finally:
                spent[None] += clock() - last[0]  # type: ignore[assignment]
                stack.pop()
                last[0] = clock()
    before = sys.getprofile()
    last[0] = clock()
    sys.setprofile(seen)
    try:
        with Operators():
            run()
    finally:
        sys.setprofile(before)
    users: dict[Key, float] = {k: float(t) for k, t in spent.items() if k is not None}
    if not users or not sum(users.values()):
        return None
    (file, line, name), most = max(users.items(), key=lambda kv: kv[1])
    outside = sum(users.values())
    return file, line, name, most / outside, outside / max(outside, sum(map(float, spent.values())))


def _key(frame: FrameType, parent: Key | None) -> Key | None:
    """The user's function that a frame's time belongs to; None for torch's own."""
    code = frame.f_code
    file = code.co_filename
    if file.startswith(TORCH):
        return None
    if file.startswith((*LIBRARY, OWN, "<")) or code.co_name in INNER:
        return parent
    return file, code.co_firstlineno, code.co_qualname


def _torch(function: Any) -> bool:
    """Whether a C function is one of torch's that works on tensors."""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, torch.Tensor) or str(getattr(function, "__module__", "")).startswith("torch") \
        or getattr(owner, "__name__", "").startswith("torch")
