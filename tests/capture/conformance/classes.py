"""Classes: inheritance, attributes, descriptors, special methods, dataclasses, enums, ABCs, metaclasses, classes made
inside a region."""

from __future__ import annotations

import abc
import collections.abc
import dataclasses
import enum
import functools
import typing
from dataclasses import dataclass, field

import torch

from .harness import Programs

programs = Programs()


# ---------------------------------------------------------------- inheritance
class Block:
    depth = 1
    registry: typing.ClassVar[dict] = {}

    def __init_subclass__(cls, /, kind=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Block.registry[kind or cls.__name__] = cls

    def __init__(self, scale=2, **kwargs):
        self.scale = scale
        self.options = kwargs

    def forward(self, x):
        return x * self.scale

    def __call__(self, x, *args, **kwargs):
        return self.forward(x, *args, **kwargs)


class Wide(Block, kind="wide"):
    depth = 2

    def __init__(self, *args, bias=1, **kwargs):
        super().__init__(*args, **kwargs)
        self.bias = bias

    def forward(self, x, extra=0):
        return super().forward(x) + self.bias + extra


class Loud:
    def forward(self, x, *args):
        return -super().forward(x, *args)


class LoudWide(Loud, Wide):
    pass


@programs()
def subclass_chain(x):
    b = LoudWide(3, bias=2, dropout=0.1)
    return (
        b(x),
        b(x, 5),
        b.options,
        b.depth,
        type(b).__mro__[1].__name__,
        isinstance(b, Loud),
        issubclass(LoudWide, Block),
        sorted(Block.registry),
        Block.registry["wide"](1)(x),
        Wide.__bases__[0].__name__,
        super(Wide, b).forward(x),
    )


@programs()
def class_attributes_and_instance_attributes(x):
    a, b = Wide(), Wide()
    a.depth = 9
    return x * a.depth + b.depth, Wide.depth, "depth" in vars(a), "depth" in vars(b), getattr(b, "nothing", None)


@programs()
def instances_hold_each_other(x):
    class_ = Block
    a, b = class_(1), class_(2)
    a.next, b.next = b, a
    a.next.next.scale = 7
    return a(x), b.next is a, a.next.scale


@programs()
def module_list_like_container(x):
    class_ = Sequence_
    s = class_([Block(2), Wide(3)])
    s.append(lambda y: y - 1)
    return s(x), len(s), s[0].scale, [type(b).__name__ for b in s][:2], s[-1](x), bool(s)


class Sequence_:
    def __init__(self, blocks):
        self._blocks = list(blocks)

    def append(self, block):
        self._blocks.append(block)
        return self

    def __len__(self):
        return len(self._blocks)

    def __getitem__(self, i):
        return self._blocks[i]

    def __iter__(self):
        return iter(self._blocks)

    def __call__(self, x):
        for b in self:
            x = b(x)
        return x


@programs()
def class_methods_and_static_methods(x):
    return (
        Factory.create("a", 2).run(x),
        Factory.helper(3),
        Factory("n").create("b", 1).name,
        SubFactory.create("c", 4).run(x),
    )


class Factory:
    made = "factory"

    def __init__(self, name, k=1):
        self.name, self.k = name, k

    @classmethod
    def create(cls, name, k):
        return cls(f"{cls.made}:{name}", k)

    @staticmethod
    def helper(k):
        return k * 2

    def run(self, x):
        return x * self.k, self.name


class SubFactory(Factory):
    made = "sub"

    def run(self, x):
        y, name = super().run(x)
        return y + 1, name


@programs()
def abstract_base_with_template_method(x):
    try:
        Template()
    except TypeError as e:
        message = str(e)
    return Doubler().process(x), message, isinstance(Doubler(), Template), Template.__abstractmethods__ == {"step"}


class Template(abc.ABC):
    @abc.abstractmethod
    def step(self, x): ...

    @property
    def name(self):
        return type(self).__name__

    def process(self, x):
        return self.step(x), self.name


class Doubler(Template):
    def step(self, x):
        return x * 2


# ---------------------------------------------------------------- attributes
@programs()
def properties_of_a_schedule(x):
    s = Schedule()
    s.step()
    s.lr = 0.5
    try:
        s.lr = -1
    except ValueError as e:
        message = str(e)
    return x * s.lr, s.count, message, s.half, s.half, s.computed


class Schedule:
    def __init__(self):
        self._lr = 0.1
        self.count = 0
        self.computed = 0

    @property
    def lr(self):
        return self._lr * 2

    @lr.setter
    def lr(self, v):
        if v < 0:
            raise ValueError(f"negative rate {v}")
        self._lr = v

    @functools.cached_property
    def half(self):
        self.computed += 1
        return self._lr / 2

    def step(self):
        self.count += 1


@programs()
def property_that_raises_attribute_error(x):
    class_ = Broken_
    b = class_()
    return x, hasattr(b, "value"), getattr(b, "value", 3), b.fallback


class Broken_:
    @property
    def value(self):
        raise AttributeError("value is not ready")

    def __getattr__(self, name):
        if name == "fallback":
            return "from getattr"
        raise AttributeError(f"no {name}")


class Typed:
    """A data descriptor that checks types and keeps values in the instance."""

    def __init__(self, kind, default=None):
        self.kind, self.default = kind, default

    def __set_name__(self, owner, name):
        self.name = name
        self.private = f"_{name}"

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.private, self.default)

    def __set__(self, obj, value):
        if not isinstance(value, self.kind):
            raise TypeError(f"{self.name} must be {self.kind.__name__}, got {type(value).__name__}")
        setattr(obj, self.private, value)

    def __delete__(self, obj):
        delattr(obj, self.private)


