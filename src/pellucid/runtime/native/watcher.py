"""Watching dictionaries, where Python can (3.12 and later): their changes count up one word, so that an entry looks at
none of them while that stands still."""

from __future__ import annotations

import atexit
import ctypes
import functools
import sys
from typing import Any

from .emit_setters import DICT_EVENTS, WATCHED, WATCHER
from .program import program

INLINE_VALUES = (3, 13)
"""From this version on an object's dictionary may share the object's own values, and changes by way of the object are
announced late or (3.13.0) not at all, unless it was made to keep its own."""


@functools.cache
def watcher() -> "Watcher":
    return Watcher()


class Watcher:
    """number: Python's number of our watcher, or None where dictionaries cannot be watched."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._watch: Any = None
        self._program = program()
        self._watched = self._program.variable(WATCHED)
        api = ctypes.pythonapi
        if sys.version_info < (3, 12):
            return
        add = api.PyDict_AddWatcher
        add.argtypes, add.restype = [ctypes.c_void_p], ctypes.c_int
        try:
            number = add(self._program.address[WATCHER])
        except RuntimeError:  # all of Python's few watchers are taken
            return
        self._watch = api.PyDict_Watch
        self._watch.argtypes, self._watch.restype = [ctypes.c_int, ctypes.py_object], ctypes.c_int
        self.number = number
        self._watched[0] = 1
        atexit.register(self.close)

    @property
    def events(self) -> int:
        """Changes announced so far."""
        return int(self._program.variable(DICT_EVENTS)[0])

    def watch(self, d: dict[Any, Any], detach: bool) -> None:
        """Count the changes of d from now on. detach: it is an object's own dictionary."""
        if detach and sys.version_info >= INLINE_VALUES:
            probe = object()
            function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)
            function(self._program.address["detach"])(d, probe)
        if self.number is not None:
            self._watch(self.number, d)

    def close(self) -> None:
        """Python's number is given back: entries look at each dictionary from now on."""
        if self.number is None:
            return
        self._watched[0] = 0
        self._program.variable(DICT_EVENTS)[0] += 1  # no entry has seen this count, nor will keep it
        clear = ctypes.pythonapi.PyDict_ClearWatcher
        clear.argtypes, clear.restype = [ctypes.c_int], ctypes.c_int
        clear(self.number)
        self.number = None
