"""Containers: lists, dicts and their views, sets, deques, counters, heaps, named tuples; all of itertools."""

from __future__ import annotations

import bisect
import collections
import copy
import heapq
import itertools
import operator
import typing
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque

import torch

from .harness import Programs

programs = Programs()


def batch():
    return ({"input": torch.arange(6.0).reshape(2, 3), "mask": torch.ones(2, 3)},)


def listed():
    return (torch.arange(6.0).reshape(2, 3), [1, 2, 3])


# ---------------------------------------------------------------- lists
@programs()
def list_methods(x):
    s = [3, 1, 2]
    s.append(5)
    s.extend((7, 1))
    s.insert(0, 9)
    popped = s.pop(), s.pop(0)
    s.remove(1)
    s.sort(reverse=True)
    t = s.copy()
    t.reverse()
    t.clear()
    return x, s, t, popped, s.index(5), s.count(1), 3 in s, s * 2, s + [0], sorted(s), list(reversed(s))


@programs(listed)
def list_argument_is_changed(x, sizes):
    sizes.append(len(sizes))
    sizes[0] = x.shape[1]
    del sizes[1]
    sizes.sort(key=lambda v: -v)
    return x * sum(sizes), sizes


@programs()
def list_of_tensors_is_popped_and_filled(x):
    queue = [x, x + 1]
    done = []
    while queue:
        t = queue.pop()
        if t is x:
            done.append(t * 2)
        else:
            queue.insert(0, x) if len(done) < 1 and len(queue) < 1 else None
            done.append(t)
    return done, queue


@programs()
def list_changes_while_iterating(x):
    s = [1, 2, 3, 4]
    seen = []
    for v in s:
        seen.append(v)
        if v == 2:
            s.remove(2)
        if len(seen) < 3:
            s.append(v * 10)
    return x, s, seen


@programs()
def sorting_with_keys(x):
    items = [("b", 2), ("a", 2), ("c", 1)]
    names = ["layer10", "layer2", "head"]
    return (
        x,
        sorted(items, key=lambda p: p[1]),
        sorted(items, key=operator.itemgetter(1, 0), reverse=True),
        sorted(names, key=len),
        sorted(names, key=str.upper),
        max(items, key=lambda p: (p[1], p[0])),
        min(names, key=lambda n: n[-1]),
        sorted({"b": 1, "a": 2}.items()),
        max([], default=None),
        min(3, 1, 2),
        max("ab", "b", key=len),
        sorted([True, 0, 2.5]),
    )


@programs()
def sorting_is_stable_and_sees_errors(x):
    data = [(1, "z"), (0, "y"), (1, "a"), (0, "b")]
    try:
        sorted([1, "a"])
    except TypeError as e:
        return x, sorted(data, key=lambda p: p[0]), str(e)


@programs()
def sort_by_tensor_shape(x):
    parts = [x, x[:1], torch.cat([x, x])]
    parts.sort(key=lambda t: t.shape[0])
    return [p * i for i, p in enumerate(parts)], max(parts, key=lambda t: t.numel()) is parts[-1]


@programs()
def nested_lists_share(x):
    row = [0] * 2
    grid = [row] * 2
    grid[0][1] = x
    shallow = copy.copy(grid)
    deep = copy.deepcopy([[1], {"k": (2, [3])}])
    return grid, grid[0] is grid[1], shallow[0] is row, deep


@programs()
def list_comparisons(x):
    return (
        x,
        [1, 2] < [1, 3],
        [1, 2] == [1, 2.0],
        (1,) < (1, 0),
        [[1], "a"] == [[1], "a"],
        [1] != [1],
        (2, 1) >= (2,),
    )


@programs(breaks=True)
def list_subclass_with_methods(x):
    class Stack(list):
        def push(self, v):
            self.append(v)
            return self

        @property
        def top(self):
            return self[-1]

    s = Stack()
    s.push(1).push(x)
    return s.top, len(s), isinstance(s, list), list(s)[0]


class Window(list):
    def push(self, v):
        self.append(v)
        del self[:-2]
        return self


@programs()
def list_subclass_outside(x):
    w = Window([1])
    w.push(2).push(x)
    return w, w[-1] * 2, len(w), w == [2, x]