class Options:
    width = Typed(int, 4)
    name = Typed(str, "none")


@programs()
def typed_descriptors(x):
    o = Options()
    before = o.width
    o.width = 3
    o.name = "n"
    del o.name
    try:
        o.width = "wide"
    except TypeError as e:
        return x * o.width, before, str(e), o.name, vars(o), Options.width.kind is int


class Lazy:
    """A non-data descriptor that caches in the instance."""

    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __get__(self, obj, owner):
        if obj is None:
            return self
        value = obj.__dict__[self.fn.__name__] = self.fn(obj)
        return value


class Weights:
    def __init__(self, x):
        self.x = x
        self.made = 0

    @Lazy
    def doubled(self):
        self.made += 1
        return self.x * 2


@programs()
def lazy_descriptor(x):
    w = Weights(x)
    return w.doubled, w.doubled is w.doubled, w.made, type(Weights.doubled).__name__


class Proxy:
    def __init__(self, target):
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_log", [])

    def __getattr__(self, name):
        self._log.append(f"get {name}")
        return getattr(self._target, name)

    def __setattr__(self, name, value):
        self._log.append(f"set {name}")
        setattr(self._target, name, value)

    def __delattr__(self, name):
        self._log.append(f"del {name}")
        delattr(self._target, name)


@programs()
def proxy_of_an_object(x):
    p = Proxy(Block(3))
    y = p.forward(x)
    p.scale = 4
    p.temp = 1
    del p.temp
    return y, p.forward(x), p._log, p._target.scale, hasattr(p, "absent")


class Watched:
    reads: typing.ClassVar[list] = []

    def __init__(self):
        self.k = 2

    def __getattribute__(self, name):
        if not name.startswith("__"):
            Watched.reads.append(name)
        return super().__getattribute__(name)


@programs()
def getattribute_is_followed(x):
    Watched.reads.clear()
    w = Watched()
    y = x * w.k
    w.k = 3
    return y, w.k, list(Watched.reads)


class Slotted:
    __slots__ = ("__weakref__", "a", "b")

    def __init__(self, a):
        self.a = a


class SlottedChild(Slotted):
    __slots__ = ("c",)


