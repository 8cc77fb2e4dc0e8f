"""Parameters declared once: name, type, default, range and meaning, in one line of the class body.

A class that inherits ``Parametrised`` declares its parameters as typed attributes:

    class Tree(Classifier):
        delta: float = number(default=1e-7, doc="Allowed error of one decision (δ).", above=0, below=1)
        leaf: Literal["majority", "bayes"] = choice(default="bayes", doc="How a leaf answers.")
        limit_bytes: int | None = whole(default=None, doc="Ceiling of the model's size; None: no limit.", least=1)

Everything else is made from that: the keyword-only constructor with its signature, the check of each value with its
sentence, ``get_params``, and the Parameters section of the class's docstring. Type checkers and editors see a typed
constructor (PEP 681). Families share parameters through a base class; a subclass that only wants another default says
``delta: float = again(default=0.01)``. Parameters stand in the order of the class's own declarations, then of its
bases'. One without a default must be given. One that may be given by position says ``kw_only=False``; those of the
bases come first.

What concerns several parameters at once, or follows from them, goes into ``_prepare``, which runs when all are set.
A parameter that had another name says ``old="its old name"``: that name still works, with a warning, and still loads
from files.
"""

import difflib
import inspect
import re
import textwrap
import types
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin

from thalweg.core import params
from thalweg.core.notebook import card

T = TypeVar("T")
REQUIRED: Any = inspect.Parameter.empty
"""The default of a parameter that must be given."""
_SAME: Any = object()
_IN = " " * 4


@dataclass(frozen=True)
class Field:
    """A parameter: its default, its meaning, what it may be."""

    default: Any
    doc: str
    check: Callable[[str, Any], None] | None = None
    span: str = ""
    """The allowed interval, for the docstring."""
    old: str = ""
    """The name that the parameter had before."""
    old_values: Mapping[Any, Any] = field(default_factory=dict)
    """Values that were written in another word before."""
    kw_only: bool = True
    """Must it be given by name?"""
    alias: str = ""
    """The name of the parameter, where the attribute that keeps it is called otherwise."""
    kept: str = ""
    """The attribute that keeps it."""
    name: str = ""
    kind: Any = None


def number(
    *,
    doc: str,
    default: float | None = REQUIRED,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    old: str = "",
    kw_only: bool = True,
) -> Any:
    """Declare a finite number in an interval; None is allowed where the type says so."""

    def check(name: str, value: Any) -> None:
        params.number(name, value, above=above, least=least, below=below, most=most)

    return Field(default, doc, check, _span(above, least, below, most), old, kw_only=kw_only)


def whole(
    *,
    doc: str,
    default: int | None = REQUIRED,
    above: int | None = None,
    least: int | None = None,
    below: int | None = None,
    most: int | None = None,
    old: str = "",
    kw_only: bool = True,
) -> Any:
    """Declare a whole number in an interval; None is allowed where the type says so."""

    def check(name: str, value: Any) -> None:
        params.whole(name, value, above=above, least=least, below=below, most=most)

    return Field(default, doc, check, _span(above, least, below, most), old, kw_only=kw_only)


def choice(*, default: Any, doc: str, old: str = "", old_values: Mapping[Any, Any] | None = None) -> Any:
    """Declare one of the texts that the type (a ``Literal``) lists."""
    return Field(default, doc, _one_of_the_type, old=old, old_values=old_values or {})


def flag(*, default: bool, doc: str, old: str = "") -> Any:
    """Declare True or False."""
    return Field(default, doc, params.flag, old=old)


def free(
    *,
    doc: str,
    default: Any = REQUIRED,
    check: Callable[[str, Any], Any] | None = None,
    old: str = "",
    kw_only: bool = True,
    alias: str = "",
) -> Any:
    """Declare anything else; ``check(name, value)`` refuses what it must not be.

    alias: the name of the parameter, where another attribute than the one of that name keeps it.
    """
    return Field(default, doc, check, old=old, kw_only=kw_only, alias=alias)


def again(*, default: Any = _SAME, doc: str = "", kw_only: bool = True) -> Any:
    """Declare an inherited parameter again, at this place: with another default, or another meaning."""
    return Field(default, doc, _as_before, kw_only=kw_only)


def fixed(value: T, *, init: Literal[False] = False) -> T:
    """Mark a typed class attribute that is no parameter (type checkers would take it for one)."""
    return value


def _one_of_the_type(name: str, value: Any) -> None:
    """Stands for the check of a choice until its type is known."""


def _as_before(name: str, value: Any) -> None:
    """Stands for the check of the inherited parameter."""


def collect(cls: type) -> dict[str, Field]:
    """Take the declarations out of a class body; give all parameters of the class by name, in order.

    First those that may be given by position: those of the furthest base first, as type checkers count them.
    """
    inherited: dict[str, Field] = {}
    eldest: dict[str, Field] = {}
    for base in cls.__mro__[1:]:
        theirs = base.__dict__.get("_fields", {})
        inherited |= {n: f for n, f in theirs.items() if n not in inherited}
        eldest = {**theirs, **eldest}
    annotations = inspect.get_annotations(cls)
    own: dict[str, Field] = {}
    for name, declared in list(vars(cls).items()):
        if isinstance(declared, Field):
            said = declared.alias or name
            made = _completed(cls, said, declared, annotations.get(name, Any), inherited.get(said))
            own[said] = replace(made, kept=name)
            delattr(cls, name)
    found = own | {name: f for name, f in inherited.items() if name not in own}
    first = [n for n in (eldest | own) if not found[n].kw_only]
    return {name: found[name] for name in (*first, *found)}


