"""Names with parameters, such as ``agrawal(function=2, seed=7)``, as people write them on the command line."""

import ast
import re
from typing import Any

from thalweg.core.params import shown


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``name`` or ``name(parameter=value, …)``; a value that is such a name itself is text, quoted or not.

    >>> parse("agrawal(function=2, seed=7)")
    ('agrawal', {'function': 2, 'seed': 7})
    >>> parse("image-drift(stream=mnist(limit=2000), change=rotate)")
    ('image-drift', {'stream': 'mnist(limit=2000)', 'change': 'rotate'})
    """
    match = re.fullmatch(r"\s*([\w.+-]+)\s*(?:\((.*)\))?\s*", text, re.DOTALL) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"a name must read like agrawal or agrawal(function=2), got {shown(text)}")
    name, inside = match.groups()
    source = f"f({inside or ''})"
    try:
        call = ast.parse(source, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("something after the parameters")
        if call.args or len({k.arg for k in call.keywords}) != len(call.keywords):
            raise ValueError("without a name, or twice")
        return name, {k.arg or "**": _value(source, k.value) for k in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ValueError(f"parameters must read like (function=2, seed=7), got {shown(f'({inside})')}") from None


def _value(source: str, node: ast.expr) -> Any:
    """Read a value: a literal, or a name, which is text."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        text = ast.get_source_segment(source, node) or ""
        if not re.fullmatch(r"[^\W\d][\w.+-]*(\(.*\))?", text, re.DOTALL):
            raise
        return text