# ---------------------------------------------------------------- dicts
@programs()
def dict_methods(x):
    d = {"a": 1}
    d.setdefault("b", []).append(2)
    d.setdefault("a", 5)
    d.update(c=3, **{"d": 4})
    d.update([("e", 5)])
    e = d.copy()
    popped = d.pop("c"), d.pop("zz", None), d.popitem()
    return (
        x,
        d,
        e,
        popped,
        list(d.keys()),
        list(d.values()),
        list(d.items()),
        d.get("q", 7),
        "a" in d,
        len(d),
        dict.fromkeys("ab", 0),
        {**d, "a": 9},
        d | {"f": 1},
        list(reversed(d)),
        bool({}),
        d == e,
    )


@programs(batch)
def batch_of_tensors(b):
    out = {k: v.float() * 2 for k, v in b.items()}
    b["extra"] = b.pop("mask") + 1
    return out, list(b), {**b, "input": 0}


@programs(batch)
def batch_is_filtered_and_renamed(b):
    renamed = {f"model.{k}": v for k, v in b.items() if isinstance(v, torch.Tensor) and v.dim() == 2}
    for k in list(b):
        if k == "mask":
            del b[k]
    return renamed


@programs()
def dict_views_are_live(x):
    d = {"a": 1, "b": 2}
    keys, values, items = d.keys(), d.values(), d.items()
    d["c"] = 3
    return x, list(keys), list(values), list(items), len(keys), ("c", 3) in items, "c" in keys, 3 in values


@programs()
def dict_views_as_sets(x):
    a, b = {"x": 1, "y": 2}, {"y": 2, "z": 3}
    return (
        x,
        sorted(a.keys() & b.keys()),
        sorted(a.keys() | b.keys()),
        sorted(a.keys() - b.keys()),
        sorted(a.keys() ^ b.keys()),
        a.keys() == {"x", "y"},
        sorted(a.items() & b.items()),
        a.keys() <= {"x", "y", "z"},
        a.keys().isdisjoint(["q"]),
        sorted(set(a) - set(b)),
        a.keys() - ["x"],
    )


@programs()
def dict_order_and_moves(x):
    d = OrderedDict(a=1, b=2, c=3)
    d.move_to_end("a")
    d.move_to_end("c", last=False)
    first = d.popitem(last=False)
    plain = {"a": 1, "b": 2}
    del plain["a"]
    plain["a"] = 3
    return (
        x,
        d,
        first,
        list(plain),
        OrderedDict(a=1, b=2) == OrderedDict(b=2, a=1),
        dict(a=1, b=2) == dict(b=2, a=1),
    )


@programs()
def default_dicts(x):
    groups = defaultdict(list)
    for i, name in enumerate(("a", "b", "a")):
        groups[name].append(x * i)
    counts = defaultdict(int)
    for c in "hello":
        counts[c] += 1
    nested = defaultdict(lambda: defaultdict(int))
    nested["p"]["q"] += 2
    return groups, counts, dict(nested["p"]), "zz" in groups, groups.get("zz"), sorted(counts.items()), len(groups)


@programs()
def default_dict_without_factory(x):
    d = defaultdict(None, {"a": 1})
    try:
        d["b"]
    except KeyError as e:
        return x, e.args, d, d.default_factory


@programs()
def dict_changes_while_iterating(x):
    d = {"a": 1, "b": 2}
    try:
        for k in d:
            d[k + "!"] = 1
    except RuntimeError as e:
        return x, str(e)


@programs()
def dict_keys_of_many_kinds(x):
    d = {
        1: "int",
        1.5: "float",
        "s": "str",
        (1, "t"): "tuple",
        None: "none",
        True: "replaces 1",
        frozenset([1]): "fs",
        torch.float32: "dtype",
        int: "class",
        len: "function",
    }
    return x, d[1], d[(1, "t")], d[None], d[frozenset([1])], d[x.dtype], d[int], d[len], len(d)


@programs()
def tensors_as_dict_keys(x):
    y = x + 1
    d = {x: "x", y: "y"}
    return d[x], d[y], x in d, len(d), y


class Registry(dict):
    def register(self, name):
        def deco(fn):
            self[name] = fn
            return fn

        return deco

    def __missing__(self, key):
        return lambda v: v


ACTIVATIONS = Registry()


@ACTIVATIONS.register("double")
def double(v):
    return v * 2


@programs()
def registry_with_missing(x):
    return ACTIVATIONS["double"](x), ACTIVATIONS["nothing"](x), "nothing" in ACTIVATIONS, ACTIVATIONS.get("q")


