"""The polyfills' code. A trailing underscore is dropped from the names of those that stand for a built-in."""
# ruff: noqa: A001, UP028
# mypy: ignore-errors

import collections
import operator

import torch


# ------------------------------------------------------------------ attributes
def getattribute_or_getattr(obj, name, get, fallback):
    try:
        return get(obj, name)
    except AttributeError:
        return fallback(obj, name)


def getattr_default(obj, name, default):
    try:
        return getattr(obj, name)
    except AttributeError:
        return default


def hasattr_(obj, name):
    try:
        getattr(obj, name)
    except AttributeError:
        return False
    return True


def cached_property(obj, fn, name):
    value = fn(obj)
    obj.__dict__[name] = value
    return value


def new_then_init(cls, args, kwargs):
    obj = cls.__new__(cls, *args, **kwargs)
    if isinstance(obj, cls):
        type(obj).__init__(obj, *args, **kwargs)
    return obj


def defaultdict_missing(d, key, factory):
    value = factory()
    d[key] = value
    return value


def call_with_items(fn, iterable, kwargs):
    return fn(*[x for x in iterable], **kwargs)


def tuple_new(cls, items):
    return tuple.__new__(cls, [x for x in items])


def apply_function(cls, context, needs_input_grad, own_setup, no_grad, args):
    ctx = context()
    ctx.needs_input_grad = needs_input_grad
    with no_grad():
        if own_setup:
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
        else:
            result = cls.forward(ctx, *args)
        dirty = getattr(ctx, "dirty_tensors", None) or ()
        if type(result) is tuple:
            return tuple([own_object(r, args, dirty) for r in result])
        return own_object(result, args, dirty)


def apply_whole_function(cls, context, needs_input_grad, own_setup, no_grad, args, begin, end):
    begin(cls)
    ctx = context()
    ctx.needs_input_grad = needs_input_grad
    with no_grad():
        if own_setup:
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
        else:
            result = cls.forward(ctx, *args)
    return end(result, args, getattr(ctx, "non_differentiable", None) or (), getattr(ctx, "dirty_tensors", None))


def own_object(result, args, dirty):
    """An argument that is returned comes back as another object of its storage, unless it is marked dirty."""
    for d in dirty:
        if result is d:
            return result
    for a in args:
        if result is a and hasattr(a, "view_as"):
            return a.view_as(a)
    return result


# ------------------------------------------------------------------ torch's own helpers
def group_tensors(lists, with_indices=False):
    """By device and dtype of the first list's tensors, in order: {key: (lists of the group, indices)}."""
    groups = {}
    for i, t in enumerate(lists[0]):
        key = (t.device, t.dtype)
        if key not in groups:
            groups[key] = ([[] for _ in lists], [])
        for j, items in enumerate(lists):
            if len(items):
                groups[key][0][j].append(items[i])
        if with_indices:
            groups[key][1].append(i)
    return groups


def foreach(method, lists, args, kwargs):
    """torch._foreach_<method> on the CPU: the method of each tensor in turn, operands that are lists taken apart."""
    out = []
    for i, t in enumerate(lists):
        own = [a[i] if isinstance(a, (list, tuple)) else a for a in args]
        if method[:4] == "addc" and len(own) == 3:
            out.append(getattr(t, method)(own[0], own[1], value=own[2], **kwargs))
        else:
            out.append(getattr(t, method)(*own, **kwargs))
    return None if method[-1] == "_" else tuple(out)


def foreach_norm(lists, ord=2, dtype=None):
    return tuple([torch.linalg.vector_norm(t, ord, dtype=dtype) for t in lists])


# ------------------------------------------------------------------ operators
def _unsupported(a, b, symbol):
    """What neither operand's class answers: repeating a sequence, or the error."""
    if symbol == "*":
        for times, sequence in ((a, b), (b, a)):
            if isinstance(sequence, (str, bytes, list, tuple)) and hasattr(type(times), "__index__"):
                return sequence * times.__index__()
    raise TypeError(f"unsupported operand type(s) for {symbol}: {type(a).__name__!r} and {type(b).__name__!r}")


