"""Objects: classes, attributes, descriptors, special methods, dataclasses, named tuples, enums, ABCs."""

from __future__ import annotations

import abc
import collections
import copy
import dataclasses
import enum
import functools
import typing

import torch

from .harness import Programs

programs = Programs()


class Base:
    scale = 2

    def __init__(self, k):
        self.k = k

    def run(self, x):
        return x * self.k * self.scale

    @classmethod
    def make(cls, k):
        return cls(k)

    @staticmethod
    def double(x):
        return x * 2


class Child(Base):
    scale = 3

    def __init__(self, k, j):
        super().__init__(k)
        self.j = j

    def run(self, x):
        return super().run(x) + self.j


@programs()
def inheritance_and_super(x):
    c = Child(2, 1)
    return c.run(x), Child.double(x), c.double(x), isinstance(c, Base), issubclass(Child, Base), type(c).__name__


@programs()
def class_method_and_static_method(x):
    return Base.make(3).run(x), Base(1).make(2).k


@programs.factory()
def object_outside():
    b = Base(3)
    return lambda x: (b.run(x), b)


@programs.factory()
def object_outside_is_written():
    b = Base(3)

    def f(x):
        b.k += 1
        b.last = x * b.k
        return b.last, b

    return f


@programs.factory()
def attribute_deleted():
    b = Base(3)

    def f(x):
        b.tmp = x + 1
        y = b.tmp * 2
        del b.tmp
        return y, hasattr(b, "tmp"), sorted(vars(b))

    return f


@programs.factory(breaks=True)
def class_attribute_written():
    class C:
        n = 0

    def f(x):
        C.n = 5
        return x * C.n, C().n

    return f


@programs.factory()
def properties():
    class P:
        def __init__(self):
            self._v = 1

        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, value):
            self._v = value * 2

        @v.deleter
        def v(self):
            self._v = None

    def f(x):
        p = P()
        p.v = 4
        a = p.v
        del p.v
        return x * a, p.v

    return f


@programs.factory()
def property_without_setter():
    class P:
        @property
        def v(self):
            return 3

    def f(x):
        try:
            P().v = 1
        except AttributeError as e:
            return x * P().v, str(e)

    return f


@programs.factory()
def descriptors():
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, obj, owner=None):
            return self if obj is None else obj.__dict__[self.name]

        def __set__(self, obj, value):
            if value < 0:
                raise ValueError(f"{self.name} is negative")
            obj.__dict__[self.name] = value

    class C:
        k = Positive()

    def f(x):
        c = C()
        c.k = 3
        try:
            c.k = -1
        except ValueError as e:
            return x * c.k, str(e), type(C.k).__name__

    return f


@programs(breaks=True)
def non_data_descriptor(x):
    class Lazy:
        def __init__(self, fn):
            self.fn = fn

        def __get__(self, obj, owner):
            value = self.fn(obj)
            obj.__dict__[self.fn.__name__] = value
            return value

    class C:
        @Lazy
        def v(self):
            return x * 2

    c = C()
    return c.v, c.v is c.v


@programs(breaks=True)
def cached_properties(x):
    class C:
        calls = 0

        @functools.cached_property
        def v(self):
            C.calls += 1
            return x + 1

    c = C()
    return c.v, c.v, C.calls


@programs.factory()
def getattr_hook():
    class C:
        def __init__(self):
            self.real = 1

        def __getattr__(self, name):
            if name.startswith("dyn_"):
                return int(name[4:])
            raise AttributeError(name)

    def f(x):
        c = C()
        return x * c.dyn_7 + c.real, hasattr(c, "nope"), getattr(c, "nope", 5)

    return f


@programs.factory()
def setattr_hook():
    class C:
        def __setattr__(self, name, value):
            super().__setattr__(name, value * 2)

        def __delattr__(self, name):
            object.__setattr__(self, "gone", name)

    def f(x):
        c = C()
        c.v = 3
        del c.v
        return x * c.v, c.gone

    return f


@programs.factory()
def getattribute_hook():
    class C:
        def __init__(self):
            self.v = 2

        def __getattribute__(self, name):
            if name == "w":
                return 9
            return object.__getattribute__(self, name)

    def f(x):
        return x * C().w * C().v

    return f


