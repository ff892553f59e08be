"""Arguments are bound as Python binds them, for every kind of signature, without inspect."""

import functools
import inspect
import itertools

import pytest

from pellucid.runtime.target import binder, parameters, target


def plain(a, b): ...
def defaults(a, b=2, c=3): ...
def varargs(a, *rest, k, d=5, **kw): ...
def only_keywords(*, k, d=5): ...
def positional_only(a, b=1, /, c=2, *, d=3): ...
def nothing(): ...
def any_(*args, **kwargs): ...


CALLS = [((), {}), ((1,), {}), ((1, 2), {}), ((1, 2, 3), {}), ((1,), {"b": 7}), ((), {"a": 1, "b": 2}),
         ((1,), {"k": 0}), ((1, 8, 9), {"k": 0, "d": 1, "z": 3}), ((), {"k": 4}), ((1,), {"c": 9, "d": 8}),
         ((), {"a": 1}), ((1,), {"a": 1})]


@pytest.mark.parametrize("fn", [plain, defaults, varargs, only_keywords, positional_only, nothing, any_],
                         ids=lambda f: f.__name__)
def test_binds_as_inspect_does(fn):
    bind, signature = binder(fn), inspect.signature(fn)
    for args, kwargs in CALLS:
        try:
            want = signature.bind(*args, **kwargs)
        except TypeError:
            with pytest.raises(TypeError):
                bind(*args, **kwargs)
            continue
        want.apply_defaults()
        assert dict(zip(parameters(fn), bind(*args, **kwargs))) == dict(want.arguments)


def test_changed_defaults_are_seen():
    def f(a, b=1, *, c=2): ...
    bind = binder(f)
    assert bind(0) == (0, 1, 2)
    f.__defaults__, f.__kwdefaults__ = (5,), {"c": 6}
    assert bind(0) == (0, 5, 6)


class Thing:
    def method(self, x, y=1): ...
    def __call__(self, x): ...
    def loose(*args): ...


def test_receivers_are_not_bound():
    t = Thing()
    assert target(t.method).bind(3) == (3, 1) and target(t.method).params == ("x", "y")
    assert target(t).bind(3) == (3,) and target(t).callee == t.__call__
    assert target(t.loose).bind(3) == ((3,),) and target(t.loose).params == ("args",)
    assert target(Thing.method).bind(t, 3) == (t, 3, 1)


@pytest.mark.parametrize("fn", [len, functools.partial(plain, 1), itertools.chain], ids=["builtin", "partial", "class"])
def test_other_callables_are_called_as_objects(fn):
    t = target(fn)
    assert t.params == ("args", "kwargs") and t.bind(1, k=2) == ((1,), {"k": 2})
    assert t.callee.__self__ is fn