class AttrDict(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


@programs()
def attribute_dict(x):
    c = AttrDict(hidden=3, name="m")
    c.depth = 2
    c["hidden"] += 1
    try:
        c.missing
    except AttributeError as e:
        message = str(e)
    return x * c.hidden + c.depth, c, message, hasattr(c, "nope"), sorted(c)


@programs.factory()
def configuration_outside():
    cfg = AttrDict(scale=2, nested=AttrDict(bias=1))

    def f(x):
        cfg.scale += 1
        return x * cfg.scale + cfg.nested.bias

    return f


@programs()
def chain_maps(x):
    defaults, user = {"lr": 0.1, "wd": 0.0}, {"lr": 0.5}
    c = ChainMap(user, defaults)
    c["new"] = 1
    child = c.new_child({"wd": 2})
    return x * c["lr"], c["wd"], child["wd"], user, sorted(c), len(c), c.get("nope", 3), "lr" in c, dict(child)


@programs()
def counters(x):
    c = Counter("abracadabra")
    c.update("aa")
    c["z"] += 1
    d = Counter(a=1, b=5)
    return (
        x,
        c.most_common(2),
        c["missing"],
        c + d,
        d - c,
        sum(c.values()),
        sorted(c.elements())[:3],
        c & d,
        dict(c),
    )


@programs()
def counter_of_shapes(x):
    c = Counter(tuple(t.shape) for t in (x, x + 1, x[0]))
    return x, c[(2, 3)], c[(3,)], c.total() if hasattr(c, "total") else 3


# ---------------------------------------------------------------- sets
@programs()
def set_operations(x):
    a, b = {1, 2, 3}, {2, 3, 4}
    c = a.copy()
    c.add(9)
    c.discard(1)
    c.discard(77)
    c.remove(2)
    c.update([5], (6,))
    d = set(a)
    d &= b
    e = set(a)
    e ^= b
    return (
        x,
        a | b,
        a & b,
        a - b,
        a ^ b,
        a <= {1, 2, 3, 4},
        a < a,
        a.issuperset({1}),
        a.isdisjoint({8}),
        c,
        d,
        e,
        a.union([7], [8]),
        a.intersection(b, {3}),
        a.difference([1]),
        a.symmetric_difference([1, 10]),
        len(a),
        2 in a,
        {1, 2} == {2, 1},
        set() == frozenset(),
        frozenset([1]) | {2},
        {2} | frozenset([1]),
    )


@programs()
def set_update_methods(x):
    a = {1, 2, 3}
    a.intersection_update([2, 3, 9])
    a.difference_update({3})
    a.symmetric_difference_update([2, 8])
    return x, a, sorted(a), {n for n in range(4)} >= {0}, set("aab") == {"a", "b"}


@programs.factory()
def set_outside_grows():
    seen = set()

    def f(x):
        seen.add(tuple(x.shape))
        seen.add(x.dtype)
        return x * len(seen)

    return f


@programs()
def set_pop_of_one(x):
    s = {4}
    return x * s.pop(), s


@programs()
def frozen_sets_as_keys(x):
    table = {frozenset({"a", "b"}): 1, frozenset(): 2}
    return (
        x,
        table[frozenset(["b", "a"])],
        table[frozenset()],
        frozenset([1, 2]) - {1},
        hash(frozenset()) == hash(frozenset()),
    )


@programs()
def tensors_in_a_set(x):
    y = x + 1
    s = {x, y, x}
    return len(s), x in s, (x * 2) in s, y


# ---------------------------------------------------------------- deque, heap, bisect
@programs()
def deque_as_a_window(x):
    d = deque(maxlen=2)
    for i in range(4):
        d.append(x * i)
    return sum(d), len(d), d.maxlen, d[0], d[-1], list(d)


@programs()
def deque_methods(x):
    d = deque([1, 2, 3])
    d.appendleft(0)
    d.append(4)
    d.extend([5, 6])
    d.extendleft([-1, -2])
    left, right = d.popleft(), d.pop()
    d.rotate(1)
    d.rotate(-2)
    d.remove(3)
    e = d.copy()
    d.reverse()
    e[0] = 99
    d.insert(1, 7)
    return (
        x,
        d,
        e,
        left,
        right,
        d.index(7),
        d.count(1),
        2 in d,
        list(reversed(d)),
        bool(deque()),
        d == deque(d),
        d[1],
    )


@programs()
def deque_breadth_first(x):
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
    queue, seen, order = deque(["a"]), {"a"}, []
    while queue:
        node = queue.popleft()
        order.append(node)
        for n in graph[node]:
            if n not in seen:
                seen.add(n)
                queue.append(n)
    return x * len(order), order


@programs()
def deque_errors(x):
    out = []
    for fn in (
        lambda: deque().pop(),
        lambda: deque().popleft(),
        lambda: deque([1])[3],
        lambda: deque([1]).remove(2),
    ):
        try:
            fn()
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return x, out


@programs()
def deque_is_returned(x):
    d = deque([x], maxlen=3)
    d.append(x * 2)
    return d


@programs.factory()
def deque_outside():
    history = deque(maxlen=3)

    def f(x):
        history.append(len(history))
        return x * len(history), list(history)

    return f


@programs()
def heaps(x):
    h = [5, 1, 4]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    smallest = heapq.heappop(h)
    pushed = heapq.heappushpop(h, 3), heapq.heapreplace(h, 9)
    return (
        x,
        h,
        smallest,
        pushed,
        heapq.nlargest(2, [1, 5, 3]),
        heapq.nsmallest(2, [4, 2, 8], key=lambda v: -v),
        list(heapq.merge([1, 4], [2, 3])),
    )


@programs()
def heap_as_beam(x):
    beam = [(0.0, 0, "")]
    for step in range(2):
        grown = []
        for score, _, text in beam:
            for i, c in enumerate("ab"):
                heapq.heappush(grown, (score - (i + step), len(text), text + c))
        beam = heapq.nsmallest(2, grown)
    return x, beam


@programs()
def bisection(x):
    edges = [1, 3, 5]
    bisect.insort(edges, 4)
    return (
        x,
        edges,
        bisect.bisect(edges, 3),
        bisect.bisect_left(edges, 3),
        bisect.bisect_right([1, 1], 1),
        bisect.bisect(["a", "bb"], 2, key=len),
    )


# ---------------------------------------------------------------- named tuples
class Point(typing.NamedTuple):
    x: int
    y: int = 2

    def norm(self):
        return self.x**2 + self.y**2

    @property
    def swapped(self):
        return Point(self.y, self.x)

    @classmethod
    def origin(cls):
        return cls(0, 0)

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


Pair = collections.namedtuple("Pair", ["first", "second"], defaults=[None])


@programs(breaks=True)
def named_tuple_with_methods(x):
    p = Point(3)
    q = p._replace(y=5)
    a, b = q
    return (
        x * p.norm(),
        p.swapped,
        Point.origin(),
        p + q,
        q._asdict(),
        p._fields,
        a + b,
        p == (3, 2),
        p[0],
        p[-1],
        len(p),
        isinstance(p, tuple),
        Point._make([7, 8]),
        Point(*[1, 2]),
        Point(y=1, x=2),
        repr(p),
        max(p),
        p < q,
    )


@programs()
def named_tuple_of_tensors(x):
    out = Pair(x * 2, second=x.sum(0))
    first, second = out
    return out, out._replace(first=None), first + second, Pair(1), sorted(Pair._fields)


@programs()
def named_tuple_subclass(x):
    p = Labelled(1, 2)
    return p, p.label, p.x, x * p.norm(), type(p).__name__, p._replace(x=9)


class Labelled(Point):
    __slots__ = ()

    @property
    def label(self):
        return f"({self.x}, {self.y})"


@programs()
def torch_size_as_a_tuple(x):
    s = x.shape
    n, m = s
    return (
        x.reshape(*s[::-1]),
        s[0] * m,
        len(s),
        s.numel(),
        s + (1,),
        s == (2, 3),
        list(s),
        tuple(s)[1:],
        max(s),
        s[1:],
    )


# ---------------------------------------------------------------- itertools
@programs()
def itertools_in_full(x):
    return x, [
        list(itertools.chain([1], (2,), "a")),
        list(itertools.chain.from_iterable([[1], [2, 3]])),
        list(itertools.accumulate([1, 2, 3], operator.mul)),
        list(itertools.accumulate([1, 2, 3], initial=10)),
        list(itertools.combinations("abc", 2)),
        list(itertools.combinations_with_replacement("ab", 2)),
        list(itertools.permutations([1, 2, 3], 2)),
        list(itertools.permutations("ab")),
        list(itertools.product([0, 1], repeat=2)),
        list(itertools.product("ab", [1])),
        list(itertools.compress("abcd", [1, 0, True, 0])),
        list(itertools.dropwhile(lambda v: v < 2, [1, 2, 1])),
        list(itertools.takewhile(lambda v: v < 2, [1, 2, 1])),
        list(itertools.filterfalse(lambda v: v % 2, range(5))),
        list(itertools.filterfalse(None, [0, 1, ""])),
        [(k, list(g)) for k, g in itertools.groupby("aabbba")],
        [(k, [v[1] for v in g]) for k, g in itertools.groupby([(0, 1), (0, 2), (1, 3)], key=lambda p: p[0])],
        list(itertools.islice(itertools.count(5, 2), 3)),
        list(itertools.islice("abcdef", 1, None, 2)),
        list(itertools.islice(itertools.cycle("ab"), 5)),
        list(itertools.repeat(7, 2)),
        list(itertools.starmap(pow, [(2, 3), (3, 2)])),
        list(itertools.zip_longest([1, 2], [3], fillvalue=0)),
        list(itertools.pairwise([1, 2, 3])),
        [list(t) for t in itertools.tee([1, 2], 2)],
    ]


@programs()
def itertools_over_tensors(x):
    rows = list(x)
    return (
        [a * b for a, b in itertools.combinations(rows, 2)],
        [a + b for a, b in itertools.pairwise(rows)],
        list(itertools.accumulate(rows)),
        [r for r in itertools.chain(rows, rows[:1])],
        torch.stack(list(itertools.islice(itertools.cycle(rows), 3))),
        [a - b for a, b in itertools.product(rows, repeat=2)][1],
    )


@programs()
def groupby_of_layers(x):
    layers = [("conv", 1), ("conv", 2), ("norm", 3), ("conv", 4)]
    out = []
    for kind, group in itertools.groupby(layers, key=operator.itemgetter(0)):
        total = sum(v for _, v in group)
        x = x + total if kind == "conv" else x * total
        out.append((kind, total))
    return x, out


@programs()
def tee_and_partial_consumption(x):
    a, b = itertools.tee(i * 2 for i in range(4))
    next(a)
    head = list(itertools.islice(b, 2))
    return x, list(a), head, list(b)


@programs()
def iterators_and_next(x):
    it = iter([1, 2, 3])
    first = next(it)
    rest = list(it)
    z = zip([1, 2], "ab")
    e = enumerate("xy", start=5)
    m = map(lambda a, b: a * b, [1, 2], [3, 4])
    f = filter(None, [0, 1, 2])
    r = reversed([1, 2])
    return (
        x,
        first,
        rest,
        next(it, "end"),
        next(z),
        list(z),
        next(e),
        dict(e),
        list(m),
        list(f),
        next(r),
        list(r),
        iter(r) is r,
    )


@programs()
def batches_from_an_iterator(x):
    def batched(iterable, n):
        it = iter(iterable)
        while chunk := list(itertools.islice(it, n)):
            yield chunk

    return x, list(batched(range(5), 2)), [sum(c) for c in batched([x, x, x], 2)]


@programs()
def ranges(x):
    r = range(2, 20, 3)
    return (
        x,
        len(r),
        r[1],
        r[-1],
        r[1:4],
        8 in r,
        9 in r,
        r.index(11),
        r.count(5),
        list(reversed(r)),
        r == range(2, 18, 3),
        r.step,
        sum(r),
        bool(range(0)),
        max(r),
        list(range(3, 0, -1)),
        hash(range(0)) == hash(range(0)),
        repr(r),
    )


@programs()
def container_reprs_and_hashes(x):
    return (
        x,
        repr([1, "a", (2,)]),
        str({"k": [1]}),
        repr({1}),
        repr(set()),
        str((1,)),
        repr(frozenset()),
        repr(OrderedDict(a=1)),
        repr(Pair(1, 2)),
        hash((1, 2)) == hash((1, 2)),
        repr(deque([1])),
        repr(defaultdict(int, a=1)),
        repr(Counter("aa")),
    )


@programs()
def self_containing_list(x):
    s = [1]
    s.append(s)
    return x, s[1] is s, len(s), s[1][1][0]


@programs()
def user_dict_and_list(x):
    u = collections.UserDict({"a": 1})
    u["b"] = 2
    v = collections.UserList([1, 2])
    v.append(3)
    return x, sorted(u), u["b"], len(v), v[-1], list(v), "a" in u, u.get("zz")