def _completed(cls: type, name: str, declared: Field, kind: Any, before: Field | None) -> Field:
    if declared.check is _as_before:
        if before is None:
            raise TypeError(f"{cls.__name__} declares {name!r} again, and no base class has it")
        default = before.default if declared.default is _SAME else declared.default
        again = replace(before, default=default, doc=declared.doc or before.doc, kw_only=declared.kw_only)
        return _ranged(again, kind)
    return _ranged(replace(declared, name=name), kind)


def _ranged(f: Field, kind: Any) -> Field:
    """Let the type have its say: the options of a choice, and whether None is one of the values."""
    options = _options(kind)
    if options and (f.check is _one_of_the_type or (f.kind is not None and _options(f.kind))):
        return replace(f, kind=kind, check=lambda name, value: params.choice(name, value, options))
    check = f.check
    if check is not None and type(None) in get_args(kind) and f.kind != kind:
        inner = check
        return replace(f, kind=kind, check=lambda name, value: None if value is None else inner(name, value))
    return replace(f, kind=kind)


def _options(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    parts = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else ()
    found = [_options(p) if p is not type(None) else (None,) for p in parts]
    return tuple(v for some in found for v in some) if found and all(found) else ()


def constructor(cls: type, fields: Mapping[str, Field]) -> Callable[..., None]:
    """Make the constructor of a class from its parameters."""
    by_name, by_position = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = [name for name, f in fields.items() if not f.kw_only]

    def init(self: Any, *placed: Any, **given: Any) -> None:
        if len(placed) > len(first):
            those = f": {', '.join(first)}" if first else ""
            got = f"{len(placed)} were given"
            raise TypeError(f"{type(self).__name__} takes {len(first)} positional arguments{those}, but {got}")
        in_order = dict(zip(first, placed, strict=False))
        if twice := in_order.keys() & given.keys():
            raise TypeError(f"{type(self).__name__} got {min(twice)!r} twice, by position and by name")
        fill(self, fields, in_order | given)

    named = [
        inspect.Parameter(n, by_name if f.kw_only else by_position, default=f.default, annotation=f.kind)
        for n, f in fields.items()
    ]
    own = inspect.Parameter("self", by_position)
    init.__signature__ = inspect.Signature([own, *named])  # type: ignore[attr-defined]
    init.__name__, init.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    init.__doc__ = "Take and check the parameters."
    return init


ELSEWHERE = {
    "random_state": "seed", "random_seed": "seed", "n_estimators": "size", "n_models": "size", "ensemble_size": "size",
    "max_features": "subspace", "n_neighbors": "k", "window_size": "window", "max_size": "limit_bytes",
    "split_confidence": "delta", "confidence": "delta", "tie_threshold": "tau", "split_criterion": "criterion",
    "leaf_prediction": "leaf", "lambda_value": "rate", "lambda_param": "rate", "base_estimator": "learner",
    "estimator": "learner", "model": "learner", "estimators": "learners", "models": "learners", "n_threads": "n_jobs",
    "drift_detector": "drift", "drift_detection_method": "drift", "warning_detector": "warning",
    "n_components": "p", "batch_size": "chunk", "chunk_size": "chunk",
}  # fmt: skip
"""What scikit-learn, river and MOA call parameters that have other names here."""
WRAPPED = {
    "class_weight": "Balanced",
    "threshold": "Threshold",
    "costs": "CostSensitive",
    "cost_matrix": "CostSensitive",
}
"""What another learner around this one does."""


def meant(name: str, known: Iterable[str]) -> str:
    """Say which parameter was probably meant, and which there are.

    >>> meant("random_state", ["size", "seed"])
    "did you mean 'seed'? It has size, seed"
    """
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    close = ELSEWHERE[name] if ELSEWHERE.get(name) in known else near[0] if near else None
    hint = f"did you mean {close!r}? " if close else ""
    around = f"put {WRAPPED[name]}(…) around it. " if name in WRAPPED and not hint else ""
    return f"{hint}{around}It has {', '.join(known) or 'none'}"


def fill(obj: Any, fields: Mapping[str, Field], given: Mapping[str, Any]) -> None:
    """Check the parameters that were given, and set all."""
    kind = type(obj).__name__
    today = in_todays_words(fields, given)
    for old, value in given.items():
        if today.get(old, _SAME) is not value:
            new = next((n for n, f in fields.items() if f.old == old), old)
            said = f"{new}={today[new]!r}" if new == old else f"{new!r}"
            warnings.warn(f"{old!r} of {kind} is now called {said}", DeprecationWarning, stacklevel=4)
    for name in today:
        if name not in fields:
            raise TypeError(f"{kind} has no parameter {name!r}: {meant(name, fields)}")
    for name, f in fields.items():
        value = today.get(name, f.default)
        if value is REQUIRED:
            raise TypeError(f"{kind} must be given {name!r}")
        if f.check is not None:
            f.check(name, value)
        setattr(obj, f.kept, value)
    obj._prepare()


def in_todays_words(fields: Mapping[str, Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """Write parameters in today's words: those of old files and old programs may have other names and values."""
    renamed = {f.old: n for n, f in fields.items() if f.old}
    today = {renamed.get(name, name): value for name, value in given.items()}
    return {n: _reworded(fields[n].old_values, v) if n in fields else v for n, v in today.items()}


def _reworded(words: Mapping[Any, Any], value: Any) -> Any:
    return words[value] if words and isinstance(value, str) and value in words else value


def documented(text: str | None, fields: Mapping[str, Field]) -> str | None:
    """Put the Parameters section into a docstring, before its other sections and examples.

    >>> fields = {"delta": Field(0.01, "Allowed error (δ).", None, "(0, 1)", kind=float)}
    >>> (documented("Grow a tree.", fields) or "").splitlines()[2:5]
    ['Parameters', '----------', 'delta : float in (0, 1), default 0.01']
    """
    if text is None or not fields or re.search(r"^\s*Parameters\n\s*-+$", text, re.MULTILINE):
        return text
    text = inspect.cleandoc(text)
    lines = ["Parameters", "----------"]
    for name, f in fields.items():
        kind = words_of(f.kind) + (f" in {f.span}" if f.span else "")
        default = "" if f.default is REQUIRED else f", default {_quoted(f.default)}"
        lines += [f"{name} : {kind}{default}", *textwrap.wrap(f.doc, 112, initial_indent=_IN, subsequent_indent=_IN)]
    section = "\n".join(lines)
    after = re.search(r"^(?:\w[\w ]*\n-{3,}$|References?: |>>> )", text, re.MULTILINE)
    if after is None:
        return f"{text}\n\n{section}"
    return f"{text[: after.start()].rstrip()}\n\n{section}\n\n{text[after.start() :]}"


def words_of(kind: Any) -> str:
    """Write a type as people say it.

    >>> words_of(int | None), words_of(Literal["gain", "gini"])
    ('int or None', '{"gain", "gini"}')
    """
    if get_origin(kind) is Literal:
        return "{" + ", ".join(map(_quoted, get_args(kind))) + "}"
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(words_of(part) for part in get_args(kind))
    if kind in (None, type(None)):
        return "None"
    if kind is Any:
        return "object"
    return str(kind.__name__ if isinstance(kind, type) and not get_args(kind) else kind).replace("typing.", "")


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _span(above: float | None, least: float | None, below: float | None, most: float | None) -> str:
    if above is least is below is most is None:
        return ""
    left = f"({above}" if above is not None else f"[{least}" if least is not None else "(-∞"
    right = f"{below})" if below is not None else f"{most}]" if most is not None else "∞)"
    return f"{left}, {right}"


@dataclass_transform(
    kw_only_default=True, eq_default=False, field_specifiers=(number, whole, choice, flag, free, again, fixed)
)
class Parametrised:
    """An object that keeps each parameter of its constructor as an attribute of the same name."""

    _fields: ClassVar[Mapping[str, Field]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._fields = collect(cls)
        if "__init__" not in vars(cls) and cls._fields:
            cls.__init__ = constructor(cls, cls._fields)  # type: ignore[method-assign]
            cls.__doc__ = documented(cls.__doc__, cls._fields)

    def _prepare(self) -> None:
        """Check what concerns several parameters, and make what follows from them; by default nothing."""

    @classmethod
    @lru_cache
    def _defaults(cls) -> dict[str, Any]:
        found = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters by name; deep: also those inside others, as ``learner__delta``, where they can be set."""
        own = {name: self._param(name) for name in self._defaults()}
        deep = deep and hasattr(self, "set_params")
        inside = [(name, value) for name, value in own.items() if deep and isinstance(value, Parametrised)]
        return own | {f"{name}__{key}": v for name, value in inside for key, v in value.get_params().items()}

    def _param(self, name: str) -> Any:
        return getattr(self, self._fields[name].kept if name in self._fields else name)

    def _repr_html_(self) -> str:
        defaults = self._defaults()
        rows = [((name, params.shown(v)), v is not defaults[name] and v != defaults[name])
                for name, v in self.get_params(deep=False).items()]  # fmt: skip
        return card(params.shown(self, 200), ["parameter", "value"], rows, open=any(marked for _, marked in rows))

    def __repr__(self) -> str:
        defaults = self._defaults()
        changed = {k: v for k, v in self.get_params(deep=False).items() if v is not defaults[k] and v != defaults[k]}
        first = {name for name, f in self._fields.items() if not f.kw_only and f.default is REQUIRED}
        parts = [repr(v) if name in first else f"{name}={v!r}" for name, v in changed.items()]
        return f"{type(self).__name__}({', '.join(parts)})"