def binary_left(left, a, b, symbol):
    result = left(a, b)
    if result is NotImplemented:
        return _unsupported(a, b, symbol)
    return result


def binary_right(right, a, b, symbol):
    result = right(b, a)
    if result is NotImplemented:
        return _unsupported(a, b, symbol)
    return result


def binary_both(left, right, a, b, symbol):
    if type(a) is not type(b) and issubclass(type(b), type(a)):
        result = right(b, a)
        if result is NotImplemented:
            result = left(a, b)
    else:
        result = left(a, b)
        if result is NotImplemented:
            result = right(b, a)
    if result is NotImplemented:
        return _unsupported(a, b, symbol)
    return result


def contents_compare(op, a, b):
    """Stands for the comparison of containers that classes with comparisons of their own are derived from."""
    raise NotImplementedError("known to capture only")


def rich_compare(left, right, a, b, op, symbol, below=False):
    reflected_first = left is not None and right is not None and type(a) is not type(b) and issubclass(type(b), type(a))
    if reflected_first:
        result = right(b, a)
        if result is not NotImplemented:
            return result
    if left is not None:
        result = left(a, b)
        if result is not NotImplemented:
            return result
    if right is not None and not reflected_first:
        result = right(b, a)
        if result is not NotImplemented:
            return result
    if below:
        return contents_compare(op, a, b)
    if op is operator.eq:
        return a is b
    if op is operator.ne:
        return a is not b
    raise TypeError(f"{symbol!r} not supported between instances of {type(a).__name__!r} and {type(b).__name__!r}")


def not_equal(a, b):
    return not a == b


def not_(a):
    return not a


def compare_sequences(op, a, b):
    for x, y in zip(a, b):
        if x is not y and not x == y:
            if op is operator.eq:
                return False
            if op is operator.ne:
                return True
            return op(x, y)
    return op(len(a), len(b))


def percent_format(template, values):
    """template % values, where values hold objects with code of their own."""
    named = values
    if not isinstance(values, tuple):
        values = (values,)
    out = []
    place = used = 0
    while True:
        start = template.find("%", place)
        if start < 0:
            out.append(template[place:])
            break
        out.append(template[place:start])
        end = start + 1
        key = None
        if template[end:end + 1] == "(":
            close = template.index(")", end)
            key = template[end + 1:close]
            end = close + 1
        flags = ""
        while template[end] in "#0- +.123456789*hlL":
            if template[end] == "*":
                flags += str(values[used])
                used += 1
            elif template[end] not in "hlL":
                flags += template[end]
            end += 1
        kind = template[end]
        place = end + 1
        if kind == "%":
            out.append("%")
            continue
        if key is not None:
            v = named[key]
        elif used < len(values):
            v = values[used]
            used += 1
        else:
            raise TypeError("not enough arguments for format string")
        if kind in "sra":
            v = str(v) if kind == "s" else repr(v) if kind == "r" else ascii(v)
            kind = "s"
        out.append(("%" + flags + kind) % v)
    if used < len(values) and isinstance(named, tuple):
        raise TypeError("not all arguments converted during string formatting")
    return "".join(out)


def ascii_(obj):
    return repr(obj).encode("ascii", "backslashreplace").decode("ascii")


ORDERED_AS_DICT = repr(collections.OrderedDict(a=1)).startswith("OrderedDict({")
"""From Python 3.12 on."""


def container_repr(v):
    """repr() of a list, tuple, deque or dict (ordered, or with a default) of objects with code of their own."""
    cls = type(v)
    if isinstance(v, dict):
        text = "{" + ", ".join([f"{k!r}: {x!r}" for k, x in v.items()]) + "}"
        if cls is collections.OrderedDict:
            inner = text if ORDERED_AS_DICT else repr([(k, x) for k, x in v.items()])
            return f"OrderedDict({inner})" if v else "OrderedDict()"
        return f"defaultdict({v.default_factory!r}, {text})" if cls is collections.defaultdict else text
    text = ", ".join([repr(x) for x in v])
    if cls is tuple:
        return f"({text},)" if len(v) == 1 else f"({text})"
    if cls is collections.deque:
        return f"deque([{text}])" if v.maxlen is None else f"deque([{text}], maxlen={v.maxlen})"
    return f"[{text}]"