@programs()
def slots_and_their_errors(x):
    s = SlottedChild(1)
    s.c = x
    out = []
    for fn in (lambda: s.b, lambda: setattr(s, "zz", 1), lambda: delattr(s, "b")):
        try:
            fn()
        except AttributeError as e:
            out.append(str(e))
    s.b = 5
    del s.a
    return s.c * 2, s.b, hasattr(s, "a"), out, hasattr(s, "__dict__"), Slotted.__slots__


@programs.factory()
def slotted_object_outside():
    s = Slotted(3)

    def f(x):
        s.a += 1
        s.b = x * s.a
        return s.b + s.a, s

    return f


@programs()
def dynamic_attributes(x):
    b = Block()
    for i, name in enumerate(("first", "second")):
        setattr(b, f"layer_{name}", x * i)
    names = [n for n in vars(b) if n.startswith("layer_")]
    b.__dict__["direct"] = 5
    b.__dict__.update(more=6)
    delattr(b, "layer_first")
    return [getattr(b, n, None) for n in names], b.direct, b.more, sorted(b.__dict__), hasattr(b, "layer_first")


@programs()
def bound_methods_as_values(x):
    b, w = Block(2), Wide(3)
    fns = [b.forward, w.forward, b]
    m = b.forward
    b.scale = 10
    return (
        [f(x) for f in fns],
        m.__self__ is b,
        m.__func__ is Block.forward,
        m == b.forward,
        m.__name__,
        Block.forward(b, x),
    )


@programs()
def monkeypatched_method_on_an_instance(x):
    import types

    b = Block(2)
    b.forward = types.MethodType(lambda self, y: y - self.scale, b)
    c = Block(3)
    c.forward = lambda y: y * 100
    return b(x), c(x), Block(2)(x)


@programs()
def overridden_class_property(x):
    d = Disguised()
    return x, d.__class__.__name__, type(d).__name__, isinstance(d, Disguised)


class Disguised:
    @property
    def __class__(self):
        return int


# ---------------------------------------------------------------- special methods
class Vec:
    def __init__(self, *v):
        self.v = v

    def _zip(self, o, fn):
        return Vec(*[fn(a, b) for a, b in zip(self.v, o.v if isinstance(o, Vec) else [o] * len(self.v))])

    def __add__(self, o):
        return self._zip(o, lambda a, b: a + b)

    def __radd__(self, o):
        return self + o

    def __sub__(self, o):
        return self._zip(o, lambda a, b: a - b)

    def __rsub__(self, o):
        return self._zip(o, lambda a, b: b - a)

    def __mul__(self, o):
        return NotImplemented if isinstance(o, str) else self._zip(o, lambda a, b: a * b)

    __rmul__ = __mul__

    def __matmul__(self, o):
        return sum(a * b for a, b in zip(self.v, o.v))

    def __neg__(self):
        return Vec(*[-a for a in self.v])

    def __abs__(self):
        return sum(a * a for a in self.v) ** 0.5

    def __eq__(self, o):
        return isinstance(o, Vec) and self.v == o.v

    def __hash__(self):
        return hash(self.v)

    def __bool__(self):
        return any(self.v)

    def __len__(self):
        return len(self.v)

    def __iter__(self):
        return iter(self.v)

    def __getitem__(self, i):
        return Vec(*self.v[i]) if isinstance(i, slice) else self.v[i]

    def __contains__(self, a):
        return a in self.v

    def __repr__(self):
        return f"Vec{self.v}"

    def __iadd__(self, o):
        self.v = (self + o).v
        return self

    def __pow__(self, k, mod=None):
        return Vec(*[a**k for a in self.v])

    def __divmod__(self, k):
        return [divmod(a, k) for a in self.v]

    def __round__(self, n=None):
        return Vec(*[round(a, n) for a in self.v])

    def __float__(self):
        return float(abs(self))

    def __int__(self):
        return int(abs(self))

    def __index__(self):
        return len(self.v)

    def __format__(self, spec):
        return "<" + ",".join(format(a, spec) for a in self.v) + ">"

    def __reversed__(self):
        return Vec(*self.v[::-1])

    def __lshift__(self, o):
        return "shift"

    def __rtruediv__(self, o):
        return f"{o}/vec"

    def __invert__(self):
        return "inverted"


