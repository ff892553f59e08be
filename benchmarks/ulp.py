"""How far float32 functions are from the true value, in units in the last place, exhaustively, next to torch's own.

    python benchmarks/ulp.py [exp log ...] [--every 1] [--keep build/ulp.json] [--write docs/ulp.md]

Each function of one argument is compiled and called on all 2^32 float32 values (`--every n`: on every n-th block of
them), those of two arguments on samples. The reference is torch's float64 function of the same argument, whose own
error is below 2^-28 of a float32's last place. The unit is 2^(e-23) for a reference of exponent e, at least 2^-149;
where the reference rounds to an infinity, a zero or NaN, the result must be that value, its sign included, or it counts
as a wrong special. Ends with status 1 where an error is above its stated bound.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

import pellucid

Tensor = torch.Tensor
BLOCK = 2**17
"""Elements a block: its float64 intermediates stay in the second-level cache."""


@dataclass(frozen=True)
class Function:
    """`reference` is in float64; `bound`: the largest error in ulp that pellucid states; `unit`: what the ulp is of."""

    fn: Callable[..., Tensor]
    reference: Callable[..., Tensor]
    bound: float
    arguments: int = 1
    unit: str = "result"


def _gelu(x: Tensor) -> Tensor:
    return torch.where(x == math.inf, x, 0.5 * x * torch.erfc(-x / math.sqrt(2.0)))


def _gelu_tanh(x: Tensor) -> Tensor:
    """x times the logistic function of 2u, u = sqrt(2/pi) (x + 0.044715 x^3): 0.5 (1 + tanh u) without cancellation."""
    return x / (1.0 + torch.exp(-2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


def _silu(x: Tensor) -> Tensor:
    return x / (1.0 + torch.exp(-x))


FUNCTIONS = {
    "exp": Function(torch.exp, torch.exp, 1.0),
    "log": Function(torch.log, torch.log, 1.0),
    "tanh": Function(torch.tanh, torch.tanh, 1.5),
    "erf": Function(torch.erf, torch.erf, 1.5),
    "sin": Function(torch.sin, torch.sin, 1.0),
    "cos": Function(torch.cos, torch.cos, 1.0),
    "sigmoid": Function(torch.sigmoid, lambda x: 1.0 / (1.0 + torch.exp(-x)), 2.5),
    "gelu": Function(F.gelu, _gelu, 2.0, unit="argument"),
    "gelu tanh": Function(lambda x: F.gelu(x, approximate="tanh"), _gelu_tanh, 2.0, unit="argument"),
    "silu": Function(F.silu, _silu, 2.5),
    "sqrt": Function(torch.sqrt, torch.sqrt, 0.5),
    "rsqrt": Function(torch.rsqrt, torch.rsqrt, 1.5),
    "log1p": Function(torch.log1p, torch.log1p, 1.5),
    "expm1": Function(torch.expm1, torch.expm1, 1.5),
    "pow": Function(torch.pow, torch.pow, 1.0, arguments=2),
}


@dataclass
class Worst:
    """The largest error so far, in ulp, and where; how many special results were wrong, and the first of them."""

    ulp: float = 0.0
    at: tuple[float, ...] = ()
    specials: int = 0
    special: tuple[float, ...] = ()

    def take(self, judged: Callable[..., tuple[Tensor, ...]], y: Tensor, want: Tensor, unit: Tensor,
             args: tuple[Tensor, ...]) -> None:
        """y: float32 results, want: float64 references, unit: float64 values whose last place is the unit."""
        worst, wrong = (r.item() for r in judged(y, want, unit))
        if worst > self.ulp or wrong and not self.specials:
            error, bad = judge(y, want, unit)
            if worst > self.ulp:
                at = int(error.argmax())
                self.ulp, self.at = float(error[at]), tuple(float(a[at]) for a in args)
            if wrong:
                at = int(bad.to(torch.uint8).argmax())
                self.special = tuple(float(a[at]) for a in args)
        self.specials += int(wrong)


def last_place(x: Tensor) -> Tensor:
    """The unit in the last place that a float32 near the float64 value x has."""
    exponent = (x.view(torch.int64) >> 52) & 0x7FF
    return ((exponent.clamp(min=1023 - 126, max=1023 + 127) - 23) << 52).view(torch.float64)


def judge(y: Tensor, want: Tensor, unit: Tensor) -> tuple[Tensor, Tensor]:
    """Each result's error in ulp (0 where it is not finite), and whether it is a wrong special."""
    rounded = want.float()
    plain = y.isfinite() & rounded.isfinite()
    fine = plain | (y == rounded) | (y.isnan() & rounded.isnan())
    sign = (y == 0) & (want == 0) & (y.signbit() != want.signbit())
    return torch.where(plain, (y.double() - want).abs() / last_place(unit), 0.0), ~fine | sign


def judge_all(y: Tensor, want: Tensor, unit: Tensor) -> tuple[Tensor, Tensor]:
    """The largest error, and the number of wrong specials: compiled, since it is most of the work."""
    error, bad = judge(y, want, unit)
    return error.max(), bad.sum()


