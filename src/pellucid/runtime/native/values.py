"""Values of the LLVM text that builder.py writes: types, SSA values with operators, mutable locals, callees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from .builder import Function

I1, I8, I16, I32, I64, F32, F64, PTR, VOID = "i1", "i8", "i16", "i32", "i64", "float", "double", "ptr", "void"
LIKELY = "!prof !0"
UNLIKELY = "!prof !1"


def plain(type: str) -> str:
    """A type without its parameter attributes."""
    for word in ("sret(ptr)", "zeroext", "signext"):
        type = type.replace(word, "")
    return type.strip()


class Value:
    """An SSA value of a function. Arithmetic is on signed integers; Python integers are taken as constants."""

    __slots__ = ("f", "type", "name")

    def __init__(self, f: "Function", type: str, name: str):
        self.f, self.type, self.name = f, type, name

    def __repr__(self) -> str:
        return f"{self.type} {self.name}"

    def _binary(self, op: str, other: "Operand") -> "Value":
        o = self.f.value(other, self.type)
        return self.f.emit(self.type, f"{op} {self.type} {self.name}, {o.name}")

    def _compare(self, how: str, other: "Operand") -> "Value":
        o = self.f.value(other, self.type)
        return self.f.emit(I1, f"icmp {how} {self.type} {self.name}, {o.name}")

    def __add__(self, o: "Operand") -> "Value":
        return self.f.offset(self, o) if self.type == PTR else self._binary("add", o)

    def __sub__(self, o: "Operand") -> "Value":
        return self._binary("sub", o)

    def __mul__(self, o: "Operand") -> "Value":
        return self._binary("mul", o)

    def __and__(self, o: "Operand") -> "Value":
        return self._binary("and", o)

    def __or__(self, o: "Operand") -> "Value":
        return self._binary("or", o)

    def __xor__(self, o: "Operand") -> "Value":
        return self._binary("xor", o)

    def __lshift__(self, o: "Operand") -> "Value":
        return self._binary("shl", o)

    def __rshift__(self, o: "Operand") -> "Value":
        return self._binary("lshr", o)

    def __truediv__(self, o: "Operand") -> "Value":
        return self._binary("sdiv", o)

    def remainder(self, o: "Operand") -> "Value":
        return self._binary("srem", o)

    def __eq__(self, o: object) -> "Value":  # type: ignore[override]
        return self._compare("eq", o)  # type: ignore[arg-type]

    def __ne__(self, o: object) -> "Value":  # type: ignore[override]
        return self._compare("ne", o)  # type: ignore[arg-type]

    def __lt__(self, o: "Operand") -> "Value":
        return self._compare("slt", o)

    def __le__(self, o: "Operand") -> "Value":
        return self._compare("sle", o)

    def __gt__(self, o: "Operand") -> "Value":
        return self._compare("sgt", o)

    def __ge__(self, o: "Operand") -> "Value":
        return self._compare("sge", o)

    def below(self, o: "Operand") -> "Value":
        """Unsigned less-than."""
        return self._compare("ult", o)

    __hash__ = None  # type: ignore[assignment]


Operand = Union[Value, int, None]


class Variable:
    """A mutable local."""

    __slots__ = ("f", "type", "slot")

    def __init__(self, f: "Function", type: str, slot: Value):
        self.f, self.type, self.slot = f, type, slot

    def get(self) -> Value:
        return self.f.load(self.type, self.slot)

    def set(self, value: Operand) -> None:
        self.f.store(value, self.slot, 0, self.type)

    def add(self, value: Operand) -> None:
        self.set(self.get() + value)


@dataclass(frozen=True, slots=True)
class Callee:
    """Something to call by name. `throws`: a C++ exception may leave it."""

    name: str
    ret: str
    params: tuple[str, ...]
    throws: bool = False
    attributes: str = ""
    variadic: bool = False
