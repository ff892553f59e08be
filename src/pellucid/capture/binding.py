"""Arguments to parameters, with CPython's rules and messages, in any value domain."""

from __future__ import annotations

from typing import Any

from ..bytecode.types import Code
from .domain import Domain, Value
from .frames import UNBOUND, Frame


def _names(names: list[str]) -> str:
    """'a', 'b', and 'c' -- as CPython lists missing arguments."""
    quoted = [f"'{n}'" for n in names]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return ", ".join(quoted[:-1]) + f", and {quoted[-1]}"


def bind(dom: Domain, f: Frame | None, code: Code, function: Value, args: list[Value],
         keywords: dict[str, Value] | None, name: str | None = None) -> list[Any]:
    """The slots of a new frame of `code`: parameters bound, the rest UNBOUND. Takes `args` over.

    TypeError, raised through the domain in frame f, where CPython raises it; `name` is the function's qualified name.
    """
    n, given = code.argcount, len(args)
    if given == n and not keywords and not (code.kwonly or code.has_varargs or code.has_varkw):
        args.extend([UNBOUND] * (len(code.slots) - n))
        return args
    if name is None:
        name = code.qualname
    kwonly, slots = code.kwonly, code.slots
    out: list[Any] = [UNBOUND] * len(slots)
    k = min(given, n)
    out[:k] = args[:k]
    rest = n + kwonly
    extra: dict[str, Value] = {}
    if keywords:
        for key, value in keywords.items():
            try:
                i = slots.index(key, code.posonly, rest)
            except ValueError:
                if not isinstance(key, str):
                    dom.error(f, TypeError, "keywords must be strings")
                if not code.has_varkw:
                    _unexpected(dom, f, code, name, key, keywords)
                extra[key] = value
                continue
            if out[i] is not UNBOUND:
                dom.error(f, TypeError, f"{name}() got multiple values for argument '{key}'")
            out[i] = value
    if code.has_varargs:
        out[rest] = dom.build_tuple(f, args[n:])
        rest += 1
    elif given > n:
        _too_many(dom, f, code, function, name, given, out)
    if code.has_varkw:
        out[rest] = dom.build_map(f, [dom.const(f, key) for key in extra], list(extra.values()))
    if given < n:
        first = n - dom.defaults(function)
        missing = [slots[i] for i in range(k, min(n, first)) if out[i] is UNBOUND]
        if missing:
            s = "s" if len(missing) > 1 else ""
            dom.error(f, TypeError,
                      f"{name}() missing {len(missing)} required positional argument{s}: {_names(missing)}")
        for i in range(max(k, first), n):
            if out[i] is UNBOUND:
                out[i] = dom.default(function, i - first)
    if kwonly:
        missing = []
        for i in range(n, n + kwonly):
            if out[i] is UNBOUND:
                out[i] = dom.kwdefault(function, slots[i])
                if out[i] is UNBOUND:
                    missing.append(slots[i])
        if missing:
            s = "s" if len(missing) > 1 else ""
            dom.error(f, TypeError,
                      f"{name}() missing {len(missing)} required keyword-only argument{s}: {_names(missing)}")
    return out


def _unexpected(dom: Domain, f: Frame | None, code: Code, name: str, key: str, keywords: dict[str, Value]) -> None:
    wrong = [s for s in code.slots[: code.posonly] if s in keywords]
    if wrong:
        dom.error(f, TypeError, f"{name}() got some positional-only arguments passed as keyword arguments: "
                                f"'{', '.join(wrong)}'")
    dom.error(f, TypeError, f"{name}() got an unexpected keyword argument '{key}'")


def _too_many(dom: Domain, f: Frame | None, code: Code, function: Value, name: str, given: int, out: list[Any]) -> None:
    n, defaults = code.argcount, dom.defaults(function)
    takes = f"from {n - defaults} to {n}" if defaults else str(n)
    plural = "" if n == 1 and not defaults else "s"
    kw = sum(out[i] is not UNBOUND for i in range(n, n + code.kwonly))
    and_kw = ""
    if kw:
        s1, s2 = "s" if given != 1 else "", "s" if kw != 1 else ""
        and_kw = f" positional argument{s1} (and {kw} keyword-only argument{s2})"
    were = "was" if given == 1 and not kw else "were"
    dom.error(f, TypeError, f"{name}() takes {takes} positional argument{plural} but {given}{and_kw} {were} given")