def blocks(function: Function, every: int) -> Iterator[tuple[Tensor, ...]]:
    """All float32 values by their bits, or pairs: of any bits, and a base near 1 with a large exponent."""
    if function.arguments == 1:
        ramp = torch.arange(BLOCK, dtype=torch.int32)
        for k in range(0, 2**32 // BLOCK, every):
            yield ((ramp + (k * BLOCK - 2**31)).view(torch.float32),)
        return
    g = torch.Generator().manual_seed(0)
    for k in range(0, 2048, every):
        bits = torch.randint(-2**31, 2**31, (2, BLOCK), generator=g, dtype=torch.int64).to(torch.int32)
        x, y = bits.view(torch.float32)
        if k % 4:
            spread = 4.0 ** -(k % 13)
            x = 1.0 + spread * (torch.rand(BLOCK, generator=g) - 0.5)
            y = 160.0 / spread * (torch.rand(BLOCK, generator=g) - 0.5)
        if k % 4 == 3:  # denormal and overflowing results of moderate arguments
            x = x.abs() * 2.0 ** torch.randint(-40, 40, (BLOCK,), generator=g).float()
            y = torch.randn(BLOCK, generator=g) * 4
        yield x, y


def measure(name: str, every: int) -> dict[str, object]:
    function = FUNCTIONS[name]
    compiled = pellucid.compile(lambda *args: function.fn(*args), dynamic=False, options={"strict": True})
    judged = pellucid.compile(judge_all, dynamic=False, options={"strict": True})
    ours, torchs = Worst(), Worst()
    n, began = 0, time.time()
    with torch.no_grad():
        for args in blocks(function, every):
            want = function.reference(*(a.double() for a in args))
            unit = want if function.unit == "result" else torch.where(args[0].isfinite(), args[0].double(), want)
            ours.take(judged, compiled(*args), want, unit, args)
            torchs.take(judged, function.fn(*args), want, unit, args)
            n += args[0].numel()
            if n % (BLOCK * 4096) == 0:
                print(f"{name}: 2^{math.log2(n):.2f} arguments, {time.time() - began:.0f} s, {ours.ulp:.3f} ulp, torch "
                      f"{torchs.ulp:.3f}", file=sys.stderr, flush=True)
    return {"name": name, "count": n, "ours": asdict(ours), "torch": asdict(torchs)}


def table(results: list[dict[str, object]]) -> str:
    lines = [
        "# Errors of the float32 functions\n",
        "Written by `python benchmarks/ulp.py --write docs/ulp.md`. The largest error in units in the last place (ulp)",
        "over the arguments named, against torch's float64 function; in brackets an argument with that error. One ulp",
        "is that of the reference, for gelu that of the argument (x/2 (1 + erf) cancels below zero, in torch as well:",
        "there the error stays small against x, not the result). 0.5 is correct rounding. Special: results that",
        f"should be an infinity, a zero of the right sign or NaN and are not. torch {torch.__version__}.\n",
        "| function | arguments | stated bound | pellucid | torch | special, pellucid | special, torch |",
        "|---|---|---|---|---|---|---|"]
    for r in results:
        f = FUNCTIONS[str(r["name"])]
        count = int(r["count"])  # type: ignore[call-overload]
        many = "all 2^32" if count == 2**32 else f"{count:,} samples"
        cells = [f"{w['ulp']:.3f} ({', '.join(f'{v:.9g}' for v in w['at'])})"
                 for w in (r["ours"], r["torch"])]  # type: ignore[index]
        specials = [f"{w['specials']:,}" + (f" ({', '.join(map(str, w['special']))})" if w["specials"] else "")
                    for w in (r["ours"], r["torch"])]  # type: ignore[index]
        unit = "" if f.unit == "result" else f", in ulp of the {f.unit}"
        lines.append(f"| {r['name']}{unit} | {many} | {f.bound} | " + " | ".join(cells + specials) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help="functions; all by default")
    p.add_argument("--every", type=int, default=1, help="measure every n-th block of arguments only")
    p.add_argument("--keep", type=Path, help="file of results, added to; functions in it are not measured again")
    p.add_argument("--write", type=Path, help="write the table to this file")
    a = p.parse_args()
    for name in a.names:
        if name not in FUNCTIONS:
            p.error(f"no function {name!r}; there are {', '.join(FUNCTIONS)}")
    torch.set_num_threads(1)
    kept = json.loads(a.keep.read_text()) if a.keep and a.keep.exists() else {}
    for name in a.names or FUNCTIONS:
        if name not in kept:
            kept[name] = measure(name, a.every)
            if a.keep:
                a.keep.parent.mkdir(parents=True, exist_ok=True)
                a.keep.write_text(json.dumps(kept))
    results = [kept[n] for n in FUNCTIONS if n in kept]
    text = table(results)
    print(text)
    if a.write:
        a.write.write_text(text)
    over = [r["name"] for r in results if r["ours"]["ulp"] > FUNCTIONS[r["name"]].bound or r["ours"]["specials"]]
    if over:
        print(f"above the stated bound, or a special result that is wrong: {', '.join(over)}", file=sys.stderr)
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
