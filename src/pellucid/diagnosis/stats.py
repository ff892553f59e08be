"""Order statistics of times, and a bootstrap interval of a ratio of medians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Distribution:
    """Times in seconds of `samples` calls."""

    samples: int
    mean: float
    p50: float
    p95: float
    p99: float
    best: float
    worst: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as long one takes as the other: of the medians, with the bounds of the 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """faster, slower or no difference shown (the interval contains 1)."""
        return "faster" if self.low > 1 else "slower" if self.high < 1 else "no difference shown"


def distribution(times: Sequence[float]) -> Distribution:
    """Of at least one time."""
    a = np.asarray(times, dtype=np.float64)
    p50, p95, p99 = np.percentile(a, [50, 95, 99])
    return Distribution(len(a), float(a.mean()), float(p50), float(p95), float(p99), float(a.min()), float(a.max()))


def ratio(slow: Sequence[Sequence[float]], fast: Sequence[Sequence[float]], resamples: int = 1000,
          seed: int = 0) -> Ratio:
    """Ratio of the sums over calls of median times, `slow` over `fast`; each is a list of times for each call of the
    mixture, taken in the same rounds. Rounds are drawn with replacement, the same for both, so that a slow spell of
    the machine hits both (paired percentile bootstrap; Efron and Tibshirani, An Introduction to the Bootstrap, 1993).
    """
    a, b = np.asarray(slow, dtype=np.float64), np.asarray(fast, dtype=np.float64)
    rounds = a.shape[1]
    picks = np.random.default_rng(seed).integers(0, rounds, (resamples, rounds))
    values = np.median(a[:, picks], axis=2).sum(axis=0) / np.median(b[:, picks], axis=2).sum(axis=0)
    low, high = np.percentile(values, [2.5, 97.5])
    return Ratio(float(np.median(a, axis=1).sum() / np.median(b, axis=1).sum()), float(low), float(high))
