"""TARGET on the command line: `module:callable` or `file.py:callable`, with its calls beside it.

The calls come from `NAME_inputs` or else `inputs` in the same module: a function without arguments, or a list, of
calls; each a tuple of arguments, a dict of keyword arguments, one argument, or a pellucid.Call.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from ..errors.types import UnsupportedInput
from .calls import Call, parse, standard


@dataclass(frozen=True, slots=True)
class Target:
    spec: str
    fn: Any
    calls: tuple[Call, ...]
    file: str
    eager: Any = None
    """The plain program that does the same: `NAME_eager` in the module, or None."""


def load(spec: str) -> Target:
    """The callable and its calls. UnsupportedInput says what is missing."""
    place, _, name = spec.rpartition(":")
    if not place or not name:
        raise UnsupportedInput("bad-argument", f"TARGET={spec!r} names no callable",
                               "write module:callable or file.py:callable, as in model.py:forward")
    module = _module(place, spec)
    fn: Any = module
    for part in name.split("."):
        if not hasattr(fn, part):
            raise UnsupportedInput("bad-argument", f"TARGET={spec!r}: {place} has no {name!r}",
                                   "use the name of a function or module object at the top of the file")
        fn = getattr(fn, part)
    if isinstance(fn, type) and issubclass(fn, nn.Module):
        fn = fn()
    if not callable(fn):
        raise UnsupportedInput("bad-argument", f"TARGET={spec!r} is {type(fn).__name__}, which cannot be called",
                               "name a function or a module object")
    first = name.split(".")[0]
    given = getattr(module, f"{first}_inputs", None) or getattr(module, "inputs", None)
    if given is None:
        raise UnsupportedInput("bad-argument", f"TARGET={spec!r}: {place} has no `{first}_inputs` and no `inputs`",
                               f"add `def {first}_inputs(): return [(x,), ...]`, one item a call, to the file")
    value = given() if callable(given) else given
    calls = parse(value)
    if len(calls) == 1:
        calls = standard(calls[0])
    return Target(spec, fn, calls, str(getattr(module, "__file__", place)), getattr(module, f"{first}_eager", None))


def _module(place: str, spec: str) -> Any:
    if not place.endswith(".py"):
        sys.path.insert(0, "") if "" not in sys.path else None
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as e:
            if e.name is not None and (place == e.name or place.startswith(e.name + ".")):
                raise UnsupportedInput("bad-argument", f"TARGET={spec!r}: there is no module {place!r}",
                                       "give a file as path.py:callable, or set PYTHONPATH") from e
            raise
    path = Path(place).resolve()
    if not path.is_file():
        raise UnsupportedInput("bad-argument", f"TARGET={spec!r}: there is no file {place}", "check the path")
    for found in list(sys.modules.values()):
        if getattr(found, "__file__", None) == str(path) and getattr(found, "__name__", "") != "__main__":
            return found
    name = path.stem if path.stem not in sys.modules else f"_target_{path.stem}_{abs(hash(str(path))):x}"
    made = importlib.util.spec_from_file_location(name, path)
    assert made is not None and made.loader is not None
    module = importlib.util.module_from_spec(made)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        made.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
