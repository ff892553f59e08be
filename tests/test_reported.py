"""Programs of the kinds that users of PyTorch compilers report: each gives what eager gives, in all that can be seen.

Compared are results (values, dtypes, strides, types), arguments after the call, which tensors are one object or share
storage, exceptions with their text, printed text and the state of the random number generator. Each program is called
three times with fresh arguments, so that first calls, hits and what lies between are all seen.
"""

import collections
import contextlib
import dataclasses
import enum
import functools
import io
import itertools
import math
import typing

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pellucid

PROGRAMS = {}


def program(*make):
    """Register a program with functions that make its arguments, one a call (the last is used again)."""
    def add(f):
        assert f.__name__ not in PROGRAMS
        PROGRAMS[f.__name__] = f, make
        return f
    return add


def floats(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def rising(*shape, dtype=torch.float32):
    return torch.arange(math.prod(shape), dtype=dtype).reshape(shape)


# ------------------------------------------------------------------ in-place writes and views
@program(lambda: (torch.tensor([[-10, -10]]), floats(2, 4)))
def augmented_index_with_repeated_rows(i, y):
    i = i + 10
    y[i] += y[i]
    return y


@program(lambda: (floats(5, 7, seed=21),))
def argmin_of_the_transpose_after_a_write(x):
    x.sin_()
    return x.t().argmin(), x.t().argmax(0)


@program(lambda: (torch.tensor(3.0),))
def a_result_made_before_the_write_keeps_its_value(x):
    y = torch.log(x)
    x.log_()
    return y


@program(lambda: (torch.ones(3, 5), rising(3, 3), torch.tensor([0, 4, 2])))
def index_add_into_a_permuted_argument(x, a, index):
    y = x.permute(1, 0)
    y.index_add_(0, index, a)
    return y


@program(lambda: (floats(8, 6),))
def writes_through_an_index_then_reads_at_mirrored_places(x):
    x.index_put_((torch.arange(x.size(0)),), x * 2.0)
    x.add_(x.flip(0))
    return x


@program(lambda: (rising(10),))
def a_window_moved_over_itself(x):
    x[1:] = x[:-1].clone()
    x[:3] = x[3:6]
    return x.sum()


@program(lambda: (floats(4, 4),))
def a_list_of_tensors_written_together(x):
    torch._foreach_add_([x], [x.flip(0)])
    return x


@program(lambda: (torch.arange(10.0)[::2],))
def a_strided_argument_written_then_read_by_its_storage(x):
    x.add_(1)
    return torch.as_strided_copy(x, (3,), (2,)), x


@program(lambda: (torch.tensor(1.5), 3))
def a_write_into_an_expanded_tensor(x, n):
    a = x.clone().expand((n,))
    a[-1] = 3
    return a.clone()


@program(lambda: (torch.ones(2, 2),))
def dropout_in_evaluation_returns_its_argument(x):
    y = F.dropout(x, 0.5, False)
    y += y
    return y


@program(lambda: (floats(3, 4),))
def rows_of_an_unbound_tensor_are_written(x):
    for i, row in enumerate(x.unbind(0)):
        row.mul_(i)
    return x


@program(lambda: (floats(3, 4),))
def two_views_of_one_tensor_write_in_turn(x):
    a, b = x.view(-1), x.t()
    a[::2] = 0
    b[1] += 5
    a.mul_(2)
    return a, b


@program(lambda: (floats(4, 4),))
def a_diagonal_is_filled_through_its_view(x):
    torch.diagonal(x).fill_(7.0)
    x.diagonal(1).zero_()
    return x.tril()


@program(lambda: (floats(6), floats(6, seed=1)))
def an_argument_takes_the_place_of_another(x, y):
    x.copy_(y)
    y.zero_()
    return x + y


@program(lambda: (lambda t: (t, t))(floats(4)))
def one_tensor_given_twice(x, y):
    x.add_(1)
    return x * y


@program(lambda: (lambda t: (t[:4], t[2:]))(floats(6)))
def two_arguments_that_overlap(x, y):
    x.mul_(2)
    return y + 1, x


@program(lambda: (floats(2, 3),))
def an_argument_changes_its_own_shape(x):
    return x.unsqueeze_(0)


@program(lambda: (floats(3, 3),))
def masked_writes_by_condition(x):
    x[x > 0] = 1.0
    x[x < 0] *= -2.0
    return x


@program(lambda: (torch.zeros(4, dtype=torch.int64),))
def a_float_written_into_integers(x):
    x[1] = 2.9
    x[2:] = torch.tensor([3.7, -4.2])
    return x


@program(lambda: (floats(3),))
def a_refused_write_leaves_all_as_it_was(x):
    x.add_(1)
    x.view(3).add_(torch.ones(2, 3))
    return x


# ------------------------------------------------------------------ aliases of results
@program(lambda: (floats(3, 4),))
def an_argument_its_view_and_a_copy(x):
    return x, x[1:], x.clone(), x.view(12), x.contiguous()


@program(lambda: (floats(3, 4),))
def results_that_share_storage(x):
    y = x * 2
    return y, y[0], y.t(), y.detach(), y


@program(lambda: (floats(2, 2),))
def to_the_dtype_that_it_has(x):
    return x.to(torch.float32), x.float(), x.to("cpu"), x.type(torch.float32), x.to(torch.float64).to(torch.float64)


@program(lambda: (floats(2, 3, 4),))
def reshape_copies_only_where_it_must(x):
    return x.reshape(6, 4), x.transpose(0, 1).reshape(6, 4), x.flatten(1), x.transpose(1, 2).flatten()


@program(lambda: (floats(5),))
def narrow_split_and_chunk(x):
    a, b = x.split([2, 3])
    return a, b, x.chunk(2), x.narrow(0, 1, 3), x[:0]


@program(lambda: (floats(4).requires_grad_(),))
def a_parameter_detached_and_returned(x):
    y = x.detach()
    return y, (x * 2).detach(), y.requires_grad


# ------------------------------------------------------------------ strides and memory formats
@program(lambda: (floats(2, 3, 4, 5).to(memory_format=torch.channels_last),))
def channels_last_goes_through(x):
    y = torch.relu(x) + 1
    return y, y.clone(), torch.empty_like(y).zero_(), y.sum(1), y[:, :2], y.is_contiguous(
        memory_format=torch.channels_last)


@program(lambda: (floats(3, 1, 5).expand(3, 4, 5),))
def an_expanded_argument(x):
    return x + 1, x.clone(), x.contiguous(), torch.zeros_like(x), x.sum(1)


@program(lambda: (floats(4, 3).t(), floats(3, 4)))
def layouts_of_mixed_operands(x, y):
    return x + y, y + x, torch.where(x > 0, x, y), torch.stack([x, y]), torch.cat([x, y], 1)


@program(lambda: (floats(2, 3, 4).permute(2, 0, 1),))
def permuted_outputs(x):
    return x * 2, x.softmax(1), x.cumsum(0), x.sort(-1), torch.empty_like(x).fill_(1)


@program(lambda: (floats(1, 3, 1), floats(3, 1, 1).transpose(0, 1)))
def strides_of_dimensions_of_size_one(x, y):
    return x + y, x.contiguous(), y.contiguous(), y.reshape(3, 1), (x * 2).stride(), y.is_contiguous()


# ------------------------------------------------------------------ dtypes and numbers
@program(lambda: (torch.tensor([5, 6], dtype=torch.int8), torch.tensor([4, 100], dtype=torch.int8)))
def small_integers_wrap(x, y):
    return (x + y) * 6, x * 6 + y * 6, x - 127, y << 1, (x.to(torch.uint8) - 10), -y, x.sum()


@program(lambda: (torch.zeros(1),))
def large_integers_do_not(x):
    return torch.arange(0, 11, dtype=torch.int64) * torch.tensor([10 ** 9]), torch.tensor(2 ** 62) + 2 ** 62


@program(lambda: (torch.tensor([7, -7, 8, -8]), torch.tensor([2, 2, -3, -3])))
def integer_division_and_remainders(x, y):
    return x // y, x % y, x / y, torch.fmod(x, y), torch.div(x, y, rounding_mode="trunc"), x // 2, 5 % y, divmod(x, y)


@program(lambda: (torch.tensor([7.5, -7.5, 0.0, math.inf]), torch.tensor([2.0, -2.0, 0.0, 3.0])))
def float_division_and_remainders(x, y):
    return x // y, x % y, x / y, torch.fmod(x, y), x // 0.3, torch.div(x, y, rounding_mode="floor")


@program(lambda: (torch.tensor([1, 2]), torch.tensor([True, False]), torch.tensor(2.5), torch.tensor([1.5]).half()))
def promotion_of_mixed_dtypes(i, b, zero_dim, half):
    return i + 1.5, b + 1, b + b, i * zero_dim, half * zero_dim, half + i, b * 2.0, i / i, torch.cat([i, half]), \
        torch.where(b, i, zero_dim), b.sum(), b.float().mean()


@program(lambda: (torch.tensor([math.inf, -math.inf, 1e30, 2.5, -2.5]),))
def conversion_of_what_does_not_fit_is_at_least_the_same_kind(x):
    return x[3:].long(), x[3:].int(), x.double(), x.half(), x.bool(), x.nan_to_num(posinf=9.0)


@program(lambda: (torch.tensor([math.nan, 1.0, -0.0, 0.0, -math.inf]),))
def nan_and_signed_zeros(x):
    y = x.flip(0)
    return torch.maximum(x, y), torch.fmax(x, y), x.max(), x.min(0), x.clamp(-1, 1), x.relu(), x.sign(), x == x, \
        torch.sort(x), x.argmax(), torch.signbit(x), x.abs(), torch.where(x.isnan(), 0.0, x), x.clamp(min=math.nan)


@program(lambda: (torch.tensor([0.0, -0.0, 1.0, -1.0]),))
def values_at_the_edges_of_functions(x):
    return x.log(), x.sqrt(), x.reciprocal(), x.pow(-1), x.pow(0.5), x.log1p(), x.atanh(), 0.0 ** x, x ** 0, \
        torch.xlogy(x, x), x.logit(), torch.sinc(x), x.rsqrt()


@program(lambda: (torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]),))
def rounding_goes_to_even(x):
    return x.round(), x.trunc(), x.floor(), x.ceil(), torch.round(x * 1.25, decimals=1), x.frac(), x.int()


