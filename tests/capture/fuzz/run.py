"""Makes programs and compares them, compiled and in Python; failing ones are kept as files that the tests run.

    python -m tests.capture.fuzz.run --seconds 600 [--seed 0]
"""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import random
import re
import time
import traceback
from typing import Any

import torch

import pellucid

from ..conformance.harness import Program, compare
from .grammar import Writer

KEPT = pathlib.Path(__file__).parent / "kept"


def arguments() -> tuple[Any, ...]:
    return torch.arange(6.0).reshape(2, 3) - 2, 3, [1, 2, 3]


def others() -> tuple[Any, ...]:
    return torch.ones(2, 3), 0, []


def program(text: str, name: str) -> Program:
    """The program of a text; each making starts from fresh globals."""
    code = compile(text, f"<{name}>", "exec", dont_inherit=True)

    def make() -> Any:
        space: dict[str, Any] = {"__name__": name}
        exec(code, space)
        return space["make"]()

    return Program(name, make, (arguments, arguments, others), breaks=True)


def check(text: str, name: str, backends: tuple[str, ...] = ("eager", "llvm")) -> None:
    """Raises AssertionError where compiled and plain differ, and InternalError where there is a fault of our own."""
    for backend in backends:
        pellucid.reset()
        compare(program(text, name), backend, False)


def fails(text: str) -> BaseException | None:
    try:
        check(text, "program", ("eager",))
    except Exception as e:
        return e
    return None


def _stem(error: BaseException) -> str:
    """What of a message stays when lines go: how the two results differ, not where."""
    return re.sub(r"result[\[\]\d]*|\d+", "#", str(error))[:80]


def smaller(text: str, error: BaseException) -> str:
    """The text without the lines that the failure does not need, as far as dropping lines one by one goes."""
    kind = type(error)
    changed = True
    while changed:
        changed = False
        lines = text.splitlines()
        for size in (8, 4, 2, 1):
            i = len(lines) - 1
            while i >= 6:
                fewer = lines[:i] + lines[i + size:]
                candidate = "\n".join(fewer) + "\n"
                try:
                    compile(candidate, "<program>", "exec")
                except SyntaxError:
                    i -= 1
                    continue
                found = fails(candidate)
                if found is not None and type(found) is kind and _stem(found) == _stem(error):
                    lines, changed = fewer, True
                i -= 1
        text = "\n".join(lines) + "\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    end, n, kept = time.monotonic() + options.seconds, 0, 0
    while time.monotonic() < end:
        text = Writer(random.Random(seed + n).choice).program()
        n += 1
        try:
            check(text, f"seed{seed + n - 1}", ("eager", "llvm") if n % 4 == 0 else ("eager",))
        except Exception as e:
            print(f"seed {seed + n - 1}: {type(e).__name__}: {str(e)[:300]}", flush=True)
            if fails(text) is not None:
                text = smaller(text, e)
            file = KEPT / f"{hashlib.sha256(text.encode()).hexdigest()[:10]}.py"
            KEPT.mkdir(exist_ok=True)
            file.write_text(text)
            kept += 1
            print(text, "".join(traceback.format_exception_only(e))[-600:], flush=True)
    print(f"{n} programs from seed {seed}; {kept} failed and were kept")


if __name__ == "__main__":
    main()
