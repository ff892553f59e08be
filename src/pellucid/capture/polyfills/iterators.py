"""The iterators of itertools in plain Python."""
# ruff: noqa: UP028
# mypy: ignore-errors

import operator
import sys


def chain(*iterables):
    for it in iterables:
        for x in it:
            yield x


def chain_from_iterable(iterables):
    for it in iterables:
        for x in it:
            yield x


def _whole(value):
    return value is None or isinstance(value, int) and 0 <= value <= sys.maxsize


def islice(iterable, *args):
    if not args or len(args) > 3:
        raise TypeError(f"islice expected at {'least 2' if not args else 'most 4'} arguments, got {len(args) + 1}")
    s = slice(*args)
    if not _whole(s.stop):
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if not _whole(s.start):
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if not _whole(s.step) or s.step == 0:
        raise ValueError("Step for islice() must be a positive integer or None.")
    return _islice(iter(iterable), s.start or 0, s.stop, s.step or 1)


def _islice(it, wanted, stop, step):
    i = 0
    while True:
        while i < wanted:
            try:
                next(it)
            except StopIteration:
                return
            i += 1
        if stop is not None and i >= stop:
            return
        try:
            v = next(it)
        except StopIteration:
            return
        i += 1
        wanted += step
        if stop is not None and wanted > stop:
            wanted = stop
        yield v


def repeat(value, times=None):
    if times is None:
        while True:
            yield value
    for _ in range(times):
        yield value


def count(start=0, step=1):
    while True:
        yield start
        start += step


def cycle(iterable):
    return _cycle(iter(iterable))


def _cycle(iterable):
    saved = []
    for x in iterable:
        yield x
        saved.append(x)
    while saved:
        for x in saved:
            yield x


def product(*iterables, repeat=1):
    return _product([tuple(p) for p in iterables] * repeat)


def _product(pools):
    result = [()]
    for pool in pools:
        result = [x + (y,) for x in result for y in pool]
    for x in result:
        yield x


def accumulate(iterable, func=operator.add, *, initial=None):
    return _accumulate(iter(iterable), operator.add if func is None else func, initial)


def _accumulate(it, func, initial):
    total = initial
    if initial is None:
        try:
            total = next(it)
        except StopIteration:
            return
    yield total
    for x in it:
        total = func(total, x)
        yield total


def starmap(fn, iterable):
    return _starmap(fn, iter(iterable))


def _starmap(fn, iterable):
    for args in iterable:
        yield fn(*args)


def takewhile(predicate, iterable):
    return _takewhile(predicate, iter(iterable))


def _takewhile(predicate, iterable):
    for x in iterable:
        if not predicate(x):
            return
        yield x


def dropwhile(predicate, iterable):
    return _dropwhile(predicate, iter(iterable))


def _dropwhile(predicate, it):
    for x in it:
        if not predicate(x):
            yield x
            break
    for x in it:
        yield x


def filterfalse(predicate, iterable):
    return _filterfalse(predicate, iter(iterable))


def _filterfalse(predicate, iterable):
    for x in iterable:
        if not (x if predicate is None else predicate(x)):
            yield x


def compress(data, selectors):
    return _compress(zip(data, selectors))


def _compress(rows):
    for x, chosen in rows:
        if chosen:
            yield x


def pairwise(iterable):
    return _pairwise(iter(iterable))


def _pairwise(it):
    try:
        a = next(it)
    except StopIteration:
        return
    for b in it:
        yield a, b
        a = b


def zip_longest(*iterables, fillvalue=None):
    return _zip_longest([iter(i) for i in iterables], fillvalue)


def _zip_longest(iterators, fillvalue):
    done = [False] * len(iterators)
    while True:
        values = []
        for n, it in enumerate(iterators):
            if done[n]:
                values.append(fillvalue)
                continue
            try:
                values.append(next(it))
            except StopIteration:
                done[n] = True
                values.append(fillvalue)
        if all(done):
            return
        yield tuple(values)


def _chosen(pool, places):
    return tuple([pool[i] for i in places])


def combinations(iterable, r):
    return _combinations(tuple(iterable), r)


def _combinations(pool, r):
    for places in _rising(len(pool), r, 0, 1):
        yield _chosen(pool, places)


def combinations_with_replacement(iterable, r):
    return _combinations_with_replacement(tuple(iterable), r)


def _combinations_with_replacement(pool, r):
    for places in _rising(len(pool), r, 0, 0):
        yield _chosen(pool, places)


def _rising(n, r, least, gap):
    """All lists of r numbers below n from `least` on, each at least `gap` above the one before, in order."""
    if r == 0:
        yield []
        return
    for first in range(least, n):
        for rest in _rising(n, r - 1, first + gap, gap):
            yield [first, *rest]


def permutations(iterable, r=None):
    return _permutations(tuple(iterable), r)


def _permutations(pool, r):
    for places in _distinct(len(pool), len(pool) if r is None else r, ()):
        yield _chosen(pool, places)


def _distinct(n, r, taken):
    if r == 0:
        yield []
        return
    for first in range(n):
        if first not in taken:
            for rest in _distinct(n, r - 1, (*taken, first)):
                yield [first, *rest]


class _Groups:
    """What groupby() and its groups share: the item at hand, its key, and which group may still take items."""

    __slots__ = ("current", "items", "item", "key", "of")

    def __init__(self, items, of):
        self.items, self.of = items, of
        self.current = self.key = self.item = None

    def advance(self):
        self.item = next(self.items)
        self.key = self.item if self.of is None else self.of(self.item)


def groupby(iterable, key=None):
    return _groupby(_Groups(iter(iterable), key))


def _groupby(state):
    group = None
    while True:
        state.current = None
        try:
            if group is None:
                state.advance()
            while group is not None and state.key == group[0]:
                state.advance()
        except StopIteration:
            return
        state.current = group = [state.key]
        yield state.key, _group(state, group)


def _group(state, me):
    while state.current is me and state.key == me[0]:
        yield state.item
        try:
            state.advance()
        except StopIteration:
            return


def tee(iterable, n=2):
    if n < 0:
        raise ValueError("n must be >= 0")
    it = iter(iterable)
    waiting = [[] for _ in range(n)]
    return tuple([_tee(it, own, waiting) for own in waiting])


def _tee(it, own, waiting):
    while True:
        if not own:
            try:
                v = next(it)
            except StopIteration:
                return
            for w in waiting:
                w.append(v)
        yield own.pop(0)
