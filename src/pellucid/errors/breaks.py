"""The catalogue of graph breaks: code -> title, explanation, remedy. Messages fill in the particulars."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BreakKind:
    code: str
    title: str
    explanation: str
    remedy: str


BREAKS: dict[str, BreakKind] = {}


def _add(code: str, title: str, explanation: str, remedy: str) -> str:
    BREAKS[code] = BreakKind(code, title, explanation, remedy)
    return code


DATA_BRANCH = _add(
    "PB101", "data-dependent branch",
    "The program asks for the truth of a tensor, whose value exists only when the graph has run.",
    "use torch.where, or keep the decision on sizes and Python values; or accept the break")
TENSOR_TO_PYTHON = _add(
    "PB102", "tensor value used by Python",
    "A tensor's value is turned into a Python number, list or array, which needs the graph's result.",
    "keep the value a tensor, or move this read after the compiled part")
INPUT_OUTPUT = _add(
    "PB103", "input or output",
    "The operation reads or writes something outside the process, which must happen once, in order, in Python.",
    "move it out of the compiled function, or print after the call")
UNKNOWN_C_FUNCTION = _add(
    "PB104", "call of a function that has no Python code and no rule",
    "A function implemented in C cannot be looked into, and nothing is known of what it reads and writes.",
    "replace the call, or move it out of the compiled function")
UNKNOWN_TORCH_FUNCTION = _add(
    "PB105", "torch function without a rule",
    "The operator catalogue has no entry for this torch function or method.",
    "use an equivalent torch function, or report the missing entry")
OP_UNSUPPORTED = _add(
    "PB106", "operands that the operator catalogue cannot express",
    "The torch function is known, but not with these operands.",
    "see the reason given")
TENSOR_ATTRIBUTE = _add(
    "PB107", "tensor attribute that capture does not model",
    "The attribute's value depends on the tensor object or its memory, not on what capture knows of it.",
    "avoid the attribute inside the compiled function")
GENERATOR_ESCAPES = _add(
    "PB108", "a generator that has begun leaves the captured part",
    "A suspended generator cannot be rebuilt as a Python object.",
    "consume the generator inside the compiled function, or return a list")
CODE_KIND = _add(
    "PB109", "a kind of Python code that is not captured",
    "Coroutines, async generators and functions marked as not to be traced run in Python.",
    "call it outside the compiled function")
DISABLED = _add(
    "PB110", "a function marked to stay in Python",
    "The function was disabled for compilation by a decorator, or is the step of an optimizer.",
    "remove the decorator, or accept the break")
OPAQUE_STATE = _add(
    "PB111", "an object whose state cannot be watched",
    "The object is implemented in C and its contents can change unnoticed.",
    "pass plain Python values instead")
UNSUPPORTED_OPERATION = _add(
    "PB112", "a Python operation that capture does not model",
    "The operation is valid Python, but there is no rule for these operands.",
    "rewrite the expression, or move it out of the compiled function")
IMPORTING = _add(
    "PB113", "an import that runs a module's code",
    "The module is not loaded yet, so importing it runs its code.",
    "import it at the top of the file")
CLASS_DEFINITION = _add(
    "PB114", "a class is defined",
    "Defining a class runs code of metaclasses and keeps the class alive.",
    "define the class outside the compiled function")
WOULD_RAISE = _add(
    "PB115", "the operation raises in eager",
    "The operands do not fit the operation, so that torch raises an error.",
    "see the error that eager raises")
BUDGET = _add(
    "PB116", "the capture budget is used up",
    "The function executed more instructions than one segment may hold.",
    "compile the inner function instead, or raise the budget")
INTERNAL_NESTED = _add(
    "PB117", "a break inside Python code called by a built-in",
    "The code runs under a C function, so that no frame can be carried on from there.",
    "see the inner operation")
GRAD_TARGET = _add(
    "PB118", "autograd used inside the function",
    "Gradients are asked for while the graph is still being recorded.",
    "call backward outside the compiled function")
GENERATOR = _add(
    "PB119", "random numbers from a generator object",
    "The state of a torch.Generator that the program holds cannot be put back if the graph fails, so draws from it run "
    "in Python.",
    "draw from the default generator, or draw before the compiled call")
TRANSFORM = _add(
    "PB120", "a transform of torch.func",
    "vmap, grad, jvp and what is made of them run their function on wrapped tensors, which capture does not model; "
    "the call runs in Python as a whole.",
    "call the transform outside the compiled function, or accept the break")
