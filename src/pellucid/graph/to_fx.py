"""A graph's torch-level calls as a torch.fx.GraphModule: what backends given as callables receive.

The module takes the graph's inputs in order and returns the tuple of its outputs. Replaying it on real tensors has
eager's semantics, so in-place calls write into the inputs themselves and views are real views: an `assign` of the
functional graph means nothing here, and a value read through a fresh view is the older tensor, which sees the write.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from ..guards.sources import name as source_name
from ..shapes.dim import Dim, Func, Size, Sym
from ..torchdoor import autocast
from ..torchdoor.gradmode import set_grad_enabled
from .types import Graph, Node, Ref, TensorMeta, TorchCall, ValueId

_FUNCS: dict[str, Callable[..., Any]] = {"floordiv": operator.floordiv, "mod": operator.mod, "min": min, "max": max}


class _Writer:
    def __init__(self, graph: Graph, grad: bool):
        self.graph = graph
        self.initial_grad = self.current_grad = grad
        self.current_autocast: autocast.State | None = None
        self.ride: fx.Node | None = None
        self.states: dict[str, autocast.State] = {}
        self.fx = fx.Graph()
        self.env: dict[ValueId, fx.Node] = {}
        self.by_object: dict[ValueId, fx.Node] = {}
        self.sizes: dict[Any, fx.Node] = {}
        self.made_by: dict[ValueId, Node] = {v: n for n in graph.nodes for v in n.outs}
        self.storage: dict[ValueId, ValueId] = {}
        """Root made by a write -> the root whose storage it is."""
        for n in graph.nodes:
            if n.op == "assign":
                root = n.args[0].value
                self.storage[n.outs[0]] = self.storage.get(root, root)

    def inputs(self) -> None:
        for i, g in enumerate(self.graph.inputs):
            label = re.sub(r"\W+", "_", source_name(g.source)).strip("_") if g.source is not None else ""
            self.env[g.value] = self.by_object[g.value] = self.fx.placeholder(f"in{i}_{label}" if label else f"in{i}")

    # ---------------------------------------------------------------- operands
    def value(self, id: ValueId) -> fx.Node:
        """The node that holds value `id`: the tensor object that it is, or a window of its storage."""
        node = self.env.get(id)
        if node is not None:
            return node
        graph, meta = self.graph, self.graph.metas[id]
        home = self._home(id)
        known = self.by_object.get(graph.objects.get(id, id))
        if known is not None:
            self.env[id] = known
            return known
        root = self.env.get(home)
        if root is None or not isinstance(meta, TensorMeta):
            raise KeyError(f"value %{id} is made by no torch-level call of the graph")
        offset = self._plus(self.fx.call_method("storage_offset", (root,)), meta.offset)
        made = self.fx.call_method("as_strided", (root, self.operand(meta.shape), self.operand(meta.strides), offset))
        self.env[id] = made
        return made

    def _home(self, id: ValueId) -> ValueId:
        root = self.graph.roots.get(id, id)
        return self.storage.get(root, root)

    def _plus(self, a: fx.Node, b: Size) -> Any:
        return a if isinstance(b, int) and b == 0 else self.fx.call_function(operator.add, (a, self.operand(b)))

    def operand(self, a: Any) -> Any:
        if type(a) is Ref:
            return self.value(a.value)
        if type(a) is Dim:
            return self.size(a)
        if isinstance(a, tuple):
            return type(a)(*map(self.operand, a)) if hasattr(a, "_fields") else tuple(map(self.operand, a))
        if isinstance(a, list):
            return [self.operand(x) for x in a]
        if isinstance(a, dict):
            return {k: self.operand(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(self.operand(a.start), self.operand(a.stop), self.operand(a.step))
        return a

    def size(self, s: Size) -> Any:
        """A node that computes the size from the inputs' shapes."""
        if isinstance(s, int):
            return s
        known = self.sizes.get(s)
        if known is not None:
            return known
        total: Any = None
        for monomial, c in s.terms:
            term: Any = None
            for atom in monomial:
                a = self.atom(atom)
                term = a if term is None else self.fx.call_function(operator.mul, (term, a))
            if term is None:
                term = c
            elif c != 1:
                term = self.fx.call_function(operator.mul, (term, c))
            total = term if total is None else self.fx.call_function(operator.add, (total, term))
        self.sizes[s] = total
        return total

    def atom(self, a: Sym | Func) -> Any:
        known = self.sizes.get(a)
        if known is not None:
            return known
        if isinstance(a, Func):
            made = self.fx.call_function(_FUNCS[a.fn], tuple(self.size(x) for x in a.args))
        else:
            d = next(d for d in self.graph.symbols if d.sym == a)
            source = self.env[self.graph.inputs[d.input].value]
            made = source if d.dim is None else self.fx.call_method("size", (source, d.dim)) if d.dim >= 0 \
                else self.fx.call_method("stride", (source, ~d.dim))
        self.sizes[a] = made
        return made

    # ---------------------------------------------------------------- calls
    def grad(self, mode: bool) -> None:
        """Switch grad mode where the program did between calls."""
        if mode is not self.current_grad:
            self.fx.call_function(set_grad_enabled, (mode,))
            self.current_grad = mode

    def autocasting(self, state: autocast.State | None) -> None:
        """Switch autocast where the program did between calls; None: back to the state of the call."""
        if state != self.current_autocast:
            if self.ride is None:
                self.ride = self.fx.call_function(autocast.begin, ())
            self.fx.call_function(autocast.go, (self.ride, self.held(state)))
            self.current_autocast = state

    def held(self, state: autocast.State | None) -> Any:
        """The state as an attribute of the module, since it has no literal."""
        if state is None:
            return None
        name = f"autocast_{len(self.states)}"
        self.states[name] = state
        return self.fx.get_attr(name)

    def call(self, number: int, c: TorchCall) -> None:
        self.grad(c.global_state[0] if c.global_state else self.initial_grad)
        self.autocasting(c.global_state[1] if len(c.global_state) > 1 else None)
        args, kwargs = self.operand(c.args), self.operand(c.kwargs)
        if c.kind == "method":
            node = self.fx.call_method(c.target, args, kwargs)
        elif c.kind == "function":
            node = self.fx.call_function(c.target, args, kwargs)
        else:
            raise ValueError(f"torch-level call {number} has the unknown kind {c.kind!r}")
        node.meta["call"] = number
        node.meta["stack_trace"] = "\n".join(f'  File "{f.file}", line {f.line}, in {f.function}' for f in c.stack)
        self.results(c.outs, node)

    def results(self, outs: Any, node: fx.Node) -> None:
        if type(outs) is Ref:
            self.env[outs.value] = node
            self.by_object.setdefault(self.graph.objects.get(outs.value, outs.value), node)
            meta = self.graph.metas.get(outs.value)
            if isinstance(meta, TensorMeta):
                node.meta["pellucid_meta"] = meta
        elif isinstance(outs, (tuple, list)):
            for i, o in enumerate(outs):
                if _holds_ref(o):
                    self.results(o, self.fx.call_function(operator.getitem, (node, i)))
        elif isinstance(outs, dict):
            for k, o in outs.items():
                if _holds_ref(o):
                    self.results(o, self.fx.call_function(operator.getitem, (node, k)))


def _holds_ref(outs: Any) -> bool:
    if isinstance(outs, (tuple, list)):
        return any(map(_holds_ref, outs))
    if isinstance(outs, dict):
        return any(map(_holds_ref, outs.values()))
    return type(outs) is Ref


def to_fx(graph: Graph, name: str = "PellucidGraph") -> fx.GraphModule:
    """The torch-level view of `graph` as a GraphModule over its inputs, in order; it returns a tuple of the outputs.

    It is for calls under the current grad mode; where the program switches it in between, so does the module.
    """
    w = _Writer(graph, torch.is_grad_enabled())
    w.inputs()
    for number, c in enumerate(graph.calls):
        w.call(number, c)
    outputs = tuple(w.value(v) for v in graph.outputs)
    w.grad(w.initial_grad)
    w.autocasting(None)
    w.fx.output(outputs)
    owner = torch.nn.Module()
    for label, state in w.states.items():
        setattr(owner, label, state)
    module = fx.GraphModule(owner, w.fx, class_name=name)
    module.graph.lint()
    return module
