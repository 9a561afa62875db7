"""Outcomes as they come, one JSON line each, so that a run that was cut off goes on where it was.

The first line says what the outcomes were taken with. A run with other settings, or other code,
refuses to go on.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[1]
MEASURED = ("blocks", "compressors", "reorder", "rag", "bench")


class Log:
    """An append-only file of dictionaries.

    Args:
        path: The file; None keeps nothing between runs.
        settings: What all of it is taken with; JSON-able.
        fresh: Start anew, whatever is there.
        mixed: Go on with what other code left.

    Raises:
        ValueError: The file was taken with other settings or other code.
    """

    def __init__(
        self,
        path: Path | None,
        settings: dict[str, Any],
        *,
        fresh: bool = False,
        mixed: bool = False,
    ) -> None:
        self._path = path
        self.entries: list[dict[str, Any]] = []
        if path is None:
            return
        if path.exists() and not fresh:
            found = list(_lines(path))
            if found:
                _check(path, found[0], settings, mixed)
                self.entries = found[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written whole: a line that a crash cut short is gone.
        _write(path, [settings, *self.entries])

    def add(self, entries: Sequence[dict[str, Any]]) -> None:
        """Append, and see that it is on disk."""
        self.entries.extend(entries)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(entry) + "\n" for entry in entries)


def code() -> str:
    """A digest of all that can change a result: the source and the weights it ships."""
    digest = sha256()
    for folder in MEASURED:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".json", ".safetensors") and path.is_file():
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _check(path: Path, found: dict[str, Any], settings: dict[str, Any], mixed: bool) -> None:
    differ = sorted(
        key for key in found.keys() | settings.keys() if found.get(key) != settings.get(key)
    )
    if mixed:
        differ = [key for key in differ if key != "code"]
    if differ:
        raise ValueError(
            f"{path} was taken with another {', '.join(differ)}; --fresh starts anew, "
            "--mixed goes on after a change of code that changes no result"
        )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return  # the last line of a run that was cut off


def _write(path: Path, entries: Sequence[dict[str, Any]]) -> None:
    new = path.with_suffix(path.suffix + ".new")
    new.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    new.replace(path)
