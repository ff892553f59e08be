"""Programs that draw random numbers: values, and the generators' states afterwards, are those of eager's stream."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from .harness import Programs, one

programs = Programs()
Tensor = torch.Tensor


def grad() -> tuple[Any, ...]:
    return ((torch.arange(6.0).reshape(2, 3) - 2).requires_grad_(),)


def wide() -> tuple[Any, ...]:
    return (torch.arange(64.0).reshape(4, 16) / 7 - 3,)


def seeded() -> tuple[Any, ...]:
    g = torch.Generator()
    g.manual_seed(11)
    return one() + (g,)


# ------------------------------------------------------------------ factories
@programs()
def rand(x: Tensor) -> Tensor:
    return torch.rand(2, 3) + x


@programs()
def rand_twice_differs(x: Tensor) -> tuple[Tensor, Tensor]:
    return torch.rand(3), torch.rand(3)


@programs()
def rand_size_tuple(x: Tensor) -> Tensor:
    return torch.rand((2, 3), dtype=torch.float64) + torch.rand(x.shape) + torch.rand(x.size(0), x.size(1))


@programs()
def randn_and_unused(x: Tensor) -> Tensor:
    torch.randn(5)
    y = torch.randn_like(x)
    torch.rand(2)
    return x * y


@programs()
def randint(x: Tensor) -> Tensor:
    return torch.randint(0, 10, (2, 3)) + torch.randint(5, (3,))


@programs()
def randint_dtype(x: Tensor) -> Tensor:
    return torch.randint(low=2, high=9, size=(4,), dtype=torch.int32)


@programs()
def randperm(x: Tensor) -> Tensor:
    return torch.randperm(6).reshape(2, 3) + x


@programs()
def like(x: Tensor) -> tuple[Tensor, ...]:
    return torch.rand_like(x), torch.randn_like(x, dtype=torch.float64), torch.randint_like(x, 5)


@programs()
def normal(x: Tensor) -> tuple[Tensor, ...]:
    return torch.normal(0.0, 2.0, (2, 2)), torch.normal(x, 1.0), torch.normal(x, x.abs()), torch.normal(1.0, x.abs())


@programs()
def bernoulli(x: Tensor) -> tuple[Tensor, ...]:
    p = x.sigmoid()
    return torch.bernoulli(p), p.bernoulli(), torch.bernoulli(x, 0.25), x.bernoulli(0.5)


@programs()
def multinomial(x: Tensor) -> tuple[Tensor, ...]:
    return torch.multinomial(x.exp(), 2), x.softmax(-1).multinomial(5, replacement=True)


@programs()
def poisson_binomial(x: Tensor) -> tuple[Tensor, ...]:
    return torch.poisson(x.abs()), torch.binomial(x.abs().round(), x.sigmoid())


@programs(breaks=True)
def requires_grad_factory(x: Tensor) -> Tensor:
    w = torch.randn(3, requires_grad=True)
    return (x * w).sum()


# ------------------------------------------------------------------ in place
@programs()
def in_place(x: Tensor) -> Tensor:
    return torch.empty(3).uniform_() + torch.empty(3).normal_(1, 2) + torch.zeros(3).bernoulli_(0.3)


@programs()
def in_place_more(x: Tensor) -> tuple[Tensor, ...]:
    return (torch.empty(4).exponential_(), torch.empty(4).cauchy_(), torch.empty(4).log_normal_(),
            torch.empty(4).geometric_(0.4), torch.empty(4).random_(0, 10), torch.empty(4, dtype=torch.int64).random_(3))


@programs()
def in_place_argument(x: Tensor) -> Tensor:
    x.uniform_(-1, 1)
    x[0].normal_()
    return x.sum()


@programs()
def in_place_view(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, 1].uniform_()
    y.t()[0].bernoulli_(0.5)
    return y


@programs()
def init_functions(x: Tensor) -> Tensor:
    w = torch.empty(4, 3)
    torch.nn.init.normal_(w)
    v = torch.nn.init.uniform_(torch.empty(4, 3))
    u = torch.nn.init.xavier_uniform_(torch.empty(4, 3))
    return F.linear(x, w + v + u)


# ------------------------------------------------------------------ dropout
@programs(one, grad)
def dropout(x: Tensor) -> Tensor:
    return F.dropout(x, 0.5)


@programs(one, grad)
def dropout_chain(x: Tensor) -> Tensor:
    return F.dropout(F.dropout(x * 2, 0.2, True) + 1, 0.3, training=True)


@programs()
def dropout_in_place(x: Tensor) -> Tensor:
    return F.dropout(x, 0.5, True, True) + x


@programs(wide)
def dropout_kinds(x: Tensor) -> tuple[Tensor, ...]:
    y = x.reshape(1, 4, 4, 4)
    return (F.dropout1d(y[0], 0.5), F.dropout2d(y, 0.5), F.alpha_dropout(x, 0.3, True),
            F.feature_alpha_dropout(y, 0.3, True), F.dropout3d(y.reshape(1, 4, 2, 2, 4), 0.5))


@programs(one, grad)
def torch_dropout(x: Tensor) -> Tensor:
    return torch.dropout(x, 0.5, True) + torch.native_dropout(x, 0.5, True)[0]


@programs(one, grad)
def dropout_everything(x: Tensor) -> Tensor:
    return F.dropout(x, 1.0) + F.dropout(x, 0.0)


@programs(wide)
def attention_dropout(x: Tensor) -> Tensor:
    q = x.reshape(1, 2, 4, 8)
    return F.scaled_dot_product_attention(q, q, q, dropout_p=0.3)


@programs(one, grad)
def rrelu(x: Tensor) -> Tensor:
    return F.rrelu(x, training=True)


@programs(one, grad)
def gumbel(x: Tensor) -> Tensor:
    return F.gumbel_softmax(x, tau=0.5) + F.gumbel_softmax(x, hard=True)


@programs.factory(one, grad)
def dropout_module() -> Any:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.3), torch.nn.ReLU(), torch.nn.Dropout(0.1))

    def fn(x: Tensor) -> Tensor:
        return net(x)

    return fn


@programs.factory()
def dropout_trained() -> Any:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 1))

    def fn(x: Tensor) -> Any:
        return net(x).sum(), net

    return fn


@programs.factory(wide)
def transformer_layer() -> Any:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True)

    def fn(x: Tensor) -> Tensor:
        return layer(x.reshape(1, 4, 16))

    return fn


@programs.factory()
def lstm_dropout() -> Any:
    torch.manual_seed(0)
    net = torch.nn.LSTM(3, 4, num_layers=2, dropout=0.5)

    def fn(x: Tensor) -> Any:
        y, (h, c) = net(x)
        return y, h, c

    return fn


# ------------------------------------------------------------------ order
@programs()
def nothing_merged_or_dropped(x: Tensor) -> Tensor:
    a = torch.rand(3)
    b = torch.rand(3)
    for _ in range(3):
        torch.rand(1)
    c = F.dropout(x, 0.5)
    F.dropout(x, 0.5)
    return a - b + c


@programs()
def under_a_branch(x: Tensor) -> Tensor:
    y = torch.rand(3)
    if x.shape[0] == 2:
        y = y + torch.randn(3)
    return y


@programs()
def raised_after(x: Tensor) -> Tensor:
    y = torch.rand(3)
    try:
        if y.shape[0] == 3:
            raise ValueError("no")
    except ValueError:
        y = y * torch.rand(3)
    return y


@programs()
def fails_after_a_draw(x: Tensor) -> Tensor:
    y = torch.rand(3)
    return y @ torch.rand(4)


@programs(breaks=True)
def around_a_break(x: Tensor) -> Tensor:
    y = torch.rand(3)
    print("drawn")
    return y + torch.rand(3)


@programs(breaks=True)
def value_read(x: Tensor) -> Any:
    y = torch.rand(3)
    if y.sum() > 1:
        return y + torch.rand(3)
    return y - torch.randn(3)


# ------------------------------------------------------------------ generators and seeds
@programs(seeded, breaks=True)
def generator(x: Tensor, g: torch.Generator) -> tuple[Tensor, ...]:
    return (torch.rand(3, generator=g), torch.randn(2, 3, generator=g), torch.randint(0, 9, (3,), generator=g),
            torch.randperm(4, generator=g), torch.rand(2))


@programs(seeded, breaks=True)
def generator_in_place(x: Tensor, g: torch.Generator) -> Tensor:
    return torch.empty(3).uniform_(generator=g) + x.bernoulli_(0.5, generator=g)


@programs.factory(breaks=True)
def generator_of_closure() -> Any:
    g = torch.Generator()
    g.manual_seed(3)

    def fn(x: Tensor) -> Tensor:
        return torch.multinomial(x.exp(), 2, generator=g) + torch.rand(2, 2, generator=g).round().long()

    return fn


@programs(seeded, breaks=True)
def generator_used(x: Tensor, g: torch.Generator) -> Any:
    a = torch.rand(3, generator=g)
    g.manual_seed(5)
    return a, torch.rand(3, generator=g), g.initial_seed()


@programs(breaks=True)
def generator_made(x: Tensor) -> Tensor:
    g = torch.Generator()
    g.manual_seed(3)
    return x + torch.rand(3, generator=g)


@programs(breaks=True)
def seed_inside(x: Tensor) -> Tensor:
    a = torch.rand(3)
    torch.manual_seed(7)
    return a + torch.rand(3) + x


@programs(breaks=True)
def fork(x: Tensor) -> Tensor:
    a = torch.rand(3)
    with torch.random.fork_rng():
        b = torch.rand(3)
    return a + b + torch.rand(3)


@programs(breaks=True)
def state_saved(x: Tensor) -> Any:
    s = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(s)
    return a, torch.rand(3)


# ------------------------------------------------------------------ other libraries' generators
@programs(breaks=True)
def python_random(x: Tensor) -> Any:
    return x * random.random(), random.randint(0, 5), random.uniform(1, 2)


@programs(breaks=True)
def python_shuffle(x: Tensor) -> Any:
    items = [1, 2, 3, 4]
    random.shuffle(items)
    return x + items[0], random.choice(items)


@programs(breaks=True)
def numpy_random(x: Tensor) -> Any:
    return x * float(np.random.rand()), np.random.randint(5)


@programs()
def stochastic_depth(x: Tensor) -> Tensor:
    keep = torch.empty(x.shape[0], 1).bernoulli_(0.8).div_(0.8)
    return x * keep


@programs(grad)
def noise_with_gradient(x: Tensor) -> Tensor:
    return (x + torch.randn_like(x) * 0.1).tanh()


@programs()
def sampled_tokens(x: Tensor) -> Tensor:
    tokens = []
    for _ in range(3):
        tokens.append(torch.multinomial(torch.softmax(x, -1), 1))
    return torch.cat(tokens, 1)


@programs(grad)
def vae(x: Tensor) -> tuple[Tensor, Tensor]:
    mu, logvar = x.mean(0), x.var(0).log()
    z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
    return z, -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
