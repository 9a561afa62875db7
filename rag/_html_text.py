"""Text into HTML: escaped, and valid whatever it holds."""

from __future__ import annotations

import html
import math
import re

# Lone surrogates cannot be encoded, and control characters may not stand in HTML.
_INVALID = re.compile("[\ud800-\udfff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")


def escape(text: str) -> str:
    """Text that is safe in an element and in a quoted attribute."""
    return html.escape(_INVALID.sub("\ufffd", text), quote=True)


def share(value: float) -> float:
    """Brought into [0, 1]; what is no number is 0."""
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0


def percent(value: float) -> str:
    """A share as a CSS length."""
    return f"{100 * share(value):.4g}%"


def milliseconds(value: float) -> str:
    """A time with three digits or so, in the unit that reads best."""
    if not math.isfinite(value):
        return "?"
    if value < 1:
        return f"{value:.2f} ms"
    if value >= 10_000:
        return f"{value / 1000:,.1f} s"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"


def reduction(before: int, after: int) -> str:
    """How the token count changed, in percent: "−73%"."""
    change = round(100 * (after / before - 1)) if before else 0
    return f"−{-change}%" if change < 0 else f"{change}%"


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
