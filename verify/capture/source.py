"""Places in Python source: of functions, their parameters, and of what a name was set to."""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from types import CodeType, FunctionType, ModuleType

from tileport.verify.model import Place

_IMPORT_HOPS = 8

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@functools.lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module | None:
    """The syntax tree of a file as it was imported, or None if it cannot be had."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def find_function(code: CodeType) -> Function | None:
    """The definition a code object was made from."""
    return _function_at(code.co_filename, code.co_firstlineno, code.co_name)


@functools.lru_cache(maxsize=512)
def _function_at(file: str, first_line: int, name: str) -> Function | None:
    tree = _tree(file)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            starts = [node.lineno, *(d.lineno for d in node.decorator_list)]
            if first_line in starts:
                return node
        elif isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == first_line:
            return node
    return None


def function_place(function: FunctionType) -> tuple[Place, int]:
    """The `def` line of a function, and its last line."""
    code = function.__code__
    node = find_function(code)
    if node is None:
        return Place(code.co_filename, code.co_firstlineno), code.co_firstlineno
    return (
        Place(code.co_filename, node.lineno, node.col_offset + 1),
        node.end_lineno or node.lineno,
    )


def parameters(function: FunctionType) -> dict[str, tuple[Place, str]]:
    """Of each parameter by name: its place and its annotation as written, empty if it has none."""
    node = find_function(function.__code__)
    if node is None:
        return {}
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {
        argument.arg: (
            Place(function.__code__.co_filename, argument.lineno, argument.col_offset + 1),
            ast.unparse(argument.annotation) if argument.annotation is not None else "",
        )
        for argument in every
    }


# ---------------------------------------------------------------- where a name was set


def _targets(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign():
            return list(node.targets)
        case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr() | ast.For():
            return [node.target]
        case _:
            return []


def _assignment(scope: ast.AST, name: str) -> ast.AST | None:
    """The last statement in `scope` itself, not in functions or classes in it, that sets `name`."""
    found: ast.AST | None = None
    stack = list(ast.iter_child_nodes(scope))
    while stack:
        node = stack.pop(0)
        for target in _targets(node):
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and part.id == name:
                    found = part
        if isinstance(node, ast.ImportFrom | ast.Import):
            if any((alias.asname or alias.name.partition(".")[0]) == name for alias in node.names):
                found = node
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == name:
                found = node
        elif not isinstance(node, ast.Lambda):
            stack = [*ast.iter_child_nodes(node), *stack]
    return found


def _place(file: str, node: ast.AST) -> Place:
    return Place(file, getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1)


def global_place(module: str, name: str, hops: int = _IMPORT_HOPS) -> Place | None:
    """Where a module's global was set; followed through `from x import name`."""
    owner = sys.modules.get(module)
    file = getattr(owner, "__file__", None)
    tree = _tree(file) if isinstance(file, str) and file.endswith(".py") else None
    if tree is None or file is None:
        return None
    node = _assignment(tree, name)
    if isinstance(node, ast.ImportFrom) and hops > 0:
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                origin = _absolute(owner, node)
                further = global_place(origin, alias.name, hops - 1) if origin else None
                return further or _place(file, node)
    return _place(file, node) if node is not None else None


def _absolute(owner: ModuleType | None, node: ast.ImportFrom) -> str | None:
    if node.level == 0:
        return node.module
    package = getattr(owner, "__package__", None)
    if not package:
        return None
    parts = package.split(".")
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def attribute_place(owner: object, name: str) -> Place | None:
    """Where an attribute of a module or class was set."""
    if isinstance(owner, ModuleType):
        return global_place(owner.__name__, name)
    kind = owner if isinstance(owner, type) else type(owner)
    for base in kind.__mro__:
        module = sys.modules.get(base.__module__)
        file = getattr(module, "__file__", None)
        tree = _tree(file) if isinstance(file, str) and file.endswith(".py") else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef) and node.name == base.__name__:
                found = _assignment(node, name)
                if found is not None and file is not None:
                    return _place(file, found)
    return None


def closure_place(code: CodeType, name: str) -> Place | None:
    """Where the enclosing function set a variable that a nested function closes over."""
    tree = _tree(code.co_filename)
    inner = find_function(code)
    if tree is None or inner is None:
        return None
    enclosing = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node is not inner
        and any(child is inner for child in ast.walk(node))
    ]
    # The innermost function comes last: it starts last of those that hold the same definition.
    for node in sorted(enclosing, key=lambda n: n.lineno, reverse=True):
        found = _assignment(node, name)
        if found is not None:
            return _place(code.co_filename, found)
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if argument.arg == name:
                return _place(code.co_filename, argument)
    return None