@programs.factory()
def item_methods():
    class C:
        def __init__(self):
            self.d = {}

        def __getitem__(self, k):
            return self.d[k]

        def __setitem__(self, k, v):
            self.d[k] = v

        def __delitem__(self, k):
            del self.d[k]

        def __contains__(self, k):
            return k in self.d

        def __len__(self):
            return len(self.d)

        def __iter__(self):
            return iter(self.d)

    def f(x):
        c = C()
        c["a"] = x
        c[1, 2] = x + 1
        del c["a"]
        c["b"] = x * 3
        return c["b"] * 2, len(c), "a" in c, bool(c), (1, 2) in c, list(c)

    return f


@programs.factory()
def iteration_by_getitem():
    class C:
        def __getitem__(self, i):
            if i > 2:
                raise IndexError
            return i * 10

    def f(x):
        return x, list(C()), 20 in C(), [*C()]

    return f


@programs.factory()
def call_method():
    class C:
        def __call__(self, y, *, k=1):
            return y * k

    def f(x):
        return C()(x, k=3), callable(C())

    return f


@programs.factory()
def arithmetic_methods():
    class V:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return V(self.v + (o.v if isinstance(o, V) else o))

        def __radd__(self, o):
            return V(o + self.v)

        def __iadd__(self, o):
            self.v = self.v + 100
            return self

        def __mul__(self, o):
            return NotImplemented

        def __rmul__(self, o):
            return V(self.v * o)

        def __neg__(self):
            return V(-self.v)

        def __matmul__(self, o):
            return "matmul"

        def __divmod__(self, o):
            return ("divmod", o)

        def __pow__(self, o):
            return V(self.v**o)

        def __invert__(self):
            return "inv"

        def __index__(self):
            return 2

        def __float__(self):
            return 1.5

        def __bool__(self):
            return False

    def f(x):
        a = V(x)
        b = a
        b += 1
        try:
            a * 2
        except TypeError as e:
            message = str(e)
        return (
            (a + V(1)).v,
            (1 + a).v,
            b.v,
            (3 * a).v,
            (-a).v,
            a @ a,
            divmod(a, 3),
            (a**2).v,
            ~a,
            [1, 2, 3][V(0)],
            float(V(0)),
            not V(0),
            message,
        )

    return f


@programs.factory(breaks=True)
def comparison_methods():
    @functools.total_ordering
    class C:
        def __init__(self, n):
            self.n = n

        def __eq__(self, o):
            return self.n == o.n

        def __lt__(self, o):
            return self.n < o.n

        def __hash__(self):
            return hash(self.n)

    def f(x):
        a, b = C(1), C(2)
        return (
            x,
            a < b,
            a <= b,
            a >= b,
            a == C(1),
            a != b,
            [c.n for c in sorted([b, a])],
            max(a, b).n,
            len({a, C(1), b}),
        )

    return f


@programs.factory()
def text_methods():
    class C:
        def __repr__(self):
            return "C()"

        def __format__(self, spec):
            return f"<{spec}>"

    def f(x):
        c = C()
        return x, str(c), repr(c), f"{c}", f"{c:abc}", f"{c!r}"

    return f


@programs.factory(breaks=True)
def new_and_init():
    class C:
        def __new__(cls, *args):
            self = super().__new__(cls)
            self.made_by = "new"
            return self

        def __init__(self, v):
            self.v = v

    class Single:
        made = None

        def __new__(cls):
            if cls.made is None:
                cls.made = super().__new__(cls)
            return cls.made

    def f(x):
        c = C(3)
        return x * c.v, c.made_by, Single() is Single()

    return f


@programs(breaks=True)
def init_subclass(x):
    class Registry:
        known = []

        def __init_subclass__(cls, tag="none", **kw):
            super().__init_subclass__(**kw)
            Registry.known.append((cls.__name__, tag))

    class A(Registry, tag="a"):
        pass

    class B(Registry):
        pass

    return x, Registry.known


