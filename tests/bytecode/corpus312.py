"""More cases, in the syntax of Python 3.12: type parameters, aliases, nested quotes in f-strings."""

# ruff: noqa
from .corpus import outcome

CASES = []


def case(f):
    CASES.append(f)
    return f


@case
def generic_functions():
    def first[T](xs: list[T]) -> T:
        return xs[0]

    class Box[T]:
        def __init__(self, v: T):
            self.v = v

        def get(self) -> T:
            return self.v

    type Pair = tuple[int, str]
    return first([1, 2]), Box(3).get(), first.__type_params__[0].__name__, Pair.__value__, Box.__name__


@case
def nested_quotes():
    d = {"a": 1}
    return f"{d["a"]} {f"{d["a"]:>{3}}"}"


@case
def inlined_comprehension_locals():
    x = 1
    out = [sorted(locals()) for x in range(1)]
    return out, x, [[x for x in range(y)] for y in range(3)], {(a := 5) for _ in range(2)}, a


class Names:
    x = 5
    ys = [y for y in range(3)]
    pairs = [(a, b) for a in range(2) for b in "pq"]


@case
def class_comprehension():
    class N:
        x = 5
        ys = [y for y in range(3)]
        fs = [(lambda: z) for z in range(2)]

    return N.ys, [f() for f in N.fs], Names.pairs
