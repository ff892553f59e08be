"""Runs CPython's own test methods with their bodies executed by the concrete interpreter, and tabulates what passes.

    python benchmarks/cpython_tests.py [--docs docs/cpython-tests.md] [--pythons python3.11 python3.12 python3.13]

Each method of the files below first runs natively; where it passes there, it runs again with its body, and all Python
code that it calls, interpreted. Each file runs in a process of its own, each method under a time limit.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import types
import unittest
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

FILES = ("test_grammar", "test_generators", "test_exceptions", "test_with", "test_scope", "test_descr")
SECONDS = 10
SRC = pathlib.Path(__file__).resolve().parent.parent / "src"


class TooLong(BaseException):
    """The method did not end within the limit."""


def _alarm(number: int, frame: Any) -> None:
    raise TooLong


def interpreter() -> Any:
    """`interpret`, found without importing the package itself, which needs torch."""
    for name, folder in (("pellucid", ""), ("pellucid.capture", "capture")):
        package = types.ModuleType(name)
        package.__path__ = [str(SRC / "pellucid" / folder)]
        sys.modules[name] = package
    return importlib.import_module("pellucid.capture.concrete").interpret


def outcome(case: unittest.TestCase, name: str, run: Any) -> tuple[str, str]:
    """("pass" | "skip" | "fail", reason) of one method, with its setUp and tearDown run natively."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(SECONDS)
    quiet, limit = io.StringIO(), sys.getrecursionlimit()
    try:
        with redirect_stdout(quiet), redirect_stderr(quiet):
            case.setUp()
            try:
                run(getattr(case, name))
            finally:
                case.tearDown()
                case.doCleanups()
    except unittest.SkipTest as e:
        return "skip", str(e)
    except TooLong:
        return "fail", f"not done after {SECONDS} s"
    except BaseException as e:
        lines = str(e).strip().splitlines()
        return "fail", f"{type(e).__name__}: {lines[0] if lines else ''}"[:160]
    finally:
        signal.alarm(0)
        sys.setrecursionlimit(limit)
    return "pass", ""


def run_file(name: str, done: int) -> None:
    """Print (method, outcome, reason) of each test method of the file behind the first `done`. Ends the process with
    status 3 after one that took too long, as what it left behind would spoil the next."""
    interpret = interpreter()
    module = importlib.import_module(f"test.{name}")
    number = 0
    for cls in [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, unittest.TestCase)]:
        skipped = getattr(cls, "__unittest_skip__", False)
        for method in unittest.defaultTestLoader.getTestCaseNames(cls):
            label, fn, number = f"{cls.__name__}.{method}", getattr(cls, method), number + 1
            if number <= done:
                continue
            if skipped or getattr(fn, "__unittest_skip__", False):
                result = label, "skip", "skipped by the file itself"
            elif inspect.iscoroutinefunction(fn):
                result = label, "skip", "a coroutine"
            else:
                native = outcome(cls(method), method, lambda m: m())
                if native[0] != "pass":
                    result = label, "skip", f"natively, outside of its own runner: {native[1]}"
                else:
                    result = label, *outcome(cls(method), method, interpret)
            print(json.dumps(result), flush=True)
            if result[2].startswith("not done"):
                os._exit(3)


def version_of(python: str) -> str | None:
    try:
        return subprocess.run([python, "-c", "import platform; print(platform.python_version())"], capture_output=True,
                              text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def run_in(python: str, name: str) -> list[list[str]] | str:
    """The results of a file under another Python; or, in words, why there are none."""
    found = subprocess.run([python, "-c", f"import test.{name}"], capture_output=True, text=True, check=False)
    if found.returncode:
        return f"`test` is not installed ({found.stderr.strip().splitlines()[-1]})"
    results: list[list[str]] = []
    while True:
        done = subprocess.run([python, "-W", "ignore", __file__, "--file", name, "--done", str(len(results))],
                              capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
                              check=False, timeout=900)
        results += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        if done.returncode != 3:
            break
    if done.returncode:
        results.append(["(the process)", "fail", f"ended with {done.returncode}: {done.stderr.strip()[-120:]}"])
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--docs", help="write the table to this file")
    parser.add_argument("--pythons", nargs="*", default=["python3.11", "python3.12", "python3.13"])
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--done", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        sys.path[:] = [p for p in sys.path if p != str(pathlib.Path(__file__).resolve().parent)]
        run_file(options.file, options.done)
        sys.stdout.flush()
        os._exit(0)                 # what the tests left behind is not waited for
    table = ["| Python | file | methods | run | pass | fail | not run |", "|---|---|---|---|---|---|---|"]
    details: list[str] = []
    for python in options.pythons:
        version = version_of(python)
        if version is None:
            table.append(f"| {python} | this Python is not on the machine | | | | | |")
            continue
        for name in FILES:
            results = run_in(python, name)
            if isinstance(results, str):
                table.append(f"| {version} | {name}: {results} | | | | | |")
                continue
            by = {k: [r for r in results if r[1] == k] for k in ("pass", "fail", "skip")}
            run = len(by["pass"]) + len(by["fail"])
            table.append(f"| {version} | {name} | {len(results)} | {run} | {len(by['pass'])} | {len(by['fail'])} "
                         f"| {len(by['skip'])} |")
            print(table[-1], flush=True)
            if by["fail"] or by["skip"]:
                details += ["", f"### {name}, Python {version}", ""]
                details += [f"- {r[0]}: {'**fails**: ' if r[1] == 'fail' else 'not run: '}{_plain(r[2])}"
                            for r in (*by["fail"], *by["skip"])]
    text = "\n".join(["# CPython's own tests through the concrete interpreter", "",
                      "Written by `make cpython-tests`. A method counts as run where it passes natively in this",
                      "runner; it is then run with its body, and all Python code that it calls, interpreted.", "",
                      *table, "", "## What does not pass, and what is not run", *details, ""])
    if options.docs:
        pathlib.Path(options.docs).write_text(text)
    else:
        print(text)


def _plain(reason: str) -> str:
    """Without addresses and this machine's folders, so that the page is the same from run to run."""
    import re

    return re.sub(r"0x[0-9a-f]+", "0x...", re.sub(r"/\S*/(?=[^/\s]+)", "", reason)).replace("|", "/")


if __name__ == "__main__":
    main()