@program(lambda: (floats(0, 3), floats(3, 0)))
def empty_tensors(x, y):
    return x.sum(), x.sum(0), x.mean(), x.prod(1), x @ torch.ones(3, 2), y @ torch.ones(0, 2), torch.cat([x, x]), \
        x.softmax(0), x.any(), x.all(), F.linear(x, torch.ones(2, 3)), x.reshape(3, 0), torch.cumsum(y, 1)


@program(lambda: (floats(0, 3),))
def an_extreme_of_nothing(x):
    return x.max()


@program(lambda: (torch.tensor(2.0), torch.tensor([3.0])))
def tensors_without_dimensions(x, y):
    return x + y, x.sum(), x.softmax(-1), x.unsqueeze(-1), x.expand(2), torch.stack([x, x]), x.max(0), x.t(), x.sort()


@program(lambda: (floats(4).bfloat16(), floats(4, seed=1).bfloat16()))
def sums_in_half_precision_are_wider_inside(x, y):
    return x.sum(), (x * y).sum(), x.mean(), x.softmax(0), x.var(), F.layer_norm(x, (4,)), x + 1e-3, (x + y).float()


@program(lambda: (floats(2, 3),))
def python_numbers_of_all_kinds(x):
    return x * 10 ** 20, x + True, x * 1e-320, x - 2 ** 40, 3 - x, 2.0 / x, x ** 2, 2 ** x, -x, +x, abs(x), round(3.7)


