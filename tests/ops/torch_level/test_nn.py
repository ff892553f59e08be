"""Products, activations, normalisations, convolutions, pooling, attention and losses against eager."""

from __future__ import annotations

import operator

import pytest
import torch
import torch.nn.functional as F

from pellucid.ops.errors import WouldRaise

from .harness import Expanded, check

torch.manual_seed(0)


def r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


X = r(4, 5)
V = r(5)
T = r(5, 4).t()
H = r(4, 5).half()
IMG = r(2, 3, 8, 9)
CL = IMG.to(memory_format=torch.channels_last)

PRODUCTS = [
    (torch.matmul, (r(5), r(5)), {}), (torch.matmul, (r(4, 5), r(5)), {}), (torch.matmul, (r(5), r(5, 3)), {}),
    (torch.matmul, (r(4, 5), r(5, 3)), {}), (torch.matmul, (T, r(5, 4).t().t()), {}),
    (torch.matmul, (r(2, 4, 5), r(5)), {}), (torch.matmul, (r(2, 4, 5), r(5, 3)), {}),
    (torch.matmul, (r(5), r(2, 5, 3)), {}), (torch.matmul, (r(4, 5), r(2, 5, 3)), {}),
    (torch.matmul, (r(2, 4, 5), r(2, 5, 3)), {}),
    (torch.matmul, (r(2, 1, 4, 5), r(3, 5, 2)), {}), (operator.matmul, (r(2, 3, 4, 5), r(2, 3, 5, 4)), {}),
    ("matmul", (r(2, 3, 4, 5), r(2, 3, 4, 5).transpose(-1, -2)), {}), ("__matmul__", (X, T.t()), {}),
    ("__rmatmul__", (T.t(), X), {}), (torch.matmul, (r(2, 4, 5).transpose(0, 1), r(5, 3)), {}),
    (torch.matmul, (r(2, 3, 4, 5), r(5, 3)), {}), (torch.mm, (X, r(5, 3)), {}),
    (torch.bmm, (r(2, 4, 5), r(2, 5, 3)), {}), ("bmm", (r(2, 5, 4).transpose(1, 2), r(2, 5, 3)), {}),
    (torch.mv, (X, V), {}), (torch.dot, (V, V), {}), (torch.outer, (V, r(3)), {}),
    (torch.addmm, (r(3), X, r(5, 3)), {}), ("addmm", (r(4, 3), X, r(5, 3)), {"beta": 0.5, "alpha": 2}),
    (torch.baddbmm, (r(4, 3), r(2, 4, 5), r(2, 5, 3)), {"alpha": 0.5}),
    (torch.baddbmm, (r(2, 4, 3), r(2, 4, 5), r(2, 5, 3)), {"beta": 0}), (torch.addmv, (r(4), X, V), {}),
    (torch.addr, (r(5, 3), V, r(3)), {}), (torch.addbmm, (r(4, 3), r(2, 4, 5), r(2, 5, 3)), {}),
    (F.linear, (X, r(3, 5)), {}), (F.linear, (r(2, 4, 5), r(3, 5), r(3)), {}),
    (F.linear, (V, r(3, 5), r(3)), {}), (F.linear, (r(2, 5, 4).transpose(1, 2), r(3, 5), r(3)), {}),
    (F.linear, (X, r(5)), {}), (F.bilinear, (r(2, 3), r(2, 5), r(4, 3, 5), r(4)), {}),
    (torch.kron, (r(2, 3), r(5, 2)), {}), (torch.linalg.cross, (r(4, 3), r(4, 3)), {}),
    (torch.tensordot, (r(2, 3, 5), r(3, 5, 4)), {}), (torch.tensordot, (r(2, 3, 5), r(4, 3)), {"dims": ([1], [1])}),
    (torch.einsum, ("ij,jk->ik", X, r(5, 3)), {}),
    (torch.einsum, ("bhid,bhjd->bhij", r(2, 3, 4, 5), r(2, 3, 6, 5)), {}),
    (torch.einsum, ("bhij,bhjd->bhid", r(2, 3, 4, 6), r(2, 3, 6, 5)), {}),
    (torch.einsum, ("i,j->ij", V, r(3)), {}), (torch.einsum, ("ij->ji", X), {}), (torch.einsum, ("ij->i", X), {}),
    (torch.einsum, ("ii->i", r(5, 5)), {}), (torch.einsum, ("ii", r(5, 5)), {}),
    (torch.einsum, ("...ij,...jk->...ik", r(2, 4, 5), r(5, 3)), {}), (torch.einsum, ("ij,ij->", X, X), {}),
    (torch.einsum, ("bi,bj,bk->bijk", r(2, 3), r(2, 4), r(2, 5)), {}), (torch.einsum, ("ij,jk", X, r(5, 3)), {}),
    (torch.einsum, ("b i j, j -> b i", r(2, 4, 5), V), {}), (torch.einsum, ("ij,j->ij", X, V), {}),
    (torch.matmul, (H, r(5, 3).half()), {}),
]
ACTIVATIONS = [
    (F.relu, (X,), {}), (F.relu, (X, False), {}), (F.gelu, (X,), {}), (F.gelu, (X,), {"approximate": "tanh"}),
    (F.gelu, (H,), {}), (F.silu, (X,), {}), (F.relu6, (X * 5,), {}), (F.hardtanh, (X, -0.5, 0.5), {}),
    (F.mish, (X,), {}), (F.leaky_relu, (X, 0.2), {}), (F.hardswish, (X * 3,), {}), (F.hardsigmoid, (X * 3,), {}),
    (F.softshrink, (X,), {}), (F.hardshrink, (X,), {}), (F.softplus, (X,), {}), (F.softplus, (X, 2, 1), {}),
    (F.logsigmoid, (X,), {}), (F.threshold, (X, 0.1, 20), {}), (F.tanh, (X,), {}), (F.sigmoid, (X,), {}),
    (F.elu, (X,), {}), (F.elu, (X, 0.5), {}), (F.celu, (X, 2.0), {}), (F.selu, (X,), {}),
    (torch.celu, (X,), {"alpha": 0.5}), (F.softsign, (X,), {}), (F.tanhshrink, (X,), {}),
    (F.prelu, (X, torch.tensor([0.25])), {}), (F.prelu, (r(2, 5, 3), r(5)), {}),
    (F.glu, (r(4, 6),), {}), (F.rrelu, (X,), {}), (F.softmax, (X, -1), {}),
    (F.softmax, (X,), {"dim": 0, "dtype": torch.float64, "_stacklevel": 3}), (torch.softmax, (X, 1), {}),
    ("softmax", (r(2, 3, 4, 5), -1), {}), (F.log_softmax, (X, 1), {}), (torch.log_softmax, (H, -1), {}),
    ("softmax", (H, -1), {"dtype": torch.float32}), ("softmax", (T, 0), {}), (F.softmin, (X, 1), {}),
    (F.dropout, (X, 0.1, False), {}), (F.dropout, (X,), {"p": 0.0}),
    (torch.dropout, (X, 0.5, False), {}), (torch.feature_dropout, (IMG, 0.5, False), {}),
    (torch.alpha_dropout, (X, 0.5, False), {}),
]
NORMS = [
    (F.layer_norm, (X, (5,)), {}), (F.layer_norm, (r(2, 4, 5), (5,), r(5), r(5), 1e-12), {}),
    (F.layer_norm, (r(2, 4, 5), (4, 5)), {"weight": r(4, 5), "bias": r(4, 5)}),
    (F.layer_norm, (H, [5], torch.ones(5).half()), {}), (torch.layer_norm, (T, (5,)), {}),
    (F.rms_norm, (X, (5,), r(5)), {"eps": 1e-6}), (F.rms_norm, (X, (5,)), {}),
    (F.group_norm, (IMG, 3, r(3), r(3)), {}), (F.group_norm, (r(2, 6, 5), 2), {}),
    (torch.native_layer_norm, (X, (5,), r(5), r(5), 1e-5), {}),
    (F.batch_norm, (IMG, r(3), torch.rand(3) + 0.5, r(3), r(3)), {}),
    (F.batch_norm, (X, r(5), torch.rand(5) + 0.5), {"eps": 1e-3}),
    (F.batch_norm, (CL, r(3), torch.rand(3) + 0.5, r(3), r(3)), {}),
    (F.batch_norm, (IMG, torch.zeros(3), torch.ones(3), r(3), r(3), True, 0.1, 1e-5), {}),
    (F.batch_norm, (IMG, None, None, r(3), r(3), True), {}),
    (torch.batch_norm, (X, None, None, r(5), torch.rand(5) + 0.5, False, 0.1, 1e-5, True), {}),
    (F.instance_norm, (IMG,), {}), (F.instance_norm, (IMG,), {"weight": r(3), "bias": r(3)}),
    (F.local_response_norm, (r(2, 5, 4, 4), 3), {}),
]
CONVS = [
    (F.conv1d, (r(2, 3, 9), r(5, 3, 3), r(5)), {}), (F.conv1d, (r(2, 4, 9), r(6, 2, 3), None, 2, 1, 1, 2), {}),
    (F.conv2d, (IMG, r(4, 3, 3, 3), r(4), (1, 1), (1, 1), (1, 1), 1), {}),
    (F.conv2d, (IMG, r(4, 3, 2, 2)), {"stride": 2}), (F.conv2d, (CL, r(4, 3, 3, 3)), {"padding": 1}),
    (F.conv2d, (IMG, r(3, 1, 7, 7), r(3)), {"padding": 3, "groups": 3}),
    (F.conv2d, (IMG, r(4, 3, 3, 3)), {"padding": "same"}), (F.conv2d, (IMG, r(4, 3, 2, 2)), {"padding": "same"}),
    (F.conv2d, (IMG, r(4, 3, 3, 3)), {"dilation": 2, "padding": "valid"}),
    (F.conv2d, (r(3, 8, 8), r(4, 3, 3, 3)), {}), (F.conv3d, (r(1, 2, 4, 5, 5), r(3, 2, 2, 2, 2)), {}),
    (F.conv_transpose2d, (IMG, r(3, 4, 3, 3), r(4)), {"stride": 2, "padding": 1, "output_padding": 1}),
    (F.conv_transpose1d, (r(2, 3, 5), r(3, 2, 4)), {"stride": 2}),
    (F.max_pool2d, (IMG, 3), {"stride": 2, "padding": 1}), (F.max_pool2d, (IMG, (2, 3)), {}),
    (F.max_pool2d, (IMG, 2, 2, 0, 1, True), {}), (F.max_pool2d, (IMG, 3), {"return_indices": True}),
    (torch.max_pool2d, (IMG, 2), {}), (F.max_pool1d, (r(2, 3, 9), 2), {}), (F.max_pool2d, (CL, 2), {}),
    (F.avg_pool2d, (IMG, 2), {}), (F.avg_pool2d, (IMG, 3, 2, 1), {"count_include_pad": False}),
    (F.avg_pool1d, (r(2, 3, 9), 3), {"stride": 1, "padding": 1}),
    (F.adaptive_avg_pool2d, (IMG, (1, 1)), {}), (F.adaptive_avg_pool2d, (IMG, 3), {}),
    (F.adaptive_avg_pool2d, (CL, 1), {}), (F.adaptive_avg_pool2d, (IMG, (None, 3)), {}),
    (F.adaptive_avg_pool1d, (r(2, 3, 9), 1), {}), (F.adaptive_max_pool2d, (IMG, (2, 3)), {}),
    (F.interpolate, (IMG,), {"scale_factor": 2}), (F.interpolate, (IMG, (5, 4)), {}),
    (F.interpolate, (IMG,), {"size": (16, 5), "mode": "bilinear"}),
    (F.interpolate, (IMG,), {"scale_factor": 1.5, "mode": "bilinear", "align_corners": False}),
    (F.interpolate, (IMG,), {"size": (4, 4), "mode": "bilinear", "align_corners": True}),
    (F.interpolate, (r(2, 3, 8), 5), {"mode": "linear"}), (F.interpolate, (IMG, 5), {"mode": "nearest-exact"}),
    (F.unfold, (IMG, 3), {"padding": 1, "stride": 2}), (F.max_pool2d, (r(3, 8, 8), 2), {}),
    (F.max_pool3d, (r(1, 2, 4, 4, 4), 2), {}),
]
Q = r(2, 4, 5, 8)
ATTENTION = [
    ((Q, r(2, 4, 6, 8), r(2, 4, 6, 8)), {}), ((Q, Q, Q), {"is_causal": True}),
    ((Q, Q, Q), {"attn_mask": torch.rand(2, 1, 5, 5) > 0.3, "scale": 0.5}),
    ((Q, Q, Q), {"attn_mask": r(1, 4, 5, 5), "scale": 1.0, "dropout_p": 0.0}),
    ((Q, r(2, 2, 5, 8), r(2, 2, 5, 8)), {"enable_gqa": True}),
    ((Q.transpose(1, 2), r(2, 5, 3, 8), r(2, 5, 3, 8)), {}), ((r(4, 5, 8), r(4, 5, 8), r(4, 5, 8)), {}),
    ((r(2, 5, 4, 8).transpose(1, 2), r(2, 5, 4, 8).transpose(1, 2), r(2, 5, 4, 8).transpose(1, 2)), {}),
    ((Q, Q, r(2, 4, 5, 3)), {}),
]
LABELS = torch.tensor([1, 0, 4, 2])
LOSSES = [
    (F.mse_loss, (X, T), {}), (F.mse_loss, (X, T), {"reduction": "none"}), (F.l1_loss, (X, T), {"reduction": "sum"}),
    (F.smooth_l1_loss, (X, T), {"beta": 0.5}), (F.huber_loss, (X, T), {"delta": 0.7}),
    (F.binary_cross_entropy, (torch.rand(4, 5), torch.rand(4, 5)), {}),
    (F.binary_cross_entropy_with_logits, (X, torch.rand(4, 5)), {}),
    (F.binary_cross_entropy_with_logits, (X, torch.rand(4, 5)),
     {"pos_weight": torch.rand(5), "weight": torch.rand(5), "reduction": "sum"}),
    (F.soft_margin_loss, (X, torch.sign(T)), {}), (F.poisson_nll_loss, (X, T.abs()), {}),
    (F.kl_div, (X, torch.rand(4, 5)), {"reduction": "batchmean"}),
    (F.kl_div, (X, T), {"log_target": True, "reduction": "sum"}),
    (F.kl_div, (X, torch.tensor([0.0, 1, 2, 0, 1])), {"reduction": "none"}),
    (F.nll_loss, (F.log_softmax(X, 1), LABELS), {}), (F.cross_entropy, (X, LABELS), {}),
    (F.cross_entropy, (X, LABELS), {"reduction": "none"}), (F.cross_entropy, (X, torch.tensor([1, -100, 4, 2])), {}),
    (F.cross_entropy, (X, LABELS), {"weight": torch.rand(5), "reduction": "sum"}),
    (F.cross_entropy, (X, torch.tensor([1, 3, 4, -100])), {"weight": torch.rand(5), "label_smoothing": 0.1}),
    (F.cross_entropy, (X, LABELS), {"label_smoothing": 0.2}), (F.cross_entropy, (X, torch.softmax(T, 1)), {}),
    (F.cross_entropy, (X, torch.softmax(T, 1)), {"label_smoothing": 0.1, "weight": torch.rand(5)}),
    (F.cross_entropy, (r(2, 5, 3), torch.randint(0, 5, (2, 3))), {}), (F.cross_entropy, (V, torch.tensor(3)), {}),
    (F.cross_entropy, (X, LABELS, None, None, 0, None, "mean"), {}),
    (F.nll_loss, (r(2, 5, 3, 3), torch.randint(0, 5, (2, 3, 3))), {"reduction": "sum"}),
    (F.hinge_embedding_loss, (X, torch.sign(T)), {}),
    (F.margin_ranking_loss, (V, r(5), torch.sign(r(5))), {"margin": 0.1}),
    (F.cosine_embedding_loss, (X, T, torch.tensor([1, -1, 1, -1])), {}),
]