@programs(breaks=True)
def metaclass(x):
    class Meta(type):
        def __new__(m, name, bases, ns, **kw):
            ns["added"] = 4
            return super().__new__(m, name, bases, ns)

        def __call__(cls, *a):
            made = super().__call__(*a)
            made.called = True
            return made

        @property
        def tag(cls):
            return cls.__name__.lower()

    class C(metaclass=Meta):
        pass

    return x * C.added, C().called, C.tag


@programs.factory()
def multiple_inheritance():
    class A:
        def f(self):
            return ["A"]

    class B(A):
        def f(self):
            return ["B", *super().f()]

    class C(A):
        def f(self):
            return ["C", *super().f()]

    class D(B, C):
        def f(self):
            return ["D", *super().f()]

    def f(x):
        return x, D().f(), [c.__name__ for c in D.__mro__]

    return f


@programs.factory()
def slots():
    class S:
        __slots__ = ("a", "b")

        def __init__(self):
            self.a = 1

    def f(x):
        s = S()
        s.b = x
        try:
            s.c = 1
        except AttributeError as e:
            message = str(e)
        del s.a
        return s.b * 2, hasattr(s, "a"), message

    return f


@programs.factory()
def private_names():
    class C:
        def __init__(self):
            self.__v = 3

        def get(self):
            return self.__v

    def f(x):
        return x * C().get(), sorted(vars(C()))

    return f


@programs(breaks=True)
def class_bodies(x):
    class C:
        n = 3
        squares = [i * i for i in range(n)]
        if n > 2:

            def f(self):
                return self.n

        doc: int = 5

        class Inner:
            z = 1

    return x * C().f(), C.squares, C.Inner.z, C.__annotations__


@programs(breaks=True)
def nested_class_uses_closure(x):
    k = 5

    class C:
        def f(self):
            return k

    return x * C().f()


@programs.factory(breaks=True)
def getattr_setattr_by_name():
    class C:
        pass

    def f(x):
        c = C()
        for name in ("a", "b"):
            setattr(c, name, x)
        delattr(c, "b")
        return getattr(c, "a") + 1, getattr(c, "b", None), hasattr(c, "a"), vars(c), dir(c)[-1]

    return f


@programs.factory()
def dunder_dict():
    class C:
        def __init__(self):
            self.a = 1

    def f(x):
        c = C()
        c.__dict__["b"] = 2
        c.__dict__.update(d=3)
        return x * c.b * c.d, list(c.__dict__), c.__class__.__name__

    return f


@programs()
def bound_methods(x):
    b = Base(2)
    f = b.run
    g = Base.run
    return f(x), g(b, x), f.__self__ is b, f.__func__ is g, f == b.run


@programs.factory(breaks=True)
def function_as_method_later():
    class C:
        pass

    def f(x):
        C.f = lambda self, y: y * 2
        c = C()
        c.g = lambda y: y * 3
        return c.f(x), c.g(x)

    return f


@dataclasses.dataclass
class Point:
    a: int
    b: torch.Tensor
    c: list = dataclasses.field(default_factory=list)
    d: int = dataclasses.field(default=4, repr=False)

    def norm(self):
        return self.b * self.a


@programs()
def dataclass_made_inside(x):
    p = Point(2, x)
    p.c.append(1)
    return p.norm(), p, Point(1, x).c


@programs(lambda: (Point(3, torch.ones(2)),))
def dataclass_as_argument(p):
    p.a += 1
    return p.norm(), p.d


@programs.factory()
def dataclass_functions():
    @dataclasses.dataclass(order=True)
    class D:
        n: int
        m: int = 2

    def f(x):
        d = D(1)
        return (
            x,
            dataclasses.replace(d, m=5),
            [f.name for f in dataclasses.fields(d)],
            d == D(1),
            d < D(2),
            repr(d),
            dataclasses.is_dataclass(d),
            dataclasses.astuple(d),
            dataclasses.asdict(d),
        )

    return f


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int
    m: int = dataclasses.field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "m", self.n * 2)


@programs()
def frozen_dataclass(x):
    f = Frozen(3)
    try:
        f.n = 4
    except dataclasses.FrozenInstanceError as e:
        message = str(e)
    return x * f.m, f, message, f == Frozen(3), hash(f) == hash(Frozen(3))


@dataclasses.dataclass
class DerivedPoint(Point):
    e: int = 9

    def __post_init__(self):
        self.e += 1


