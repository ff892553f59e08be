"""How long it takes to interpret a whole model: BertModel, 4 layers, in the concrete domain, against CPython.

    python benchmarks/capture_concrete.py [--seq 8] [--layers 4] [--repeat 20]

Prints medians and the spread (quartiles), not the best; checks first that the outputs are equal bit for bit.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any


def timed(run: Callable[[], Any], repeat: int) -> tuple[float, float, float]:
    """(lower quartile, median, upper quartile) in milliseconds."""
    times = []
    for _ in range(repeat):
        t = time.perf_counter()
        run()
        times.append((time.perf_counter() - t) * 1e3)
    q = statistics.quantiles(times, n=4)
    return q[0], q[1], q[2]


def line(name: str, q: tuple[float, float, float], note: str = "") -> None:
    print(f"{name:34} {q[1]:8.2f} ms   [{q[0]:.2f} .. {q[2]:.2f}]  {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seq", type=int, default=8)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()

    sys.path.pop(0)         # this folder: a benchmark in it must not be taken for a package of that name
    import torch
    from transformers import BertConfig, BertModel

    from pellucid.bytecode import decode as decoding
    from pellucid.capture import executor
    from pellucid.capture.concrete import Concrete, start
    from pellucid.capture.executor import Machine, Returned

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = BertConfig(hidden_size=64, num_hidden_layers=options.layers, num_attention_heads=4, intermediate_size=128,
                        vocab_size=1000)
    model = BertModel(config).eval()
    ids = torch.randint(0, 1000, (1, options.seq))
    mask = torch.ones_like(ids)

    class Counting(Concrete):
        """Counts frames and native calls."""

        __slots__ = ("frames", "calls", "codes")

        def __init__(self) -> None:
            super().__init__()
            self.frames, self.calls, self.codes = 0, 0, set()

        def call(self, f: Any, function: Any, args: Any, keywords: Any) -> Any:
            v = super().call(f, function, args, keywords)
            if type(v) is not executor.Frame:
                self.calls += 1
            return v

        def frame(self, f: Any, fn: Any, code: Any, args: Any, keywords: Any) -> Any:
            self.frames += 1
            self.codes.add(code)
            return super().frame(f, fn, code, args, keywords)

    def native() -> Any:
        return model(input_ids=ids, attention_mask=mask)

    def interpreted(domain: Any = None) -> tuple[Any, int]:
        m = Machine(domain or Concrete())
        outcome = m.run(start(model, (), {"input_ids": ids, "attention_mask": mask}, domain=m.domain))
        assert type(outcome) is Returned
        return outcome.value, m.instructions

    def cold() -> None:
        decoding._cache.clear()
        executor._programs.clear()
        interpreted()

    with torch.no_grad():
        expected = native()
        counting = Counting()
        got, instructions = interpreted(counting)
        assert type(got) is type(expected) and list(got.keys()) == list(expected.keys())
        for key in expected.keys():
            assert torch.equal(got[key], expected[key]), key
        print(f"BertModel, {options.layers} layers, sequence {options.seq}: outputs equal bit for bit")
        print(f"{instructions} instructions, {counting.frames} frames, {counting.calls} native calls, "
              f"{len(counting.codes)} code objects with {sum(len(c.instrs) for c in counting.codes)} instructions")
        n = timed(native, options.repeat)
        line("native CPython", n)
        w = timed(interpreted, options.repeat)
        line("interpreted, decode cached", w, f"{(w[1] - n[1]) * 1e3 / instructions:.2f} us an instruction over native")
        line("interpreted, decode cold", timed(cold, options.repeat))
        originals = [c.original for c in counting.codes]

        def decode_all() -> None:
            decoding._cache.clear()
            for code in originals:
                decoding.decode(code)

        line(f"decode of {len(originals)} code objects", timed(decode_all, options.repeat))


if __name__ == "__main__":
    main()