def _table(name: str, calls: list) -> None:
    @pytest.mark.parametrize("number", range(len(calls)))
    @pytest.mark.parametrize("dynamic", [False, True])
    def test(number: int, dynamic: bool) -> None:
        target, args, kwargs = calls[number]
        half = any(isinstance(a, torch.Tensor) and a.dtype is torch.float16 for a in args)
        check(target, *args, dynamic=dynamic, rtol=1e-3 if half else 1e-5, atol=1e-3 if half else 1e-5, **kwargs)
    globals()[f"test_{name}"] = test


_table("products", PRODUCTS)
_table("activations", ACTIVATIONS)
_table("norms", NORMS)
_table("convolutions", CONVS)
_table("attention", [(F.scaled_dot_product_attention, a, k) for a, k in ATTENTION])
_table("losses", LOSSES)


def test_inplace_flags() -> None:
    for fn in (F.relu, F.silu, F.elu, F.hardtanh, F.leaky_relu, F.relu6, F.hardswish, F.selu):
        made = check(fn, X.clone(), inplace=True)
        assert made.builder.storage(made.result) == made.builder.storage(made.args[0])
    check(F.relu_, X.clone())
    check(F.elu_, X.clone())


def test_dropout_outside_training_is_the_input_itself() -> None:
    made = Expanded(F.dropout, (X, 0.5, False), {})
    assert made.result is made.args[0]
    assert [n.op for n in Expanded(F.dropout, (X,), {}).builder.nodes] == ["opaque_rng"]


