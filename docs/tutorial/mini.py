"""A model compiler in about 250 lines: capture, guards, graph, loop IR, machine code, and a table of entries.

Read it from top to bottom; docs/tutorial/README.md walks through it. It compiles Python functions of float32 tensors of
one shape made of + - * /, torch.relu, torch.exp, plain numbers and ifs on plain numbers, and runs everything else in
Python. Run it: python docs/tutorial/mini.py
"""

from __future__ import annotations

import ctypes
import dis
import itertools
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm
import torch


# ---------------------------------------------------------------- 1. what capture hands on
@dataclass(frozen=True)
class Node:
    """One operation of the graph; args are other Nodes or numbers. An input node has op "input" and its name."""

    op: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Guard:
    """A fact that was used while capturing: `read(scope)` gave `expected`. `why` names the line that needed it."""

    text: str
    read: Callable[[dict[str, Any]], Any]
    expected: Any
    why: str


@dataclass
class Capture:
    guards: list[Guard] = field(default_factory=list)
    result: Any = None


class GraphBreak(Exception):
    """The program does something that cannot be captured."""


# ---------------------------------------------------------------- 2. capture: execute bytecode on symbolic values
BINARY = {"+": ("fadd", operator.add), "-": ("fsub", operator.sub), "*": ("fmul", operator.mul),
          "/": ("fdiv", operator.truediv)}
CALLS = {torch.relu: "relu", torch.exp: "exp"}
SKIP = {"RESUME", "CACHE", "PRECALL", "PUSH_NULL", "NOP", "TO_BOOL", "COPY_FREE_VARS", "NOT_TAKEN"}


def fact(value: Any) -> Any:
    """What must hold of an argument: of a tensor its metadata, of anything else its value."""
    if isinstance(value, torch.Tensor):
        return (type(value), value.dtype, tuple(value.shape), value.is_contiguous(), value.requires_grad)
    return (type(value), value)


def capture(fn: types.FunctionType, args: dict[str, Any]) -> Capture:
    """Execute fn's bytecode. Tensors are Nodes; numbers are themselves, and guarded when first read."""
    cap, local, stack = Capture(), dict[str, Any](), list[Any]()
    code = list(dis.get_instructions(fn))
    at = {i.offset: n for n, i in enumerate(code)}
    shapes = {tuple(v.shape) for v in args.values() if isinstance(v, torch.Tensor)}
    if len(shapes) > 1:
        raise GraphBreak(f"tensors of different shapes {shapes}")

    def read_argument(name: str, line: int | None) -> Any:
        if name not in local:
            value = args[name]
            cap.guards.append(Guard(name, lambda scope: fact(scope[name]), fact(value), f"line {line}"))
            local[name] = Node("input", (name,)) if isinstance(value, torch.Tensor) else value
        return local[name]

    def read_global(name: str, line: int | None) -> Any:
        value = fn.__globals__[name] if name in fn.__globals__ else getattr(__builtins__, name)
        cap.guards.append(Guard(f"global {name}", lambda scope: fn.__globals__.get(name), value, f"line {line}"))
        return value

    ip, line = 0, None
    while True:
        ins = code[ip]
        line = ins.starts_line if ins.starts_line not in (None, False, True) else line
        name, ip = ins.opname, ip + 1
        if name in SKIP:
            continue
        if name == "LOAD_FAST" or name == "LOAD_FAST_BORROW":
            stack.append(read_argument(ins.argval, line))
        elif name == "LOAD_FAST_LOAD_FAST":
            stack.extend(read_argument(n, line) for n in ins.argval)
        elif name == "STORE_FAST":
            local[ins.argval] = stack.pop()
        elif name == "LOAD_CONST":
            stack.append(ins.argval)
        elif name == "LOAD_GLOBAL":
            stack.append(read_global(ins.argval, line))
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(stack[-1], types.ModuleType):
            stack.append(getattr(stack.pop(), ins.argval))
        elif name == "BINARY_OP" and ins.argrepr.rstrip("=") in BINARY:
            b, a = stack.pop(), stack.pop()
            op, python = BINARY[ins.argrepr.rstrip("=")]
            stack.append(Node(op, (a, b)) if isinstance(a, Node) or isinstance(b, Node) else python(a, b))
        elif name == "COMPARE_OP" and not isinstance(stack[-1], Node) and not isinstance(stack[-2], Node):
            b, a = stack.pop(), stack.pop()
            stack.append({"<": a < b, ">": a > b, "==": a == b}[ins.argrepr.replace("bool(", "").rstrip(")")])
        elif name == "CALL" and stack[-2] in CALLS and isinstance(stack[-1], Node):
            argument, function = stack.pop(), stack.pop()
            stack.append(Node(CALLS[function], (argument,)))
        elif name.startswith("POP_JUMP") and isinstance(stack[-1], (bool, int)):
            if bool(stack.pop()) == name.endswith("TRUE"):
                ip = at[ins.argval]
        elif name in ("JUMP_FORWARD",):
            ip = at[ins.argval]
        elif name == "RETURN_VALUE" and isinstance(stack[-1], Node):
            cap.result = stack.pop()
            return cap
        else:
            raise GraphBreak(f"{name} {ins.argrepr} at line {line}")