def exception_repr(name, args):
    if len(args) == 1:
        return f"{name}({args[0]!r})"
    return name + repr(args)


# ------------------------------------------------------------------ iteration
def contains_by_iteration(container, item):
    for x in container:
        if x is item or x == item:
            return True
    return False


def iterate_by_index(obj):
    i = 0
    while True:
        try:
            v = obj[i]
        except IndexError:
            return
        yield v
        i += 1


def iter_until(fn, sentinel):
    while True:
        v = fn()
        if v == sentinel:
            return
        yield v


def next_default(iterator, default):
    try:
        return next(iterator)
    except StopIteration:
        return default


def list_(iterable):
    out = []
    for x in iterable:
        out.append(x)
    return out


def tuple_(iterable):
    out = []
    for x in iterable:
        out.append(x)
    return tuple(out)


def set_(iterable):
    out = set()
    for x in iterable:
        out.add(x)
    return out


def frozenset_(iterable):
    out = []
    for x in iterable:
        out.append(x)
    return frozenset(out)


def list_set_slice(items, place, iterable):
    items[place] = [x for x in iterable]


def list_extend(items, iterable):
    for x in iterable:
        items.append(x)


def make_deque(cls, iterable, maxlen):
    out = cls([], maxlen)
    for x in iterable:
        out.append(x)
    return out


def deque_extend(items, iterable):
    for x in iterable:
        items.append(x)


def deque_extendleft(items, iterable):
    for x in iterable:
        items.appendleft(x)


def set_update(items, iterable):
    for x in iterable:
        items.add(x)


def dict_update(d, other, kwargs=()):
    for k in other.keys():
        d[k] = other[k]
    for k in kwargs:
        d[k] = kwargs[k]


def dict_update_pairs(d, pairs, kwargs=()):
    for k, v in pairs:
        d[k] = v
    for k in kwargs:
        d[k] = kwargs[k]


# What makes an iterator asks for its operands' iterators at once, and runs when it is asked for items.
def enumerate_(iterable, start=0):
    return _enumerate(iter(iterable), start)


def _enumerate(it, start):
    for x in it:
        yield start, x
        start += 1


def zip_(*iterables, strict=False):
    return _zip([iter(i) for i in iterables], strict)


def _zip(iterators, strict):
    if not iterators:
        return
    while True:
        values = []
        for n, it in enumerate(iterators):
            try:
                values.append(next(it))
            except StopIteration:
                if strict and n:
                    raise ValueError(f"zip() argument {n + 1} is shorter than argument {n}") from None
                if strict:
                    for m in range(1, len(iterators)):
                        try:
                            next(iterators[m])
                        except StopIteration:
                            continue
                        raise ValueError(f"zip() argument {m + 1} is longer than argument {m}") from None
                return
        yield tuple(values)


def map_(fn, *iterables):
    return _map_one(fn, iter(iterables[0])) if len(iterables) == 1 else _map(fn, zip(*iterables))


def _map_one(fn, it):
    for x in it:
        yield fn(x)


def _map(fn, rows):
    for xs in rows:
        yield fn(*xs)


def filter_(fn, iterable):
    return _filter(fn, iter(iterable))


def _filter(fn, it):
    for x in it:
        if x if fn is None else fn(x):
            yield x


def reversed_(sequence):
    if not (hasattr(type(sequence), "__len__") and hasattr(type(sequence), "__getitem__")):
        raise TypeError(f"{type(sequence).__name__!r} object is not reversible")
    return _reversed(sequence, len(sequence))


def _reversed(sequence, i):
    while i > 0:
        i -= 1
        yield sequence[i]


def any_(iterable):
    for x in iterable:
        if x:
            return True
    return False


def all_(iterable):
    for x in iterable:
        if not x:
            return False
    return True


