"""The smallest edit of the user's source for a cause, where it can be written without guessing; else None."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass

from ..torchdoor.dynamo import INTEGERS_VARY
from . import source


@dataclass(frozen=True, slots=True)
class Edit:
    """text: the whole file after the edit. keeps: what stays the same, in words; `changes` what does not."""

    file: str
    line: int
    text: str
    changes: str

    @property
    def diff(self) -> str:
        return source.diff(self.file, self.text)


def edit(cause: str, file: str, line: int) -> Edit | None:
    """The edit for a cause found on a line of a file."""
    make = EDITS.get(cause)
    if make is None or source.tree(file) is None or not source.line(file, line).isascii():
        return None         # the parser counts columns in bytes
    return make(file, line)


def _replaced(file: str, node: ast.stmt, lines: list[str]) -> str:
    """The file with the statement's lines replaced, at its own indentation."""
    old = source.text_of(file).splitlines()
    pad = old[node.lineno - 1][:node.col_offset]
    if pad.strip():         # the statement shares its line with another: `if x: print(x)`
        before, after = old[node.lineno - 1][:node.col_offset], old[(node.end_lineno or 0) - 1][node.end_col_offset:]
        middle = "; ".join(lines) or "pass"
        if not middle.strip(";") or middle == "pass":
            before, after = (before.rstrip().removesuffix(";"), after) if before.rstrip().endswith(";") else \
                (before + "pass", after)
            middle = ""
        new = [before + middle + after]
    else:
        new = [pad + s for s in lines]
        after = old[(node.end_lineno or 0) - 1][node.end_col_offset:].strip()
        if after.startswith(";") and after[1:].strip():
            new.append(pad + after[1:].strip())
    return "\n".join([*old[:node.lineno - 1], *new, *old[node.end_lineno or node.lineno:]]) + "\n"


def _alone(file: str, node: ast.stmt) -> bool:
    """Whether the statement is the only one of its block."""
    root = source.tree(file)
    assert root is not None
    for n in ast.walk(root):
        for block in ("body", "orelse", "finalbody"):
            inside = getattr(n, block, None)
            if isinstance(inside, list) and any(s is node for s in inside):
                return len(inside) == 1
    return False


def drop_statement(file: str, line: int) -> Edit | None:
    """Without an expression statement (a print, a log message)."""
    node = source.statement(file, line)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    return Edit(file, line, _replaced(file, node, ["pass"] if _alone(file, node) else []),
                "the text is no longer written; results stay")


def drop_unused(file: str, line: int) -> Edit | None:
    """Without an assignment of a call's result that nobody reads."""
    node, scope = source.statement(file, line), source.function_at(file, line)
    if scope is None or not isinstance(node, ast.Assign) or not all(isinstance(t, ast.Name) for t in node.targets):
        return drop_statement(file, line)
    targets = {t.id for t in node.targets if isinstance(t, ast.Name)}
    if targets & {n for s in scope.body for n in source.names(s)}:
        return None
    return Edit(file, line, _replaced(file, node, ["pass"] if _alone(file, node) else []),
                "a call whose result is not used is no longer made")