@programs(breaks=True)
def operators_of_a_vector(x):
    a, b = Vec(1, 2), Vec(3, 4)
    c = a
    c += b
    return (
        x,
        (a + b).v,
        (1 + a).v,
        (10 - b).v,
        (a * 2).v,
        (2 * a).v,
        a @ b,
        (-a).v,
        abs(b),
        a == Vec(4, 6),
        a != b,
        bool(Vec(0, 0)),
        len(a),
        list(a),
        a[0],
        a[:1].v,
        4 in a,
        repr(a),
        c is a,
        (b**2).v,
        divmod(b, 2),
        round(Vec(1.26), 1).v,
        float(b),
        int(b),
        [0, 1, 2][b],
        f"{a:.1f} {b}",
        reversed(b).v,
        a << 1,
        5 / a,
        ~a,
        sum([a, b]).v,
        max(a),
        sorted(b, reverse=True),
        {a: 1}[Vec(*a.v)],
        range(5)[Vec(1, 1)],
    )


@programs()
def operators_not_supported(x):
    a = Vec(1, 2)
    out = []
    for fn in (lambda: a * "s", lambda: a / 2, lambda: a < a, lambda: "s" * a, lambda: a & a, lambda: +a):
        try:
            out.append(fn())
        except TypeError as e:
            out.append(str(e))
    return x, out


@programs()
def object_over_tensors(x):
    a, b = Vec(x, x + 1), Vec(1, 2)
    c = a + b
    return c.v, (a * 2).v, (x * 1) + 1, a[1], [t.sum() for t in a], (-a).v


class Scaled:
    def __init__(self, k):
        self.k = k

    def __radd__(self, other):
        return other + self.k

    def __rmatmul__(self, other):
        return other * self.k

    def __mul__(self, other):
        return other * self.k


@programs()
def reflected_operators_with_tensors(x):
    s = Scaled(3)
    return x + s, x @ s, s * x


class Number(int):
    def __add__(self, other):
        return Number(int(self) + int(other) + 100)


@programs(breaks=True)
def int_subclass(x):
    n = Number(3)
    return x * int(n), int(n + 1), type(n + 1).__name__, n == 3, isinstance(n, int)


@programs()
def comparisons_reflected_and_mixed(x):
    out = []

    a, b = Ordered(1), OrderedChild(2)
    out += [a < b, b < a, a <= 1, 2 > a, a == b, a != b, Ordered(1) == 1, [Ordered(1)] == [Ordered(1)]]
    return x, out, Ordered.log


class Ordered:
    log: typing.ClassVar[list] = []

    def __init__(self, k):
        self.k = k

    def _key(self, o):
        return o.k if isinstance(o, Ordered) else o

    def __lt__(self, o):
        return self.k < self._key(o)

    def __gt__(self, o):
        return self.k > self._key(o)

    def __le__(self, o):
        return self.k <= self._key(o)

    def __eq__(self, o):
        return self.k == self._key(o)

    __hash__ = None


class OrderedChild(Ordered):
    def __gt__(self, o):
        return f"child gt {self._key(o)}"


@programs()
def iterator_protocol(x):
    class_ = Countdown
    c = class_(3)
    return (
        x,
        list(c),
        [v for v in class_(2)],
        sum(class_(4)),
        max(class_(3)),
        2 in class_(3),
        tuple(zip(class_(2), "ab")),
    )


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n + 1


@programs()
def context_manager_class(x):
    t = Timer()
    with t as same, Timer(t):
        y = x * same.entered
    return y, t.entered, t.left


