"""heapq, bisect and collections.Counter's counting in plain Python. Heaps end up laid out as the C code lays them out:
an item moves down along the smaller children to a leaf first, and from there up to its place."""
# mypy: ignore-errors


def _before(a, b):
    return a < b


def _after(a, b):
    return b < a


def _rise(heap, top, place, first):
    item = heap[place]
    while place > top:
        above = (place - 1) // 2
        if not first(item, heap[above]):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = item


def _sink(heap, top, first):
    n = len(heap)
    item = heap[top]
    place = top
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and not first(heap[child], heap[child + 1]):
            child += 1
        heap[place] = heap[child]
        place = child
    heap[place] = item
    _rise(heap, top, place, first)


def _heapify(heap, first):
    for place in reversed(range(len(heap) // 2)):
        _sink(heap, place, first)


def _heappop(heap, first):
    last = heap.pop()
    if not heap:
        return last
    least = heap[0]
    heap[0] = last
    _sink(heap, 0, first)
    return least


def _heapreplace(heap, item, first):
    least = heap[0]
    heap[0] = item
    _sink(heap, 0, first)
    return least


def heapify(heap):
    _heapify(heap, _before)


def heapify_max(heap):
    _heapify(heap, _after)


def heappush(heap, item):
    heap.append(item)
    _rise(heap, 0, len(heap) - 1, _before)


def heappop(heap):
    if not heap:
        raise IndexError("index out of range")
    return _heappop(heap, _before)


def heappop_max(heap):
    if not heap:
        raise IndexError("index out of range")
    return _heappop(heap, _after)


def heapreplace(heap, item):
    if not heap:
        raise IndexError("index out of range")
    return _heapreplace(heap, item, _before)


def heapreplace_max(heap, item):
    if not heap:
        raise IndexError("index out of range")
    return _heapreplace(heap, item, _after)


def heappushpop(heap, item):
    if heap and heap[0] < item:
        return _heapreplace(heap, item, _before)
    return item


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        mid = (lo + hi) // 2
        if (a[mid] if key is None else key(a[mid])) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        mid = (lo + hi) // 2
        if x < (a[mid] if key is None else key(a[mid])):
            hi = mid
        else:
            lo = mid + 1
    return lo


def insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def count_elements(counts, iterable):
    for x in iterable:
        counts[x] = counts.get(x, 0) + 1


def count_of(iterable, value):
    return sum([x is value or x == value for x in iterable])


def index_of(iterable, value):
    for i, x in enumerate(iterable):
        if x is value or x == value:
            return i
    raise ValueError("sequence.index(x): x not in sequence")
