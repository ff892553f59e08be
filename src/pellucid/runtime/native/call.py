"""NativeCallable: the built-in that a compiled callable is called through, and the tables of its entries."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...torchdoor import threadstate
from . import jit
from . import records as R
from .program import program
from .runner import NativePlan
from .setters import NEVER
from .state import FULL, Watch
from .table import Blob

REQUIRED: Any = type("Required", (), {"__repr__": lambda s: "<required>"})()


@dataclass(frozen=True, slots=True)
class Signature:
    """How arguments become parameters 0..n-1, in the order of the frame's first slots.

    names       all parameters' names
    first, limit  positional arguments go to parameters first .. limit - 1
    keywords    for each parameter, whether it can be given by name
    defaults    for each parameter its default, or REQUIRED
    varargs, varkw  numbers of the parameters *args and **kwargs, or None
    receiver    the object that is parameter 0 of every call (a bound method's), or REQUIRED
    """

    names: tuple[str, ...]
    first: int
    limit: int
    keywords: tuple[bool, ...]
    defaults: tuple[Any, ...]
    varargs: int | None = None
    varkw: int | None = None
    receiver: Any = REQUIRED

    @staticmethod
    def plain(names: Sequence[str], defaults: Sequence[Any] = ()) -> "Signature":
        """Parameters that can all be given by position or name; `defaults` belong to the last ones."""
        n = len(names)
        filled = (REQUIRED,) * (n - len(defaults)) + tuple(defaults)
        return Signature(tuple(names), 0, n, (True,) * n, filled)

    @staticmethod
    def of(callee: Any, receiver: Any = REQUIRED) -> "Signature":
        """The signature of a Python function, or of a bound method: its function's without the first parameter.

        A method whose function takes it in *args keeps all parameters; *args is then without the receiver.
        receiver: keep a function's first parameter, which is this object in every call.
        """
        function = getattr(callee, "__func__", callee)
        code = function.__code__
        count, kwonly = code.co_argcount, code.co_kwonlyargcount
        varargs, varkw = bool(code.co_flags & 4), bool(code.co_flags & 8)
        total = count + kwonly + varargs + varkw
        first = 0 if receiver is REQUIRED else 1
        dropped = int(function is not callee and count > 0)
        if first > count:
            raise ValueError(f"{function.__qualname__} takes its receiver in *args")
        defaults: list[Any] = [REQUIRED] * total
        for k, v in enumerate(reversed(function.__defaults__ or ())):
            defaults[count - 1 - k] = v
        for i in range(count, count + kwonly):
            defaults[i] = (function.__kwdefaults__ or {}).get(code.co_varnames[i], REQUIRED)
        keywords = [max(code.co_posonlyargcount, first) <= i < count + kwonly for i in range(total)]
        return Signature(code.co_varnames[dropped:total], first, count - dropped, tuple(keywords[dropped:]),
                         tuple(defaults[dropped:]), count + kwonly - dropped if varargs else None,
                         total - 1 - dropped if varkw else None, receiver)


@dataclass(slots=True)
class EntryTable:
    """One entry as data. Registers 0..params-1 are the parameters; checks may load more.

    checks       words of CHECK records (without the end)
    watch        state that is polled
    probes       (Probe, expected word) of the thread's state
    plan         what runs, or None; inputs: for each of its inputs ("register", number) or ("object", tensor)
    result       ("output",), ("none",), ("recipe", BUILD words, depth), or ("finish", callable(outputs, arguments))
    python_check  called with the tuple of the parameters' values; what it refuses does not fit
    """

    checks: list[int] = field(default_factory=list)
    registers: int = 0
    watch: Watch = field(default_factory=Watch)
    probes: list[tuple[threadstate.Probe, int]] = field(default_factory=list)
    plan: NativePlan | None = None
    inputs: list[tuple[str, Any]] = field(default_factory=list)
    result: tuple[Any, ...] = ("output",)
    python_check: Callable[[tuple[Any, ...]], bool] | None = None
    held: list[Any] = field(default_factory=list)
    memory: Any = field(default=None, repr=False)
    address: int = 0

    def place(self) -> int:
        """The entry's table in memory (made once); its address."""
        if self.memory is None:
            self.memory, self.address = self._build()
        return self.address

    def _build(self) -> tuple[Any, int]:
        blob = Blob(R.ENTRY.size // 8)
        head: dict[str, int] = {"registers": self.registers}
        pointers: list[str] = []

        def section(name: str, words: Sequence[int]) -> None:
            head[name] = blob.add(words)
            pointers.append(name)

        w = self.watch
        section("checks", [*self.checks, R.CHECK_END])
        section("probe_records", [x for p, e in self.probes for x in (
            p.function, p.argument, -1 if p.offset is None else p.offset, p.mask, e)])
        section("owned_records", [x for pair in w.owned.items() for x in pair])
        section("word_records", [x for (a, mask), e in w.words.items() for x in (a, mask, e)])
        self._blocks(blob, section)
        self._dicts(blob, section)
        section("input_template", [id(x) if kind == "object" else 0 for kind, x in self.inputs])
        fills = [(i, x) for i, (kind, x) in enumerate(self.inputs) if kind == "register"]
        section("fill_records", [x for f in fills for x in f])
        kinds = {"output": R.RESULT_OUTPUT, "none": R.RESULT_NONE, "recipe": R.RESULT_RECIPE, "finish": R.RESULT_FINISH}
        recipe = self.result[1] if self.result[0] == "recipe" else []
        section("result_records", recipe)
        head |= {"probes": len(self.probes), "words": len(w.words), "owned": len(w.owned),
                 "replaced": NEVER, "dict_events": NEVER, "blocks": len(w.blocks), "dicts": len(w.dicts),
                 "inputs": len(self.inputs), "fills": len(fills), "result": len(recipe) // 2,
                 "result_kind": kinds[self.result[0]], "plan": self.plan.address if self.plan else 0,
                 "finish": id(self.result[1]) if self.result[0] == "finish" else 0,
                 "python_check": id(self.python_check) if self.python_check else 0}
        for k, name in enumerate(R.ENTRY.fields):
            blob.words[k] = head.get(name, 0)
            if name in pointers:
                blob.pointers.append(k)
        return blob.place()

    def _blocks(self, blob: Blob, section: Callable[[str, Sequence[int]], None]) -> None:
        layouts = {words: 0 for _, words in self.watch.blocks.values()}
        for words in layouts:
            layouts[words] = blob.add(words)
        first = len(blob.words)
        section("block_records", [x for t, (impl, words) in self.watch.blocks.items()
                                  for x in (t, impl, layouts[words])])
        blob.pointers += range(first + R.BLOCK.layout // 8, len(blob.words), R.BLOCK.size // 8)

    def _dicts(self, blob: Blob, section: Callable[[str, Sequence[int]], None]) -> None:
        rows: list[int] = []
        places: list[int] = []
        for d in self.watch.dicts:
            keys = [x for key, value in d.keys.items() for x in (id(key), hash(key), value)]
            places.append(len(rows) + R.DICT.key_records // 8)
            rows += [d.slot, len(d.keys), blob.add(keys), d.used, int(d.ordered)]
        section("dict_pointers", [id(d.owner) for d in self.watch.dicts])
        section("dict_tags", [d.tag for d in self.watch.dicts])
        first = len(blob.words)
        section("dict_records", rows)
        blob.pointers += [first + k for k in places]

    def word(self, name: str) -> int:
        return int(self.memory[getattr(R.ENTRY, name) // 8]) if self.memory is not None else 0

    @property
    def hits(self) -> int:
        return self.word("hits")

    @property
    def stale(self) -> bool:
        """Polled state has changed since the table was made: it does not fit until it is made anew."""
        return bool(self.word("stale"))


class NativeCallable:
    """A callable whose calls run in native code where an entry fits, else as slow(*args, **kwargs).

    `function` is the built-in. `publish` replaces the entries by one store; calls under way keep the ones they found.
    """

    def __init__(self, signature: Signature, slow: Callable[..., Any], name: str = "compiled"):
        self.slow = slow
        self.entries: tuple[EntryTable, ...] = ()
        self._call = (ctypes.c_int64 * (R.CALL.size // 8))()
        self._self = jit.Self.of(ctypes.addressof(self._call), self._call, [slow, program(), None, None])
        self.change_signature(signature)
        self.function = jit.builtin(name, program().address["call_compiled"], self._self,
                                    jit.METH_FASTCALL | jit.METH_KEYWORDS)

    def change_signature(self, signature: Signature) -> None:
        """Bind arguments by another signature from now on; there are no entries then."""
        self.publish((), len(signature.names))
        self.signature = s = signature
        n = len(s.names)
        names = (ctypes.c_int64 * max(n, 1))(*(id(x) if k else 0 for x, k in zip(s.names, s.keywords)))
        defaults = (ctypes.c_int64 * max(n, 1))(*(0 if d is REQUIRED else id(d) for d in s.defaults))
        words = R.CALL.words(params=n, first=s.first, limit=s.limit, names=ctypes.addressof(names),
                             defaults=ctypes.addressof(defaults), varargs=-1 if s.varargs is None else s.varargs,
                             varkw=-1 if s.varkw is None else s.varkw,
                             receiver=0 if s.receiver is REQUIRED else id(s.receiver), slow=id(self.slow))
        kept = R.CALL.snapshot // 8
        self._self.held[3] = (signature, names, defaults, self._self.held[3])
        for k, w in enumerate(words[:kept]):
            self._call[k] = w
        self._self.held[3] = self._self.held[3][:3]

    def publish(self, entries: Sequence[EntryTable], params: int | None = None) -> None:
        """Use these entries from the next call on, first one first."""
        entries = tuple(entries)
        addresses = [e.place() for e in entries]
        plans = [e.plan for e in entries if e.plan is not None]
        n = len(self.signature.names) if params is None else params
        registers = max([n, *(e.registers for e in entries)])
        inputs = max([0, *(len(e.inputs) for e in entries)])
        outputs = max([0, *(p.field("outputs") for p in plans)])
        depth = max([0, *(e.result[2] for e in entries if e.result[0] == "recipe")])
        frame = max([64, *(p.field("frame_bytes") + p.field("stack_arena") for p in plans)])
        frame = (frame + 63) // 64 * 64
        front = (8 * (registers + inputs + outputs + depth) + 63) // 64 * 64
        pointers = (ctypes.c_int64 * max(len(addresses), 1))(*addresses)
        owner = [entries, pointers]
        words = R.SNAPSHOT.words(owner=id(owner), entries=len(entries), entry_pointers=ctypes.addressof(pointers),
                                 registers=registers, inputs=inputs, outputs=outputs, depth=depth, frame_bytes=frame,
                                 stack_bytes=front + frame)
        snapshot = (ctypes.c_int64 * len(words))(*words)
        owner.append(snapshot)
        self.entries = entries
        self._call[R.CALL.snapshot // 8] = ctypes.addressof(snapshot)
        self._self.held[2] = owner

    @property
    def counts(self) -> tuple[int, int]:
        """(calls that an entry served, calls that went the slow way)"""
        return int(self._call[R.CALL.fast_calls // 8]), int(self._call[R.CALL.slow_calls // 8])


__all__ = ["FULL", "REQUIRED", "EntryTable", "NativeCallable", "Signature"]