@programs()
def derived_dataclass(x):
    return DerivedPoint(1, x, [2]), DerivedPoint(1, x).norm()


class Pair(typing.NamedTuple):
    a: torch.Tensor
    b: int = 2

    def both(self):
        return self.a * self.b


Plain = collections.namedtuple("Plain", "p q", defaults=[7])


@programs()
def named_tuples(x):
    p = Pair(x)
    a, b = p
    return (
        p,
        p.both(),
        p._replace(b=5).both(),
        p[1],
        a + b,
        Plain(1),
        Plain(1)._asdict(),
        Plain._make([1, 2]),
        Plain._fields,
        len(p),
        isinstance(p, tuple),
    )


@programs(lambda: (Pair(torch.ones(2), 3),))
def named_tuple_as_argument(p):
    return p.both(), Pair(*p), p


class Color(enum.Enum):
    RED = 1
    GREEN = "g"

    @property
    def loud(self):
        return self.name + "!"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@programs()
def enums(x):
    return (
        x * Level.HIGH,
        Color.RED.name,
        Color("g").value,
        Color["RED"] is Color.RED,
        Color.RED == Color.GREEN,
        [c.name for c in Color],
        Level.LOW < Level.HIGH,
        Color.RED.loud,
        isinstance(Level.LOW, int),
        Level(5).name,
    )


@programs(lambda: (torch.ones(2), Color.RED), lambda: (torch.ones(2), Color.GREEN), lambda: (torch.ones(2), Color.RED))
def enum_as_argument(x, c):
    return x + 1 if c is Color.RED else x - 1, c


@programs()
def enum_flags(x):
    f = Flags.A | Flags.B
    return x, Flags.A in f, bool(f & Flags.B), f.value


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

    def describe(self, x):
        return x * self.area()


class Square(Shape):
    def area(self):
        return 4


@programs()
def abstract_classes(x):
    try:
        Shape()
    except TypeError as e:
        message = str(e)
    return Square().describe(x), message, isinstance(Square(), Shape)


@programs()
def abcs_of_collections(x):
    import collections.abc as c

    return (
        x,
        isinstance([], c.Sequence),
        isinstance({}, c.Mapping),
        isinstance(3, c.Hashable),
        issubclass(list, c.Iterable),
        isinstance((i for i in ()), c.Iterator),
        isinstance(len, c.Callable),
    )


@programs.factory()
def protocols():
    @typing.runtime_checkable
    class HasRun(typing.Protocol):
        def run(self, x): ...

    def f(x):
        return x, isinstance(Base(1), HasRun), isinstance(3, HasRun)

    return f


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, v: T):
        self.v = v


@programs()
def generics_and_typing(x):
    b = Box[int](3)
    y = typing.cast(torch.Tensor, x)
    return y * b.v, typing.Optional[int] == typing.Union[int, None], list[int].__origin__ is list, typing.TYPE_CHECKING


class Out(collections.OrderedDict):
    def __post(self):
        return None

    def __getitem__(self, k):
        if isinstance(k, int):
            return list(self.values())[k]
        return super().__getitem__(k)

    def __getattr__(self, k):
        try:
            return self[k]
        except KeyError:
            raise AttributeError(k) from None


@programs()
def dict_subclass_like_a_model_output(x):
    o = Out(a=x, b=x + 1)
    o["c"] = x * 2
    return o, o[0] + o.b, list(o.keys()), o.get("z"), hasattr(o, "z"), "c" in o


class Stack(list):
    def push(self, v):
        self.append(v)
        return self

    @property
    def top(self):
        return self[-1]


@programs()
def list_subclass(x):
    s = Stack([1]).push(x).push(x + 1)
    return s, s.top * 2, len(s), s[0], isinstance(s, list)


class Names(dict):
    def __missing__(self, k):
        return k * 2


@programs()
def dict_subclass_with_missing(x):
    n = Names(a=1)
    return x, n["a"], n["zz"], "zz" in n, n.get("zz")


class Tagged(str):
    def shout(self):
        return self.upper() + "!"


class Meters(float):
    pass


@programs(breaks=True)
def subclasses_of_immutables(x):
    t = Tagged("hi")
    m = Meters(2.5)
    return x * m, t.shout(), t + "a", isinstance(t, str), float(m)