# ------------------------------------------------------------------ random numbers
@program(lambda: (floats(64),))
def dropout_draws_what_eager_draws(x):
    return F.dropout(x, 0.5, True), torch.rand(2), F.dropout(x, 0.0, True), F.dropout(x, 1.0, True)


@program(lambda: (floats(3),))
def random_functions_in_order(x):
    a = torch.rand_like(x)
    b = torch.randn(3)
    torch.manual_seed(5)
    c = torch.randint(0, 10, (3,))
    return a, b, c, torch.bernoulli(torch.full((3,), 0.5)), torch.randperm(4), x.clone().normal_()


@program(lambda: (floats(3), torch.Generator().manual_seed(11)))
def a_generator_as_argument(x, g):
    return x + torch.rand(3, generator=g), torch.randn(2, generator=g)


@program(lambda: (torch.tensor([[0.1, 0.9], [0.5, 0.5]]),))
def samples_of_a_distribution(p):
    d = torch.distributions.Categorical(probs=p)
    s = d.sample()
    return s, d.log_prob(s), d.entropy(), torch.multinomial(p, 3, replacement=True)


# ------------------------------------------------------------------ Python's data
@program(lambda: (torch.ones(1),))
def a_list_that_grows_while_it_is_iterated(x):
    values = [x.sum()]

    def grow():
        for item in values:
            if len(values) < 3:
                values.append(item + 1)
            yield item
    return torch.stack(list(grow())).sum()


