"""Pinning: for each kind of source, what must be polled so that loading it again would give the same object."""

from __future__ import annotations

import gc
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from . import state as S
from .call import REQUIRED

if TYPE_CHECKING:
    from .translate import Translator


class NotNative(Exception):
    """Native code cannot do this; the message says what and why."""


class DoesNotHold(Exception):
    """A guard does not hold now, so there is no state to poll for it."""


def behind(value: Any) -> Any:
    """The dictionary behind a mappingproxy; anything else itself."""
    if type(value) is types.MappingProxyType:
        inner = gc.get_referents(value)
        if len(inner) == 1 and isinstance(inner[0], dict):
            return inner[0]
    return value


def _instance_key(t: Translator, base: Any, key: Any, value: int | None = None) -> None:
    d = S.state_words_for_dict(t.watch, base)
    S.watch_key(t.watch, d, key, value)


def _pin_global(t: Translator, s: Source, base: Any, value: Any) -> None:
    d = s.obj if type(s.obj) is dict else s.obj.__globals__
    S.watch_key(t.watch, S.state_words_for_dict(t.watch, d), s.key[1])


def _pin_builtin(t: Translator, s: Source, base: Any, value: Any) -> None:
    import builtins

    S.watch_key(t.watch, S.state_words_for_dict(t.watch, builtins.__dict__), s.key)


def _pin_dict(t: Translator, s: Source, base: Any, value: Any) -> None:
    _instance_key(t, base, s.key)


def _pin_item(t: Translator, s: Source, base: Any, value: Any) -> None:
    plain = s.kind == "raw"
    base = behind(base)
    if isinstance(base, tuple) and (plain or type(base).__getitem__ is tuple.__getitem__):
        return
    if isinstance(base, list) and type(s.key) is int and (plain or type(base) is list):
        S.state_words_for_list(t.watch, base, [s.key])
        return
    if isinstance(base, dict) and (plain or type(base).__getitem__ is dict.__getitem__):
        S.watch_key(t.watch, S.state_words_for_dict(t.watch, base), s.key)
        return
    raise NotNative(f"items of a {type(base).__name__} are not watched")


def _pin_attr(t: Translator, s: Source, base: Any, value: Any) -> None:
    """An attribute by the object's normal look-up: an entry of its dictionary, or of its class."""
    cls = type(base)
    if isinstance(base, type):
        _pin_class_attr(t, base, s.key, value)
        return
    if isinstance(base, types.ModuleType):
        if s.key not in base.__dict__:
            raise NotNative("a module's __getattr__ is not watched")
        _instance_key(t, base, s.key)
        return
    if cls.__getattribute__ is not object.__getattribute__:
        raise NotNative(f"{cls.__name__} has its own __getattribute__")
    S.state_words_for_class_of(t.watch, base)
    S.state_words_for_type(t.watch, cls)
    found = next((k.__dict__[s.key] for k in cls.__mro__ if s.key in k.__dict__), REQUIRED)
    own = getattr(base, "__dict__", None)
    if type(found) is types.MemberDescriptorType:
        S.state_words_for_slot(t.watch, base, found, value)
        return
    if found is not REQUIRED and hasattr(type(found), "__set__"):
        raise NotNative(f"{cls.__name__}.{s.key} is a data descriptor")
    if own is not None and s.key in own:
        _instance_key(t, base, s.key)
        return
    if found is REQUIRED or hasattr(type(found), "__get__"):
        raise NotNative(f"{cls.__name__}.{s.key} is found by code")
    if own is not None:
        _instance_key(t, base, s.key, S.ABSENT)


def _pin_class_attr(t: Translator, cls: type, key: str, value: Any) -> None:
    """An attribute of a class that is found in it or its bases as it is."""
    meta: Any = type(cls)
    if meta.__getattribute__ is not type.__getattribute__ or any(key in k.__dict__ for k in meta.__mro__):
        raise NotNative(f"{cls.__name__}.{key} is found by its metaclass")
    found = next((k.__dict__[key] for k in cls.__mro__ if key in k.__dict__), REQUIRED)
    if isinstance(found, staticmethod):
        found = found.__func__
    if found is not value:
        raise NotNative(f"{cls.__name__}.{key} is made by a descriptor")
    S.state_words_for_type(t.watch, cls)
    S.state_words_for_type(t.watch, meta)


def _pin_mro(t: Translator, s: Source, base: Any, value: Any) -> None:
    S.state_words_for_type(t.watch, base)


def _pin_cell(t: Translator, s: Source, base: Any, value: Any) -> None:
    S.state_words_for_cell(t.watch, base.__closure__[s.key] if s.kind == "cell" else base)


def _pin_default(t: Translator, s: Source, base: Any, value: Any) -> None:
    if s.kind == "default":
        S.state_words_for_function(t.watch, base, "defaults")
        return
    S.state_words_for_function(t.watch, base, "kwdefaults")
    S.watch_key(t.watch, S.state_words_for_dict(t.watch, base.__kwdefaults__), s.key)


def _pin_type(t: Translator, s: Source, base: Any, value: Any) -> None:
    S.state_words_for_class_of(t.watch, base)


def _pin_code(t: Translator, s: Source, base: Any, value: Any) -> None:
    if not isinstance(base, types.FunctionType):
        raise NotNative("the code of something that is no Python function")
    S.state_words_for_function(t.watch, base, "code")


def _pin_nothing(t: Translator, s: Source, base: Any, value: Any) -> None:
    """Fixed for the life of the base (or of the entry)."""


def _pin_method_part(t: Translator, s: Source, base: Any, value: Any) -> None:
    if type(base) is not types.MethodType:
        raise NotNative(f"{s.kind} of a {type(base).__name__}")


def _pin_dictattr(t: Translator, s: Source, base: Any, value: Any) -> None:
    S.state_words_for_dict(t.watch, base)


PINS: dict[str, Callable[[Translator, Source, Any, Any], None]] = {
    "const": _pin_nothing, "arg": _pin_nothing, "globals": _pin_nothing, "closure": _pin_nothing,
    "global": _pin_global, "builtin": _pin_builtin, "dict": _pin_dict, "dictattr": _pin_dictattr, "item": _pin_item,
    "raw": _pin_item, "attr": _pin_attr, "mro": _pin_mro, "cell": _pin_cell, "contents": _pin_cell,
    "default": _pin_default, "kwdefault": _pin_default, "type": _pin_type, "code": _pin_code, "func": _pin_method_part,
    "self": _pin_method_part,
}
