"""Dead code and common subexpressions keep what eager would show: errors, random draws, and tensors that are new."""

import torch
import torch.nn.functional as F

from pellucid.graph.passes import common_subexpressions, dead_code, run_passes
from pellucid.graph.text import to_text
from pellucid.graph.verify import Malformed, verify
from tests.schedule.tracing import trace


def ops(graph):
    return [n.op for n in graph.nodes]


def test_dead_code_goes_but_an_index_check_stays():
    def fn(f, x, table, ids):
        f(torch.exp, x)
        f(F.embedding, ids, table)
        return f(torch.neg, x)
    g = trace(fn, torch.randn(3), torch.randn(4, 2), torch.tensor([1]))
    kept = ops(dead_code(g))
    assert "exp" in ops(g) and "exp" not in kept and "neg" in kept
    assert len(kept) == len(ops(g)) - 1


def test_equal_nodes_are_computed_once():
    g = trace(lambda f, x: f(torch.add, f(torch.exp, x), f(torch.exp, x)), torch.randn(3))
    new = common_subexpressions(g)
    verify(new)
    assert ops(g).count("exp") == 2 and ops(new).count("exp") == 1


def test_two_outputs_that_are_two_tensors_in_eager_stay_two():
    g = run_passes(trace(lambda f, x: (f(torch.exp, x), f(torch.exp, x)), torch.randn(3)))
    assert ops(g).count("exp") == 2 and g.roots[g.outputs[0]] != g.roots[g.outputs[1]]


def test_one_output_returned_twice_stays_one():
    def fn(f, x):
        y = f(torch.exp, x)
        return y, y
    g = run_passes(trace(fn, torch.randn(3)))
    assert g.outputs[0] == g.outputs[1] and len(g.nodes) == 1


def test_zero_and_minus_zero_are_different_constants():
    g = trace(lambda f, x: f(torch.add, f(torch.mul, x, 0.0), f(torch.mul, x, -0.0)), torch.randn(3))
    assert len(run_passes(g).nodes) == len(g.nodes)


def test_text_names_values_roots_and_strides():
    text = to_text(trace(lambda f, x: f(torch.transpose, f(torch.exp, x), 0, 1), torch.randn(2, 3)))
    assert "float32[3, 2] strides [1, 3] in %1" in text and text.endswith("return %2\n")


def test_verify_sees_a_use_before_its_definition():
    from dataclasses import replace

    import pytest
    g = trace(lambda f, x: f(torch.neg, f(torch.exp, x)), torch.randn(2))
    with pytest.raises(Malformed, match="used before it is made"):
        verify(replace(g, nodes=g.nodes[::-1]))
