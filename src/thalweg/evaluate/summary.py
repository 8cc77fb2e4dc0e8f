"""What a result means, in a few plain sentences: what is found, what is missed, and whether guessing does better."""

from typing import TYPE_CHECKING, Any, Literal

from thalweg.show.tables import share_text, weight_text

if TYPE_CHECKING:
    from thalweg.evaluate.result import Result

Kind = Literal["nothing", "one class", "rare class", "two classes", "many classes"]

RARE = 0.2
"""One of two classes is called rare if it has at most this share of the rows."""
MOST_NAMED = 3
"""So many of the worst classes are named."""


def kind(result: "Result") -> Kind:
    """Say what kind of problem the rows were: this decides which numbers matter."""
    supports = [s.support for s in result.per_class.values() if s.support > 0.0]
    if not supports:
        return "nothing"
    if len(supports) == 1:
        return "one class"
    if len(supports) > 2:
        return "many classes"
    return "rare class" if min(supports) <= RARE * sum(supports) else "two classes"


def rarest(result: "Result") -> Any:
    """Give the label of the class with the fewest rows among those that occur; the later one of equals."""
    scores = result.per_class
    return min(reversed([c for c in scores if scores[c].support > 0.0]), key=lambda c: scores[c].support)


def commonest(result: "Result") -> Any:
    """Give the label of the class with the most rows; the first of equals."""
    scores = result.per_class
    return max(scores, key=lambda c: scores[c].support)


def summary(result: "Result") -> str:
    """Say in a few sentences what a result means."""
    what = kind(result)
    if what == "nothing":
        return "No rows were scored, so there is nothing to report."
    if what == "one class":
        only = rarest(result)
        said = [
            f"All {weight_text(result.per_class[only].support)} rows are {_of(only)}: with only one class there is "
            f"nothing to tell apart, and the accuracy means little."
        ]
    elif what == "rare class":
        said = _rare(result)
    else:
        said = [_overall(result), *_worst(result)] if what == "many classes" else [_overall(result)]
    return " ".join([*said, *_unlearned(result)])


# -- a rare class -----------------------------------------------------------------------------------------------------


def _rare(result: "Result") -> list[str]:
    label = rarest(result)
    score = result.per_class[label]
    if score.predicted == 0.0:
        found = f"Never says {_quoted(label)}: finds none of {_rows_of(label, score.support)}."
    else:
        found = (
            f"Finds {weight_text(score.found)} of {_rows_of(label, score.support)} ({share_text(score.recall)}); "
            f"{share_text(score.precision)} of the {weight_text(score.predicted)} rows that it calls {_quoted(label)} "
            f"{'is' if score.predicted == 1.0 else 'are'}."
        )
    return [found, _against_rules(result), *_ranking(result, label)]


def _against_rules(result: "Result") -> str:
    """Compare with always saying one class, and with repeating the last label."""
    common, right = commonest(result), result.accuracy
    rules = {f"always saying {_quoted(common)}": _majority(result), "repeating the last label": _no_change(result)}
    better = {rule: value for rule, value in rules.items() if value > right}
    if not better:
        rule, value = max(rules.items(), key=lambda pair: (pair[1] == pair[1], pair[1]))
        mine, theirs = _apart(right, value)
        return f"It is right on {mine} of all rows; {rule} would be right on {theirs}."
    rule, value = max(better.items(), key=lambda pair: pair[1])
    mine, theirs = _apart(right, value)
    return f"{rule[0].upper()}{rule[1:]} would be right more often ({theirs} against {mine})."


def _ranking(result: "Result", label: Any) -> list[str]:
    """Say what the scores could find, where that is more than the predictions do."""
    there = result.final.get("recall_at_budget", float("nan"))
    if not there > result.per_class[label].recall:
        return []
    return [
        f"The 1 % of the rows with the highest probability of {_quoted(label)} hold {share_text(there)} of them: "
        f"rank rows by predict_proba to find more."
    ]


# -- other problems ---------------------------------------------------------------------------------------------------


def _overall(result: "Result") -> str:
    right, majority, last = result.accuracy, _majority(result), _no_change(result)
    always = f"always saying {_quoted(commonest(result))}"
    mine, by_majority, by_last = _apart(right, majority, last)
    scored = result.joined.get("matched", result.rows)
    said = f"Right on {mine} of {scored:,} rows; {always} would be right on {by_majority}"
    if last == last:
        said += f", repeating the last label on {by_last}"
    worse = [rule for rule, value in ((always, majority), ("repeating the last label", last)) if right < value]
    return f"{said}: it does worse than {' and than '.join(worse)}." if worse else f"{said}."


def _worst(result: "Result") -> list[str]:
    """Name the classes that are recognised worst."""
    scores = {label: s for label, s in result.per_class.items() if s.support > 0.0}
    never = [label for label, s in scores.items() if s.found == 0.0]
    if never:
        more = len(never) - MOST_NAMED
        names = [*map(_quoted, never[:MOST_NAMED]), *[f"{more:,} more"] * (more > 0)]
        return [f"It never recognises {_listed(names)}."]
    lowest = sorted(scores, key=lambda label: scores[label].recall)[: min(MOST_NAMED, len(scores) - 1)]
    below = [label for label in lowest if scores[label].recall < 0.9 * result.accuracy] or lowest[:1]
    names = [f"{_quoted(label)} ({share_text(scores[label].recall)} found)" for label in below]
    return [f"The hardest {'class is' if len(names) == 1 else 'classes are'} {_listed(names)}."]


def _unlearned(result: "Result") -> list[str]:
    waiting = result.labels_pending
    if not waiting:
        return []
    if not result.labels_used:
        return ["No label had arrived by the end of the run, so nothing was learned."]
    return [f"{waiting:,} {'label' if waiting == 1 else 'labels'} had not arrived by the end of the run."]


# -- numbers and names ------------------------------------------------------------------------------------------------


def _majority(result: "Result") -> float:
    supports = [s.support for s in result.per_class.values()]
    return max(supports) / sum(supports)


def _no_change(result: "Result") -> float:
    return result.baselines.get("no_change", float("nan"))


def _apart(*shares: float) -> list[str]:
    """Write shares with as many decimals, one to four, as those that differ from the first need to look different.

    >>> _apart(0.9275, 0.9279), _apart(0.842, 0.575)
    (['92.75 %', '92.79 %'], ['84.2 %', '57.5 %'])
    """
    for decimals in (1, 2, 3, 4):
        texts = [share_text(share, decimals) for share in shares]
        if all(text != texts[0] or share == shares[0] for text, share in zip(texts, shares, strict=True)):
            break
    return texts


def _quoted(label: Any) -> str:
    return f"'{label}'" if isinstance(label, str) else f"class {label}"


def _of(label: Any) -> str:
    return f"'{label}'" if isinstance(label, str) else f"of class {label}"


def _rows_of(label: Any, weight: float) -> str:
    return f"{weight_text(weight)} {_quoted(label) if isinstance(label, str) else f'rows of class {label}'}"


def _listed(names: list[str]) -> str:
    """Join names as a sentence does.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
