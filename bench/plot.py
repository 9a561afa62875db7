"""Quality against tokens kept, one picture a data set, one panel a measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .rows import UNBOUND
from .tables import MEASURES, measures_of, systems_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .tables import Row

COLOURS = {
    "default": "#0072b2",
    "lexical": "#d55e00",
    "sentinel": "#009e73",
    "embedding": "#cc79a7",
    "retrieval-heads": "#56b4e9",
    "random": "#999999",
    "lead": "#e69f00",
    "truncate": "#000000",
}
OTHERS = ("#7b3294", "#8c510a", "#01665e", "#b2182b", "#4d4d4d", "#762a83")
"""For methods that have no colour of their own; all told apart without red and green."""

SHARE, TOKENS = "o", "s"
PANEL = (4.6, 3.6)
DPI = 120
SETTINGS = {
    "svg.hashsalt": "foveate",  # the same picture is the same file
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}


def draw(data: str, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write `DATA.svg` and `DATA.png`; needs matplotlib, no display.

    Tokens kept are means over records, on a logarithmic axis. Round marks and whole lines
    are budgets given as a share, squares and dashed lines as tokens; the bands are the 95%
    intervals of the default and of BM25.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    measures = measures_of(rows)
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(PANEL[0] * max(1, len(measures)), PANEL[1]), layout="constrained")
        panels = figure.subplots(1, max(1, len(measures)), squeeze=False)[0]
        for axes, measure in zip(panels, measures, strict=False):
            _panel(axes, measure, rows)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
        figure.suptitle(f"{data} (n = {max(row['n'] for row in rows)})")
        folder.mkdir(parents=True, exist_ok=True)
        vector, raster = folder / f"{data}.svg", folder / f"{data}.png"
        figure.savefig(vector, metadata={"Date": None})
        figure.savefig(raster, dpi=DPI, metadata={"Software": None})
    return [vector, raster]


def _panel(axes: Any, measure: str, rows: Sequence[Row]) -> None:
    for system in systems_of(rows):
        points = sorted(
            (row for row in rows if row["system"] == system and row[measure] is not None),
            key=lambda row: row["tokens_kept"],
        )
        if not points:
            continue
        if system == UNBOUND:
            axes.axhline(points[0][measure], color="#666666", ls=":", lw=1, label="full")
            continue
        _line(axes, system, measure, points)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    ticks = sorted({round(row["tokens_kept"]) for row in rows if row["system"] == "default"})
    if ticks:
        axes.set_xticks(_apart(ticks))
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("tokens kept")
    axes.set_title(MEASURES[measure], fontsize=9)


def _line(axes: Any, system: str, measure: str, points: Sequence[Row]) -> None:
    known = COLOURS.get(system)
    colour = known or OTHERS[sum(map(ord, system)) % len(OTHERS)]
    main = system == "default"
    shown = system
    # A line each: a share gives long records more, tokens give all the same.
    for style, of_kind in (("-" + SHARE, float), ("--" + TOKENS, int)):
        chosen = [row for row in points if isinstance(row["budget"], of_kind)]
        if not chosen:
            continue
        x = [row["tokens_kept"] for row in chosen]
        axes.plot(
            x,
            [row[measure] for row in chosen],
            style,
            color=colour,
            lw=2.2 if main else 1.1,
            ms=5 if main else 3.5,
            zorder=3 if main else 2,
            label=shown,
        )
        shown = "_nolegend_"  # one entry a system
        if system in ("default", "lexical"):
            low, high = zip(*(row["ci"][measure] for row in chosen), strict=True)
            axes.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)


def _apart(ticks: Sequence[float], ratio: float = 1.35) -> list[float]:
    """Ticks that do not write over each other on a logarithmic axis."""
    kept: list[float] = []
    for tick in ticks:
        if tick > 0 and (not kept or tick / kept[-1] >= ratio):
            kept.append(tick)
    return kept
