"""Names with parameters, such as ``agrawal(function=2, seed=7)``, as people write them on the command line."""

import ast
import re
from typing import Any

from thalweg.core.params import shown


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``name`` or ``name(parameter=value, …)``.

    >>> parse("agrawal(function=2, seed=7)")
    ('agrawal', {'function': 2, 'seed': 7})
    """
    match = re.fullmatch(r"\s*([\w.+-]+)\s*(?:\((.*)\))?\s*", text, re.DOTALL) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"a name must read like agrawal or agrawal(function=2), got {shown(text)}")
    name, inside = match.groups()
    try:
        call = ast.parse(f"f({inside or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args or len({k.arg for k in call.keywords}) != len(call.keywords):
            raise ValueError("without a name, or twice")
        return name, {k.arg or "**": ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError, TypeError, AssertionError, MemoryError, RecursionError):
        raise ValueError(f"parameters must read like (function=2, seed=7), got {shown(f'({inside})')}") from None
