"""Runs the corpus natively and interpreted and compares; needs no third-party package.

    python tests/bytecode/run_corpus.py [names of cases]

Prints one line a difference and a summary; exit status 1 if there was a difference.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.machinery
import importlib.util
import io
import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def load() -> None:
    """Make pellucid.bytecode and pellucid.capture importable without pellucid itself (which imports torch)."""
    for name in ("pellucid", "pellucid.capture"):
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = [str(ROOT / "src" / name.replace(".", "/"))]
            sys.modules[name] = package
    if "corpus_package" not in sys.modules:
        package = types.ModuleType("corpus_package")
        package.__path__ = [str(HERE)]
        sys.modules["corpus_package"] = package


def cases() -> list:
    found = list(importlib.import_module("corpus_package.corpus").CASES)
    if sys.version_info >= (3, 12):     # a .txt, since tools for 3.11 cannot read it
        loader = importlib.machinery.SourceFileLoader("corpus_package.corpus312", str(HERE / "corpus312.txt"))
        found += _load(loader).CASES
    return found


def _load(loader: importlib.machinery.SourceFileLoader) -> types.ModuleType:
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def describe(exc: BaseException | None) -> str | None:
    if exc is None:
        return None
    return f"{type(exc).__name__}({exc.args!r}) cause={describe(exc.__cause__)} context={describe(exc.__context__)}"


def observe(run) -> tuple:
    """(outcome, printed text) of calling run()."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            result = "value", repr(run())
        except BaseException as e:
            result = "error", describe(e)
        gc.collect()
    return result, text.getvalue()


def interpreted(f):
    from pellucid.capture.concrete import interpret

    return lambda: interpret(f)


def stepped(f, count: list[int]):
    """Interpreted one instruction at a time; before each, the frame stack becomes data and new frames from it."""
    from pellucid.capture.concrete import Concrete, start
    from pellucid.capture.executor import Machine, Returned
    from pellucid.capture.frames import Frame, frames, freeze, thaw

    def run():
        m = Machine(Concrete())
        top = start(f, domain=m.domain)
        while isinstance(top, Frame):
            old = top
            top = thaw(freeze(top))
            for g in frames(old):
                g.locals = g.stack = None       # nothing may look at the old frames
            top = m.step(top)
            count[0] += 1
        assert isinstance(top, Returned), top
        return top.value

    return run


def carried_on(f, total: list[int]):
    """Stopped after a third of its instructions; the frames begun are carried on, and their callees run natively."""
    from pellucid.capture.concrete import Concrete, finish, start
    from pellucid.capture.executor import Machine, Returned

    def run():
        m = Machine(Concrete(), budget=max(1, total[0] // 3))
        outcome = m.run(start(f, domain=m.domain))
        return outcome.value if isinstance(outcome, Returned) else finish(outcome.frame)

    return run


def module(source: str) -> list[str]:
    """Differences of module code run natively and interpreted."""
    from pellucid.capture.concrete import finish, start_code

    code = compile(source, "<module>", "exec")

    def names(space: dict) -> str:
        values = {k: repr(v) for k, v in space.items() if k != "__builtins__" and "0x" not in repr(v) and k != "join"}
        return repr(sorted(values.items()))

    def native():
        space = {"__name__": "m"}
        exec(code, space)
        return names(space)

    def ours():
        space = {"__name__": "m"}
        finish(start_code(code, space), enter=True)
        return names(space)

    a, b = observe(native), observe(ours)
    return [] if a == b else [f"module: {a} != {b}"]


WAYS = ("interpreted", "stepped", "carried on")


def main(wanted: list[str]) -> int:
    load()
    differences, steps = [], [0]
    todo = [f for f in cases() if not wanted or f.__name__ in wanted]
    for f in todo:
        expected = observe(f)
        before = steps[0]
        length = [0]
        for way, run in zip(WAYS, (interpreted(f), stepped(f, steps), carried_on(f, length))):
            length[0] = steps[0] - before
            if way == "stepped" and f.__name__ == "recursion_limit":
                continue        # a stack of 1000 frames made anew at each of its instructions
            got = observe(run)
            if got != expected:
                differences.append(f"{f.__name__} ({way}):\n   native {expected}\n   ours   {got}")
    if not wanted:
        differences += module(importlib.import_module("corpus_package.corpus").MODULE)
    for d in differences:
        print(d)
    print(f"Python {sys.version.split()[0]}: {len(todo)} cases, {steps[0]} instructions stepped, "
          f"{len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