def sum_(iterable, start=0):
    for x in iterable:
        start = start + x
    return start


_NOTHING = object()


def _no_extreme(fn):
    try:
        fn(())
    except ValueError as e:
        return str(e)


NO_EXTREME = {"min": _no_extreme(min), "max": _no_extreme(max)}
"""What this Python says of an empty argument."""


def _first(args, key, default, name):
    items = args[0] if len(args) == 1 else args
    best = _NOTHING
    best_key = None
    for x in items:
        k = x if key is None else key(x)
        if best is _NOTHING or (k < best_key if name == "min" else k > best_key):
            best, best_key = x, k
    if best is _NOTHING:
        if default is _NOTHING:
            raise ValueError(NO_EXTREME[name])
        return default
    return best


def min_(args, key=None, default=_NOTHING):
    return _first(args, key, default, "min")


def max_(args, key=None, default=_NOTHING):
    return _first(args, key, default, "max")


def sorted_(iterable, key=None, reverse=False):
    """Stable insertion sort: what is compared, and how often, differs from the built-in's; the result does not."""
    out = []
    keys = []
    for x in iterable:
        k = x if key is None else key(x)
        i = len(out)
        while i > 0 and (keys[i - 1] < k if reverse else k < keys[i - 1]):
            i -= 1
        out.insert(i, x)
        keys.insert(i, k)
    return out


def list_sort(items, key=None, reverse=False):
    items[:] = sorted(items, key=key, reverse=reverse)


def reduce_(fn, iterable, initial=_NOTHING):
    it = iter(iterable)
    value = next(it) if initial is _NOTHING else initial
    for x in it:
        value = fn(value, x)
    return value


def list_again(v, *items):
    list.clear(v)
    for x in items:
        list.extend(v, x)


def set_again(v, *items):
    set.clear(v)
    for x in items:
        set.update(v, x)


def dict_again(v, *others, **more):
    dict.update(v, *others, **more)


def str_join(separator, iterable):
    return separator.join([x for x in iterable])


def list_index(items, value, start=0, stop=None):
    i, n, _ = slice(start, stop).indices(len(items))
    while i < n and i < len(items):
        if items[i] is value or items[i] == value:
            return i
        i += 1
    raise ValueError("tuple.index(x): x not in tuple" if isinstance(items, tuple) else f"{value!r} is not in list")


def list_count(items, value):
    n = 0
    for x in items:
        if x is value or x == value:
            n += 1
    return n


def list_remove(items, value):
    i = 0
    for x in items:
        if x is value or x == value:
            del items[i]
            return
        i += 1
    raise ValueError("list.remove(x): x not in list")


def generator_close(generator):
    try:
        generator.throw(GeneratorExit())
    except (GeneratorExit, StopIteration):
        return
    raise RuntimeError("generator ignored GeneratorExit")


# ------------------------------------------------------------------ operator's getters, functools.cmp_to_key
def call_itemgetter(obj, keys, kwargs):
    if len(keys) == 1:
        return obj[keys[0]]
    return tuple([obj[k] for k in keys])


def concat(a, b):
    return a + b


def getitem_at_index(sequence, key):
    return sequence[key.__index__()]


def _dotted(obj, name):
    for part in name.split("."):
        obj = getattr(obj, part)
    return obj


def call_attrgetter(obj, names, kwargs):
    if len(names) == 1:
        return _dotted(obj, names[0])
    return tuple([_dotted(obj, n) for n in names])


def call_methodcaller(obj, made_with, kwargs):
    return getattr(obj, made_with[0])(*made_with[1:], **kwargs)


class _Key:
    __slots__ = ("obj", "compare")

    def __init__(self, obj, compare):
        self.obj, self.compare = obj, compare

    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0

    def __le__(self, other):
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self.compare(self.obj, other.obj) >= 0

    def __eq__(self, other):
        return self.compare(self.obj, other.obj) == 0

    __hash__ = None


def cmp_to_key_(mycmp):
    def key(obj):
        return _Key(obj, mycmp)
    return key