class _WithoutItem(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
            return node.func.value
        if isinstance(node.func, ast.Name) and node.func.id in ("bool", "float", "int") and len(node.args) == 1:
            return node.args[0]
        return node


def where(file: str, line: int) -> Edit | None:
    """`torch.where(condition, a, b)` for an if whose sides assign, or return, one value each."""
    node = source.condition_at(file, line)
    if not isinstance(node, ast.If):
        return None
    condition = ast.unparse(_WithoutItem().visit(copy.deepcopy(node.test)))
    if isinstance(node.test, (ast.BoolOp, ast.UnaryOp)) and not isinstance(node.test, ast.Compare):
        return None
    if len(node.body) != 1 or len(node.orelse) > 1:
        return None
    then, other = node.body[0], node.orelse[0] if node.orelse else None
    if isinstance(then, ast.Return) and other is None:
        follows = _next(file, node)
        if not isinstance(follows, ast.Return) or follows.value is None or then.value is None:
            return None
        text = f"return torch.where({condition}, {ast.unparse(then.value)}, {ast.unparse(follows.value)})"
        made = _replaced(file, node, [text]).splitlines()
        shift = 1 - ((node.end_lineno or 0) - node.lineno + 1)
        del made[follows.lineno - 1 + shift:(follows.end_lineno or 0) + shift]
        return Edit(file, line, _imported("\n".join(made) + "\n"), "both sides are computed, and one is chosen")
    if isinstance(then, ast.Return) and isinstance(other, ast.Return) and then.value and other.value:
        text = f"return torch.where({condition}, {ast.unparse(then.value)}, {ast.unparse(other.value)})"
    else:
        one = _assigned(then)
        two = _assigned(other) if other is not None else (one[0], one[0]) if one is not None else None
        if one is None or two is None or one[0] != two[0]:
            return None
        text = f"{one[0]} = torch.where({condition}, {one[1]}, {two[1]})"
    return Edit(file, line, _imported(_replaced(file, node, [text])), "both sides are computed, and one is chosen")


def _assigned(node: ast.stmt | None) -> tuple[str, str] | None:
    """(name, expression) of an assignment to one name, also of an augmented one."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, ast.unparse(node.value)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        name = node.target.id
        return name, ast.unparse(ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value))
    return None


def _next(file: str, node: ast.stmt) -> ast.stmt | None:
    root = source.tree(file)
    assert root is not None
    for n in ast.walk(root):
        for block in ("body", "orelse", "finalbody"):
            inside = getattr(n, block, None)
            if isinstance(inside, list):
                for a, b in zip(inside, inside[1:]):
                    if a is node:
                        return b
    return None


def _imported(text: str) -> str:
    """The text, with `import torch` at its top where the name is not bound there."""
    root = ast.parse(text)
    bound = {a.asname or a.name for n in root.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    if "torch" in bound or any("torch." in b for b in bound):
        return text
    return _after_imports(text, ["import torch"])


def _after_imports(text: str, new: list[str]) -> str:
    root, lines = ast.parse(text), text.splitlines()
    places = [n.end_lineno or 0 for n in root.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    at = max(places) if places else (root.body[0].end_lineno or 0) if root.body and isinstance(
        root.body[0], ast.Expr) else 0
    return "\n".join([*lines[:at], *new, *lines[at:]]) + "\n"


def masked_sum(file: str, line: int) -> Edit | None:
    """`torch.where(mask, x, 0).sum()` for `x[mask].sum()`."""
    for n in source.nodes_at(file, line):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "sum" and not n.args \
                and not n.keywords and isinstance(n.func.value, ast.Subscript) and isinstance(
                    n.func.value.slice, (ast.Compare, ast.Name)) and n.lineno == n.end_lineno:
            picked = n.func.value
            new = f"torch.where({ast.unparse(picked.slice)}, {ast.unparse(picked.value)}, 0).sum()"
            lines = source.text_of(file).splitlines()
            old = lines[n.lineno - 1]
            lines[n.lineno - 1] = old[:n.col_offset] + new + old[n.end_col_offset:]
            return Edit(file, line, _imported("\n".join(lines) + "\n"), "the same sum, over a fixed shape (rounding "
                        "may differ in the last digits)")
    return None


def contiguous(file: str, line: int, argument: str = "") -> Edit | None:
    """`x = x.contiguous()` as the first statement of the function at the line."""
    scope = source.function_at(file, line)
    if scope is None or argument not in {a.arg for a in scope.args.args}:
        return None
    first = scope.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(scope.body) > 1:
        first = scope.body[1]
    if first.lineno == scope.lineno:
        return None
    lines = source.text_of(file).splitlines()
    pad = " " * first.col_offset
    lines.insert(first.lineno - 1, f"{pad}{argument} = {argument}.contiguous()")
    return Edit(file, line, "\n".join(lines) + "\n", "the input is copied where it is not contiguous: the guard on its "
                "strides stays, so do this in the caller")


def without_static(file: str, line: int) -> Edit | None:
    """Without `dynamic=False` in the call that compiles."""
    root = source.tree(file)
    assert root is not None
    for n in ast.walk(root):
        if isinstance(n, ast.Call) and (ast.unparse(n.func).endswith("compile") or any(
                ast.unparse(a).endswith("compile") for a in n.args)):
            for k in n.keywords:
                if k.arg == "dynamic" and isinstance(k.value, ast.Constant) and k.value.value is False:
                    lines = source.text_of(file).splitlines()
                    row = lines[k.value.lineno - 1]
                    if k.lineno != k.value.end_lineno:
                        return None
                    lines[k.lineno - 1] = row[:k.value.col_offset] + "None" + row[k.value.end_col_offset:]
                    return Edit(file, k.lineno, "\n".join(lines) + "\n", "sizes that change become symbolic")
    return None


def hoisted(file: str, line: int) -> Edit | None:
    """`name = compile(function)` moved out of the function, where what is compiled is a module's own name."""
    root, scope = source.tree(file), source.function_at(file, line)
    if root is None or scope is None:
        return None
    tops = {n.name: n for n in root.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    for n in ast.walk(scope):
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and ast.unparse(n.value.func).endswith(
                "compile") and n.value.args and isinstance(n.value.args[0], ast.Name) and n.value.args[0].id in tops \
                and not isinstance(n.value.args[0].ctx, ast.Store) and len(n.targets) == 1 and isinstance(
                    n.targets[0], ast.Name):
            local = {a.arg for a in scope.args.args}
            if local & set(source.names(n.value)):
                return None
            text = ast.unparse(n)
            lines = _replaced(file, n, ["pass"] if _alone(file, n) else []).splitlines()
            top = next(t for t in root.body if t.lineno <= scope.lineno <= (t.end_lineno or 0))
            start = min([top.lineno, *(d.lineno for d in getattr(top, "decorator_list", []))])
            lines[start - 1:start - 1] = [text, "", ""]
            return Edit(file, n.lineno, "\n".join(lines) + "\n", "it is compiled once, when the module is loaded")
    return None


def integers_vary(file: str, line: int) -> Edit | None:
    """torch.compile's own switch that lets integer attributes of modules vary."""
    text = source.text_of(file)
    if INTEGERS_VARY[-1] in text:
        return None
    new = _after_imports(text, list(INTEGERS_VARY))
    return Edit(file, line, new, "integer attributes of all modules may vary, in the whole process")


EDITS: dict[str, Callable[[str, int], Edit | None]] = {
    "print": drop_statement, "logging": drop_statement, "item-in-condition": where, "data-branch": where,
    "data-shape": masked_sum, "c-function": drop_unused, "shapes-few": without_static, "shapes-many": without_static,
    "compile-in-loop": hoisted,
}
"""Cause -> what writes its edit."""
