"""Names with parameters, such as ``agrawal(function=2, seed=7)``, as people write them on the command line."""

import ast
import re
from typing import Any

from thalweg.core.params import shown


def parse(text: str, first: str = "") -> tuple[str, dict[str, Any]]:
    """Read ``name`` or ``name(parameter=value, …)``; a value that is such a name itself is text, quoted or not.

    first: the name of a parameter that may be given without it, as the first one.

    >>> parse("agrawal(function=2, seed=7)")
    ('agrawal', {'function': 2, 'seed': 7})
    >>> parse("image-drift(stream=mnist(limit=2000), change=rotate)")
    ('image-drift', {'stream': 'mnist(limit=2000)', 'change': 'rotate'})
    >>> parse("standard-scaler(columns=[age, salary])")
    ('standard-scaler', {'columns': ['age', 'salary']})
    >>> parse("threshold(arf(size=5), alerts=0.01)", first="learner")
    ('threshold', {'learner': 'arf(size=5)', 'alerts': 0.01})
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
        if len(call.args) > bool(first) or len({k.arg for k in call.keywords}) != len(call.keywords):
            raise ValueError("without a name, or twice")
        placed = dict(zip([first], [_value(source, value) for value in call.args], strict=False))
        return name, placed | {k.arg or "**": _value(source, k.value) for k in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ValueError(f"parameters must read like (function=2, seed=7), got {shown(f'({inside})')}") from None


def steps(text: str) -> list[str]:
    """Split what is joined by bars: transformers, and the learner behind them.

    >>> steps("standard-scaler | one-hot(max_values=8) | arf")
    ['standard-scaler', 'one-hot(max_values=8)', 'arf']
    """
    if not isinstance(text, str):
        return [text]
    return [part.strip() for part in text.split("|")]


def _value(source: str, node: ast.expr) -> Any:
    """Read a value: a literal, a name, which is text, or a list of these."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        if isinstance(node, (ast.List, ast.Tuple)):
            read = [_value(source, each) for each in node.elts]
            return read if isinstance(node, ast.List) else tuple(read)
        text = ast.get_source_segment(source, node) or ""
        if not re.fullmatch(r"[^\W\d][\w.+-]*(\(.*\))?", text, re.DOTALL):
            raise
        return text