@pytest.mark.parametrize("target, args", [
    (torch.matmul, (X, X)), (torch.matmul, (torch.tensor(1.0), X)), (torch.mm, (X, V)),
    (torch.bmm, (r(2, 4, 5), r(3, 5, 2))), (F.linear, (X, r(3, 4))), (F.linear, (X, r(3, 5), r(4))),
    (torch.addmm, (r(7), X, r(5, 3))), (torch.matmul, (X, H.t())),
    (torch.einsum, ("ij,jk->ik", X, X)), (torch.einsum, ("ijk", X)), (F.layer_norm, (X, (4,))),
    (F.group_norm, (IMG, 2)), (F.batch_norm, (IMG, None, None)), (F.conv2d, (IMG, r(4, 2, 3, 3))),
    (F.conv2d, (X, r(4, 3, 3, 3))), (F.max_pool2d, (IMG, 2, 2, 3)), (F.cross_entropy, (X, torch.tensor([1, 2]))),
    (F.cross_entropy, (X, LABELS.int())),
    (F.scaled_dot_product_attention, (Q, r(2, 4, 6, 7), r(2, 4, 6, 7))), (F.softmax, (torch.tensor([1, 2]), 0)),
    (F.glu, (X,)), (F.mse_loss, (X, r(4, 3))), (F.dropout, (X, 1.5)),
])
def test_refused_as_eager_does(target: object, args: tuple) -> None:
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)):
        target(*args)  # type: ignore[operator]
    with pytest.raises(WouldRaise):
        Expanded(target, args, {})
