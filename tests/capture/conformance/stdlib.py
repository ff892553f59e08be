"""The standard library and numpy as model code uses them: operator, math, copy, inspect, warnings, logging, time ..."""

from __future__ import annotations

import base64
import collections.abc
import contextvars
import copy
import dataclasses
import datetime
import hashlib
import inspect
import json
import logging
import math
import numbers
import operator
import os
import random
import re
import statistics
import string
import struct
import textwrap
import threading
import time
import types
import typing
import uuid
import warnings
import weakref
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch

from .harness import Programs

programs = Programs()
logger = logging.getLogger(__name__)
LEVEL = contextvars.ContextVar("LEVEL", default=2)
LOCK = threading.Lock()
PATTERN = re.compile(r"layer\.(\d+)\.(?P<name>\w+)")


# ---------------------------------------------------------------- operator, functools, math
@programs()
def operator_functions(x):
    get, attr, call = (
        operator.itemgetter("a", "b"),
        operator.attrgetter("shape", "dtype"),
        operator.methodcaller("sum", 0),
    )
    d = {"a": 1, "b": 2}
    s = [1, 2]
    operator.setitem(s, 0, 9)
    operator.delitem(d, "zz") if "zz" in d else None
    return (
        operator.add(x, 1),
        operator.matmul(x, x.T),
        get(d),
        attr(x),
        call(x),
        operator.getitem(s, 1),
        operator.contains(s, 9),
        operator.mul(2, 3),
        operator.neg(x),
        operator.truth([]),
        operator.is_(s, s),
        operator.concat([1], [2]),
        operator.countOf([1, 1], 1),
        operator.indexOf([5, 6], 6),
        operator.iadd(s, [3]),
        operator.pow(2, 3),
        s,
        operator.xor(5, 1),
        operator.not_(0),
        operator.length_hint([1]),
        operator.lt(x, 0),
        operator.mod(7, 4),
        operator.inv(5),
        operator.rshift(8, 1),
        operator.floordiv(7, 2),
        operator.itemgetter(slice(1))(s),
        operator.index(3),
    )


@programs()
def operator_in_place_on_tensors(x):
    y = x.clone()
    z = operator.iadd(y, 1)
    operator.imul(y, 2)
    operator.isub(y, x)
    return y, z is y


@programs()
def math_functions(x):
    n = x.shape[-1]
    return x / math.sqrt(n), [
        math.ceil(2.1),
        math.floor(-2.1),
        math.log2(8),
        math.log(math.e),
        math.exp(0),
        math.gcd(12, 8),
        math.lcm(4, 6),
        math.prod([2, 3]),
        math.isclose(0.1 + 0.2, 0.3),
        math.isnan(math.nan),
        math.isinf(math.inf),
        math.comb(5, 2),
        math.factorial(4),
        math.hypot(3, 4),
        math.copysign(1, -2),
        math.fmod(7, 3),
        math.trunc(2.7),
        math.pi,
        math.tau,
        math.degrees(math.pi),
        math.atan2(1, 1),
        math.isqrt(10),
        math.fsum([0.1] * 10),
        math.modf(2.5),
        math.frexp(8.0),
        math.perm(4, 2),
        math.dist([0, 0], [3, 4]),
        math.erf(0.5),
        math.log1p(0),
        math.log10(100),
        math.cos(0),
        math.inf > n,
    ]


@programs()
def attention_scale_and_buckets(x):
    d = x.size(-1)
    scale = 1.0 / math.sqrt(d)
    buckets = [2**i for i in range(int(math.log2(64)))]
    return x * scale, buckets[-1], math.ceil(d / 2) * 2, round(scale, 3)


@programs()
def statistics_and_fractions(x):
    return x, statistics.mean([1, 2, 3]), statistics.median([3, 1, 2]), Fraction(1, 3) + Fraction(1, 6)


# ---------------------------------------------------------------- copy, inspect
class Layer:
    def __init__(self, k, child=None):
        self.k, self.child = k, child

    def run(self, x, *, scale=1.0, bias=None):
        return x * self.k * scale


