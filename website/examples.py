"""Examples of docstrings as a reader can run them: with the imports that a doctest takes from its file for granted."""

import ast
import builtins
import doctest
import inspect
from typing import Any

import thalweg


def complete(example: str, thing: Any) -> str:
    """Put the missing imports before an example of a class or function."""
    missing = free_names(example)
    public = sorted(name for name in missing if name in thalweg.__all__)
    lines = [">>> import numpy as np"] if "np" in missing else []
    lines += [f">>> from thalweg import {', '.join(public)}"] if public else []
    lines += [_imported(name, inspect.getmodule(thing)) for name in sorted(missing - {"np", *public})]
    return "\n".join([*lines, example])


def free_names(example: str) -> set[str]:
    """The names that an example uses and does not make."""
    nodes = list(ast.walk(ast.parse("\n".join(e.source for e in doctest.DocTestParser().get_examples(example)))))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    made = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    imports = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    made |= {(alias.asname or alias.name).split(".")[0] for alias in imports}
    return {node.id for node in names} - made - set(dir(builtins))


def _imported(name: str, home: Any) -> str:
    """The line that brings a name of the file, from where it was made."""
    thing = getattr(home, name)
    if inspect.ismodule(thing):
        return f">>> import {thing.__name__} as {name}" if thing.__name__ != name else f">>> import {name}"
    return f">>> from {getattr(thing, '__module__', None) or home.__name__} import {name}"
