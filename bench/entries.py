"""Outcomes as dictionaries, one a record: how they are filed, and what every benchmark takes."""

from __future__ import annotations

import argparse
import json
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Entry = dict[str, Any]


def grouped(entries: Iterable[Entry], *axes: str) -> dict[tuple[Any, ...], dict[str, Entry]]:
    """Entries by their values on these axes, then by record; a later one replaces an earlier."""
    groups: dict[tuple[Any, ...], dict[str, Entry]] = {}
    for entry in entries:
        groups.setdefault(itemgetter(*axes)(entry), {})[entry["record"]] = entry
    return groups


def write(path: Path | None, rows: Sequence[Entry]) -> None:
    """Rows as JSON, if they are wanted in a file."""
    if path:
        path.write_text(json.dumps(rows, indent=1) + "\n")


def parser(name: str, doc: str | None) -> argparse.ArgumentParser:
    """A parser with the arguments that every benchmark of records takes."""
    found = argparse.ArgumentParser(
        prog=f"python -m bench.{name}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--data", type=Path, nargs="+", required=True)
    found.add_argument("--limit", type=int)
    found.add_argument("--skip", type=int, default=0, help="records left out before the first")
    found.add_argument("--proxy", default="default")
    found.add_argument("--json", type=Path)
    found.add_argument("--fresh", action="store_true", help="forget what was measured before")
    found.add_argument("--mixed", action="store_true", help="go on although the code has changed")
    return found
