"""Did you mean: the known word nearest to what a person wrote."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is most likely a misspelling of, or None when none is near."""
    options = sorted(known)
    folded = _fold(word)
    for option in options:
        if _fold(option) == folded:
            return option
    from difflib import SequenceMatcher  # only needed when something is wrong

    best, best_score = None, 0.6
    matcher = SequenceMatcher(autojunk=False, b=folded[:200])
    for option in options:
        matcher.set_seq1(_fold(option)[:200])
        if matcher.real_quick_ratio() > best_score and matcher.quick_ratio() > best_score:
            score = matcher.ratio()
            if score > best_score:
                best, best_score = option, score
    return best


def suggestion(word: str, known: Iterable[str], noun: str = "known") -> str | None:
    """The hint for an unknown word: the nearest known one, else all of them when they are few."""
    options = sorted(known)
    near = closest(word, options)
    if near is not None:
        return f"did you mean '{near}'?"
    if not options:
        return None
    shown = ", ".join(options[:16]) + (f", … ({len(options)} in all)" if len(options) > 16 else "")
    return f"{noun}: {shown}"


def _fold(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")