# ---------------------------------------------------------------- 3. code generation: one fused loop, as LLVM IR
HEADER = """
declare float @llvm.exp.f32(float)
declare float @llvm.maximum.f32(float, float)
define void @kernel(ptr %buffers, i64 %n) {
entry:
"""
LOOP = """  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
"""
FOOTER = """  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def generate(result: Node, inputs: list[str]) -> str:
    """All operations in one loop over the elements: nothing but inputs and the result touches memory."""
    names, lines, head = itertools.count(), list[str](), list[str]()
    done: dict[Node, str] = {}
    for k, name in enumerate([*inputs, "result"]):
        head += [f"  %pp{k} = getelementptr ptr, ptr %buffers, i64 {k}", f"  %p{k} = load ptr, ptr %pp{k}"]
        if name != "result":
            lines += [f"  %a{k} = getelementptr float, ptr %p{k}, i64 %i", f"  %x{k} = load float, ptr %a{k}"]

    def text(value: Any) -> str:
        if not isinstance(value, Node):
            bits = ctypes.c_uint64.from_buffer(ctypes.c_double(ctypes.c_float(value).value)).value
            return f"0x{bits:016X}"
        if value.op == "input":
            return f"%x{inputs.index(value.args[0])}"
        if value not in done:
            operands = [text(a) for a in value.args]
            done[value] = out = f"%v{next(names)}"
            if value.op == "relu":
                lines.append(f"  {out} = call float @llvm.maximum.f32(float {operands[0]}, float 0.0)")
            elif value.op == "exp":
                lines.append(f"  {out} = call float @llvm.exp.f32(float {operands[0]})")
            else:
                lines.append(f"  {out} = {value.op} float {', '.join(operands)}")
        return done[value]
    final = text(result)
    lines += [f"  %ar = getelementptr float, ptr %p{len(inputs)}, i64 %i", f"  store float {final}, ptr %ar"]
    return HEADER + "\n".join(head) + "\n" + LOOP + "\n".join(lines) + "\n" + FOOTER


class Machine:
    """Turns IR text into a callable address, in this process: no compiler, no linker, no file."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_triple(llvm.get_process_triple())
        self.target = target.create_target_machine(cpu=llvm.get_host_cpu_name(), opt=2, jit=True)
        self.jit = llvm.create_lljit_compiler(self.target)
        self.libraries: list[Any] = []

    def compile(self, text: str) -> Callable[..., None]:
        library = (llvm.JITLibraryBuilder().add_ir(text).add_current_process().export_symbol("kernel")
                   .link(self.jit, f"library{len(self.libraries)}"))
        self.libraries.append(library)
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library["kernel"])


# ---------------------------------------------------------------- 4. entries, the table, and the call
@dataclass
class Entry:
    guards: list[Guard]
    inputs: list[str]
    kernel: Callable[..., None]
    text: str
    hits: int = 0

    def failed(self, scope: dict[str, Any]) -> Guard | None:
        return next((g for g in self.guards if g.read(scope) != g.expected), None)

    def run(self, scope: dict[str, Any]) -> torch.Tensor:
        tensors = [scope[n] for n in self.inputs]
        out = torch.empty_like(tensors[0])
        pointers = (ctypes.c_void_p * (len(tensors) + 1))(*[t.data_ptr() for t in tensors], out.data_ptr())
        if out.numel():
            self.kernel(ctypes.addressof(pointers), out.numel())
        return out


def inputs_of(node: Any) -> list[str]:
    if not isinstance(node, Node):
        return []
    found = list(node.args) if node.op == "input" else [n for a in node.args for n in inputs_of(a)]
    return list(dict.fromkeys(found))


class Compiled:
    """A function with a table of entries: the first whose guards hold runs; a miss compiles; a break runs Python."""

    machine: Machine | None = None

    def __init__(self, fn: types.FunctionType):
        self.fn, self.entries, self.misses, self.breaks = fn, list[Entry](), list[str](), list[str]()

    def __call__(self, *args: Any) -> Any:
        scope = dict(zip(self.fn.__code__.co_varnames, args))
        for entry in self.entries:
            failed = entry.failed(scope)
            if failed is None:
                entry.hits += 1
                return entry.run(scope)
            self.misses.append(f"{failed.text}: expected {failed.expected}, got {failed.read(scope)} ({failed.why})")
        try:
            self.entries.append(self.compile(scope))
        except GraphBreak as reason:
            self.breaks.append(str(reason))
            return self.fn(*args)
        return self.entries[-1].run(scope)

    def compile(self, scope: dict[str, Any]) -> Entry:
        captured = capture(self.fn, scope)
        inputs = inputs_of(captured.result)
        for name in inputs:
            t = scope[name]
            if t.dtype != torch.float32 or not t.is_contiguous() or t.requires_grad or t.device.type != "cpu":
                raise GraphBreak(f"{name} is not a plain float32 CPU tensor")
        Compiled.machine = Compiled.machine or Machine()
        text = generate(captured.result, inputs)
        return Entry(captured.guards, inputs, Compiled.machine.compile(text), text)


# ---------------------------------------------------------------- 5. use it
SCALE = 2


def example(x, y, flip):
    z = torch.relu(x * SCALE + y) * torch.exp(x - y)
    if flip > 0:
        z = z - 0.5
    return z / (y * y + 1)


def prints(x):
    print("side effects stay in Python")
    return x + 1


def main() -> None:
    global SCALE
    fast = Compiled(example)
    x, y = torch.randn(1000), torch.randn(1000)
    for flip in (1, 1, 0):
        torch.testing.assert_close(fast(x, y, flip), example(x, y, flip))
    assert len(fast.entries) == 2 and fast.entries[0].hits == 1
    assert fast.misses[-1].startswith("flip: expected (<class 'int'>, 1)")
    SCALE = 3
    torch.testing.assert_close(fast(x, y, 1), example(x, y, 1))
    assert any(m.startswith("global SCALE: expected 2, got 3") for m in fast.misses)
    broken = Compiled(prints)
    torch.testing.assert_close(broken(x), x + 1)
    assert broken.breaks
    print(fast.entries[0].text)
    print("misses:", *fast.misses, sep="\n  ")
    print("breaks:", *broken.breaks, sep="\n  ")


if __name__ == "__main__":
    main()
