"""Programs written to make a compiled function silently wrong; each is compared with eager."""

import pytest
import torch
import torch.nn.functional as F

import pellucid


@pytest.fixture(params=["eager", "llvm"])
def compiled(request):
    pellucid.reset()
    return lambda fn: pellucid.compile(fn, backend=request.param, options={"strict": True})


@pytest.mark.parametrize("f", [lambda x: x.detach(), lambda x: x.data.view(-1), lambda x: x.detach()[1:].t()])
def test_detached_inputs_are_detached(compiled, f):
    fast = compiled(f)
    for grad in (True, False, True):
        with torch.set_grad_enabled(grad):
            x = torch.ones(2, 2, requires_grad=True)
            got = fast(x)
            assert not got.requires_grad and got.grad_fn is None and torch.equal(got, f(x))


def test_inference_mode_and_tensors(compiled):
    def asks(x):
        return x + 1, x.is_inference(), torch.is_inference_mode_enabled()

    def writes(x):
        x.add_(1)
        return x.view(-1)
    fast, write = compiled(asks), compiled(writes)
    x = torch.ones(2)
    with torch.inference_mode():
        y = torch.ones(2)
        assert fast(y)[1:] == asks(y)[1:] == (True, True) and fast(x)[1:] == asks(x)[1:] == (False, True)
        assert torch.equal(write(torch.ones(2)), torch.full((2,), 2.0))
    with torch.no_grad():
        assert fast(y)[1:] == asks(y)[1:] == (True, False) and fast(x)[1:] == asks(x)[1:] == (False, False)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            write(y)
        with torch.inference_mode():
            want = torch.ones(2)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            writes(want)
    assert torch.equal(y, want)


def test_a_shape_as_a_key_stays_a_size(compiled):
    def f(d, x):
        d[x.shape] = x
        return {x.shape: 1}
    fast = compiled(f)
    for n in (2, 3, 4):
        d: dict = {}
        got = fast(d, torch.ones(n))
        assert [type(k) for k in (*d, *got)] == [torch.Size, torch.Size] and list(d) == [(n,)]


@pytest.mark.parametrize("f, dtype", [
    (torch.argmax, torch.bool), (torch.argmin, torch.bool), (F.gelu, torch.int64), (F.silu, torch.int32),
    (F.leaky_relu, torch.int64), (F.elu, torch.int64), (F.softplus, torch.uint8)])
def test_dtypes_that_eager_refuses(compiled, f, dtype):
    def call(x):
        return f(x)
    x = torch.tensor([1, 0, 3]).to(dtype)
    with torch.no_grad(), pytest.raises((RuntimeError, NotImplementedError)) as want:
        call(x)
    with torch.no_grad(), pytest.raises(type(want.value)) as got:
        compiled(call)(x)
    assert str(got.value) == str(want.value)


def spanning(op):
    def f(x):
        y = op(x)
        x.add_(1)
        return y, x
    return f


@pytest.mark.parametrize("backend", ["llvm", "eager"])
@pytest.mark.parametrize("op", [lambda x: x.view(x.shape), lambda x: x[:], lambda x: x.detach(), lambda x: x.data])
def test_a_view_that_spans_its_storage_is_an_object_of_its_own(op, backend):
    f = spanning(op)
    fast = pellucid.compile(f, backend=backend, options={"strict": True})
    with torch.no_grad():
        for _ in range(3):
            x = torch.ones(2, 3)
            y, same = fast(x)
            assert same is x and y is not x and y.data_ptr() == x.data_ptr() and torch.equal(y, torch.full((2, 3), 2.0))


@pytest.mark.parametrize("backend", ["llvm", "eager"])
def test_views_of_a_new_tensor_are_objects_of_their_own(backend):
    def f(x):
        y = x + 1
        a, b = y[:], y[:]
        y.mul_(2)
        return y, a, b, y
    fast = pellucid.compile(f, backend=backend, options={"strict": True})
    with torch.no_grad():
        for _ in range(3):
            y, a, b, again = fast(torch.ones(3))
            assert again is y and a is not y and b is not y and a is not b
            assert len({t.data_ptr() for t in (y, a, b)}) == 1 and torch.equal(b, torch.full((3,), 4.0))
