"""Diagnoses the planted programs of examples/diagnosis: `python -m tests.diagnosis.planted` runs all, one row each."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import random
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch

import pellucid
from pellucid.diagnosis.calls import cloned, parse, tensors
from pellucid.diagnosis.diagnose import diagnose
from pellucid.diagnosis.observe import observe

FOLDER = Path(__file__).parents[2] / "examples" / "diagnosis"
FORMS = ("small", "realistic")


@dataclass(frozen=True)
class Planted:
    name: str
    form: str
    system: str
    timed: bool

    def __str__(self):
        return f"{self.name}-{self.form}-{self.system}"


def load(name):
    path = FOLDER / f"{name}.py"
    if path.stem in sys.modules and getattr(sys.modules[path.stem], "__file__", "") == str(path):
        del sys.modules[path.stem]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def line_of(name, form):
    for n, text in enumerate((FOLDER / f"{name}.py").read_text().splitlines(), 1):
        if text.rstrip().endswith(f"# <- {form}"):
            return n
    raise AssertionError(f"{name}.py marks no line for {form}")


def all_programs():
    out = []
    for path in sorted(FOLDER.glob("*.py")):
        text = path.read_text()
        if "EXPECTED" not in text:
            continue
        timed = '"timed": True' in text
        systems = ("as-is",) if '"as-is"' in text else ("pellucid",) if timed else ("pellucid", "torch.compile")
        out += [Planted(path.stem, form, system, timed) for form in FORMS for system in systems]
    return out


def compiled(fn, system, options):
    if system == "as-is":
        return fn
    if system == "pellucid":
        return pellucid.compile(fn, **options)
    return torch.compile(fn, backend="eager", **options)


@contextlib.contextmanager
def quiet():
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        random.seed(0)
        torch.manual_seed(0)
        yield


def run(p):
    """The diagnosis of a planted program; raises AssertionError where story, line or cause is not what was planted."""
    module = load(p.name)
    expected = module.EXPECTED
    cause = expected["cause"] if isinstance(expected["cause"], str) else expected["cause"][p.form]
    fn, calls = getattr(module, p.form), getattr(module, f"{p.form}_inputs")()
    with quiet():
        d = diagnose(compiled(fn, p.system, getattr(module, "OPTIONS", {})), calls,
                     system="as-is" if p.system == "as-is" else None, timed=p.timed, seconds=0.2,
                     eager=getattr(module, f"{p.form}_eager", None), lifetime=expected.get("lifetime"))
    found = d.leading
    got = [(f.cause, f.line, f.settled) for f in d.findings]
    if found.cause == "faster" and len(d.findings) > 1:
        found = d.findings[1]
    assert found.story == expected["story"] and found.cause == cause, (str(p), cause, got)
    line = line_of(p.name, p.form)
    assert found.file == str(FOLDER / f"{p.name}.py") and found.line == line, (str(p), line, got)
    settled = expected.get("settled", {}).get(p.system, False)
    assert settled is None or found.settled == settled or p.timed, (str(p), "settled", got)
    return d


def check_edit(p):
    """The edited version: the cause is gone, the result is the same, fewer breaks or compiles. None without one."""
    module = load(p.name)
    expected = module.EXPECTED
    before, after = getattr(module, p.form), getattr(module, f"{p.form}_edited", None)
    if after is None or "OPTIONS" in vars(module):
        return None
    old = parse(getattr(module, f"{p.form}_inputs")())
    new = parse(getattr(module, f"{p.form}_edited_inputs", getattr(module, f"{p.form}_inputs"))())
    with quiet():
        seen = [observe(compiled(fn, p.system, {}), tuple(map(cloned, calls)), p.system)
                for fn, calls in ((before, old), (after, new))]
        counts = [len(o.breaks) + len(o.compiles) for o in seen]
        assert counts[1] < counts[0] or (p.timed and counts[1] == counts[0]), (str(p), counts)
        if not expected.get("state"):       # a module with a counter has moved on in each run
            for a, b in zip(old, new):
                x, y = (tensors(cloned(c).make(fn)) for fn, c in ((before, a), (after, b)))
                for s, t in zip(x, y, strict=True):
                    torch.testing.assert_close(s, t, rtol=1e-5, atol=1e-5)
    return counts


def main():
    failed, start = 0, time.perf_counter()
    for p in all_programs():
        if len(sys.argv) > 1 and not any(str(p).startswith(a) for a in sys.argv[1:]):
            continue
        at = time.perf_counter()
        try:
            d, counts = run(p), check_edit(p)
            told = f"{d.leading.cause:18s} {d.leading.where.rsplit('/', 1)[-1]}"
            edit = f"breaks + compiles {counts[0]} -> {counts[1]}" if counts else "no edit"
            print(f"ok    {p!s:44s} {told:50s} {edit}  {time.perf_counter() - at:.1f} s", flush=True)
        except AssertionError as e:
            failed += 1
            print(f"WRONG {p!s:44s} {e}", flush=True)
        except Exception:
            failed += 1
            print(f"WRONG {p!s:44s} raised", flush=True)
            traceback.print_exc(file=sys.stdout)
    print(f"{len(all_programs())} programs, {failed} wrong, {time.perf_counter() - start:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
