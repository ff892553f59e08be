"""Ways in which a guard can be too weak (a stale result) or too strong (a needless compile), as programs.

A case makes a callable, its arguments and one change. docs/guards.md is this list:
`python -m tests.guards.strength_cases > docs/guards.md`.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import os
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

X = torch.arange(6.0).reshape(2, 3)
Made = tuple[Any, Callable[[], tuple[Any, ...]], Callable[[], Any]]
"""(callable, arguments of the next call, the change)"""


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    """weak: the change must be noticed; strong: it must not compile."""
    name: str
    make: Callable[[], Made]


CASES: list[Case] = []


def case(kind: str, name: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    def register(make: Callable[[], Made]) -> Callable[[], Made]:
        CASES.append(Case(kind, name, make))
        return make
    return register


def weak(name: str) -> Any:
    return case("weak", name)


def strong(name: str) -> Any:
    return case("strong", name)


def args() -> tuple[Any, ...]:
    return (X,)


class Net(nn.Module):
    factor = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.drop, self.bn = nn.Linear(3, 3), nn.Dropout(1.0), nn.BatchNorm1d(3)
        self.register_buffer("shift", torch.ones(3))
        self.scale, self.names, self.table = 2.0, ["a", "b"], {"a": 1.0, "b": 2.0}

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x * 1.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.lin(x) * self.scale * self.factor + self.shift
        for n in self.names:
            y = y * 2 + self.table[n]
        return self.helper(self.drop(y))


def net_case(kind: str, name: str, change: Callable[[Any], Any]) -> None:
    def make() -> Made:
        net = Net().eval()
        return net, args, lambda: change(net)
    CASES.append(Case(kind, name, make))


def _parameter() -> nn.Parameter:
    return nn.Parameter(torch.full((3, 3), 0.5))


def _inplace(net: Net) -> None:
    with torch.no_grad():
        net.lin.weight.add_(1)


class Doubled(nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input) * 2


def _shadow(net: Net) -> None:
    net.__dict__["lin"] = lambda x: x + 7


def _new_dict(net: Net) -> None:
    net.__dict__ = {**net.__dict__, "scale": 5.0}


def _new_class(net: Net) -> None:
    class Other(Net):
        def helper(self, x: torch.Tensor) -> torch.Tensor:
            return x - 9
    net.__class__ = Other


def _half(net: Net) -> None:
    net.double()
    net.float()
    net.lin.weight.data = net.lin.weight.data + 1


def _replaced_modules(net: Net) -> None:
    net._modules = {**net._modules, "lin": nn.Linear(3, 3)}


for _name, _change in {
    "a parameter is written in place": _inplace,
    "parameter.data is swapped": lambda n: setattr(n.lin.weight, "data", torch.full((3, 3), 3.0)),
    "parameter.data is written": lambda n: n.lin.weight.data.fill_(3.0),
    "parameter.data gets other strides": lambda n: setattr(n.lin.weight, "data", torch.randn(3, 3).t()),
    "a parameter is replaced": lambda n: setattr(n.lin, "weight", _parameter()),
    "a parameter is replaced in _parameters": lambda n: n.lin._parameters.__setitem__("weight", _parameter()),
    "a bias is removed": lambda n: setattr(n.lin, "bias", None),
    "load_state_dict": lambda n: n.load_state_dict({k: v + 1 for k, v in n.state_dict().items()}),
    "load_state_dict(assign=True)": lambda n: n.load_state_dict({k: v + 1 for k, v in n.state_dict().items()},
                                                                assign=True),
    "module.double().float() and new data": _half,
    "a buffer is replaced": lambda n: setattr(n, "shift", torch.full((3,), 4.0)),
    "a buffer is written": lambda n: n.shift.fill_(4.0),
    "a buffer becomes a buffer of another dtype": lambda n: setattr(n, "shift", torch.ones(3).double()),
    "a buffer is swapped through _buffers": lambda n: n._buffers.__setitem__("shift", torch.full((3,), 5.0)),
    "a submodule is replaced": lambda n: setattr(n, "lin", nn.Linear(3, 3)),
    "a submodule is replaced by one of another class": lambda n: setattr(n, "lin", Doubled(3, 3)),
    "a submodule is replaced in _modules": lambda n: n._modules.__setitem__("lin", nn.Linear(3, 3)),
    "_modules itself is replaced": _replaced_modules,
    "a submodule is shadowed in __dict__": _shadow,
    "a submodule's forward is set on the instance": lambda n: setattr(n.lin, "forward", lambda x: x * 3),
    "a forward hook is added": lambda n: n.lin.register_forward_hook(lambda m, a, out: out + 1),
    "a forward pre-hook is added": lambda n: n.lin.register_forward_pre_hook(lambda m, a: (a[0] + 1,)),
    "a hook is added to the module itself": lambda n: n.register_forward_hook(lambda m, a, out: out + 1),
    "a submodule goes into training": lambda n: n.drop.train(),
    "the module goes into training": lambda n: n.train(),
    "a number is changed": lambda n: setattr(n, "scale", 3.0),
    "a number's type is changed": lambda n: setattr(n, "scale", 2),
    "a number becomes minus zero": lambda n: (setattr(n, "scale", -0.0)),
    "a list's item is changed": lambda n: n.names.__setitem__(0, "b"),
    "a list grows": lambda n: n.names.append("a"),
    "a list is replaced": lambda n: setattr(n, "names", ["b"]),
    "a list is reversed": lambda n: n.names.reverse(),
    "a dict's value is changed": lambda n: n.table.__setitem__("a", 9.0),
    "a dict is replaced": lambda n: setattr(n, "table", {"a": 3.0, "b": 4.0}),
    "a method is set on the instance": lambda n: setattr(n, "helper", lambda x: x - 1),
    "a class attribute is shadowed": lambda n: setattr(n, "factor", 5.0),
    "__dict__ is replaced": _new_dict,
    "__class__ is replaced": _new_class,
    "requires_grad of a parameter is flipped": lambda n: n.lin.weight.requires_grad_(False),
}.items():
    net_case("weak", _name, _change)


def _class_case(name: str, change: Callable[[type], Any]) -> None:
    def make() -> Made:
        class Base(nn.Module):
            bias = 1.0

            def step(self, x: torch.Tensor) -> torch.Tensor:
                return x + self.bias

        class Derived(Base):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.step(x) * 2
        return Derived(), args, lambda: change(Derived)
    CASES.append(Case("weak", name, make))


for _name, _change in {
    "a class attribute is rebound": lambda c: setattr(c, "bias", 4.0),
    "an attribute of a base class is rebound": lambda c: setattr(c.__mro__[1], "bias", 4.0),
    "a method of the class is replaced": lambda c: setattr(c, "step", lambda self, x: x - 5),
    "a method of a base class is replaced": lambda c: setattr(c.__mro__[1], "step", lambda self, x: x - 5),
    "the class's forward is replaced": lambda c: setattr(c, "forward", lambda self, x: x - 6),
    "a property appears on the class": lambda c: setattr(c, "bias", property(lambda self: 8.0)),
    "__getattribute__ appears on the class": lambda c: setattr(
        c, "__getattribute__", lambda self, n: 3.0 if n == "bias" else object.__getattribute__(self, n)),
}.items():
    _class_case(_name, _change)


# ------------------------------------------------------------------ functions and variables
GLOBAL: Any = 2.0
SETTINGS = types.SimpleNamespace()


class Config:
    value = 2.0

    def __init__(self) -> None:
        self.own, self.items = 1.0, (1.0, 2.0)


def _outer(x: torch.Tensor, k: float = 2.0, *, bias: float = 1.0) -> torch.Tensor:
    return x * k + bias


def _fresh(fn: types.FunctionType) -> Any:
    made = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    made.__kwdefaults__ = dict(fn.__kwdefaults__ or {})
    return made


@weak("a global variable is rebound")
def _global() -> Made:
    globals()["GLOBAL"] = 2.0
    return (lambda x: x * GLOBAL), args, lambda: globals().__setitem__("GLOBAL", 5.0)


@weak("a global function is rebound")
def _global_function() -> Made:
    globals()["HELPER"] = lambda x: x + 1
    return (lambda x: HELPER(x)), args, lambda: globals().__setitem__("HELPER", lambda x: x - 1)  # noqa: F821


@weak("a built-in is shadowed by a global")
def _builtin() -> Made:
    globals().pop("max", None)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * max(2, 3)
    space = {"__builtins__": __builtins__}
    made = types.FunctionType(f.__code__, space)
    return made, args, lambda: space.__setitem__("max", lambda a, b: 9)


@weak("an attribute of a module is rebound")
def _module_attribute() -> Made:
    module = types.ModuleType("settings")
    module.rate = 2.0
    return (lambda x: x * module.rate), args, lambda: setattr(module, "rate", 6.0)


@weak("a cell gets another value")
def _cell() -> Made:
    k = 2.0

    def put(v: float) -> None:
        nonlocal k
        k = v
    return (lambda x: x * k), args, lambda: put(7.0)


@weak("a cell is emptied")
def _empty_cell() -> Made:
    k = 2.0

    def drop() -> None:
        nonlocal k
        del k
    return (lambda x: x * k), args, drop


@weak("a function's __code__ is replaced")
def _code() -> Made:
    f = _fresh(_outer)
    return (lambda x: f(x)), args, lambda: setattr(f, "__code__", (lambda x, k=2.0, *, bias=1.0: x - k).__code__)


@weak("the compiled function's own __code__ is replaced")
def _own_code() -> Made:
    f = _fresh(_outer)
    return f, args, lambda: setattr(f, "__code__", (lambda x, k=2.0, *, bias=1.0: x - k).__code__)


@weak("a function's __defaults__ are replaced")
def _defaults() -> Made:
    f = _fresh(_outer)
    return (lambda x: f(x)), args, lambda: setattr(f, "__defaults__", (9.0,))


@weak("the compiled function's own __defaults__ are replaced")
def _own_defaults() -> Made:
    f = _fresh(_outer)
    return f, args, lambda: setattr(f, "__defaults__", (9.0,))


@weak("a function's __kwdefaults__ are changed")
def _kwdefaults() -> Made:
    f = _fresh(_outer)
    return (lambda x: f(x)), args, lambda: f.__kwdefaults__.__setitem__("bias", 4.0)


@weak("the compiled function's own __kwdefaults__ are changed")
def _own_kwdefaults() -> Made:
    f = _fresh(_outer)
    return f, args, lambda: f.__kwdefaults__.__setitem__("bias", 4.0)


@weak("a partial object gets other state")
def _partial() -> Made:
    p = functools.partial(_outer, k=3.0)
    return (lambda x: p(x)), args, lambda: p.__setstate__((_outer, (), {"k": 8.0}, {}))


@weak("an attribute of a function is changed")
def _function_attribute() -> Made:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * f.rate  # type: ignore[attr-defined]
    f.rate = 2.0  # type: ignore[attr-defined]
    return f, args, lambda: setattr(f, "rate", 5.0)


def _object_case(name: str, read: Callable[[torch.Tensor, Any], Any], change: Callable[[Any], Any],
                 kind: str = "weak", start: Callable[[], Any] = Config) -> None:
    def make() -> Made:
        obj = start()
        return (lambda x: read(x, obj)), args, lambda: change(obj)
    CASES.append(Case(kind, name, make))


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a, self.b = 2.0, 3.0


class WithSize:
    def __init__(self) -> None:
        self.n = 2

    def __len__(self) -> int:
        return self.n

    def __bool__(self) -> bool:
        return self.n > 1

    def __getattr__(self, name: str) -> Any:
        return self.n * 10.0


class Mode(enum.Enum):
    A = 1
    B = 2


@dataclasses.dataclass
class Record:
    rate: float = 2.0
    mode: Mode = Mode.A


def _grow(d: dict[str, float]) -> None:
    d["c"] = 5.0


def _reorder(d: dict[str, float]) -> None:
    d["a"] = d.pop("a")


def _fold(x: torch.Tensor, values: Any) -> torch.Tensor:
    for v in values:
        x = x * 2 + v
    return x


_PAIR = {"a": 1.0, "b": 3.0}
for _name, _read, _change, _start in (
    ("an instance attribute is changed", lambda x, o: x * o.own, lambda o: setattr(o, "own", 4.0), Config),
    ("an instance attribute is deleted", lambda x, o: x * o.own if hasattr(o, "own") else x - 1,
     lambda o: delattr(o, "own"), Config),
    ("an absent attribute appears", lambda x, o: x * getattr(o, "late", 2.0), lambda o: setattr(o, "late", 6.0),
     Config),
    ("an attribute is read and not used, and goes", lambda x, o: (o.own, x + 1)[1], lambda o: delattr(o, "own"),
     Config),
    ("an attribute appears before the class's", lambda x, o: x * o.value, lambda o: setattr(o, "value", 6.0), Config),
    ("__getattr__ is preceded by an attribute", lambda x, o: x * o.missing, lambda o: setattr(o, "missing", 3.0),
     WithSize),
    ("a tuple attribute is replaced", lambda x, o: _fold(x, o.items), lambda o: setattr(o, "items", (3.0,)), Config),
    ("a slot is changed", lambda x, o: x * o.a, lambda o: setattr(o, "a", 5.0), Slots),
    ("a slot is deleted", lambda x, o: x * o.a if hasattr(o, "a") else x, lambda o: delattr(o, "a"), Slots),
    ("__len__ answers otherwise", lambda x, o: x * len(o), lambda o: setattr(o, "n", 5), WithSize),
    ("__bool__ answers otherwise", lambda x, o: x + 1 if o else x - 1, lambda o: setattr(o, "n", 0), WithSize),
    ("a dataclass field is changed", lambda x, o: x * o.rate, lambda o: setattr(o, "rate", 3.0), Record),
    ("an enum member is changed", lambda x, o: x + 1 if o.mode is Mode.A else x - 1,
     lambda o: setattr(o, "mode", Mode.B), Record),
    ("a dict gets a key", lambda x, o: _fold(x, o.values()), _grow, lambda: dict(_PAIR)),
    ("a dict's order is changed", lambda x, o: _fold(x, o.values()), _reorder, lambda: dict(_PAIR)),
    ("an OrderedDict's order is changed", lambda x, o: _fold(x, o.values()), lambda o: o.move_to_end("a"),
     lambda: collections.OrderedDict(_PAIR)),
    ("an absent key appears", lambda x, o: x * o.get("z", 2.0), lambda o: o.__setitem__("z", 9.0), lambda: dict(_PAIR)),
    ("a value tested against None goes", lambda x, o: x + 1 if o.get("t") is not None else x,
     lambda o: o.pop("t"), lambda: {"t": torch.ones(1)}),
    ("an entry is read and not used, and goes", lambda x, o: (o["t"], x + 1)[1], lambda o: o.pop("t"),
     lambda: {"t": 1}),
    ("a value of a dict is replaced by None", lambda x, o: x + 1 if o["t"] is not None else x,
     lambda o: o.__setitem__("t", None), lambda: {"t": torch.ones(1)}),
    ("a key tested with `in` goes", lambda x, o: x + 1 if "a" in o else x, lambda o: o.pop("a"), lambda: dict(_PAIR)),
    ("a defaultdict gets a key", lambda x, o: x * len(o), lambda o: o["n"], lambda: collections.defaultdict(int, a=1)),
    ("a set gets an element", lambda x, o: x + 1 if "z" in o else x, lambda o: o.add("z"), lambda: {"a"}),
    ("a set loses an element", lambda x, o: x * len(o), lambda o: o.discard("a"), lambda: {"a", "b"}),
    ("a deque grows", lambda x, o: _fold(x, o), lambda o: o.append(4.0), lambda: collections.deque([1.0, 2.0])),
    ("a bytearray is written", lambda x, o: x * o[0], lambda o: o.__setitem__(0, 9), lambda: bytearray(b"ab")),
    ("a nested list is written", lambda x, o: _fold(x, o[1]), lambda o: o[1].append(4.0), lambda: [0, [1.0, 2.0]]),
    ("a list is cleared", lambda x, o: x + 1 if o else x - 1, lambda o: o.clear(), lambda: [1]),
    ("a list of tensors gets another tensor", lambda x, o: x + o[0], lambda o: o.__setitem__(0, torch.full((3,), 8.0)),
     lambda: [torch.ones(3)]),
    ("a list of tensors gets a tensor of another dtype", lambda x, o: x + o[0],
     lambda o: o.__setitem__(0, torch.ones(3).double()), lambda: [torch.ones(3)]),
    ("a tensor attribute is re-pointed to a slice", lambda x, o: x + o.t,
     lambda o: setattr(o, "t", torch.arange(12.0)[::4]), lambda: types.SimpleNamespace(t=torch.arange(3.0))),
    ("a tensor in a closure is resized", lambda x, o: x * o.sum(), lambda o: o.resize_(5).fill_(2.0),
     lambda: torch.ones(3)),
    ("a tensor in a closure is set to other storage", lambda x, o: x * o,
     lambda o: o.set_(torch.full((3,), 4.0)), lambda: torch.ones(3)),
    ("two objects become one", lambda x, o: x + 1 if o[0] is o[1] else x - 1, lambda o: o.__setitem__(1, o[0]),
     lambda: [Config(), Config()]),
    ("one object becomes two", lambda x, o: x + 1 if o[0] is o[1] else x - 1, lambda o: o.__setitem__(1, Config()),
     lambda: [_ONE, _ONE]),
    ("a ModuleList gets a layer", lambda x, o: _chain(x, o), lambda o: o.append(nn.Tanh()),
     lambda: nn.ModuleList([nn.ReLU()])),
    ("layers of a Sequential are swapped", lambda x, o: o(x - 2), lambda o: (o._modules.update(
        {"0": o[1], "1": o[0]})), lambda: nn.Sequential(nn.ReLU(), nn.Tanh())),
    ("a ParameterDict gets another parameter", lambda x, o: x * o["a"],
     lambda o: o.__setitem__("a", nn.Parameter(torch.full((3,), 5.0))),
     lambda: nn.ParameterDict({"a": nn.Parameter(torch.ones(3))})),
):
    _object_case(_name, _read, _change, "weak", _start)
_ONE = Config()


def _chain(x: torch.Tensor, layers: Any) -> torch.Tensor:
    for m in layers:
        x = m(x)
    return x


# ------------------------------------------------------------------ global state
def _state_case(name: str, f: Callable[..., Any], change: Callable[[], Any]) -> None:
    CASES.append(Case("weak", name, lambda: (f, args, change)))


_state_case("the default dtype", lambda x: x + torch.ones(3), lambda: torch.set_default_dtype(torch.float64))
_state_case("grad mode", lambda x: (x * 2, torch.is_grad_enabled()), lambda: torch.set_grad_enabled(False))
_state_case("deterministic algorithms", lambda x: (x * 2, torch.are_deterministic_algorithms_enabled()),
            lambda: torch.use_deterministic_algorithms(True))
_state_case("float32 matmul precision", lambda x: (x * 2, torch.get_float32_matmul_precision()),
            lambda: torch.set_float32_matmul_precision("medium"))
_state_case("an environment variable", lambda x: x * float(os.environ.get("PELLUCID_TEST_FACTOR", "2")),
            lambda: os.environ.__setitem__("PELLUCID_TEST_FACTOR", "5"))


# ------------------------------------------------------------------ arguments
def _argument_case(kind: str, name: str, f: Callable[..., Any], before: Callable[[], tuple[Any, ...]],
                   after: Callable[[], tuple[Any, ...]]) -> None:
    def make() -> Made:
        now = [before]
        return f, lambda: now[0](), lambda: now.__setitem__(0, after)
    CASES.append(Case(kind, name, make))


def _recorded(x: Any) -> Any:
    y = x + 1
    with torch.enable_grad():
        return y, (x * 2).requires_grad


def _plus(x: Any, y: Any = 1, **more: Any) -> Any:
    return x * 2


for _kind, _name, _f, _before, _after in (
    ("weak", "an argument's dtype", lambda x: x * 2, lambda: (X,), lambda: (X.double(),)),
    ("weak", "an argument's rank", lambda x: x.sum(-1), lambda: (X,), lambda: (X[None],)),
    ("weak", "an argument's strides", lambda x: (x + 0).stride(), lambda: (torch.ones(3, 3),),
     lambda: (torch.ones(3, 3).t(),)),
    ("weak", "an argument requires grad", lambda x: x * 2, lambda: (X,), lambda: (X.clone().requires_grad_(),)),
    ("weak", "an argument becomes a Parameter", lambda x: type(x).__name__, lambda: (X,), lambda: (nn.Parameter(X),)),
    ("weak", "an argument of size 1 broadcasts", lambda x, y: x + y, lambda: (X, torch.ones(2, 3)),
     lambda: (X, torch.ones(1, 3))),
    ("weak", "an argument is conjugated", lambda x: x.is_conj(), lambda: (torch.ones(2, dtype=torch.complex64),),
     lambda: (torch.ones(2, dtype=torch.complex64).conj(),)),
    ("weak", "two written arguments overlap", lambda x, y: (x.add_(1), y * 2)[1],
     lambda: (torch.ones(3), torch.ones(3)), lambda: (lambda t: (t[:3], t[1:4]))(torch.ones(4))),
    ("weak", "a tensor tested against None", lambda x, t: x if t is None else x + 1, lambda: (X, X.sum()),
     lambda: (X, None)),
    ("weak", "an argument that is conjugated is computed with", lambda x: torch.view_as_real(x * 1),
     lambda: (torch.ones(2, dtype=torch.complex64) * 1j,),
     lambda: ((torch.ones(2, dtype=torch.complex64) * 1j).conj(),)),
    ("weak", "two arguments become one object", lambda x, y: x is y, lambda: (X, X.clone()), lambda: (X, X)),
    ("weak", "True instead of 1", lambda x, n: (x * n, type(n).__name__), lambda: (X, 1), lambda: (X, True)),
    ("weak", "a text argument", lambda x, s: x * len(s) if s == "ab" else x, lambda: (X, "ab"), lambda: (X, "cd")),
    ("weak", "None instead of a tensor", lambda x, y: x if y is None else x + y, lambda: (X, X), lambda: (X, None)),
    ("weak", "a keyword more", lambda x, **kw: x * len(kw), lambda: (X,), lambda: (X,)),
    ("weak", "a longer *args", lambda *xs: sum(xs), lambda: (X, X), lambda: (X, X, X)),
    ("weak", "a sequence of another class", lambda x, s: type(s).__name__, lambda: (X, [1]), lambda: (X, (1,))),
    ("strong", "an unused argument is another number", _plus, lambda: (X, 1), lambda: (X, 2)),
    ("strong", "an unused argument is of another class", _plus, lambda: (X, 1), lambda: (X, "text")),
    ("strong", "an unused tensor has another shape and dtype", _plus, lambda: (X, torch.ones(2)),
     lambda: (X, torch.ones(5, 5).long())),
    ("strong", "an unused container grows", _plus, lambda: (X, [1]), lambda: (X, [1, 2, 3])),
    ("strong", "an equal string made anew", lambda x, s: x * 2 if s == "mode-a" else x, lambda: (X, "mode-a"),
     lambda: (X, "".join(["mode", "-a"]))),
    ("strong", "an equal tuple made anew", lambda x, t: x * t[0], lambda: (X, (2.0, 3)),
     lambda: (X, tuple([2.0, 3]))),
    ("strong", "a differentiable argument while nothing is recorded", lambda x: x * 2, lambda: (X,),
     lambda: (X.clone().requires_grad_(),)),
    ("weak", "differentiability is asked while nothing is recorded", lambda x: x * 2 if x.requires_grad else x,
     lambda: (X,), lambda: (X.clone().requires_grad_(),)),
    ("weak", "recording is begun inside", lambda x: _recorded(x), lambda: (X,),
     lambda: (X.clone().requires_grad_(),)),
    ("strong", "another tensor of the same kind", lambda x: x * 2, lambda: (X,), lambda: (torch.full((2, 3), 9.0),)),
    ("strong", "a tensor at another offset", lambda x: x + 1, lambda: (torch.ones(3),), lambda: (torch.ones(9)[2:5],)),
    ("strong", "an unused entry of a dict argument", lambda d: d["x"] * 2, lambda: ({"x": X, "y": 1},),
     lambda: ({"x": X, "y": 2},)),
    ("strong", "a third size", lambda x: x * 2, lambda: (X,), lambda: (torch.ones(7, 3),)),
    ("strong", "another object of the class of an argument", lambda x, o: x * o.own, lambda: (X, Config()),
     lambda: (X, Config())),
    ("strong", "a closure made anew for each call", lambda x, f: f(x), lambda: (X, _closure(2.0)),
     lambda: (X, _closure(2.0))),
    ("strong", "a lambda made anew for each call", lambda x, f: f(x), lambda: (X, _double()), lambda: (X, _double())),
    ("strong", "a bound method made anew", lambda x, f: f(x), lambda: (X, _SHARED.helper), lambda: (X, _SHARED.helper)),
    ("strong", "an equal instance of a module's class as argument", lambda m, x: m(x), lambda: (nn.Linear(3, 2), X),
     lambda: (nn.Linear(3, 2), X)),
    ("strong", "a partial made anew", lambda x, f: f(x), lambda: (X, functools.partial(_outer, k=3.0)),
     lambda: (X, functools.partial(_outer, k=3.0))),
    ("strong", "a dataclass made anew", lambda x, r: x * r.rate, lambda: (X, Record()), lambda: (X, Record())),
):
    _argument_case(_kind, _name, _f, _before, _after)
_SHARED = Net().eval()


def _closure(k: float) -> Any:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return x * k
    return inner


def _double() -> Any:
    return lambda x: x * 2


for _name, _change in {
    "an unread attribute is set": lambda n: setattr(n, "comment", "text"),
    "an unread attribute is changed again": lambda n: (setattr(n, "note", 1), setattr(n, "note", 2)),
    "an unread class attribute is set": lambda n: setattr(type(n), "unread", 1),
    "an attribute is written with its own value": lambda n: setattr(n, "scale", 2.0),
    "a parameter is written in place, shape unchanged": _inplace,
    "load_state_dict of equal shapes": lambda n: n.load_state_dict(n.state_dict()),
    "train() and eval() again": lambda n: (n.train(), n.eval()),
    "a hook is added and removed": lambda n: n.lin.register_forward_hook(lambda m, a, o: o + 1).remove(),
    "an equal list takes the place of a list": lambda n: setattr(n, "names", ["a", "b"]),
    "an unread key of a dict is set": lambda n: n.table.__setitem__("z", 1.0),
    "a parameter is replaced by one of the same kind": lambda n: setattr(n.lin, "weight", _parameter()),
    "a buffer is replaced by one of the same kind": lambda n: setattr(n, "shift", torch.full((3,), 4.0)),
    "a submodule is replaced by one of the same structure": lambda n: setattr(n, "lin", nn.Linear(3, 3)),
    "gradients appear on the parameters": lambda n: setattr(n.lin.weight, "grad", torch.ones(3, 3)),
    "an unused submodule is replaced": lambda n: setattr(n, "bn", nn.BatchNorm1d(3)),
}.items():
    net_case("strong", _name, _change)

HEADER = """# What guards notice

Generated by `python -m tests.guards.strength_cases > docs/guards.md`; a test compares the two, and each line is a
program in `tests/guards/strength_cases.py` that is run on both paths, the guards in Python and the native ones.
"""


def page() -> str:
    parts = [HEADER]
    for kind, title in (("weak", "Noticed: the next call gives eager's result for the new state"),
                        ("strong", "Ignored: the next call compiles nothing")):
        names = [c.name for c in CASES if c.kind == kind]
        parts.append(f"## {title} ({len(names)})\n\n| | change |\n|---|---|")
        parts += [f"| {i} | {n} |" for i, n in enumerate(names, 1)]
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