class Remembers:
    items: typing.ClassVar = []
    count = 0


@program(lambda: (floats(2),))
def a_list_of_a_class_is_appended_to(x):
    Remembers.items.append(float(x.shape[0]))
    Remembers.count += 1
    r = len(Remembers.items), Remembers.count
    if len(Remembers.items) == 3:
        Remembers.items.clear()
        Remembers.count = 0
    return r, x + 1


@program(lambda: (floats(2), [], {}))
def a_closure_is_written_by_a_class_made_inside(x, log, table):
    class Helper:
        def touch(self, y):
            log.append(tuple(y.shape))
            table["n"] = table.get("n", 0) + 1
            return y * 2
    helper = Helper()
    return helper.touch(helper.touch(x)), type(helper).__name__


@program(lambda: (torch.ones(1), set(), [1, 2, 1]))
def a_set_takes_an_iterator(x, seen, ns):
    seen.update(map(int, ns))
    return x + len(seen), sorted(seen)


@program(lambda: (floats(2), {"b": floats(2, seed=1), "a": floats(2, seed=2)}))
def the_order_of_a_dict_is_that_of_its_writes(x, d):
    b = d.pop("b")
    d["c"] = x
    d["b"] = b + 1
    d["a"] = d["a"] * 2
    return list(d), dict(reversed(d.items())), {**d, "c": 1}, d | {"z": x}


@program(lambda: (floats(3), collections.defaultdict(list), collections.Counter()))
def dicts_that_make_their_values(x, groups, counts):
    for i, v in enumerate(x.unbind()):
        groups[i % 2].append(v)
        counts["even" if i % 2 == 0 else "odd"] += 1
    return torch.stack(groups[0]).sum(), counts.most_common(1), "absent" in groups, len(groups)


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: torch.Tensor = dataclasses.field(compare=False)
    tags: list = dataclasses.field(default_factory=list)


@program(lambda: (Point(1, floats(2)),))
def a_dataclass_is_changed_copied_and_compared(p):
    q = dataclasses.replace(p, x=2)
    p.tags.append("seen")
    q.y = q.y + 1
    return q, p < q, dataclasses.astuple(dataclasses.replace(p, y=None)), p.y is not q.y, q.tags is p.tags


class Pair(typing.NamedTuple):
    left: torch.Tensor
    right: int = 3


@program(lambda: (Pair(floats(2)),))
def named_tuples(p):
    return p._replace(right=p.right + 1), Pair(p.left * 2), p[::-1], p.left, p._fields, p == p._replace()


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Flags(enum.IntFlag):
    A = 1
    B = 2


