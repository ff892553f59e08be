"""Operators without an entry: by torch's meta functions and the dispatcher; what is refused; aten overloads."""

from __future__ import annotations

import pytest
import torch

from pellucid.ops.errors import Unsupported, WouldRaise
from pellucid.ops.torch_level import expansion_of
from pellucid.torchdoor.operators import operator_by_name, operator_name

from .harness import Expanded, check

torch.manual_seed(0)
X = torch.randn(4, 5)
SPD = torch.eye(4) * 3 + 0.1
aten = torch.ops.aten


@pytest.mark.parametrize("target, args, kwargs", [
    (torch.cummax, (X, 1), {}), ("cummin", (X, 0), {}), (torch.kthvalue, (X, 2), {}), (torch.linalg.inv, (SPD,), {}),
    (torch.digamma, (X.abs(),), {}), ("lgamma", (X.abs(),), {}), (torch.logaddexp, (X, X), {}),
    (torch.renorm, (X, 2, 0, 1.0), {}), (torch.trapezoid, (X,), {}), (torch.linalg.qr, (X,), {}),
    (torch.bucketize, (X, torch.tensor([-1.0, 0.0, 1.0])), {}),
    (torch.searchsorted, (torch.tensor([-1.0, 0.0, 1.0]), X), {"right": True}),
    (aten.cummax.default, (X, 1), {}), (torch.logcumsumexp, (X, 1), {}), (torch.erfc, (X,), {}),
])
def test_without_an_entry(target: object, args: tuple, kwargs: dict) -> None:
    made = check(target, *args, **kwargs)
    assert [n.op for n in made.builder.nodes] == ["opaque"]


def test_symbolic_sizes_are_fixed_by_guards() -> None:
    made = check(torch.cummax, X, 1, dynamic=True)
    assert [str(g) for g in made.builder.env.guards] == ["s0 == 5"]


def test_custom_operator_is_marked_as_python() -> None:
    @torch.library.custom_op("pellucid_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)
    made = check(torch.ops.pellucid_test.twice.default, X)
    assert [n.op for n in made.builder.nodes] == ["opaque_python"]


@pytest.mark.parametrize("target, args", [
    (aten.nonzero.default, (X,)), (aten.resize_.default, (X, (2,))),
    (aten.unfold_copy.out, (X, 0, 1, 1)),
    (aten.set_.source_Tensor, (X, X)), (aten.view_as_complex.default, (torch.randn(3, 2),)),
])
def test_refused(target: object, args: tuple) -> None:
    with pytest.raises(Unsupported):
        Expanded(target, args, {})


def test_eager_errors_are_left_to_eager() -> None:
    with pytest.raises(WouldRaise):
        Expanded(torch.linalg.inv, (X,), {})


def test_names_of_operators_find_them_again() -> None:
    for target in (torch.cummax, torch.linalg.inv, "kthvalue", aten.add.Tensor, torch.fft.fft, aten.add,
                   torch.nn.functional.gelu):
        name = operator_name(target)
        found = operator_by_name(name)
        assert found is target or found is getattr(torch.Tensor, str(target), None)
    with pytest.raises(LookupError):
        operator_by_name("torch:no_such_operator")


@pytest.mark.parametrize("target, args, kwargs", [
    (aten.add.Tensor, (X, X), {"alpha": 2}), (aten.add, (X, 1), {}), (aten.mul.Scalar, (X, 3), {}),
    (aten.sum.dim_IntList, (X, [1]), {}), (aten._softmax.default, (X, 1, False), {}),
    (aten.view.default, (X, [20]), {}),
    (aten.permute.default, (X, [1, 0]), {}), (aten.t.default, (X,), {}), (aten.slice.Tensor, (X, 1, 0, 3), {}),
    (aten.select.int, (X, 0, 1), {}), (aten.mean.dim, (X, [-1], True), {}), (aten.where.self, (X > 0, X, X), {}),
    (aten.full.default, ([2, 3], 1.5), {}),
    (aten.arange.start_step, (0, 10, 2), {}), (aten._to_copy.default, (X,), {"dtype": torch.float64}),
    (aten.native_layer_norm.default, (X, [5], None, None, 1e-5), {}),
    (aten.convolution.default,
     (torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1), {}),
    (aten.embedding.default, (X, torch.tensor([0, 3])), {}),
    (aten.index.Tensor, (X, [None, torch.tensor([0, 1])]), {}), (aten.cat.default, ([X, X], 1), {}),
    (aten.gelu.default, (X,), {"approximate": "tanh"}), (aten.addmm.default, (X[0, :3], X, torch.randn(5, 3)), {}),
    (aten.max.dim, (X, 1), {}),
    (aten.relu_.default, (X.clone(),), {}), (aten.copy_.default, (X.clone(), X), {}),
    (aten.clone.default, (X,), {"memory_format": torch.contiguous_format}), (aten.expand.default, (X, [2, 4, 5]), {}),
    (aten.split.Tensor, (X, 2), {}), (aten.constant_pad_nd.default, (X, [0, 1], 2.0), {}),
    (aten.bmm.default, (torch.randn(2, 3, 4), torch.randn(2, 4, 2)), {}),
    (aten.squeeze.dims, (X[None], [0]), {}), (aten.any.dim, (X > 0, 1), {}), (aten.pow.Tensor_Scalar, (X, 2), {}),
    (aten._log_softmax.default, (X, 1, False), {}), (aten.scalar_tensor.default, (2.0,), {}),
    (aten.full_like.default, (X, 3), {}), (aten.cumsum.default, (X, 1), {}),
    (aten.linear.default, (X, torch.randn(3, 5)), {}),
    (aten.max_pool2d_with_indices.default, (torch.randn(1, 2, 4, 4), [2, 2]), {}),
    (aten.fill_.Scalar, (X.clone(), 2), {}), (aten.rsub.Scalar, (X, 1), {}), (aten.alias.default, (X,), {}),
    (aten.unbind.int, (X,), {}), (aten.masked_fill.Scalar, (X, X > 0, 1.0), {}),
    (aten.gather.default, (X, 1, torch.zeros(4, 2, dtype=torch.long)), {}), (aten.zero_.default, (X.clone(),), {}),
])
def test_aten_overloads_use_the_entries(target: object, args: tuple, kwargs: dict) -> None:
    made = check(target, *args, **kwargs)
    assert not any(n.op.startswith("opaque") for n in made.builder.nodes)


def test_self_by_keyword() -> None:
    made = Expanded(aten.abs.default, (), {"self": X})
    assert made.result.shape == (4, 5)


def test_unknown_callables_have_no_expansion() -> None:
    assert expansion_of(len) is None and expansion_of("no_such_method") is None and expansion_of(lambda x: x) is None