class Copied(Layer):
    def __copy__(self):
        return Copied(self.k + 1)

    def __deepcopy__(self, memo):
        return Copied(self.k + 100)


@programs()
def copies_in_depth(x):
    a = Layer(2, Layer(3))
    b, c = copy.copy(a), copy.deepcopy(a)
    c.child.k = 9
    d = copy.deepcopy({"t": [1, (2, {"s": {3}})], "l": a})
    e = copy.copy([1, [2]])
    return (
        x * a.child.k,
        b.child is a.child,
        c.child.k,
        d["t"],
        d["l"].k,
        e,
        copy.copy(Copied(1)).k,
        copy.deepcopy(Copied(1)).k,
    )


@programs()
def deepcopy_shares_what_was_shared(x):
    inner = [1]
    out = copy.deepcopy([inner, inner, (inner,)])
    out[0].append(2)
    return x, out, out[0] is out[1], out[2][0] is out[0], inner


@programs()
def signature_of_a_function(x):
    sig = inspect.signature(Layer.run)
    names = list(sig.parameters)
    kinds = [p.kind.name for p in sig.parameters.values()]
    given = {"scale": 2.0, "other": 1}
    accepted = {k: v for k, v in given.items() if k in sig.parameters}
    return (
        Layer(2).run(x, **accepted),
        names,
        kinds,
        sig.parameters["scale"].default,
        sig.parameters["x"].default is inspect.Parameter.empty,
    )


@programs(breaks=True)
def inspect_questions(x):
    return (
        x,
        inspect.isfunction(Layer.run),
        inspect.ismethod(Layer(1).run),
        inspect.isclass(Layer),
        inspect.ismodule(math),
        inspect.isbuiltin(len),
        callable(Layer),
        inspect.isgeneratorfunction(lambda: 0),
        inspect.getmro(Copied)[1] is Layer,
        inspect.unwrap(Layer.run) is Layer.run,
    )


# ---------------------------------------------------------------- warnings, logging
@programs(breaks=True)
def warns_once_a_call(x):
    if x.dim() == 2:
        warnings.warn("two dimensional", UserWarning, stacklevel=2)
    return x + 1


@programs(breaks=True)
def warns_a_deprecation_in_a_helper(x):
    def old(y):
        warnings.warn(f"old() is deprecated, shape {tuple(y.shape)}", DeprecationWarning, stacklevel=1)
        return y * 2

    return old(x)