@program(lambda: (floats(2), Colour.RED, Flags.A))
def enumerations(x, c, f):
    y = x * c.value if c is Colour.RED else x
    return y, Colour(2), [m.name for m in Colour], f | Flags.B, Flags.A in (f | Flags.B), {c: 1}, Colour["BLUE"]


@program(lambda: (floats(3),))
def generators_and_their_ends(x):
    def halves(n):
        try:
            while n > 1:
                sent = yield n
                n = n // 2 if sent is None else sent
        finally:
            log.append("closed")
        return "done"

    def outer():
        result = yield from halves(8)
        yield result
    log = []
    first = list(outer())
    g = halves(100)
    next(g)
    second = g.send(6)
    g.close()
    return x * sum(first[:-1]), first[-1], second, log


@program(lambda: (floats(3),))
def context_managers_see_errors(x):
    log = []

    @contextlib.contextmanager
    def scope(name, swallow):
        log.append(f"in {name}")
        try:
            yield name
        except ValueError as e:
            log.append(str(e))
            if not swallow:
                raise
        finally:
            log.append(f"out {name}")
    with contextlib.suppress(KeyError), scope("a", True) as a:
        with scope("b", False):
            raise ValueError(f"inside {a}")
    with contextlib.ExitStack() as stack:
        for n in "cd":
            stack.enter_context(scope(n, False))
        y = x + len(log)
    return y, log


@program(lambda: (floats(3), 2), lambda: (floats(3), 0))
def exceptions_chain(x, n):
    try:
        try:
            k = 4 // n
        except ZeroDivisionError as e:
            raise ValueError("no quotient") from e
        else:
            k += 1
        finally:
            x = x + 1
    except ValueError as e:
        return x, repr(e), repr(e.__cause__), e.__context__ is e.__cause__
    return x, k


@program(lambda: (floats(3),), lambda: (floats(4),))
def an_assertion_with_a_message(x):
    assert x.shape[0] == 3, f"three are needed, not {x.shape[0]}"
    return x * 2


@program(lambda: (floats(3),))
def an_error_of_torch_is_caught(x):
    try:
        return x @ torch.ones(4)
    except RuntimeError as e:
        return x.sum(), type(e).__name__, "size" in str(e)


@program(lambda: (floats(3),))
def shapes_that_do_not_fit(x):
    return x + torch.ones(4)


@program(lambda: (torch.tensor([0, 5]), torch.ones(3, 2)))
def an_index_out_of_range(i, table):
    return F.embedding(i, table)


@program(lambda: (floats(2, 2),))
def text_is_printed_in_order(x):
    print("before", x.shape)
    y = x * 2
    print(f"after {y.sum():.3f}", end="!\n")
    return y


@program(lambda: (floats(4),), lambda: (-floats(4).abs(),))
def a_branch_on_data(x):
    if x.sum() > 0:
        x = x * 2
    elif (x < -100).any():
        return "small"
    while x.abs().max() < 4:
        x = x * 2
    return x


@program(lambda: (floats(6),))
def shapes_that_depend_on_data(x):
    i = torch.nonzero(x > 0)
    return i, x[x > 0], torch.unique(torch.tensor([3, 1, 3])), torch.masked_select(x, x < 0), x[i[:, 0]].sum(), len(i)


@program(lambda: (floats(4),))
def functions_of_functions(x):
    @functools.wraps(torch.sin)
    def named(y, *, scale=1.0):
        return torch.sin(y) * scale
    twice = functools.partial(named, scale=2.0)
    total = functools.reduce(lambda a, f: f(a), [twice, torch.cos, lambda y: y + 1], x)
    return total, named.__name__, list(itertools.accumulate([1, 2, 3])), sorted([3, 1, 2], key=lambda k: -k)


