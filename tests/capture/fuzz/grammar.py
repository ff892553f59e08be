"""Programs made from a small grammar: statements over tensors, ints, lists, dicts, sets, functions and classes.

`Writer(choose)` writes the text of one function; `choose(options)` picks, so that Hypothesis (or any other source of
choices) decides and shrinks. Every program ends; some raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Choose = Callable[[Sequence[Any]], Any]
DEPTH = 3


class Writer:
    """Text of `def f(x, n, s)`: x a float tensor of (2, 3), n an int, s a list of ints."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.lines: list[str] = []
        self.level = 2
        self.names = 0
        self.budget = 18
        self.loops = 0
        self.known: dict[str, list[str]] = {"t": ["x"], "i": ["n"], "l": ["s"], "d": [], "f": [], "o": [], "s": []}

    def program(self) -> str:
        self.lines = [
            "import contextlib, functools, itertools, operator",
            "import torch",
            "",
            "GLOBAL = [0]",
            "",
            "def make():",
            "    outer = 1",
            "    def f(x, n, s):",
            "        nonlocal outer",
            "        log = []",
        ]
        for _ in range(self.choose(range(3, 9))):
            self.statement(0)
        shown = [v for kind in "tilds" for v in self.known[kind]]
        self.line(f"return log, outer, {', '.join(shown)}")
        self.lines += ["    return f"]
        return "\n".join(self.lines) + "\n"

    # ---------------------------------------------------------------- helpers
    def line(self, text: str) -> None:
        self.lines.append("    " * self.level + text)

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def some(self, kind: str, otherwise: str) -> str:
        return self.choose(self.known[kind]) if self.known[kind] else otherwise

    def block(self, depth: int) -> None:
        """An indented block; what it defines is not relied upon afterwards."""
        saved = {k: list(v) for k, v in self.known.items()}
        self.level += 1
        self.line(f"log.append({len(self.lines)})")
        for _ in range(self.choose((1, 2))):
            self.statement(depth + 1)
        self.level -= 1
        self.known = saved

    # ---------------------------------------------------------------- expressions
    def number(self, depth: int = 0) -> str:
        a = self.choose(("0", "1", "2", "3", "-2")) if depth > 1 or self.choose((0, 0, 1)) else self.some("i", "1")
        if depth > 1:
            return a
        how = self.choose(range(16))
        b = lambda: self.number(depth + 1)  # noqa: E731
        items, mapping = self.some("l", "[1, 2]"), self.some("d", "{'a': 1}")
        return (
            a,
            f"({a} + {b()})",
            f"({a} - {b()})",
            f"({a} * {b()})",
            f"({a} // ({b()} or 1))",
            f"len({items})",
            f"({items}[0] if {items} else {b()})",
            f"{mapping}.get({self.key()}, {b()})",
            f"sum({items})",
            f"max({a}, {b()})",
            f"({a} if {self.condition(depth + 1)} else {b()})",
            "outer",
            "GLOBAL[0]",
            f"{self.some('f', 'abs')}({b()})",
            f"({a} % ({b()} or 3))",
            f"x.shape[{self.choose((0, 1))}]",
        )[how]

    def condition(self, depth: int = 0) -> str:
        how = self.choose(range(8))
        a, b = self.number(depth + 1), self.number(depth + 1)
        return (
            f"{a} < {b}",
            f"{a} == {b}",
            f"{a} <= {b} < 5",
            f"not {a}",
            f"{a} in {self.some('l', '[1]')}",
            f"{self.key()} in {self.some('d', '{}')}",
            f"{a} > 0 and {b} != 1",
            f"{a} is not None or {b}",
        )[how]

    def key(self) -> str:
        return self.choose(("'a'", "'b'", "n", "(1, 'k')"))

    def tensor(self) -> str:
        t = self.some("t", "x")
        how = self.choose(range(12))
        k = self.number(1)
        return (
            f"{t} + {k}",
            f"{t} * {k}",
            f"{t} - {self.some('t', 'x')}",
            f"torch.relu({t})",
            f"{t}.sum(0)",
            f"-{t}",
            f"{t}.clone()",
            f"torch.stack([{t}, {t}])",
            f"({t} if {self.condition(1)} else x)",
            f"{t}.reshape(-1)",
            f"sum([{t} * v for v in {self.some('l', '[1, 2]')}], {t})",
            f"{self.choose('+-')}{t}.mean()",
        )[how]

    def items(self) -> str:
        items = self.some("l", "[3, 1]")
        how = self.choose(range(11))
        return (
            f"[{self.number(1)}, {self.number(1)}]",
            f"[v * 2 for v in {items} if v != {self.number(1)}]",
            f"list(range({self.number(1)} % 4))",
            f"sorted({items}, key=lambda v: -v)",
            f"{items}[::-1]",
            f"[*{items}, {self.number(1)}]",
            f"list(map(lambda v: v + {self.number(1)}, {items}))",
            f"list(itertools.accumulate({items}))",
            f"[a - b for a, b in zip({items}, {items}[1:])]",
            f"list({self.some('s', '{2, 1}')})",
            f"[i * v for i, v in enumerate({items}, {self.number(1)})]",
        )[how]

    # ---------------------------------------------------------------- statements
    def statement(self, depth: int) -> None:
        self.budget -= 1
        plain = (
            self.assign_number,
            self.assign_tensor,
            self.assign_list,
            self.assign_dict,
            self.assign_set,
            self.change,
            self.change,
            self.note,
        )
        nested = (
            self.branch,
            self.loop,
            self.attempt,
            self.function,
            self.generator,
            self.while_loop,
            self.manager,
            self.klass,
            self.match,
        )
        if depth >= DEPTH or self.budget <= 0:
            self.choose(plain)()
        else:
            made = self.choose((*plain, *nested))
            made() if made in plain else made(depth)

    def assign_number(self) -> None:
        text, name = self.number(), self.name("i")
        self.line(f"{name} = {text}")
        self.known["i"].append(name)

    def assign_tensor(self) -> None:
        text, name = self.tensor(), self.name("t")
        self.line(f"{name} = {text}")
        self.known["t"].append(name)

    def assign_list(self) -> None:
        text, name = self.items(), self.name("l")
        self.line(f"{name} = {text}")
        self.known["l"].append(name)

    def assign_dict(self) -> None:
        name = self.name("d")
        how = self.choose(range(3))
        self.line(
            f"{name} = "
            + (
                f"{{{self.key()}: {self.number(1)}, 'b': {self.number(1)}}}",
                f"dict(a={self.number(1)})",
                f"{{v: v + 1 for v in {self.some('l', '[1]')}}}",
            )[how]
        )
        self.known["d"].append(name)

    def assign_set(self) -> None:
        name = self.name("s")
        how = self.choose(range(3))
        self.line(
            f"{name} = "
            + (
                f"{{{self.number(1)}, {self.number(1)}, 7}}",
                f"set({self.some('l', '[1]')})",
                f"set({self.some('l', '[1]')}) ^ {{1, 2, 9}}",
            )[how]
        )
        self.known["s"].append(name)

    def change(self) -> None:
        """Something that is there is changed."""
        items, mapping, k = self.some("l", "log"), self.some("d", ""), self.number(1)
        options = [
            f"{items}.append({k})",
            f"{items}.extend([{k}, {k}])",
            f"{items}.insert(0, {k})",
            f"{items} += [{k}]",
            f"{items}[1:1] = [{k}]",
            f"{items}.sort()",
            f"{items}.reverse()",
            f"outer += {k}",
            f"GLOBAL[0] = {k}",
            f"log.append({items}.pop() if {items} else None)",
            f"del {items}[:1]",
        ]
        if mapping:
            options += [
                f"{mapping}[{self.key()}] = {k}",
                f"{mapping}.pop({self.key()}, None)",
                f"{mapping}.setdefault({self.key()}, {k})",
                f"{mapping}.update(z={k})",
            ]
        own = [t for t in self.known["t"] if t != "x"]
        if own:
            options.append(f"{self.choose(own)}.add_({k})")
        if self.known["s"]:
            options += [f"{self.some('s', '')}.add({k})", f"{self.some('s', '')}.discard({k})"]
        names = [i for i in self.known["i"] if i != "n"]
        if names:
            options.append(f"{self.choose(names)} {self.choose(('+=', '-=', '*='))} {k}")
        self.line(self.choose(options))

    def note(self) -> None:
        how = self.choose(range(4))
        self.line(
            (
                f"log.append((lambda q: f'{{q!r:>4}}')({self.number(1)}))",
                f"log.append(tuple({self.some('t', 'x')}.shape))",
                f"log.append(({self.number(1)}, {self.condition()}))",
                f"log.append(str({self.some('d', '{}')}))",
            )[how]
        )

    def branch(self, depth: int) -> None:
        test = self.condition() if self.choose((1, 1, 1, 0)) else f"{self.some('t', 'x')}.sum() > 0"
        self.line(f"if {test}:")
        self.block(depth)
        if self.choose((0, 1)):
            self.line("else:")
            self.block(depth)

    def loop(self, depth: int) -> None:
        name = self.name("i")
        over = self.choose(
            (
                f"range({self.number(1)} % 4)",
                f"list({self.some('l', '[1, 2]')})[:4]",
                "(1, 2)",
                f"sorted({self.some('s', '{2, 1}')})[:3]",
                f"list({self.some('d', '{}')}.values())[:3]",
            )
        )
        self.line(f"{name} = 0")
        self.line(f"for {name} in {over}:")
        self.known["i"].append(name)
        self.loops += 1
        self.block(depth)
        if self.choose((0, 0, 1)):
            self.line(f"    if {self.condition()}:")
            self.line(f"        {self.choose(('break', 'continue'))}")
            self.line(f"    log.append({name})")
        self.loops -= 1
        if self.choose((0, 0, 1)):
            self.line("else:")
            self.block(depth)

    def while_loop(self, depth: int) -> None:
        name = self.name("w")
        self.line(f"{name} = 0")
        self.line(f"while ({name} := {name} + 1) < {self.choose((2, 3, 4))}:")
        self.block(depth)

    def attempt(self, depth: int) -> None:
        self.line("try:")
        self.block(depth)
        how = self.choose(range(5))
        self.line(
            "    "
            + (
                "pass",
                f"log.append({self.some('l', '[1]')}[{self.number(1)}])",
                "raise ValueError(n)",
                f"log.append({self.some('d', '{}')}[{self.key()}])",
                f"log.append(1 // {self.number(1)})",
            )[how]
        )
        kinds = self.choose(("ValueError", "(LookupError, ArithmeticError)", "Exception"))
        self.line(f"except {kinds} as e:")
        self.line("    log.append(repr(e))")
        self.block(depth)
        if self.choose((0, 1)):
            self.line("finally:")
            self.block(depth)

    def function(self, depth: int) -> None:
        name = self.name("f")
        how = self.choose(range(4))
        k = self.number(1)
        text = (
            f"def {name}(a, b={k}, *c, d=2, **e): return a + b + len(c) + d + len(e)",
            f"{name} = lambda a: a * {k}",
            f"{name} = functools.partial(operator.add, {k})",
            f"def {name}(a, seen=[]):\n{'    ' * (self.level + 1)}seen.append(a)\n{'    ' * (self.level + 1)}"
            f"return len(seen) + a",
        )[how]
        self.line(text)
        self.known["f"].append(name)
        self.line(f"log.append({name}({self.number(1)}))")

    def generator(self, depth: int) -> None:
        name, out = self.name("g"), self.name("l")
        self.line(f"def {name}(k):")
        self.line("    try:")
        self.line("        for v in range(3):")
        self.line(f"            {self.choose(('yield v * k', 'yield v + k', 'log.append((yield v))'))}")
        self.line("        yield from (k, k)")
        self.line("    finally:")
        self.line(f"        log.append('{name}')")
        how = self.choose(range(4))
        self.line(
            f"{out} = "
            + (
                f"list({name}({self.number(1)}))",
                f"[v for v in {name}(2) if v != {self.number(1)}]",
                f"sorted({name}({self.number(1)}))",
                f"list(zip({name}(1), {name}(2)))[0]",
            )[how]
        )
        if how != 3:
            self.known["l"].append(out)

    def manager(self, depth: int) -> None:
        name = self.name("m")
        self.line("@contextlib.contextmanager")
        self.line(f"def {name}(k):")
        self.line("    log.append(('enter', k))")
        self.line("    try:")
        self.line("        yield k")
        self.line(f"    except {self.choose(('ValueError', 'KeyError'))}:")
        self.line("        log.append('swallowed')")
        self.line("    finally:")
        self.line("        log.append(('leave', k))")
        self.line(f"with {name}({self.number(1)}) as k{name}:")
        self.block(depth)
        if self.choose((0, 1)):
            self.line("    raise ValueError(n)")

    def klass(self, depth: int) -> None:
        name, obj = self.name("C"), self.name("o")
        self.line(f"class {name}:")
        self.line(f"    k = {self.number(1)}")
        self.line("    def __init__(self, v): self.v = v")
        self.line("    def run(self, a): return a * self.k + self.v")
        self.line("    def __add__(self, o): return self.v + o")
        self.line("    def __eq__(self, o): return isinstance(o, type(self)) and self.v == o.v")
        self.line("    @property")
        self.line("    def twice(self): return self.v * 2")
        self.line(f"{obj} = {name}({self.number(1)})")
        how = self.choose(range(4))
        self.line(
            (
                "log.append(({o}.run(2), {o}.twice))",
                "log.append({o} + 1)",
                "{o}.v += 1; log.append({o}.v)",
                "log.append(({o} == {c}({o}.v), hasattr({o}, 'nope')))",
            )[how].format(o=obj, c=name)
        )

    def match(self, depth: int) -> None:
        subject = self.choose(
            (self.number(1), self.some("l", "[1]"), self.some("d", "{}"), f"({self.number(1)}, 2)")
        )
        self.line(f"match {subject}:")
        for pattern in (
            "0 | 1",
            "int(k) if k < 0",
            "[a]",
            "[a, *rest] if a in rest",
            "{'a': v, **rest}",
            "(a, b)",
            "_",
        ):
            if pattern == "_" or self.choose((0, 1)):
                self.line(f"    case {pattern}:")
                self.line(f"        log.append({pattern!r})")
