"""bench(): wrong results and runs that compile are refused, ratios have intervals, cold is told apart from warm."""

import json

import numpy as np
import pytest
import torch

import pellucid
from pellucid.diagnosis import correctness, stats
from pellucid.diagnosis.calls import parse, standard
from pellucid.errors.types import UnsupportedInput


def layer(x):
    return torch.softmax(x * 2, -1) + 1


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x):
        self.n += 1
        self.total.add_(x.sum())
        return x * 2


def test_a_correct_and_warm_run():
    r = pellucid.bench(layer, [(torch.randn(8, 16),), (torch.randn(4, 16),)], seconds=0.05, fresh=False, slo=10.0)
    assert r.ok and r.subject.name == "pellucid" and [s.name for s in r.systems] == ["pellucid", "eager"]
    warm = r.subject.warm
    assert warm.all.best <= warm.all.p50 <= warm.all.p95 <= warm.all.p99 <= warm.all.worst and warm.meets == 1.0
    assert len(warm.calls) == 2 and r.subject.speedup.low <= r.subject.speedup.value <= r.subject.speedup.high
    c = r.subject.correctness
    assert c.ok and c.error <= c.limit and c.reduction == 16
    assert json.loads(json.dumps(r.json()))["schema"] == "pellucid.bench/1"
    assert "agrees with eager" in r.text() and "100.0 % of calls" in r.text()


def test_a_wrong_result_is_said():
    r = pellucid.bench(layer, [(torch.randn(8, 16),)], against=[("off", lambda x: layer(x) * 1.001)], seconds=0.02,
                       fresh=False)
    off = r.system("off").correctness
    assert not off.ok and "over what rounding explains" in off.problem
    assert r.subject.correctness.ok and r.ok


def test_other_shapes_and_integers_must_be_exact():
    x = parse([(torch.arange(6),)])
    assert not correctness.compare(lambda x: x + 1, lambda x: x, x).ok
    assert "other shapes or dtypes" in correctness.compare(lambda x: x.float(), lambda x: x, x).problem
    assert correctness.compare(lambda x: x + 0, lambda x: x, x).ok


def test_the_limit_grows_with_the_reduction_and_the_dtype():
    assert correctness.limit(400, {torch.float32}) == pytest.approx(20 * correctness.limit(1, {torch.float32}))
    assert correctness.limit(1, {torch.bfloat16, torch.float32}) > correctness.limit(1, {torch.float32})


def test_a_run_that_compiles_is_not_called_warm():
    made = [pellucid.compile(layer)]

    def again(x):
        made[0] = pellucid.compile(lambda y: layer(y))
        return made[0](x)
    r = pellucid.bench(again, [(torch.randn(4, 4),)], eager=layer, seconds=0.02, fresh=False)
    assert r.subject.warm is None and "compiles" in r.subject.refused and not r.ok
    assert r.system("eager").warm is not None
    assert "not warm" in r.text()


def test_calls_left_to_python_are_not_called_warm():
    fast = pellucid.compile(lambda x, s: x * len(s), options={"recompile_limit": 2})
    r = pellucid.bench(fast, [(torch.ones(3), "a" * i) for i in range(1, 6)], seconds=0.02, fresh=False)
    assert r.subject.warm is None and "left to Python" in r.subject.refused


def test_the_state_of_the_module_is_put_back():
    model = Counting()
    pellucid.bench(model, [(torch.ones(3),)], seconds=0.02, fresh=False)
    fast = pellucid.compile(Counting())
    correctness.compare(fast, fast.__wrapped__, parse([(torch.ones(3),)]))
    assert fast.n == 0 and float(fast.total) == 0.0


def test_inputs_are_not_written():
    x = torch.ones(4)
    pellucid.bench(lambda t: t.add_(1), [(x,)], seconds=0.02, fresh=False)
    assert torch.equal(x, torch.ones(4))


def test_the_interval_of_a_ratio_holds_the_ratio_and_sees_no_difference_in_equal_times():
    noise = np.random.default_rng(0).normal(1.0, 0.05, (2, 1, 400))
    same = stats.ratio(noise[0], noise[1])
    assert same.low < 1 < same.high and same.verdict == "no difference shown"
    twice = stats.ratio(2 * noise[0], noise[1])
    assert twice.low < 2 < twice.high and twice.verdict == "faster" and twice.high - twice.low < 0.1


def test_the_first_call_in_a_fresh_process():
    r = pellucid.bench(layer, [(torch.randn(8, 16),)], seconds=0.02)
    (cold,) = r.subject.cold
    assert cold.where == "fresh process" and cold.import_seconds > 0.1 and cold.first_call > 0
    assert cold.peak_bytes > 50e6


def test_the_standard_sequence():
    calls = standard((torch.ones(2, 3), 5))
    assert [c.args[0].shape[0] for c in calls] == [2, 2, 3, 3, 2] and all(c.args[1] == 5 for c in calls)


def test_bad_arguments_name_the_remedy():
    with pytest.raises(UnsupportedInput, match="calls is empty"):
        pellucid.bench(layer, [])
    with pytest.raises(UnsupportedInput, match="against"):
        pellucid.bench(layer, [(torch.ones(2),)], against=["onnx"])
    with pytest.raises(UnsupportedInput, match="not a sequence of calls"):
        pellucid.bench(layer, "x")
