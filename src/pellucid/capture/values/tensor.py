"""Tensors: values of the graph, with their attributes read from the meta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ...graph.build import Val
from ...graph.types import SymbolDef, TensorMeta
from ...guards.types import Source, TensorGuard
from ...shapes.dim import Dim, Size, product, symbols
from ...shapes.env import Range, SizeGuard
from ...torchdoor.tensors import dispatch_keys
from ..types import FromGraph, FromSource, Recipe
from .base import Broken, Invoke, NotConstant, Result, Value
from .constant import FALSE, NONE, TRUE, Const
from .sequence import SliceVal, TupleVal
from .size import size_value

if TYPE_CHECKING:
    from ..state import Capture

TENSOR_TYPES = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


class TensorVal(Value):
    """val     the graph value; None for a tensor outside that the graph has not used yet
    obj, source   the tensor outside (None: computed)
    grad       requires_grad
    """

    __slots__ = ("val", "obj", "source", "grad", "input", "cls")

    def __init__(self, val: Val | None, obj: Any = None, source: Source | None = None, grad: bool = False):
        self.val, self.obj, self.source, self.grad = val, obj, source, grad
        self.input: int | None = None
        self.cls: type = torch.Tensor if obj is None else type(obj)

    def __repr__(self) -> str:
        return f"<tensor {self.val!r}>" if self.val is not None else "<tensor outside>"

    def graph_value(self, cx: Capture) -> Val:
        v = self.val
        return v if v is not None else make_input(cx, self)

    @property
    def meta(self) -> TensorMeta:
        assert self.val is not None
        return self.val.meta

    def pytype(self, cx: Capture) -> type:
        self.graph_value(cx)
        return self.cls

    def attr(self, cx: Capture, name: str) -> Result:
        fn = ATTRIBUTES.get(name)
        if fn is not None:
            return fn(cx, self)
        if name in _registry.METHODS or name in TENSOR_PYTHON_METHODS or callable(getattr(self.cls, name, None)):
            if name in PROPERTY_OPS:
                return _torch_calls.call_property(cx, self, name)
            return _builtin.TensorMethod(self, name)
        if name in PROPERTY_OPS:
            return _torch_calls.call_property(cx, self, name)
        if self.obj is not None and hasattr(self.obj, "__dict__"):
            d = self.obj.__dict__
            if name in d:
                assert self.source is not None
                return cx.wrap(d[name], Source("attr", self.source, name))
        if not hasattr(self.cls, name):
            if self.obj is not None:
                self.graph_value(cx)
                cx.guard_once((self, "absent", name), "absent", self.source, name, "attribute lookup")
            raise cx.raised(AttributeError, f"{self.cls.__name__!r} object has no attribute {name!r}")
        raise Broken("PB107", f"attribute {name!r} of a tensor", cx.fixed(getattr), [self, Const(name)])

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        raise Broken("PB107", f"setting attribute {name!r} of a tensor", cx.fixed(setattr), [self, Const(name), value],
                     then="drop")

    def truth(self, cx: Capture) -> bool | Invoke:
        known = _known_values.known_value(cx, self)
        if known is not None and known.numel() == 1:
            return bool(known)
        raise Broken("PB101", "the truth of a tensor decides what runs next", cx.fixed(bool), [self], then="again")

    def length(self, cx: Capture) -> Result:
        shape = self.graph_value(cx).meta.shape
        if not shape:
            raise cx.raised(TypeError, "len() of a 0-d tensor")
        return size_value(shape[0])

    def iterate(self, cx: Capture) -> Result:
        items = self.elements(cx)
        return _iterator.SequenceIter.over(items or [])

    def elements(self, cx: Capture) -> list[Value] | None:
        shape = self.graph_value(cx).meta.shape
        if not shape:
            raise cx.raised(TypeError, "iteration over a 0-d tensor")
        r = _torch_calls.call_method(cx, self, "unbind", [Const(0)], {})
        return r.load(cx)  # type: ignore[attr-defined]

    def getitem(self, cx: Capture, key: Value) -> Result:
        return _torch_calls.call_method(cx, self, "__getitem__", [key], {})

    def setitem(self, cx: Capture, key: Value, value: Value) -> Result | None:
        _torch_calls.call_method(cx, self, "__setitem__", [key, value], {})
        return None

    def contains(self, cx: Capture, item: Value) -> bool | Invoke:
        eq = _torch_calls.call_method(cx, self, "eq", [item], {})
        found = _torch_calls.call_method(cx, eq, "any", [], {})  # type: ignore[arg-type]
        raise Broken("PB101", "`in` a tensor asks for its values", cx.fixed(bool), [found])

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        raise cx.raised(TypeError, "'Tensor' object is not callable")

    def key(self, cx: Capture) -> Any:
        return self.obj if self.obj is not None else self

    def constant(self, cx: Capture) -> Any:
        raise NotConstant(self)

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromSource(self.source)
        assert self.val is not None
        return FromGraph(cx.machine.recipes.output(self.val))


def wrap_tensor(cx: Capture, obj: torch.Tensor, source: Source) -> Value:
    return TensorVal(None, obj, source, obj.requires_grad)


def contiguous_strides(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    out: list[Size] = []
    step: Size = 1
    for s in reversed(shape):
        out.append(step)
        step = step * s if type(s) is Dim or s > 1 else step
    return tuple(reversed(out))


def _is_buffer(source: Source) -> bool:
    base = source.base
    return base is not None and base.kind in ("attr", "dict") and base.key == "_buffers"


def make_input(cx: Capture, t: TensorVal) -> Val:
    """Make the tensor outside an input of the graph, guarded."""
    x, source = t.obj, t.source
    assert source is not None
    if x.layout is not torch.strided or x.is_quantized or type(x) not in TENSOR_TYPES or x.device.type == "meta":
        raise Broken("PB111", f"a tensor of type {type(x).__name__} with layout {x.layout} on {x.device}")
    if x.is_conj() or x.is_neg():
        raise Broken("PB111", "a tensor whose conjugation or negation is still to be done")
    shape: tuple[Size, ...] = tuple(x.shape)
    strides: tuple[Size, ...] = x.stride()
    index = len(cx.builder.inputs)
    role = "parameter" if isinstance(x, torch.nn.Parameter) else "buffer" if _is_buffer(source) else "input"
    gshape: tuple[int | None, ...] = shape  # type: ignore[assignment]
    gstrides: tuple[int | None, ...] | None = strides  # type: ignore[assignment]
    contiguous = False
    dynamic = cx.options.dynamic
    asked = {i: dynamic(source, i) for i, s in enumerate(shape) if s not in (0, 1)} if role == "input" else {}
    wanted = {i: r for i, r in asked.items() if r}
    steps = _wanted_strides(cx, x, source) if role == "input" else {}
    if steps:
        shape = tuple([_symbol(cx, index, i, s, wanted[i]) if i in wanted else s for i, s in enumerate(x.shape)])
        strides = tuple([_symbol(cx, index, ~i, s, Range(1)) if i in steps else s for i, s in enumerate(x.stride())])
        gshape = tuple([None if type(s) is Dim else s for s in shape])
        gstrides = tuple([None if type(s) is Dim else s for s in strides])
    elif wanted and x.is_contiguous():
        new: list[Size] = list(shape)
        for i, within in wanted.items():
            made = _symbol(cx, index, i, x.shape[i], within)
            # Inputs that agree in a dimension here (all have the batch's size) are taken to agree: one symbol for both.
            first = cx.alike.setdefault((i, int(x.shape[i])), made)
            if first is not made:
                cx.env.guards.append(SizeGuard("==", made, first, cx.cause("inputs of one size")))
            new[i] = first
        shape = tuple(new)
        strides = contiguous_strides(shape)
        gshape = tuple([None if type(s) is Dim else s for s in shape])
        gstrides, contiguous = None, True
        strides = tuple([old if type(n) is int else n for n, old in zip(strides, x.stride())])
    if x.is_inference() and not torch.is_inference_mode_enabled():
        raise Broken("PB111", "an inference tensor outside inference mode")
    meta = TensorMeta(x.dtype, shape, strides, 0, x.device, x.requires_grad)
    v = t.val = cx.builder.input(meta, source, role)
    t.input = index
    cx.tensors.append(t)
    cx.guard("tensor", source, TensorGuard(type(x), x.dtype, x.device, gshape, gstrides, x.requires_grad,
                                           dispatch_keys(x), contiguous), "tensor")
    return v


def _symbol(cx: Capture, index: int, dim: int, example: int, within: bool | Range) -> Dim:
    """A symbol for size `dim` (~dim: a stride) of graph input `index`."""
    made = cx.env.symbol(int(example), *((within.lo, within.hi) if type(within) is Range else ()))
    (sym,) = symbols(made)
    cx.builder.symbols.append(SymbolDef(sym, index, dim))
    return made


def _wanted_strides(cx: Capture, x: torch.Tensor, source: Source) -> dict[int, bool]:
    """The dimensions whose strides are to be symbolic: of a slice of a tensor that grows from call to call."""
    usual = contiguous_strides(tuple(x.shape))
    return {i: True for i, (have, want) in enumerate(zip(x.stride(), usual))
            if have != want and have > 0 and cx.options.dynamic(source, ~i)}


# ------------------------------------------------------------------ attributes known from the meta
def _is_inference(cx: Capture, t: TensorVal) -> Value:
    """Of a tensor from outside, guarded by its dispatch keys; in inference mode views of others may or may not be."""
    t.graph_value(cx)
    if t.obj is not None:
        return Const(t.obj.is_inference())
    if torch.is_inference_mode_enabled():
        raise Broken("PB107", "is_inference() of a tensor made in inference mode",
                     TensorMethodRef(cx, t, "is_inference"), [], {})
    return Const(False)


def _shape(cx: Capture, t: TensorVal) -> Value:
    return TupleVal([size_value(s) for s in t.graph_value(cx).meta.shape], torch.Size)


def _requires_grad(cx: Capture, t: TensorVal) -> Value:
    t.graph_value(cx)
    cx.asks_grad = True
    return Const(t.grad)


def _is_leaf(cx: Capture, t: TensorVal) -> Value:
    t.graph_value(cx)
    cx.asks_grad = True
    return Const(t.obj.is_leaf if t.obj is not None else not t.grad)


def _grad(cx: Capture, t: TensorVal) -> Value:
    if t.obj is None:
        return NONE
    assert t.source is not None
    return cx.wrap(t.obj.grad, Source("attr", t.source, "grad"))


def _grad_fn(cx: Capture, t: TensorVal) -> Value:
    t.graph_value(cx)
    cx.asks_grad = True
    if (t.obj is not None and t.obj.grad_fn is None) or not t.grad:
        return NONE
    raise Broken("PB107", "attribute 'grad_fn' of a tensor", cx.fixed(getattr), [t, Const("grad_fn")])


def _device(cx: Capture, t: TensorVal) -> Value:
    return Const(t.graph_value(cx).meta.device)


def _flag(name: str, value: bool) -> Any:
    def get(cx: Capture, t: TensorVal) -> Value:
        t.graph_value(cx)
        return TRUE if value else FALSE
    get.__name__ = name
    return get


ATTRIBUTES: dict[str, Any] = {
    "shape": _shape,
    "dtype": lambda cx, t: Const(t.graph_value(cx).meta.dtype),
    "device": _device,
    "ndim": lambda cx, t: Const(len(t.graph_value(cx).meta.shape)),
    "requires_grad": _requires_grad,
    "is_leaf": _is_leaf,
    "grad": _grad,
    "grad_fn": _grad_fn,
    "layout": lambda cx, t: (t.graph_value(cx), Const(torch.strided))[1],
    "is_cuda": lambda cx, t: Const(t.graph_value(cx).meta.device.type == "cuda"),
    "is_cpu": lambda cx, t: Const(t.graph_value(cx).meta.device.type == "cpu"),
    "is_sparse": _flag("is_sparse", False),
    "is_sparse_csr": _flag("is_sparse_csr", False),
    "is_mkldnn": _flag("is_mkldnn", False),
    "is_quantized": _flag("is_quantized", False),
    "is_nested": _flag("is_nested", False),
    "is_meta": _flag("is_meta", False),
    "is_mps": _flag("is_mps", False),
    "is_xla": _flag("is_xla", False),
    "is_xpu": _flag("is_xpu", False),
    "is_vulkan": _flag("is_vulkan", False),
    "is_ipu": _flag("is_ipu", False),
    "is_maia": _flag("is_maia", False),
    "itemsize": lambda cx, t: Const(t.graph_value(cx).meta.dtype.itemsize),
    "nbytes": lambda cx, t: size_value(product(t.graph_value(cx).meta.shape) * t.graph_value(cx).meta.dtype.itemsize),
    "names": lambda cx, t: TupleVal([NONE] * len(t.graph_value(cx).meta.shape)),
    "__class__": lambda cx, t: cx.fixed(t.pytype(cx)),
    "is_inference_attr": _flag("is_inference", False),
}

ATTRIBUTES = {n: fn for n, fn in ATTRIBUTES.items() if hasattr(torch.Tensor, n)}      # what this torch has

PROPERTY_OPS = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))
"""Attributes that are operators: looked up among METHODS (or FUNCTIONS) by name."""

TENSOR_PYTHON_METHODS: frozenset[str] = frozenset()


# ------------------------------------------------------------------ methods answered from the meta
def _size(cx: Capture, t: TensorVal, args: list[Value], kwargs: dict[str, Value]) -> Value:
    shape = t.graph_value(cx).meta.shape
    dim = args[0] if args else kwargs.get("dim")
    if dim is None or (type(dim) is Const and dim.constant(cx) is None):
        return _shape(cx, t)
    d = dim.constant(cx)
    if not -len(shape) <= d < len(shape):
        raise cx.raised(IndexError, f"Dimension out of range (expected to be in range of [{-len(shape)}, "
                                    f"{len(shape) - 1}], but got {d})")
    return size_value(shape[d])


def _stride(cx: Capture, t: TensorVal, args: list[Value], kwargs: dict[str, Value]) -> Value:
    strides = t.graph_value(cx).meta.strides
    dim = args[0] if args else kwargs.get("dim")
    if dim is None or (type(dim) is Const and dim.constant(cx) is None):
        return TupleVal([size_value(s) for s in strides])
    return size_value(strides[dim.constant(cx)])


def _is_contiguous(cx: Capture, t: TensorVal, args: list[Value], kwargs: dict[str, Value]) -> Value:
    fmt = args[0] if args else kwargs.get("memory_format")
    m = t.graph_value(cx).meta
    kind = torch.contiguous_format if fmt is None else fmt.constant(cx)
    if kind is torch.contiguous_format:
        order: Any = range(len(m.shape) - 1, -1, -1)
    elif kind is torch.channels_last and len(m.shape) == 4:
        order = (1, 3, 2, 0)
    else:
        return FALSE
    decide = cx.env.decide
    step: Size = 1
    if any(type(s) is int and s == 0 for s in m.shape):
        return TRUE
    for i in order:
        size = m.shape[i]
        if type(size) is int and size == 1:
            continue
        if m.strides[i] != step and not decide("==", m.strides[i], step):
            return FALSE
        step = step * size
    return TRUE


def _get_device(cx: Capture, t: TensorVal, args: list[Value], kwargs: dict[str, Value]) -> Value:
    d = t.graph_value(cx).meta.device
    return Const(-1 if d.type == "cpu" else d.index or 0)


def _storage_offset(cx: Capture, t: TensorVal, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if t.val is not None and t.obj is None and t.val.root.id not in {x.value for x in cx.builder.inputs}:
        return size_value(t.val.meta.offset)
    raise Broken(
        "PB107",
        "storage_offset() of a tensor from outside",
        TensorMethodRef(cx, t, "storage_offset"),
        list(args),
        kwargs,
    )


def TensorMethodRef(cx: Capture, t: TensorVal, name: str) -> Value:
    return _builtin.TensorMethod(t, name)


def _requires_grad_(cx: Capture, t: TensorVal, args: list[Value], kwargs: dict[str, Value]) -> Value:
    want = args[0] if args else kwargs.get("requires_grad", TRUE)
    cx.asks_grad = True
    t.graph_value(cx)
    if want.constant(cx) is t.grad:
        return t
    raise Broken(
        "PB107", "requires_grad_() changes a tensor", TensorMethodRef(cx, t, "requires_grad_"), list(args), kwargs
    )


def _numel(cx: Capture, t: TensorVal, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return size_value(product(t.graph_value(cx).meta.shape))


def _is(test: Any) -> Any:
    return lambda cx, t, args, kwargs: Const(test(t.graph_value(cx).meta))


META_METHODS: dict[str, Any] = {
    "size": _size,
    "stride": _stride,
    "dim": lambda cx, t, a, k: Const(len(t.graph_value(cx).meta.shape)),
    "ndimension": lambda cx, t, a, k: Const(len(t.graph_value(cx).meta.shape)),
    "numel": _numel,
    "nelement": _numel,
    "is_contiguous": _is_contiguous,
    "is_floating_point": _is(lambda m: m.dtype.is_floating_point),
    "is_complex": _is(lambda m: m.dtype.is_complex),
    "is_signed": _is(lambda m: m.dtype.is_signed),
    "element_size": _is(lambda m: m.dtype.itemsize),
    "get_device": _get_device,
    "storage_offset": _storage_offset,
    "is_inference": lambda cx, t, a, k: _is_inference(cx, t),
    "is_conj": _is(lambda m: False),
    "is_neg": _is(lambda m: False),
    "is_pinned": _is(lambda m: False),
    "is_shared": _is(lambda m: False),
    "requires_grad_": _requires_grad_,
    "__len__": lambda cx, t, a, k: t.length(cx),
}

VALUE_METHODS = frozenset(("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "data_ptr",
                           "untyped_storage", "storage", "__array__", "__format__", "__repr__", "__str__", "cpu_numpy"))
"""Methods that hand a tensor's values or memory to Python."""

__all__ = ["ATTRIBUTES", "META_METHODS", "PROPERTY_OPS", "SliceVal", "TensorVal", "VALUE_METHODS", "make_input",
           "wrap_tensor"]

# Modules that need this one: bound when all are loaded.
from ...ops import registry as _registry  # noqa: E402
from .. import known_values as _known_values  # noqa: E402
from .. import torch_calls as _torch_calls  # noqa: E402
from . import builtin as _builtin  # noqa: E402
from . import iterator as _iterator  # noqa: E402