@program(lambda: (floats(3),))
def names_bound_in_many_ways(x):
    if (n := x.shape[0]) > 2:
        x = x + n
    a, *b, c = range(n + 2)
    (p, q), r = (a, b), c
    match [n, "t"]:
        case [3, str() as s]:
            k = s
        case _:
            k = None
    del p
    return x, q, r, k, [y for z in [[1, 2], [3]] for y in z if y != 2], {i: i * i for i in b}


# ------------------------------------------------------------------ sizes that change
@program(*(lambda n=n: (floats(n, 3), n) for n in (4, 5, 9)))
def sizes_in_arithmetic(x, n):
    k = x.shape[0] * 2 - n
    y = x.view(x.shape[0], 1, -1).expand(-1, 2, -1).reshape(2 * x.size(0), -1)
    return y, torch.arange(k), x.new_full((k, 2), k / 3), torch.zeros(x.shape).sum() + x.numel() // 2, f"{x.shape}"


@program(*(lambda n=n: (floats(n, 4),) for n in (3, 1, 0)))
def sizes_one_and_zero_after_larger_ones(x):
    return x + torch.ones(4), x.mean(0), x.squeeze(0), torch.cat([x, x]), x.t() @ x, x.softmax(0)


@program(*(lambda n=n: ([floats(3, seed=i) for i in range(n)],) for n in (2, 3, 5)))
def lists_of_other_lengths(xs):
    return torch.stack(xs).sum(0), len(xs), sum(x.shape[0] for x in xs)


@program(*(lambda n=n: (floats(2, n, 6), n) for n in (4, 8, 6)))
def padding_and_windows_of_changing_length(x, n):
    y = F.pad(x, (1, 2, 0, n % 3))
    return y, x.unfold(1, 2, 2), F.avg_pool1d(x, 2), x[:, n // 2:], x[..., -n:], F.interpolate(x, scale_factor=2)


@program(*(lambda n=n: (floats(4), n) for n in (0.5, 1.5, 2.5, 0.5)))
def a_float_that_changes(x, k):
    return x * k, x + int(k), torch.full((2,), k), k > 1, F.threshold(x, k, 0.0)


# ------------------------------------------------------------------ modules
class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2))
        self.steps = 0

    def forward(self, x, pos):
        self.cache[pos] = x
        self.steps += 1
        if self.steps == 2:
            self.cache = torch.zeros(2)
        return self.cache, self.steps


@program(lambda: (Keeps(), floats(1)))
def a_buffer_is_written_and_replaced(m, x):
    return [m(x + i, torch.tensor([i % 2])) for i in range(3)], m.cache, m.steps


@program(lambda: (nn.BatchNorm1d(3), floats(8, 3)))
def running_statistics_move_in_training_only(m, x):
    a = m(x)
    m.eval()
    b = m(x)
    return a, b, m.running_mean, m.num_batches_tracked, m.training


@program(lambda: (nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), floats(2, 3), []))
def hooks_run_in_their_order(m, x, log):
    first = m[0].register_forward_pre_hook(lambda mod, args: log.append("pre"))
    second = m[0].register_forward_hook(lambda mod, args, out: out * 2)
    y = m.eval()(x)
    first.remove()
    second.remove()
    return y, m(x), log


@program(lambda: (nn.Linear(3, 2), floats(4, 3)))
def a_step_of_training(m, x):
    loss = m(x).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in m.parameters():
            p -= 0.1 * p.grad
            p.grad = None
    return loss.detach(), m.weight, m.bias, m.weight.grad


@program(lambda: (floats(3).requires_grad_(), floats(3, seed=1)))
def gradients_asked_for_inside(x, y):
    z = (x * y).sin().sum()
    (g,) = torch.autograd.grad(z, x)
    with torch.no_grad():
        h = x * 2
    return g, h.requires_grad, z.requires_grad, z.detach()


@program(lambda: (floats(2, 4, 8), floats(2, 4, 8, seed=1)))
def attention_with_masks(q, k):
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    a = F.scaled_dot_product_attention(q, k, k, attn_mask=mask)
    b = F.scaled_dot_product_attention(q, k, k, is_causal=True)
    scores = (q @ k.transpose(-1, -2) / 8 ** 0.5).masked_fill(~mask, float("-inf"))
    return a, b, scores.softmax(-1) @ k


