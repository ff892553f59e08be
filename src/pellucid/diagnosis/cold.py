"""The first call in a fresh process: it is timed there, and told in one line of JSON.

A function travels as TARGET, or pickled where it can be; what can be neither is timed in this process, and said so.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

MARK = "PELLUCID-COLD "
CODE = """import time
start = time.perf_counter()
import sys
from pellucid.diagnosis.cold import main
main(start, sys.argv[1])"""


@dataclass(frozen=True, slots=True)
class Cold:
    """Seconds in a fresh process: of imports, of making the callable with its inputs, of the first call, of the second;
    peak resident bytes of that process. where: "fresh process" or "this process"."""

    where: str
    cache: str
    """empty, full, or none (there is no cache on disk)."""
    import_seconds: float | None
    load_seconds: float | None
    first_call: float
    second_call: float | None
    peak_bytes: int | None


@contextlib.contextmanager
def payload(fn: Any, calls: tuple[Any, ...], target: str | None) -> Iterator[dict[str, Any] | None]:
    """What names function and first call to another process; None where nothing can."""
    if target is not None:
        yield {"target": target}
        return
    with tempfile.TemporaryDirectory(prefix="pellucid-cold-") as folder:
        path = os.path.join(folder, "call")
        if getattr(fn, "__module__", None) == "__main__" or type(fn).__module__ == "__main__":
            yield None
            return
        try:
            torch.save((fn, calls[0]), path)
        except (AttributeError, TypeError, RuntimeError, ImportError, ValueError) as e:
            if isinstance(e, RuntimeError) and "pickle" not in str(e).lower():
                raise
            yield None
            return
        except Exception as e:  # pickle.PicklingError, which torch's own pickler module re-exports
            if type(e).__name__ != "PicklingError":
                raise
            yield None
            return
        yield {"path": path}


def measure(spec: dict[str, Any], system: str, cache: str, folder: str | None = None, timeout: float = 600.0) -> Cold:
    """One fresh process. system: eager, pellucid or torch.compile; folder: where torch.compile keeps its cache."""
    env = dict(os.environ)
    root = str(Path(__file__).resolve().parents[2])
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([root, *filter(None, sys.path)]))
    if folder is not None:
        env["TORCHINDUCTOR_CACHE_DIR"] = folder
    argument = json.dumps({**spec, "system": system, "grad": torch.is_grad_enabled(),
                           "threads": torch.get_num_threads()})
    done = subprocess.run([sys.executable, "-c", CODE, argument], env=env, capture_output=True,
                          text=True, timeout=timeout)
    line = next((s for s in reversed(done.stdout.splitlines()) if s.startswith(MARK)), None)
    if line is None:
        raise ColdFailed(f"the fresh process for {system} ended with code {done.returncode}: "
                         f"{done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'no message'}")
    got = json.loads(line.removeprefix(MARK))
    return Cold("fresh process", cache, got["import"], got["load"], got["first"], got["second"], got["peak"])


class ColdFailed(RuntimeError):
    """The fresh process did not come to its first result."""


def main(start: float, argument: str) -> None:
    """In the fresh process: `start` was taken before anything was imported."""
    spec = json.loads(argument)
    if spec["system"] == "pellucid":
        import pellucid
    imported = time.perf_counter()
    torch.set_num_threads(spec["threads"])
    if "target" in spec:
        from pellucid.diagnosis.target import load
        target = load(spec["target"])
        fn, call = target.fn, target.calls[0]
        if spec["system"] == "eager" and target.eager is not None:
            fn = target.eager
    else:
        fn, call = torch.load(spec["path"], weights_only=False)      # written by the parent just before
    from pellucid.diagnosis.observe import original
    if spec["system"] == "pellucid":
        fn = pellucid.compile(original(fn))
    elif spec["system"] == "torch.compile":
        fn = torch.compile(original(fn))
    elif spec["system"] == "eager":
        fn = original(fn)
    loaded = time.perf_counter()
    with torch.set_grad_enabled(spec["grad"]):
        call.make(fn)
        first = time.perf_counter()
        call.make(fn)
    second = time.perf_counter()
    print(MARK + json.dumps({
        "import": imported - start, "load": loaded - imported, "first": first - loaded, "second": second - first,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
