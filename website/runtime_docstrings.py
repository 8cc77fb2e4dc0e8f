"""What mkdocstrings asks about a class: the docstring and the signature that it has once it is made.

Parameters are declared as fields (``thalweg.core.fields``), and the constructor and the Parameters section of the
docstring are made from them when the class is. The sources alone do not show either.
"""

import importlib
import inspect
import re
from typing import Any

from griffe import Class, Docstring, Extension, Function, Parameter, ParameterKind, Parameters

CHOICES = re.compile(r"^(\w+ : )\{(.+?)\}", re.MULTILINE)
"""The values of a parameter as numpydoc writes them. Griffe would show the first one as the default, whatever it is."""


def described(doc: str) -> str:
    """The docstring with its choices in words, so that the stated default is shown."""
    return CHOICES.sub(r"\1one of \2", inspect.cleandoc(doc))


class RuntimeDocstrings(Extension):
    """Give each class with declared parameters its docstring and its constructor."""

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """Look at the class itself once its source has been read."""
        if not cls.module.path.startswith("thalweg"):
            return
        found: Any = importlib.import_module(cls.module.path)
        for name in cls.path.removeprefix(f"{cls.module.path}.").split("."):
            found = getattr(found, name, None)
        if not getattr(found, "_fields", None) or "__init__" in cls.members or not isinstance(found, type):
            return
        cls.docstring = Docstring(described(found.__doc__ or ""), parent=cls, parser="numpy")
        cls.set_member("__init__", self._constructor(found))
        for name in set(found._fields) & set(cls.members):
            cls.del_member(name)

    @staticmethod
    def _constructor(found: Any) -> Function:
        named = []
        for p in inspect.signature(found).parameters.values():
            default = None if p.default is p.empty else repr(p.default)
            named.append(Parameter(p.name, kind=ParameterKind.keyword_only, default=default))
        return Function("__init__", parameters=Parameters(Parameter("self"), *named))