class TupleLike(tuple):
    @property
    def first(self):
        return self[0]


@programs()
def tuple_subclass(x):
    t = TupleLike((x, 2))
    return t.first * t[1], t, len(t)


@programs.factory()
def instance_shared_twice():
    b = Base(1)
    pair = [b, b]

    def f(x):
        pair[0].k = 7
        return x * pair[1].k, pair[0] is pair[1]

    return f


@programs()
def identity(x):
    a, b = [1], [1]
    y = x
    return x, a is b, a == b, y is x, x + 0 is x, None is None, id(a) == id(b), id(x) == id(y)


@programs()
def isinstance_in_many_ways(x):
    return (
        x,
        isinstance(x, torch.Tensor),
        isinstance(1, (int, str)),
        isinstance(True, int),
        isinstance(None, type(None)),
        isinstance([], list | dict),
        issubclass(bool, int),
        isinstance(x, torch.nn.Parameter),
        type(x) is torch.Tensor,
        isinstance(x, torch.FloatTensor) if False else 0,
        type(1) in (int, float),
    )


@programs(breaks=True)
def copies(x):
    b = Base([1, x])
    c, d = copy.copy(b), copy.deepcopy(b)
    b.k.append(2)
    return c.k is b.k, len(d.k), d.k[1] + 1, copy.copy([1, 2]), copy.deepcopy({"a": (x, [3])})


@programs.factory(breaks=True)
def class_assigned():
    class A:
        def f(self):
            return 1

    class B:
        def f(self):
            return 2

    def f(x):
        a = A()
        a.__class__ = B
        return x * a.f(), type(a).__name__

    return f


@programs.factory(breaks=True)
def class_property_overridden():
    class Fake:
        @property
        def __class__(self):
            return int

    def f(x):
        return x, isinstance(Fake(), int), type(Fake()).__name__, Fake().__class__ is int

    return f


@programs()
def operator_module(x):
    import operator as o

    b = Base(3)
    return (
        o.add(x, 1),
        o.itemgetter(1)([5, 6]),
        o.itemgetter(0, 1)("abc"),
        o.attrgetter("k")(b),
        o.methodcaller("bit_length")(5),
        o.methodcaller("split", "a", maxsplit=1)("bab"),
        o.contains([1], 1),
        o.not_(0),
        o.truth(3),
        o.concat([1], [2]),
        o.is_(x, x),
        o.floordiv(7, 2),
        o.getitem({"a": 1}, "a"),
        o.matmul(x, x.T),
        o.iadd([1], [2]),
        o.index(3),
        o.neg(x),
        o.lt(1, 2),
        o.attrgetter("__class__.__name__")(b),
    )


@programs()
def none_and_singletons(x):
    return x, None, ..., NotImplemented, True


@programs(breaks=True)
def percent_of_an_object(x):
    return (
        x + 1,
        "%s" % Base,
        "%r" % Level.LOW,
        "%s|" % Square().__class__,
        "%s %%" % (Point(1, x).a,),
        "%s" % Color.RED,
        "%s" % Base(3).__dict__,
        "%s" % (x,),
    )


@programs()
def reprs_of_containers(x):
    return (
        x,
        repr([1, "a", (2,), {"k": None}, {3}]),
        str({1: [2]}),
        repr(()),
        str(slice(1, 2)),
        repr(range(3)),
        repr(b"a"),
    )


@programs()
def hash_of_things(x):
    return (
        x,
        hash((1, "a")) == hash((1, "a")),
        {(1, 2): 3}[(1, 2)],
        {1: "a", 1.0: "b", True: "c"},
        frozenset([1, 2]) == {1, 2},
    )


@programs()
def unhashable(x):
    try:
        {[1]: 2}
    except TypeError as e:
        return x, str(e)


@programs.factory()
def default_arguments_hold_objects():
    b = Base(2)

    def f(x, helper=b, *, other=[1]):
        other.append(2)
        return helper.run(x), len(other)

    return f


@programs()
def singleton_by_module(x):
    import math
    import sys

    return x, math.pi > 3, sys.version_info >= (3, 8), sys.maxsize > 0, math.__name__
