"""What a user may say of sizes: marks, specifications, torch._check, and the explanation of what was fixed."""

import pytest
import torch
import torch._dynamo

import pellucid
from pellucid.errors.types import ConstraintError, OptionError


def add(x, n=1):
    return x + n


def four(x):
    if x.shape[0] == 4:
        return x + 1
    return x - 1


def compiled(fn, **kw):
    return pellucid.compile(fn, backend=kw.pop("backend", "eager"), options={"strict": True, **kw.pop("options", {})},
                            **kw)


def entries(c):
    return len(pellucid.explain(c).entries)


def calls(c, fn, sizes):
    for n in sizes:
        x = torch.randn(*n) if isinstance(n, tuple) else torch.randn(n)
        assert torch.equal(c(x), fn(x))


@pytest.mark.parametrize("mark", [pellucid.mark_dynamic, pellucid.maybe_mark_dynamic, torch._dynamo.mark_dynamic,
                                  torch._dynamo.maybe_mark_dynamic])
def test_a_mark_makes_the_first_entry_symbolic(mark):
    c = compiled(add)
    x = torch.randn(3, 5)
    mark(x, 0)
    assert torch.equal(c(x), add(x))
    calls(c, add, [(7, 5), (2, 5), (90, 5)])
    assert entries(c) == 1


@pytest.mark.parametrize("mark", [pellucid.mark_static, torch._dynamo.mark_static])
def test_a_static_mark_holds_against_change_and_dynamic_true(mark):
    for dynamic in (None, True):
        c = compiled(add, dynamic=dynamic)
        for n in (3, 4, 5):
            x = torch.randn(n)
            mark(x, 0)
            assert torch.equal(c(x), add(x))
        assert entries(c) == 3


def test_the_last_mark_counts_and_dynamos_dynamic_goes_before_its_static():
    x = torch.randn(3)
    pellucid.mark_static(x)
    pellucid.mark_dynamic(x, -1)
    y = torch.randn(3)
    torch._dynamo.mark_static(y, 0)
    torch._dynamo.mark_dynamic(y, 0)
    for t in (x, y):
        c = compiled(add)
        c(t)
        calls(c, add, [9])
        assert entries(c) == 1


def test_a_range_is_promised_and_outside_it_a_second_entry_serves():
    for mark in (pellucid.mark_dynamic, torch._dynamo.mark_dynamic):
        c = compiled(add)
        x = torch.randn(8)
        mark(x, 0, min=4, max=32)
        c(x)
        calls(c, add, [4, 32])
        assert entries(c) == 1
        calls(c, add, [3, 33, 100, 2])
        assert entries(c) == 2


def test_a_range_answers_questions():
    def f(x):
        return x + 1 if x.shape[0] <= 32 else x - 1
    c = compiled(f)
    x = torch.randn(8)
    pellucid.mark_dynamic(x, 0, max=32)
    assert torch.equal(c(x), f(x))
    assert not [g for e in pellucid.explain(c).entries for g in e.guards if "comparison" in g.operation]
    calls(c, f, [32, 33, 34])


def test_a_program_that_fixes_a_marked_size_is_an_error_that_names_the_equation():
    x = torch.randn(4, 3)
    pellucid.mark_dynamic(x, 0)
    for c in (compiled(four), pellucid.compile(four)):
        with pytest.raises(ConstraintError, match=r"size 0 of x .* comparison of sizes fixes it to 4: s0 == 4") as e:
            c(x)
        assert e.value.stack[-1].function == "four" and e.value.stack[-1].file == __file__
    maybe = torch.randn(4, 3)
    pellucid.maybe_mark_dynamic(maybe, 0)
    c = compiled(four)
    assert torch.equal(c(maybe), maybe + 1)
    calls(c, four, [(5, 3), (6, 3), (4, 3)])
    assert entries(c) == 2