class Timer:
    def __init__(self, parent=None):
        self.parent, self.entered, self.left = parent, 0, 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *info):
        self.left += 1
        if self.parent is not None:
            self.parent.left += 10


@programs()
def new_with_a_cache(x):
    a, b = Interned("k"), Interned("k")
    return x, a is b, a.name, Interned("other") is a, a.inits


class Interned:
    _made: typing.ClassVar[dict] = {}

    def __new__(cls, name):
        if name not in cls._made:
            obj = super().__new__(cls)
            obj.inits = 0
            cls._made[name] = obj
        return cls._made[name]

    def __init__(self, name):
        self.name = name
        self.inits = 1


@programs()
def copying_of_objects(x):
    import copy

    b = Wide(2, tags=["a"])
    c, d = copy.copy(b), copy.deepcopy(b)
    c.scale = 5
    d.options["tags"].append("b")
    return b(x), c(x), b.options, d.options, c.options is b.options


# ---------------------------------------------------------------- dataclasses
@dataclass
class Config:
    hidden: int = 4
    names: list = field(default_factory=list)
    scale: float = 1.0
    _cache: dict = field(default_factory=dict, repr=False, compare=False)
    total: int = field(init=False, default=0)

    def __post_init__(self):
        if self.hidden <= 0:
            raise ValueError(f"hidden must be positive, got {self.hidden}")
        self.total = self.hidden * 2


@dataclass(frozen=True, order=True)
class Key:
    a: int
    b: str = "b"

    @property
    def label(self):
        return f"{self.a}{self.b}"


@dataclass
class Output(typing.Generic[typing.TypeVar("T")]):
    logits: torch.Tensor
    hidden: typing.Optional[tuple] = None

    def __getitem__(self, i):
        return self.to_tuple()[i]

    def to_tuple(self):
        return tuple(v for v in (getattr(self, f.name) for f in dataclasses.fields(self)) if v is not None)


@programs()
def dataclass_with_post_init(x):
    c = Config(3, names=["a"])
    c.names.append("b")
    try:
        Config(hidden=-1)
    except ValueError as e:
        return x * c.total, c, Config().names, str(e), c == Config(3, ["a", "b"]), repr(c)


@programs()
def dataclass_functions(x):
    c = Config(2)
    d = dataclasses.replace(c, scale=3.0)
    return (
        x * d.scale,
        dataclasses.asdict(d),
        [f.name for f in dataclasses.fields(Config)],
        dataclasses.is_dataclass(c),
        dataclasses.astuple(Key(1)),
        d.hidden,
        c.scale,
        dataclasses.is_dataclass(Config),
        Config.__match_args__,
    )


@programs()
def frozen_and_ordered_dataclass(x):
    k = Key(1)
    try:
        k.a = 2
    except dataclasses.FrozenInstanceError as e:
        message = str(e)
    return (
        x,
        k.label,
        message,
        k < Key(2),
        sorted([Key(2), Key(1, "z"), Key(1)])[0],
        {k: 1}[Key(1)],
        hash(k) == hash(Key(1)),
        k == Key(1),
        k != Key(1, "c"),
        len({Key(1), Key(1), Key(2)}),
        dataclasses.replace(k, b="q"),
    )


@programs()
def model_output_dataclass(x):
    out = Output(x * 2, (x, x + 1))
    logits, hidden = out.to_tuple()
    return out, out[0] + 1, hidden[1], Output(x).to_tuple()


@programs(lambda: (torch.arange(6.0).reshape(2, 3), Config(2, ["q"])))
def dataclass_argument(x, c):
    c.scale += 1
    c.names.append(c.hidden)
    return x * c.scale, c.total


@dataclass
class Base_:
    a: int = 1


@dataclass
class Derived_(Base_):
    b: int = dataclasses.field(default=2, metadata={"unit": "m"}, kw_only=True)
    c: dataclasses.InitVar[int] = 5

    def __post_init__(self, c):
        self.from_c = c * 2


