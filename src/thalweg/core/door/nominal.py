"""Values of nominal features and their codes."""

from typing import Any

from thalweg.core.params import shown
from thalweg.core.schema import Feature, refuse_unwritable


def nominal_codes(values: list[Any], feature: Feature, learning: bool) -> tuple[list[int], Feature]:
    """Give each value its code; unseen ones join an open feature when learning, else get the code "unseen"."""
    known = feature.codes
    new = [v for v in dict.fromkeys(values) if v not in known]
    if new and known and isinstance(new[0], str) != isinstance(next(iter(known)), str):
        kind = "numbers" if isinstance(new[0], str) else "text"
        raise TypeError(f"feature {feature.name!r} must hold its values, which are {kind}, got {shown(new[0])}")
    if new and not feature.open:
        raise ValueError(
            f"feature {feature.name!r} must be one of {shown(list(feature.values or ()), 200)}, got {shown(new[0])}"
        )
    if new and learning:
        refuse_unwritable(f"feature {feature.name!r}", new)
        feature = Feature(feature.name, (*(feature.values or ()), *new), open=True)
        known = feature.codes
    unseen = len(known)
    return [known.get(v, unseen) for v in values], feature
