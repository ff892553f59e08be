"""nn.Module in captured programs: hooks, containers, iterators, state, and the modules with machinery of their own."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import torch.nn.modules.module as global_hooks
import torch.nn.utils.parametrizations as parametrizations
from torch import nn
from torch.nn.utils import parametrize

from .harness import Programs

programs = Programs()
Tensor = torch.Tensor


def image() -> tuple[Any, ...]:
    return (torch.arange(64.0).reshape(2, 2, 4, 4) / 9 - 2,)


def sequence() -> tuple[Any, ...]:
    return (torch.arange(30.0).reshape(5, 2, 3) / 9 - 2,)


def linear(i: int = 3, o: int = 3, seed: int = 0) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(i, o)


# ------------------------------------------------------------------ hooks
@programs.factory()
def forward_hook() -> Any:
    m = linear()
    seen = []
    m.register_forward_hook(lambda mod, args, out: seen.append(tuple(out.shape)) or out * 2)

    def fn(x: Tensor) -> Any:
        return m(x), list(seen)

    return fn


@programs.factory()
def pre_hooks() -> Any:
    m = linear()
    m.register_forward_pre_hook(lambda mod, args: args[0] + 1)
    m.register_forward_pre_hook(lambda mod, args: (args[0] * 2,))
    m.register_forward_pre_hook(lambda mod, args: None)

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


class Scaled(nn.Module):
    def forward(self, x: Tensor, *, scale: float = 1.0) -> Tensor:
        return x * scale


@programs.factory()
def hooks_with_kwargs() -> Any:
    m = Scaled()
    m.register_forward_pre_hook(lambda mod, a, k: (a, {**k, "scale": k["scale"] + 1}), with_kwargs=True)
    m.register_forward_hook(lambda mod, a, k, out: out + k["scale"], with_kwargs=True)

    def fn(x: Tensor) -> Any:
        return m(x, scale=2.0)

    return fn


class Failing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise ValueError("inside")


@programs.factory()
def always_called() -> Any:
    m = Failing()
    seen: list[str] = []
    m.register_forward_hook(lambda mod, a, out: seen.append(repr(out)), always_call=True)

    def fn(x: Tensor) -> Any:
        try:
            return m(x)
        except ValueError as e:
            return x, str(e), list(seen)

    return fn


@programs.factory()
def hook_prepended() -> Any:
    m = linear()
    m.register_forward_hook(lambda mod, a, out: out + 1)
    m.register_forward_hook(lambda mod, a, out: out * 3, prepend=True)

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


@programs.factory(breaks=True)
def hook_added_inside() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        h = m.register_forward_hook(lambda mod, a, out: out * 2)
        y = m(x)
        h.remove()
        return y, m(x)

    return fn


@programs.factory()
def hooks_changed_between_calls() -> Any:
    m = linear()
    handles: list[Any] = []
    step = [0]

    def fn(x: Tensor) -> Any:
        return m(x)

    def drive(x: Tensor) -> Any:
        return fn(x)

    m.register_forward_hook(lambda mod, a, out: out + len(handles))
    handles.append(step)
    return drive


@programs.factory(breaks=True)
def backward_hook() -> Any:
    m = linear()
    seen: list[Any] = []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append(go[0].sum()))

    def fn(x: Tensor) -> Any:
        return m(x).sum(), seen

    return fn


@programs.factory(breaks=True)
def global_forward_hook() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        h = global_hooks.register_module_forward_hook(lambda mod, a, out: out * 2)
        try:
            return m(x)
        finally:
            h.remove()

    return fn


# ------------------------------------------------------------------ containers
@programs.factory()
def sequential() -> Any:
    net = nn.Sequential(linear(), nn.ReLU(), linear(3, 4, 1))

    def fn(x: Tensor) -> Any:
        y = net(x)
        for layer in net:
            x = layer(x)
        return y, x, len(net), net[0](torch.ones(3)), net[-1].out_features, net[:2](torch.ones(1, 3))

    return fn


@programs.factory()
def sequential_named() -> Any:
    from collections import OrderedDict

    net = nn.Sequential(OrderedDict(a=linear(), b=nn.Tanh()))

    def fn(x: Tensor) -> Any:
        return net.b(net.a(x)), [n for n, _ in net.named_children()]

    return fn


@programs.factory()
def module_list() -> Any:
    layers = nn.ModuleList([linear(seed=k) for k in range(3)])

    def fn(x: Tensor) -> Any:
        for i, layer in enumerate(layers):
            x = layer(x) + i
        for layer in layers[1:]:
            x = layer(x)
        for layer in reversed(layers):
            x = layer(x)
        return x, len(layers), layers[-1](x), layers[0] in layers

    return fn


@programs.factory()
def module_dict() -> Any:
    parts = nn.ModuleDict({"a": linear(), "b": nn.ReLU()})

    def fn(x: Tensor) -> Any:
        for name, part in parts.items():
            x = part(x) + len(name)
        return x, list(parts.keys()), "a" in parts, "c" in parts, len(parts), parts["b"](x), [*parts], \
            [type(v).__name__ for v in parts.values()]

    return fn


@programs.factory()
def parameter_list() -> Any:
    ps = nn.ParameterList([nn.Parameter(torch.full((3,), float(k))) for k in range(3)])

    def fn(x: Tensor) -> Any:
        for p in ps:
            x = x + p
        return x * ps[1], len(ps), ps[-1] - x, [p.shape for p in ps[:2]]

    return fn


@programs.factory()
def parameter_dict() -> Any:
    ps = nn.ParameterDict({"w": nn.Parameter(torch.ones(3)), "b": nn.Parameter(torch.zeros(3))})

    def fn(x: Tensor) -> Any:
        return x * ps["w"] + ps["b"], list(ps.keys()), [p.sum() for p in ps.values()], "w" in ps, ps.w * 2

    return fn


@programs.factory(breaks=True)
def sequential_grown() -> Any:
    net = nn.Sequential(linear())

    def fn(x: Tensor) -> Any:
        if len(net) < 3:
            net.append(nn.ReLU())
        return net(x), len(net)

    return fn


@programs.factory(breaks=True)
def module_list_changed() -> Any:
    layers = nn.ModuleList([nn.ReLU()])

    def fn(x: Tensor) -> Any:
        if len(layers) < 4:
            layers.insert(0, nn.Tanh())
            layers.extend([nn.Sigmoid()])
        for layer in layers:
            x = layer(x)
        return x, [type(m).__name__ for m in layers]

    return fn


@programs.factory()
def plain_containers_of_modules() -> Any:
    a, b = linear(), linear(seed=1)
    table = {"a": a, 1: [b, (a, b)]}

    def fn(x: Tensor) -> Any:
        return table["a"](x) + table[1][0](x) + table[1][1][1](x)

    return fn


# ------------------------------------------------------------------ iterators
class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = linear()
        self.b = nn.Sequential(nn.BatchNorm1d(3), linear(seed=2))
        self.register_buffer("k", torch.arange(3.0))
        self.register_buffer("hidden", torch.ones(1), persistent=False)
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x) * self.w) + self.k


@programs.factory()
def iterators() -> Any:
    m = Nested().eval()

    def fn(x: Tensor) -> Any:
        total = x.sum()
        for p in m.parameters():
            total = total + p.sum()
        for n, p in m.named_parameters():
            total = total * (1 + len(n)) + p.mean()
        return total, [n for n, _ in m.named_modules()], [n for n, _ in m.named_children()], \
            [n for n, _ in m.named_buffers()], [type(c).__name__ for c in m.children()], \
            len(list(m.modules())), sum(b.numel() for b in m.buffers())

    return fn


@programs.factory()
def looked_up() -> Any:
    m = Nested().eval()

    def fn(x: Tensor) -> Any:
        return m.get_submodule("b.1")(x) + m.get_parameter("a.weight").sum() + m.get_buffer("k"), m.training

    return fn


@programs.factory()
def state_dict_read() -> Any:
    m = Nested().eval()

    def fn(x: Tensor) -> Any:
        return x + m.state_dict()["a.weight"].sum()

    return fn


@programs.factory()
def applied() -> Any:
    m = Nested().eval()

    def fn(x: Tensor) -> Any:
        names: list[str] = []
        m.apply(lambda mod: names.append(type(mod).__name__))
        return m(x), names

    return fn


@programs.factory()
def zero_grad_inside() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        m.zero_grad()
        return m(x)

    return fn


# ------------------------------------------------------------------ state
class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("last", None)
        self.steps = 0
        self.register_parameter("bias", None)

    def forward(self, x: Tensor) -> Any:
        self.count += 1
        self.steps += 1
        self.last = x.detach()
        return x + self.count, self.steps, self.bias is None


@programs.factory()
def buffers_written() -> Any:
    m = Counter()

    def fn(x: Tensor) -> Any:
        return m(x), m

    return fn


@programs.factory()
def buffer_assigned() -> Any:
    m = Counter()

    def fn(x: Tensor) -> Any:
        m.count = m.count + x.sum()
        return m.count * 2, m._buffers["count"]

    return fn


@programs.factory(breaks=True)
def buffer_registered_inside() -> Any:
    m = nn.Module()

    def fn(x: Tensor) -> Any:
        m.register_buffer("seen", x * 2)
        return m.seen + 1, [n for n, _ in m.named_buffers()]

    return fn


@programs.factory(breaks=True)
def parameter_assigned() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        m.weight = nn.Parameter(torch.ones(3, 3))
        return m(x)

    return fn


@programs.factory()
def submodule_replaced() -> Any:
    m = nn.Module()
    m.act = nn.ReLU()
    other = nn.Tanh()

    def fn(x: Tensor) -> Any:
        y = m.act(x)
        m.act = other
        return y, m.act(x)

    return fn


@programs.factory()
def attribute_deleted() -> Any:
    m = nn.Module()

    def fn(x: Tensor) -> Any:
        m.note = 3
        y = x * m.note
        del m.note
        return y, hasattr(m, "note")

    return fn


@programs.factory()
def missing_attribute() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        try:
            return m.nothing
        except AttributeError as e:
            return m(x), str(e), getattr(m, "nothing", 4)

    return fn


@programs.factory()
def toggled() -> Any:
    m = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3))

    def fn(x: Tensor) -> Any:
        m.eval()
        y = m(x)
        m.train()
        return y, m(x), m[0].training, m

    return fn


@programs.factory()
def requires_grad_read() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        return m(x), all(p.requires_grad for p in m.parameters()), m.weight.requires_grad, m.weight.is_leaf

    return fn


@programs.factory()
def own_call() -> Any:
    class Called(nn.Module):
        def __call__(self, x: Tensor, k: int = 2) -> Tensor:
            return super().__call__(x) * k

        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    m = Called()

    def fn(x: Tensor) -> Any:
        return m(x), m(x, 5)

    return fn


@programs.factory()
def forward_of_instance() -> Any:
    m = linear()
    m.forward = lambda x: x * 7

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


@programs.factory()
def shared_weight() -> Any:
    a, b = linear(), linear(seed=1)
    b.weight = a.weight

    def fn(x: Tensor) -> Any:
        return a(x) + b(x), a.weight is b.weight

    return fn


@programs.factory()
def printed_extra() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        return m(x), m.extra_repr()

    return fn


@programs.factory(breaks=True)
def made_inside() -> Any:
    def fn(x: Tensor) -> Any:
        m = nn.ReLU()
        return m(x), nn.Flatten()(x), nn.Softmax(dim=-1)(x)

    return fn


# ------------------------------------------------------------------ normalisation in training
@programs.factory(image)
def batch_norm_training() -> Any:
    m = nn.BatchNorm2d(2)

    def fn(x: Tensor) -> Any:
        return m(x), m

    return fn


@programs.factory(image, breaks=True)
def batch_norm_cumulative() -> Any:
    m = nn.BatchNorm2d(2, momentum=None, affine=False)

    def fn(x: Tensor) -> Any:
        return m(x), m

    return fn


@programs.factory(image)
def norms() -> Any:
    ms = nn.ModuleList([nn.GroupNorm(1, 2), nn.InstanceNorm2d(2, affine=True), nn.LayerNorm(4), nn.RMSNorm(4),
                        nn.InstanceNorm2d(2, track_running_stats=True), nn.LocalResponseNorm(2)])

    def fn(x: Tensor) -> Any:
        return [m(x) for m in ms], ms

    return fn


# ------------------------------------------------------------------ recurrent
@programs.factory(sequence)
def lstm() -> Any:
    torch.manual_seed(0)
    m = nn.LSTM(3, 4, num_layers=2, bidirectional=True)

    def fn(x: Tensor) -> Any:
        y, (h, c) = m(x)
        z, _ = m(x, (h, c))
        return y, h, c, z

    return fn


@programs.factory(sequence)
def gru_and_rnn() -> Any:
    torch.manual_seed(0)
    a, b = nn.GRU(3, 4, batch_first=True), nn.RNN(3, 4, nonlinearity="relu")

    def fn(x: Tensor) -> Any:
        return a(x), b(x), b(x[:, 0])

    return fn


@programs.factory(sequence)
def cells() -> Any:
    torch.manual_seed(0)
    a, b, c = nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.RNNCell(3, 4)

    def fn(x: Tensor) -> Any:
        h, s = a(x[0])
        return a(x[1], (h, s)), b(x[0]), c(x[0], h)

    return fn


@programs.factory(sequence, breaks=True)
def packed() -> Any:
    torch.manual_seed(0)
    m = nn.GRU(3, 4)

    def fn(x: Tensor) -> Any:
        p = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
        y, h = m(p)
        return nn.utils.rnn.pad_packed_sequence(y), h

    return fn


@programs.factory(sequence)
def padded() -> Any:
    def fn(x: Tensor) -> Any:
        return nn.utils.rnn.pad_sequence([x[:3, 0], x[:, 1]]), nn.utils.rnn.pad_sequence([x[0], x[1, :1]], True, -1.0)

    return fn


# ------------------------------------------------------------------ attention, embedding
@programs.factory(sequence)
def attention() -> Any:
    torch.manual_seed(0)
    m = nn.MultiheadAttention(3, 3)

    def fn(x: Tensor) -> Any:
        return m(x, x, x), m(x, x, x, need_weights=False, attn_mask=torch.ones(5, 5).tril().logical_not())

    return fn


@programs.factory(sequence)
def encoder_in_eval() -> Any:
    torch.manual_seed(0)
    m = nn.TransformerEncoder(nn.TransformerEncoderLayer(3, 1, 8), 2, enable_nested_tensor=False).eval()

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


@programs.factory()
def embeddings() -> Any:
    torch.manual_seed(0)
    m, b = nn.Embedding(6, 3, padding_idx=0), nn.EmbeddingBag(6, 3, mode="mean")

    def fn(x: Tensor) -> Any:
        i = torch.tensor([[0, 1], [4, 2]])
        return m(i) + x.sum(), b(i)

    return fn


# ------------------------------------------------------------------ parametrisation
@programs.factory()
def parametrized() -> Any:
    class Symmetric(nn.Module):
        def forward(self, w: Tensor) -> Tensor:
            return w.triu() + w.triu(1).t()

    m = linear()
    parametrize.register_parametrization(m, "weight", Symmetric())

    def fn(x: Tensor) -> Any:
        return m(x), parametrize.is_parametrized(m)

    return fn


@programs.factory()
def parametrized_cached() -> Any:
    class Double(nn.Module):
        def forward(self, w: Tensor) -> Tensor:
            return w * 2

    m = linear()
    parametrize.register_parametrization(m, "weight", Double())

    def fn(x: Tensor) -> Any:
        with parametrize.cached():
            return m(x) + m(x)

    return fn


@programs.factory()
def weight_norm() -> Any:
    m = parametrizations.weight_norm(linear())

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


@programs.factory()
def old_weight_norm() -> Any:
    m = nn.utils.weight_norm(linear())

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


@programs.factory()
def spectral_norm() -> Any:
    torch.manual_seed(0)
    m = parametrizations.spectral_norm(linear())

    def fn(x: Tensor) -> Any:
        return m(x), [b for b in m.buffers()]

    return fn


@programs.factory()
def orthogonal() -> Any:
    torch.manual_seed(0)
    m = parametrizations.orthogonal(linear())

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


@programs.factory(breaks=True)
def lazy() -> Any:
    torch.manual_seed(0)
    m = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))

    def fn(x: Tensor) -> Any:
        torch.manual_seed(0)
        return m(x)

    return fn


# ------------------------------------------------------------------ torch.nn.utils
@programs.factory()
def vectors() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        v = nn.utils.parameters_to_vector(m.parameters())
        return v * 2, m(x)

    return fn


@programs.factory(breaks=True)
def vector_written() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        nn.utils.vector_to_parameters(torch.arange(12.0), m.parameters())
        return m(x)

    return fn


@programs.factory()
def clipped() -> Any:
    m = linear()
    m(torch.ones(2, 3)).sum().backward()

    def fn(x: Tensor) -> Any:
        n = nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        return n, [p.grad for p in m.parameters()], nn.utils.clip_grad_value_(m.parameters(), 0.1)

    return fn


@programs.factory()
def get_total_norm() -> Any:
    m = linear()

    def fn(x: Tensor) -> Any:
        return nn.utils.get_total_norm(list(m.parameters())), x

    return fn


@programs.factory(image)
def fused_conv_bn() -> Any:
    torch.manual_seed(0)
    conv, bn = nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3)

    def fn(x: Tensor) -> Any:
        return F.relu(bn(conv(x))), bn

    return fn


@programs.factory()
def unflatten_and_identity() -> Any:
    net = nn.Sequential(nn.Identity(1, a=2), nn.Unflatten(1, (3, 1)), nn.Flatten(0))

    def fn(x: Tensor) -> Any:
        return net(x)

    return fn


@programs.factory()
def submodule_passed() -> Any:
    m = linear()

    def apply(mod: nn.Module, x: Tensor) -> Tensor:
        return mod(x)

    def fn(x: Tensor) -> Any:
        return apply(m, x), [f(x) for f in (m, torch.relu, m.forward)]

    return fn


@programs.factory()
def dataclass_of_modules() -> Any:
    import dataclasses

    @dataclasses.dataclass
    class Parts:
        a: nn.Module
        b: nn.Module

    parts = Parts(linear(), nn.ReLU())

    def fn(x: Tensor) -> Any:
        return parts.b(parts.a(x))

    return fn


@programs.factory()
def module_subclass_of_list() -> Any:
    class Stack(nn.ModuleList):
        def forward(self, x: Tensor) -> Tensor:
            for m in self:
                x = m(x)
            return x

    m = Stack([linear(), nn.ReLU()])

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


@programs.factory()
def getattr_of_own() -> Any:
    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = linear()

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

        def forward(self, x: Tensor) -> Tensor:
            return F.linear(x, self.weight, self.bias)

    m = Wrapped()

    def fn(x: Tensor) -> Any:
        return m(x), m.in_features

    return fn
