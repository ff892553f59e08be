"""Guards: what was read from outside, where it came from, what it was, and which operation needed it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..events.types import Cause


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Source:
    """Where a value comes from: a step from a base. Immutable, comparable; see guards.sources for loading and naming.

    kind        base     key
    arg         None     parameter's name (as the callable's signature binds it; *args is a tuple, **kwargs a dict)
    slot        None     number of a continuation's slot
    global      None     (module name, variable name); the function whose globals they are is in `obj`
    builtin     None     name
    const       None     a label; the object itself is in `obj` (process-local)
    attr        source   attribute name, by the object's normal lookup
    dict        source   instance dictionary entry `obj.__dict__[key]`
    item        source   a constant index or key of a tuple, list or dict
    cell        source   contents of cell number key of a function
    default     source   positional default number key of a function; kwdefault: keyword default by name
    type        source   type(base)
    func        source   base.__func__ ; self: base.__self__ ; code: base.__code__
    iter        source   item number key of an iterator that is a slot
    """

    kind: str
    base: "Source | None"
    key: Any
    obj: Any = field(repr=False)
    _hash: int | None = field(repr=False)

    def __init__(self, kind: str, base: "Source | None" = None, key: Any = None, obj: Any = None):
        # Capture makes thousands of these: the slots are set directly, and the hash is made when it is first asked for.
        _set_kind(self, kind)
        _set_base(self, base)
        _set_key(self, key)
        _set_obj(self, obj)
        _set_hash(self, None)

    @property
    def held(self) -> int:
        """Identity of the object that the source starts from (of a function's globals, their dictionary); else 0."""
        return 0 if self.obj is None else id(getattr(self.obj, "__globals__", self.obj)
                                             if self.kind in ("global", "globals") else self.obj)

    def __hash__(self) -> int:
        number = self._hash
        if number is None:       # sources are long chains and are looked up often: each remembers its hash
            try:
                number = hash((self.kind, self.base, self.key, self.held))
            except TypeError:
                number = hash((self.kind, self.base, self.held))
            _set_hash(self, number)
        return number

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Source and hash(self) == hash(other) and self.kind == other.kind
                                 and self.key == other.key and self.held == other.held and self.base == other.base)


_set_kind, _set_base, _set_key, _set_obj, _set_hash = (
    Source.__dict__[n].__set__ for n in ("kind", "base", "key", "obj", "_hash"))


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on the value of `source`.

    kind        expected
    tensor      guards.types.TensorGuard
    type        a class: type(v) is it
    same        another source: v is the object found there; distinct: v is another object
    is          an object: v is it (None, True, singletons, classes, functions compared by identity)
    equal       a constant: type and value equal (floats by bits, so that 0.0, -0.0 and nan differ)
    int         the pair (sym name, (lo, hi)): an integer that is symbolic in the graph
    len         length of a tuple, list, dict, str
    keys        tuple of a dict's keys, in order
    has_key     a key: the dict v has it
    absent      name: the instance dictionary of v has no such entry; missing_key: the dict v has no such key
    has         name: the instance dictionary of v has such an entry
    code        a code object: v.__code__ is it
    version     process-local: an object with unchanged() -> bool, for the attributes read through a class
    size        shapes.env.SizeGuard over symbols (source None)
    overlap     tuple of input numbers whose memory must not overlap (source None)
    global      GlobalKey (source None)
    python      a callable check(value) -> bool with a name (process-local)
    """

    kind: str
    source: Source | None
    expected: Any
    cause: Cause | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TensorGuard:
    """What must hold again of a tensor. None in shape or strides: free, or bound to a symbol by Graph.symbols.

    tensor_type is torch.Tensor, torch.nn.Parameter or another exact class; dispatch_keys the raw key set;
    requires_grad None where it was not needed.
    """

    tensor_type: type
    dtype: Any
    device: Any
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None
    requires_grad: bool | None
    dispatch_keys: int
    contiguous: bool = False
    """Strides are the contiguous ones of whatever the sizes are (used where sizes are symbolic)."""


@dataclass(frozen=True, slots=True)
class GlobalKey:
    """Global state under which an entry is valid (contract 6)."""

    grad_mode: bool
    inference_mode: bool
    autocast: tuple[Any, ...]
    default_dtype: Any
    default_device: Any
    deterministic: bool
    matmul_precision: str
    function_modes: int
    dispatch_modes: int
    extra: tuple[Any, ...] = ()