@programs()
def dataclass_inheritance_and_initvar(x):
    d = Derived_(3, 7, b=4)
    return x * d.a + d.from_c, d, d == Derived_(3, 7, b=4), dataclasses.fields(d)[1].metadata["unit"]


@dataclass(slots=True)
class Packed:
    a: int
    b: object = None


@programs()
def dataclass_with_slots(x):
    p = Packed(2)
    p.b = x * p.a
    return p.b, p.a, p == Packed(2, p.b), dataclasses.replace(p, b=None)


# ---------------------------------------------------------------- enums
class Mode(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"
    ALIAS = "train"

    @property
    def short(self):
        return self.value[0]

    @classmethod
    def parse(cls, text):
        return cls[text.upper()]


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Flag(enum.IntFlag):
    A = 1
    B = 2
    C = 4


class Auto(enum.Enum):
    ONE = enum.auto()
    TWO = enum.auto()


class Text(str, enum.Enum):
    MEAN = "mean"
    SUM = "sum"


@programs()
def enum_members(x):
    m = Mode("eval")
    try:
        Mode("nope")
    except ValueError as e:
        message = str(e)
    return (
        x,
        m is Mode.EVAL,
        m.name,
        m.value,
        m.short,
        Mode["TRAIN"],
        Mode.ALIAS is Mode.TRAIN,
        list(Mode),
        len(Mode),
        Mode.parse("eval"),
        m in Mode,
        message,
        {Mode.TRAIN: 1}[Mode.ALIAS],
        repr(m),
        str(m),
        m == "eval",
        m != Mode.TRAIN,
        Auto.TWO.value,
        Mode.__members__["EVAL"],
        isinstance(m, Mode),
        hash(m) == hash(Mode.EVAL),
    )


@programs()
def int_enums_and_flags(x):
    f = Flag.A | Flag.C
    return (
        x * Level.HIGH,
        Level.LOW < Level.HIGH,
        Level(5).name,
        Level.HIGH + 1,
        f & Flag.A,
        bool(f & Flag.B),
        Flag.A in f,
        f ^ Flag.A,
        ~Flag.A & Flag(7),
        f.value,
        max(Level),
        sorted(Level, reverse=True),
        int(Level.LOW),
        f"{Level.HIGH:d}",
        [0, 1][Level.LOW],
    )


@programs()
def string_enums(x):
    def reduce(t, how):
        if how == "mean":
            return t.mean()
        if how == Text.SUM:
            return t.sum()
        return t

    return reduce(x, Text.MEAN), reduce(x, Text("sum")), Text.MEAN == "mean", Text.SUM.upper(), {"sum": 1}[Text.SUM]


@programs(lambda: (torch.ones(2), Mode.TRAIN), lambda: (torch.ones(2), Mode.EVAL))
def enum_argument_chooses(x, mode):
    return x * 2 if mode is Mode.TRAIN else x + 1


# ---------------------------------------------------------------- typing, abstract containers
T = typing.TypeVar("T")


class Stack(typing.Generic[T]):
    def __init__(self) -> None:
        self.items: list[T] = []

    def push(self, item: T) -> Stack[T]:
        self.items.append(item)
        return self


@typing.runtime_checkable
class HasForward(typing.Protocol):
    def forward(self, x): ...


@programs(breaks=True)
def typing_objects(x):
    s = Stack[int]().push(1)
    n = typing.cast(int, 3)
    hint: typing.Optional[typing.Dict[str, int]] = None
    return (
        x * n,
        s.items,
        hint,
        isinstance(Block(), HasForward),
        isinstance(3, HasForward),
        isinstance([], typing.List),
        isinstance(x, torch.Tensor | int),
        isinstance(3, (str, int | float)),
        typing.get_origin(list[int]) is list,
        typing.get_args(dict[str, int]),
        typing.Union[int, str] == typing.Union[str, int],
    )


class Rows(collections.abc.Sequence):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        return self.x[i] * 2


class Table_(collections.abc.MutableMapping):
    def __init__(self, **kw):
        self.data = dict(kw)

    def __getitem__(self, k):
        return self.data[k]

    def __setitem__(self, k, v):
        self.data[k] = v

    def __delitem__(self, k):
        del self.data[k]

    def __iter__(self):
        return iter(self.data)

    def __len__(self):
        return len(self.data)


@programs()
def abstract_containers(x):
    t = Table_(a=1)
    t["b"] = 2
    t.update(c=3)
    popped = t.pop("a"), t.setdefault("d", 4), t.get("zz", 0)
    r = Rows(x)
    return (
        [v for v in r],
        len(r),
        popped,
        sorted(t),
        dict(t),
        "b" in t,
        t == {"b": 2, "c": 3, "d": 4},
        list(t.items()),
        isinstance([], collections.abc.Sequence),
        isinstance({}, collections.abc.Mapping),
        isinstance(3, collections.abc.Hashable),
        isinstance(x, collections.abc.Iterable),
        isinstance(len, collections.abc.Callable),
        {**t},
    )


@programs()
def isinstance_and_type_tests(x):
    return (
        x,
        isinstance(x, torch.Tensor),
        isinstance(x, torch.nn.Parameter),
        type(x) is torch.Tensor,
        isinstance(True, int),
        type(True) is int,
        issubclass(bool, int),
        isinstance(Wide(), (Loud, Block)),
        type(Wide()) is Wide,
        callable(Block()),
        callable(3),
        isinstance(None, type(None)),
        isinstance(type, type),
        issubclass(Wide, object),
        type(type(Wide())).__name__,
        isinstance(lambda: 0, typing.Callable),
        isinstance(x.shape, tuple),
        isinstance(x.dtype, torch.dtype),
        type(3).__name__,
        isinstance(print, type(len)),
        isinstance(range(3), range),
        hasattr(x, "shape"),
        hasattr(x, "nope"),
        hasattr(Block, "forward"),
    )


@programs()
def identity_and_id(x):
    a, b = [1], [1]
    y = x
    return (
        x,
        a is b,
        a is not b,
        y is x,
        id(y) == id(x),
        id(a) == id(b),
        None is None,
        a == b,
        x is x.clone(),
        () == (),
    )


# ---------------------------------------------------------------- metaclasses and class creation hooks
class Registered(type):
    made: typing.ClassVar[list] = []

    def __new__(mcls, name, bases, ns, **kw):
        cls = super().__new__(mcls, name, bases, ns)
        cls.tag = kw.get("tag", name.lower())
        mcls.made.append(name)
        return cls

    def __init__(cls, name, bases, ns, **kw):
        super().__init__(name, bases, ns)

    def __call__(cls, *args, **kwargs):
        obj = super().__call__(*args, **kwargs)
        obj.built_by = cls.tag
        return obj

    def __len__(cls):
        return 42

    def __contains__(cls, k):
        return k == cls.tag

    def __getattr__(cls, name):
        return f"meta {name}"


class Made(metaclass=Registered, tag="mine"):
    def __init__(self, k):
        self.k = k


@programs()
def metaclass_call_and_methods(x):
    m = Made(3)
    return (
        x * m.k,
        m.built_by,
        Made.tag,
        len(Made),
        "mine" in Made,
        type(Made).__name__,
        Made.unknown,
        isinstance(m, Made),
    )


class Singleton(type):
    instances: typing.ClassVar[dict] = {}

    def __call__(cls, *args, **kwargs):
        if cls not in cls.instances:
            cls.instances[cls] = super().__call__(*args, **kwargs)
        return cls.instances[cls]


class State_(metaclass=Singleton):
    def __init__(self):
        self.k = 3


@programs()
def singleton_metaclass(x):
    return x * State_().k, State_() is State_()


# ---------------------------------------------------------------- classes made inside
@programs(breaks=True)
def class_made_inside(x):
    class Local:
        scale = 2

        def __init__(self, k):
            self.k = k

        def run(self, y):
            return y * self.k * self.scale

    a = Local(3)
    return a.run(x), Local.scale, Local.__name__, isinstance(a, Local), Local.__qualname__


@programs(breaks=True)
def class_made_inside_uses_a_closure(x):
    k = 4

    class Local:
        def run(self):
            return x * k

        @property
        def twice(self):
            return k * 2

        @staticmethod
        def stat():
            return k

        @classmethod
        def made(cls):
            return cls()

    return Local().run(), Local().twice, Local.stat(), Local.made().run()


@programs(breaks=True)
def class_made_inside_inherits(x):
    class Local(Wide):
        def forward(self, y):
            return super().forward(y) * 10

    class Child(Local):
        depth = 7

    c = Child(2, bias=3)
    return c(x), c.depth, isinstance(c, Block), [k.__name__ for k in Child.__mro__][:3]


@programs(breaks=True)
def exception_class_made_inside(x):
    class Stop(Exception):
        pass

    try:
        raise Stop("here")
    except Stop as e:
        return x + 1, e.args, type(e).__name__


@programs(breaks=True)
def dataclass_made_inside(x):
    @dataclass
    class Pair:
        a: object
        b: int = 3

    p = Pair(x)
    return p.a * p.b, p.b, Pair(1) == Pair(1)


@programs(breaks=True)
def named_tuple_made_inside(x):
    P = collections.namedtuple("P", "a b")
    p = P(x, 2)
    return p.a * p.b, p._fields


@programs(breaks=True)
def enum_made_inside(x):
    class Color(enum.Enum):
        RED = 1

    return x * Color.RED.value, Color.RED.name


@programs(breaks=True)
def type_with_three_arguments(x):
    C = type("C", (Block,), {"depth": 5, "run": lambda self, y: y + self.depth})
    return C().run(x), C.__name__, C(3)(x)


@programs(breaks=True)
def class_made_in_a_loop_and_decorated(x):
    def add(cls):
        cls.extra = len(cls.__name__)
        return cls

    out = []
    for i in range(2):

        @add
        class Step:
            k = i

            def __call__(self, y, k=i):
                return y + k + self.k

        out.append(Step()(x))
    return out, Step.extra


@programs(breaks=True)
def object_of_a_local_class_is_returned(x):
    class Result:
        def __init__(self, v):
            self.v = v

    return Result(x * 2)


@programs(breaks=True)
def class_body_runs_statements(x):
    log = []

    class Local:
        log.append("body")
        a = [i for i in range(3)]
        if len(a) > 2:
            b = "long"
        for c in a:
            pass
        del c

    return x, log, Local.a, Local.b, hasattr(Local, "c")


@programs.factory()
def slots_get_arguments_and_each_other():
    s = Slotted(3)
    s.b = 7

    def f(x):
        s.a, s.b = s.b, x
        return s.a, s

    return f


class CountingDict(dict):
    def __init__(self):
        self.log = []

    def __setitem__(self, key, value):
        self.log.append(("set", key))
        super().__setitem__(key, value)

    def __delitem__(self, key):
        self.log.append(("del", key))
        dict.__delitem__(self, key)


class CountingOrdered(collections.OrderedDict):
    log = None

    def __setitem__(self, key, value):
        if self.log is None:
            self.log = []
        self.log.append(key)
        super().__setitem__(key, value)


@programs.factory()
def dicts_with_items_set_by_code_outside():
    d, o = CountingDict(), CountingOrdered()
    d["old"] = o["old"] = 0

    def f(x):
        d["new"] = x
        d["more"] = 2
        del d["old"]
        d["old"] = 1
        o["new"] = x * 2
        o.move_to_end("old")
        return list(d), d.log, list(o), o.log, d, dict(o)

    return f