@program(lambda: (floats(2, 3),))
def state_of_torch_is_put_back(x):
    before = torch.get_default_dtype(), torch.is_grad_enabled()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
    torch.set_default_dtype(torch.float64)
    z = torch.ones(2)
    torch.set_default_dtype(torch.float32)
    return y, z, before, torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")


# ------------------------------------------------------------------ the comparison
def tensors(v, out, seen):
    if isinstance(v, torch.Tensor):
        out.append(v)
    elif isinstance(v, nn.Module):
        out.extend(v.state_dict(keep_vars=True).values())
    elif isinstance(v, dict):
        for x in v.values():
            tensors(x, out, seen)
    elif isinstance(v, (list, tuple)):
        for x in v:
            tensors(x, out, seen)
    elif dataclasses.is_dataclass(v) and not isinstance(v, type):
        tensors(list(vars(v).values()), out, seen)
    return out


def aliases(found):
    """For each tensor the first one that is the same object, and the first one in the same storage."""
    ids, places = [id(t) for t in found], [t.untyped_storage().data_ptr() if t.numel() else (i,)
                                           for i, t in enumerate(found)]
    return [(ids.index(a), places.index(b)) for a, b in zip(ids, places)]


def same(a, b, at="result"):
    assert type(a) is type(b), f"{at}: {type(a).__name__}, eager's is a {type(b).__name__}"
    if isinstance(a, torch.Tensor):
        facts = [(t.dtype, tuple(t.shape), t.stride(), t.storage_offset(), t.requires_grad, t.is_leaf) for t in (a, b)]
        assert facts[0] == facts[1], at
        torch.testing.assert_close(a, b, equal_nan=True, msg=lambda m: f"{at}: {m}")
        if a.dtype.is_floating_point:
            zero = (a == 0) & (b == 0)
            assert torch.equal(a.signbit() & zero, b.signbit() & zero), f"{at}: the sign of a zero"
    elif isinstance(a, nn.Module):
        same(a.training, b.training, f"{at}.training")
        same(dict(a.state_dict(keep_vars=True)), dict(b.state_dict(keep_vars=True)), f"{at}.state_dict()")
    elif isinstance(a, torch.Generator):
        assert torch.equal(a.get_state(), b.get_state()), at
    elif isinstance(a, dict):
        assert list(a) == list(b), f"{at}: its keys"
        for k in a:
            same(a[k], b[k], f"{at}[{k!r}]")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), f"{at}: its length"
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{at}[{i}]")
    elif dataclasses.is_dataclass(a):
        same(vars(a), vars(b), at)
    elif isinstance(a, float):
        assert a == b or a != a and b != b, f"{at}: {a}, eager's is {b}"
    else:
        assert a == b, f"{at}: {a!r}, eager's is {b!r}"


def outcome(fn, args):
    torch.manual_seed(3)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = fn(*args)
        except Exception as e:
            result = type(e).__name__, str(e)
    return result, list(args), printed.getvalue(), torch.get_rng_state()


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_reported_program_gives_what_eager_gives(name, backend):
    fn, make = PROGRAMS[name]
    pellucid.reset()
    fast = pellucid.compile(fn, backend=backend, options={"strict": True})
    calls = [make[min(i, len(make) - 1)] for i in range(max(3, len(make)))]
    wanted = []
    for m in calls:
        args = m()
        want = outcome(fn, args)
        found = tensors(want[:2], [], set())
        wanted.append((want, aliases(found)))
    for m, (want, alias) in zip(calls, wanted):
        got = outcome(fast, m())
        for part, a, b in zip(("result", "arguments", "printed", "rng"), got, want):
            same(a, b, part)
        assert aliases(tensors(got[:2], [], set())) == alias, "which tensors are one object, or share storage"
    counts = pellucid.counters()
    assert counts["internal_error_count"] == 0 and counts["limit_reached_count"] == 0
