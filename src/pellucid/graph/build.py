"""The builder that capture traces into: values, core nodes, storages and in-place writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..events.types import Cause, UserStack
from ..shapes.dim import Size
from ..shapes.env import ShapeEnv
from .types import Graph, GraphInput, Meta, Mutation, Node, Ref, ScalarMeta, SymbolDef, TensorMeta, TorchCall, ValueId

_COMPLEX = frozenset(("opaque", "opaque_python", "opaque_rng", "clone", "to_dtype"))
"""Core operations that take complex tensors; views do too."""


class Val:
    """A handle to a graph value while the graph is being built. `root` is the value that owns the storage.

    `object` is the first value of the tensor object that this one stands for: contents change by writes, and views that
    span their storage look like their root, but which object a value is never changes.
    """

    __slots__ = ("id", "meta", "root", "builder", "object")
    meta: TensorMeta

    def __init__(self, id: ValueId, meta: TensorMeta, root: "Val | None", builder: "GraphBuilder",
                 object: ValueId | None = None):
        self.id, self.meta, self.builder = id, meta, builder
        self.object = id if object is None else object
        self.root: Val = self if root is None else root

    @property
    def shape(self) -> tuple[Size, ...]:
        return self.meta.shape

    @property
    def dtype(self) -> Any:
        return self.meta.dtype

    @property
    def ndim(self) -> int:
        return len(self.meta.shape)

    def __repr__(self) -> str:
        m = self.meta
        return f"%{self.id}:{str(m.dtype)[6:]}[{', '.join(map(str, m.shape))}]"


class GraphBuilder:
    """Traces core nodes. Rules of the catalogue are called through `emit`; sizes are decided by `env`.

    `emit(op, *args)` looks the entry up, binds its parameters, runs its shape rule and appends the node. Operands are
    `Val`s, sizes, Python numbers, dtypes, None, or tuples of these. Values whose storage was written since they were
    made are read through a fresh view of the storage's current root, so aliases see writes.
    """

    def __init__(self, env: ShapeEnv | None = None):
        self.env = env if env is not None else ShapeEnv()
        self.inputs: list[GraphInput] = []
        self.nodes: list[Node] = []
        self.calls: list[TorchCall] = []
        self.symbols: list[SymbolDef] = []
        self.metas: dict[ValueId, Meta] = {}
        self.roots: dict[ValueId, ValueId] = {}
        self._count = 0
        self._current: dict[ValueId, Val] = {}
        """For each original root, the value that holds its storage's contents now (absent: never written)."""
        self._storage: dict[ValueId, ValueId] = {}
        """For each root made by a write, the original root of that storage."""
        self.objects: dict[ValueId, ValueId] = {}
        """Value -> first value of the same tensor object, for values that are not the first."""
        self._views: dict[tuple[ValueId, ValueId], Val] = {}
        """(current root, object) -> the object as a view of that root."""
        self.writes = 0
        self.written: ValueId = -1
        """The storage that was written last."""
        self.shared: list[tuple[ValueId, ValueId, Any]] = []
        """Storages that a program sees as one, where a copy stands for a view with another dtype, and the cause: they
        are not written any more, and do not leave the graph together."""
        self.complex = False
        """Whether a value is complex: loops have no complex numbers, so only views and opaque calls take these."""

    # ---------------------------------------------------------------- values
    def _val(self, meta: TensorMeta, root: Val | None = None, object: ValueId | None = None) -> Val:
        v = Val(self._count, meta, root, self, object)
        if object is not None:
            self.objects[v.id] = object
        self._count += 1
        self.metas[v.id] = meta
        self.roots[v.id] = v.root.id
        return v

    def input(self, meta: TensorMeta, source: Any, role: str = "input") -> Val:
        """A tensor from outside. Its meta's offset is 0: data pointers of inputs include the storage offset."""
        v = self._val(meta)
        self.complex = self.complex or meta.dtype.is_complex
        self.inputs.append(GraphInput(v.id, meta, source, role))
        return v

    def scalar_input(self, kind: str, source: Any) -> int:
        """A Python number read at run time; returns its index among the inputs (bind a symbol to it by `symbols`)."""
        id = self._count
        self._count += 1
        self.metas[id] = ScalarMeta(kind)
        self.inputs.append(GraphInput(id, ScalarMeta(kind), source, "scalar"))
        return len(self.inputs) - 1

    # ---------------------------------------------------------------- nodes
    def emit(self, op: str, *args: Any, **kwargs: Any) -> Any:
        """Append the core operation `op`; returns its Val, or a tuple of Vals for several outputs."""
        from ..ops.narrow import TAKES
        from ..ops.registry import OPS

        entry = OPS[op]
        bound = entry.bind(args, kwargs)
        takes = TAKES.get(op)
        if takes is not None and not takes(bound):
            from ..ops.errors import Unsupported

            raise Unsupported(f"{op} of {', '.join(str(a.meta.dtype) for a in bound if type(a) is Val)}",
                              "convert the operands to a floating dtype")
        bound = tuple([self.fresh(a) if type(a) is Val else self._fresh_in(a) for a in bound])
        result = entry.rule(self, *bound)
        if entry.view:
            base = next(a for a in bound if type(a) is Val)
            vals = tuple(self._val(m, base.root) for m in (result if isinstance(result, tuple) else (result,)))
        else:
            vals = tuple(self._val(m) for m in (result if isinstance(result, tuple) else (result,)))
        if self.complex and not entry.view and op not in _COMPLEX:
            self._no_complex(op, bound, vals)
        self._append(op, bound, vals)
        return vals if isinstance(result, tuple) else vals[0]

    def _no_complex(self, op: str, args: Any, vals: tuple[Val, ...]) -> None:
        from ..ops.errors import Unsupported

        for a in (*args, *vals):
            if type(a) is tuple:
                self._no_complex(op, a, ())
            elif type(a) is Val and a.meta.dtype.is_complex:
                raise Unsupported(f"{op} of complex tensors", "keep real and imaginary parts apart")

    def _append(self, op: str, args: tuple[Any, ...], vals: tuple[Val, ...]) -> None:
        self.nodes.append(Node(op, tuple([_ref(a) for a in args]), tuple([v.id for v in vals]),
                               tuple([v.meta for v in vals]), tuple([v.root.id for v in vals]), len(self.calls)))

    def record(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any,
               stack: UserStack, mutates: tuple[ValueId, ...] = (), global_state: tuple[Any, ...] = ()) -> None:
        """Close the torch-level call whose core nodes were just emitted."""
        self.calls.append(TorchCall(kind, target, _ref(args), {k: _ref(v) for k, v in kwargs.items()}, _ref(result),
                                    stack, mutates, global_state))

    def at(self, cause: Cause | None) -> None:
        """Name the user's operation for the size guards that shape rules leave."""
        self.env.cause = cause

    # ---------------------------------------------------------------- storages and writes
    def _original(self, root: ValueId) -> ValueId:
        return self._storage.get(root, root)

    def storage(self, v: Val) -> ValueId:
        """The identity of v's storage: equal for two values exactly when they alias."""
        return self._original(v.root.id)

    def fresh(self, v: Val) -> Val:
        """v, or a view of its storage's current contents if the storage was written since v was made."""
        current = self._current.get(self._original(v.root.id))
        if current is None or current is v.root:
            return v
        if v.object == current.object:
            return current
        w = self._views.get((current.id, v.object))
        if w is None:
            w = self._views[current.id, v.object] = self._val(v.meta, current, v.object)
            self._append("as_strided", (current, v.meta.shape, v.meta.strides, v.meta.offset), (w,))
        return w

    def is_written(self, id: ValueId) -> bool:
        """Whether the storage of value `id` has been written to in this graph."""
        return self._original(self.roots[id]) in self._current

    def share(self, one: ValueId, other: ValueId, cause: Any) -> None:
        self.shared.append((one, other, cause))

    def left_together(self, outputs: tuple[Val, ...]) -> list[Any]:
        """The causes of those shared storages that both leave the graph."""
        leaving = {self.storage(v) for v in outputs}
        return [cause for one, other, cause in self.shared if one in leaving and other in leaving]

    def from_outside(self, v: Val) -> bool:
        """Whether v's storage is that of an input."""
        original = self.storage(v)
        return any(i.value == original for i in self.inputs)

    def _fresh_in(self, a: Any) -> Any:
        if type(a) is tuple or type(a) is list:
            return tuple([self.fresh(x) if type(x) is Val else self._fresh_in(x) for x in a])
        return a

    def write(self, target: Val, new: Val) -> Val:
        """In-place write: the contents of `target` become `new` (already of target's shape and dtype).

        Emits `assign(root, new, shape, strides, offset)`, whose value is the storage's new root. Returns the value
        that stands for `target` from now on.
        """
        target = self.fresh(target)
        if self.complex and target.meta != target.root.meta:
            self._no_complex("an in-place write to a view", (target,), ())
        original = self._original(target.root.id)
        if any(original in pair for pair in self.shared):
            from ..ops.errors import Unsupported

            raise Unsupported("a write to a tensor that shares its memory with a complex view of it", "clone it first")
        root = target.root
        m = target.meta
        new_root = self._val(root.meta, None, original)
        self._append("assign", (root, self.fresh(new), m.shape, m.strides, m.offset), (new_root,))
        self._current[original] = new_root
        self._storage[new_root.id] = original
        self.writes += 1
        self.written = original
        return self.fresh(target)

    # ---------------------------------------------------------------- the end
    def finish(self, outputs: tuple[Val, ...]) -> Graph:
        outs = tuple(self.fresh(v).id for v in outputs)
        mutations = tuple(Mutation(i, self._current[g.value].id) for i, g in enumerate(self.inputs)
                          if g.value in self._current)
        return Graph(tuple(self.inputs), tuple(self.nodes), tuple(self.calls), outs, mutations, tuple(self.symbols),
                     tuple(self.env.guards), self.metas, self.roots, self.objects)


def _ref(a: Any) -> Any:
    t = type(a)
    if t is Val:
        return Ref(a.id)
    if t is tuple:
        return tuple([_ref(x) for x in a])
    if t is list:
        return [_ref(x) for x in a]
    if t is dict:
        return {k: _ref(v) for k, v in a.items()}
    if t is slice:
        return slice(_ref(a.start), _ref(a.stop), _ref(a.step))
    return a


Rule = Callable[..., Any]