def test_sizes_0_and_1_are_entries_of_their_own():
    c = compiled(add)
    for n in (1, 0, 5, 6):
        x = torch.randn(n)
        pellucid.mark_dynamic(x, 0)
        assert torch.equal(c(x), add(x))
    assert entries(c) == 3


@pytest.mark.parametrize("bad,match", [
    (lambda: pellucid.mark_dynamic(3, 0), "t is a int"),
    (lambda: pellucid.mark_dynamic(torch.ones(2), 1), "dim=1 of a tensor with 1 dimensions"),
    (lambda: pellucid.mark_dynamic(torch.ones(2), "0"), "dim='0'"),
    (lambda: pellucid.mark_dynamic(torch.ones(2), 0, min=3), "size is 2, outside min=3"),
    (lambda: pellucid.mark_dynamic(torch.ones(2), 0, min=3, max=1), "lower bound 3 is above"),
    (lambda: pellucid.mark_dynamic(torch.ones(2), 0, max=2.0), "bound 2.0"),
    (lambda: pellucid.compile(add, dynamic={"z": True}), "names 'z', which is no argument of add"),
    (lambda: pellucid.compile(add, dynamic={"x": {"a": True}}), "dimension 'a'"),
    (lambda: pellucid.compile(add, dynamic={"x": 7}), r"dynamic\['x'\]=7"),
    (lambda: pellucid.compile(add, dynamic={"x": (9, 3)}), "above the upper bound"),
    (lambda: pellucid.compile(add, dynamic=1), "dynamic=1"),
    (lambda: pellucid.explain(pellucid.compile(add), dynamic=True), "without example arguments"),
])
def test_bad_input_is_named(bad, match):
    with pytest.raises((OptionError, pellucid.errors.types.PellucidError), match=match):
        bad()


def test_a_specification_speaks_of_single_arguments():
    c = compiled(add, dynamic={"x": {0: True, 1: False}, "n": True})
    for n, shape in ((3, (4, 5)), (4, (6, 5)), (9, (2, 5))):
        x = torch.randn(*shape)
        assert torch.equal(c(x, n), add(x, n))
    assert entries(c) == 1
    for k in (6, 7, 8):
        c(torch.randn(3, k), 3)
    assert entries(c) == 4, "size 1 was said to be constant"


def test_a_specification_reaches_into_containers():
    def f(batch, *rest, **more):
        return batch["ids"] + rest[0].sum(0) + more["bias"].sum(0)
    c = compiled(f, dynamic={"batch['ids']": {0: (2, 64)}, "rest[0]": {0: True}, "more": "maybe"})
    for i, j, k in ((3, 4, 5), (4, 6, 8), (64, 2, 3)):
        args = {"ids": torch.randn(i, 2)}, torch.randn(j, 2)
        bias = torch.randn(k, 2)
        assert torch.equal(c(*args, bias=bias), f(*args, bias=bias))
    assert entries(c) == 1


def test_a_module_takes_a_specification():
    net = torch.nn.Linear(3, 2)
    c = compiled(net, dynamic={"input": {0: True}})
    with torch.no_grad():
        calls(c, net, [(4, 3), (5, 3)])
    assert entries(c) == 1
    with pytest.raises(OptionError, match="no argument of Linear.forward"):
        compiled(net, dynamic={"x": True})


def test_marks_hold_under_dynamic_false():
    c = compiled(add, dynamic=False)
    x = torch.randn(3)
    pellucid.mark_dynamic(x, 0)
    c(x)
    calls(c, add, [5, 6])
    assert entries(c) == 1


