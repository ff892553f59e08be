"""Looking at the user's source: the statement on a line, the condition around it, names that are read."""

from __future__ import annotations

import ast
import difflib
import functools
import linecache
import re
from collections.abc import Iterator, Sequence


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def text_of(file: str) -> str:
    """The file's text as Python itself shows it in tracebacks; "" where there is none."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


def tree(file: str) -> ast.Module | None:
    text = text_of(file)
    return _parsed(text) if text else None


def line(file: str, number: int) -> str:
    return linecache.getline(file, number).strip()


def nodes_at(file: str, number: int) -> Sequence[ast.stmt | ast.expr]:
    """All nodes that begin on the line or span it, outermost first."""
    root = tree(file)
    if root is None:
        return []
    found = [n for n in ast.walk(root) if isinstance(n, (ast.stmt, ast.expr)) and n.lineno <= number <= (
        n.end_lineno or n.lineno)]
    return sorted(found, key=lambda n: (n.lineno, -(n.end_lineno or n.lineno)))


def statement(file: str, number: int) -> ast.stmt | None:
    """The innermost statement whose header or whole is on the line."""
    found = [n for n in nodes_at(file, number) if isinstance(n, ast.stmt)]
    best = [n for n in found if n.lineno == number] or [n for n in found if not hasattr(n, "body")]
    return best[-1] if best else None


def condition_at(file: str, number: int) -> ast.If | ast.While | ast.IfExp | None:
    """The if, while or conditional expression whose test is on the line."""
    for n in reversed(nodes_at(file, number)):
        if isinstance(n, (ast.If, ast.While, ast.IfExp)) and n.test.lineno <= number <= (n.test.end_lineno or 0):
            return n
    return None


def function_at(file: str, number: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function definition around the line."""
    found = [n for n in nodes_at(file, number) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return found[-1] if found else None


def names(node: ast.AST) -> Iterator[str]:
    """Names that are read in the node."""
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def indexed_by(file: str, number: int, source: str) -> int | None:
    """The line where, in the function at `number`, something is indexed by the argument or name `source`."""
    scope: ast.AST | None = function_at(file, number) or tree(file)
    wanted = _last(source)
    if scope is None:
        return None
    for n in ast.walk(scope):
        if isinstance(n, ast.Subscript) and not isinstance(n.slice, ast.Slice) and wanted in {
                *names(n.slice), *(a.attr for a in ast.walk(n.slice) if isinstance(a, ast.Attribute))}:
            return n.lineno
    return None


def used_at(file: str, number: int, source: str) -> int | None:
    """The first line, in the function at `number`, that reads the argument or attribute `source`."""
    scope = function_at(file, number)
    wanted = _last(source)
    if scope is None:
        return None
    lines = [n.lineno for s in scope.body for n in ast.walk(s)
             if (isinstance(n, ast.Name) and n.id == wanted and isinstance(n.ctx, ast.Load))
             or (isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Attribute) and n.target.attr == wanted)
             or (isinstance(n, ast.Attribute) and n.attr == wanted and isinstance(n.ctx, ast.Load))]
    return min(lines, default=None)


INSIDE = re.compile(r"\.(shape|stride\(\)|size\(\)|__code__|__closure__|__defaults__|__kwdefaults__)(\W.*)?$")


def _last(source: str) -> str:
    """The last name of a source: `s.n` -> n, `x.shape[0]` -> x, `f.__code__` -> f."""
    return INSIDE.sub("", source.split(", ")[0]).split(".")[-1].split("[")[0]


def written_at(file: str, source: str) -> int | None:
    """The first line that writes the attribute `source` outside __init__."""
    root, wanted = tree(file), _last(source)
    if root is None:
        return None
    lines = []
    for scope in ast.walk(root):
        if isinstance(scope, ast.FunctionDef) and scope.name != "__init__":
            lines += [n.lineno for n in ast.walk(scope) if isinstance(n, ast.Attribute) and n.attr == wanted
                      and isinstance(n.ctx, ast.Store)]
    return min(lines, default=None)


def indexes(file: str, number: int) -> bool:
    """Whether the line indexes something by a value that is not a constant."""
    return any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) and not isinstance(n.slice, (
        ast.Slice, ast.Constant)) and n.lineno == number for n in nodes_at(file, number))


def diff(file: str, new: str) -> str:
    """A unified diff from the file's text to `new`."""
    old = text_of(file)
    return "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), file, file, n=2))