@programs(breaks=True)
def warnings_turned_into_errors(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("now an error", RuntimeWarning, stacklevel=1)
        except RuntimeWarning as e:
            return x * 2, str(e)


@programs()
def logging_that_is_off(x):
    logger.debug("shape %s", x.shape)
    if logger.isEnabledFor(logging.DEBUG):
        x = x * 0
    return x + 1, logger.name.split(".")[-1]


@programs(breaks=True)
def logging_with_a_handler(x):
    return x, logged("level %d", 3)


def logged(message, *args):
    out = []
    handler = logging.Handler()
    handler.emit = lambda record: out.append(record.getMessage())
    local = logging.getLogger("conformance.local")
    local.propagate = False
    local.setLevel(logging.INFO)
    local.addHandler(handler)
    try:
        local.info(message, *args)
        local.debug("not shown")
    finally:
        local.removeHandler(handler)
    return out


@programs(breaks=True)
def prints_while_computing(x):
    print("shape", tuple(x.shape), sep="=", end="\n")
    y = x + 1
    print(f"dims {y.dim()}", "and", [1, None])
    return y


# ---------------------------------------------------------------- time, random, environment
@programs(breaks=True)
def time_is_read(x):
    start = time.perf_counter()
    y = x * 2
    return y, time.perf_counter() >= start, time.time() > 1e9, time.monotonic() > 0


@programs(breaks=True)
def random_numbers(x):
    k = random.random()
    n = random.randint(1, 6)
    items = [1, 2, 3]
    random.shuffle(items)
    return x * k, n, items, random.choice("abc"), random.uniform(0, 1)


@programs(breaks=True)
def random_with_its_own_generator(x):
    rng = random.Random(5)
    return x * rng.randint(1, 100), rng.random(), rng.sample(range(10), 2)


@programs(breaks=True)
def drop_path_by_random(x):
    keep = 0.8
    if random.random() < keep:
        return x / keep
    return x


@programs()
def environment_is_read(x):
    debug = os.environ.get("PELLUCID_CONFORMANCE_DEBUG", "0") == "1"
    return x + int(debug), os.getenv("PELLUCID_CONFORMANCE_NONE"), "PELLUCID_CONFORMANCE_NONE" in os.environ


@programs.factory()
def environment_changes_between_calls():
    name = "PELLUCID_CONFORMANCE_STEP"

    def f(x):
        return x * int(os.environ.get(name, "3"))

    return f


@programs(breaks=True)
def environment_is_written(x):
    os.environ["PELLUCID_CONFORMANCE"] = "7"
    try:
        return x * int(os.environ["PELLUCID_CONFORMANCE"])
    finally:
        del os.environ["PELLUCID_CONFORMANCE"]


# ---------------------------------------------------------------- text
@programs(breaks=True)
def regular_expressions_of_parameter_names(x):
    m = PATTERN.match("layer.3.weight")
    out = m.group(1), m["name"], m.groupdict(), m.span(), PATTERN.search("head") is None
    return (
        x * int(m.group(1)),
        out,
        re.sub(r"\d+", "N", "a1b22"),
        re.split(r"[,;]", "a,b;c"),
        re.findall(r"\w", "a b"),
        bool(re.fullmatch("a+", "aaa")),
        [m.start() for m in re.finditer("a", "banana")],
    )


@programs(breaks=True)
def string_helpers(x):
    t = string.Template("$a and ${b}")
    return (
        x,
        string.ascii_lowercase[:3],
        t.substitute(a=1, b=2),
        string.capwords("a bc"),
        string.digits,
        textwrap.dedent("  a\n  b"),
        (textwrap.indent("a", "> ")),
        textwrap.shorten("one two three", 9, placeholder=".."),
    )


@programs()
def json_of_a_configuration(x):
    text = json.dumps({"a": [1, 2.5, None, True], "b": {"c": "d"}}, sort_keys=True)
    back = json.loads(text)
    return x * back["a"][0], text, back


@programs(breaks=True)
def bytes_and_struct(x):
    packed = struct.pack("<if", 3, 0.5)
    return (
        x * struct.unpack("<if", packed)[0],
        packed,
        struct.calcsize("<q"),
        base64.b64encode(b"ab"),
        hashlib.md5(b"a").hexdigest(),
        (b"ab".hex()),
        int.from_bytes(b"\x01\x02", "big"),
        (258).to_bytes(2, "big"),
        bytes([1, 2])[0],
        bytearray(b"a") + b"b",
    )


# ---------------------------------------------------------------- dates, paths, ids
@programs()
def dates_and_paths(x):
    d = datetime.date(2024, 1, 31) + datetime.timedelta(days=1)
    p = Path("a") / "b.txt"
    return (
        x * d.day,
        d.isoformat(),
        p.suffix,
        p.stem,
        str(p.parent),
        os.path.join("a", "b"),
        os.path.splitext("m.pt"),
        os.path.basename("a/c"),
    )


@programs()
def uuid_from_a_string(x):
    return x, str(uuid.UUID(int=5)), len(str(uuid.UUID("12345678123456781234567812345678")))


# ---------------------------------------------------------------- contextvars, threads, weak references
@programs(breaks=True)
def context_variable_is_read(x):
    return x * LEVEL.get(), LEVEL.name


@programs(breaks=True)
def context_variable_is_set_and_reset(x):
    token = LEVEL.set(5)
    try:
        y = x * LEVEL.get()
    finally:
        LEVEL.reset(token)
    return y, LEVEL.get()


@programs(breaks=True)
def lock_around_a_computation(x):
    with LOCK:
        y = x + 1
    return y, LOCK.locked()


class Local_(threading.local):
    depth = 0


STATE = Local_()


@programs()
def thread_local_state(x):
    STATE.depth += 1
    try:
        return x * STATE.depth
    finally:
        STATE.depth -= 1


@programs(breaks=True)
def weak_reference_to_an_object(x):
    a = Layer(2)
    r = weakref.ref(a)
    return x * r().k, r() is a


OWNER = Layer(4)
REF = weakref.ref(OWNER)
CACHE = weakref.WeakKeyDictionary()


@programs()
def weak_reference_outside(x):
    return x * REF().k, REF() is OWNER


@programs(breaks=True)
def weak_key_dictionary(x):
    if OWNER not in CACHE:
        CACHE[OWNER] = 3
    return x * CACHE[OWNER], len(CACHE)


# ---------------------------------------------------------------- numbers, types, abstract classes
@programs(breaks=True)
def numbers_and_types(x):
    ns = types.SimpleNamespace(a=1, b=x)
    ns.c = ns.b * 2
    return (
        ns.c,
        ns.a,
        isinstance(3, numbers.Number),
        isinstance(2.5, numbers.Real),
        isinstance(True, numbers.Integral),
        vars(ns).keys() >= {"a"},
        isinstance(lambda: 0, types.FunctionType),
        types.MappingProxyType({"k": 1})["k"],
        isinstance(x, numbers.Number),
    )


@programs()
def abstract_class_tests(x):
    abc_ = collections.abc
    return (
        x,
        isinstance([], abc_.MutableSequence),
        isinstance("a", abc_.Sequence),
        isinstance({}, abc_.Mapping),
        isinstance((i for i in []), abc_.Generator),
        isinstance(x, abc_.Sized),
        isinstance(x, abc_.Sequence),
        issubclass(dict, abc_.MutableMapping),
        isinstance({1}, abc_.Set),
    )


@programs()
def typing_helpers(x):
    hints = typing.get_type_hints(Layer.run)
    return (
        x,
        hints,
        typing.get_origin(typing.Optional[int]) is typing.Union,
        typing.get_args(typing.Tuple[int, str]),
        typing.TYPE_CHECKING,
    )


@programs(breaks=True)
def dataclass_helpers(x):
    C = dataclasses.make_dataclass("C", [("a", int), ("b", int, dataclasses.field(default=3))])
    c = C(1)
    return x * c.b, dataclasses.asdict(c)


@programs(breaks=True)
def simple_namespace_outside(x):
    NAMESPACE.count += 1
    return x * NAMESPACE.scale


NAMESPACE = types.SimpleNamespace(scale=3, count=0)


# ---------------------------------------------------------------- numpy
@programs(breaks=True)
def numpy_scalars_and_constants(x):
    return (
        x * float(np.float32(0.5)),
        np.pi,
        np.prod([2, 3]).item(),
        int(np.ceil(2.1)),
        np.sqrt(4.0).item(),
        np.iinfo(np.int32).max,
    )


@programs(breaks=True)
def numpy_schedule_of_betas(x):
    betas = np.linspace(0.1, 0.2, 3)
    alphas = np.cumprod(1.0 - betas)
    return x * float(alphas[-1]), torch.from_numpy(alphas).sum(), betas.shape, alphas.tolist()


@programs(breaks=True)
def numpy_from_a_tensor(x):
    a = x.numpy()
    return torch.from_numpy(a * 2), a.shape, a.sum().item(), np.asarray([1, 2]).tolist()


@programs(lambda: (np.arange(6, dtype=np.float32).reshape(2, 3),), breaks=True)
def numpy_argument(a):
    return torch.from_numpy(a) * 2, a.dtype == np.float32, a.ndim, (a + 1).sum()


@programs(breaks=True)
def numpy_random(x):
    return x * np.random.rand(), np.random.randint(0, 5, size=2), np.random.permutation(3)