# ------------------------------------------------------------------ torch._check
def checked(x):
    torch._check(x.shape[0] <= 16)
    torch._check(x.shape[0] % 2 == 0, lambda: "must be even")
    torch._check_is_size(x.shape[0])
    if x.shape[0] < 20:
        return x + 1
    return x - 1


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_checks_of_sizes_are_understood(backend):
    c = compiled(checked, dynamic=True, backend=backend, fullgraph=True)
    calls(c, checked, [(4, 3), (6, 3), (16, 2)])
    explained = pellucid.explain(c)
    assert len(explained.entries) == 1 and not explained.breaks
    assert [x.equation.split(" where")[0] for x in explained.entries[0].fixed] == ["s0 <= 16", "((s0) % (2)) == 0"]
    for n, message in ((5, "must be even"), (18, "Expected cond to be True")):
        for f in (c, checked):
            with pytest.raises(RuntimeError, match=message):
                f(torch.ones(n, 3))


def test_a_check_of_another_kind_raises_its_own_error():
    def f(x, n):
        torch._check_index(n < 4, lambda: f"index {n}")
        torch._check_value(x.ndim == 1, lambda: "rank")
        torch._check_type(x.dtype == torch.float32, lambda: "kind")
        return x + n
    c = compiled(f)
    x = torch.ones(3)
    assert torch.equal(c(x, 2), f(x, 2))
    for args, kind in (((x, 5), IndexError), ((torch.ones(2, 2), 1), ValueError), ((x.double(), 1), TypeError)):
        with pytest.raises(kind) as ours:
            c(*args)
        with pytest.raises(kind) as theirs:
            f(*args)
        assert str(ours.value) == str(theirs.value)


def test_a_check_of_a_tensor_is_eagers_error():
    def f(x):
        torch._check(x.sum() > 0)
        return x
    with pytest.raises(TypeError, match="cond must be a bool"):
        compiled(f)(torch.ones(2))


# ------------------------------------------------------------------ explain(dynamic=...)
def test_explain_says_what_fixed_a_size():
    text = pellucid.explain(four, torch.ones(4, 3), dynamic=True).text()
    line = four.__code__.co_firstlineno + 1
    assert "x.shape[0] is fixed to 4 by s0 == 4 where s0 = x.shape[0]" in text
    assert f"(comparison of sizes at {__file__}:{line} in four)" in text


def test_explain_with_dynamic_leaves_the_compiled_one_as_it_is():
    c = compiled(four)
    c(torch.ones(4, 3))
    found = pellucid.explain(c, torch.ones(4, 3), dynamic={"x": {0: "maybe"}})
    (fixed,) = found.entries[0].fixed
    assert (fixed.name, fixed.value, fixed.equation) == ("x.shape[0]", 4, "s0 == 4 where s0 = x.shape[0]")
    assert len(pellucid.explain(c).entries) == 1 and not pellucid.explain(c).entries[0].fixed


# ------------------------------------------------------------------ inputs that are dense in another order
LAYOUTS = {
    "transposed": lambda n: torch.randn(4, n).t(),
    "both sizes": lambda n: torch.randn(n + 1, n).t(),
    "permuted": lambda n: torch.randn(2, n, 5).permute(2, 0, 1),
    "size 1 inside": lambda n: torch.randn(4, 1, n).permute(2, 1, 0),
}


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_sizes_of_permuted_inputs_become_symbolic_too(name, backend):
    def f(x):
        y = x * 2 + 1
        return y, y.sum(-1), x.reshape(-1) + 0, y.stride()
    c = compiled(f, backend=backend)
    for n in (5, 6, 7, 11):
        x = LAYOUTS[name](n)
        got, want = c(x), f(x)
        for a, b in zip(got[:3], want[:3]):
            torch.testing.assert_close(a, b)
            assert a.stride() == b.stride()
        assert got[3] == want[3]
    assert entries(c) == 2
    plain = torch.randn(*LAYOUTS[name](6).shape)
    for a, b in zip(c(plain)[:3], f(plain)[:3]):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()
    sliced = torch.randn(*[2 * s for s in plain.shape])[tuple(slice(None, None, 2) for _ in plain.shape)]
    for a, b in zip(c(sliced)[:2], f(sliced)[:2]):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()
