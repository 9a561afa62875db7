from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, list[dict[str, Any]]], Path]:
    def file(name: str, rows: list[dict[str, Any]]) -> Path:
        path = tmp_path / f"{name}.jsonl.gz"
        with gzip.open(path, "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
        return path

    return file


@pytest.fixture
def evidence_rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{n}",
            "question": f"When did harbour {n} freeze?",
            "answers": [f"1947 week {n}"],
            "passages": [
                {
                    "id": "a",
                    "title": "Harbour",
                    "sentences": [
                        "The town lies north.",
                        f" Harbour {n} froze in 1947 week {n}.",
                        " The mayor wrote a letter.",
                    ],
                },
                {"id": "b", "title": "Storms", "sentences": ["Masts broke.", " None was hurt."]},
            ],
            "evidence": [[0, 1]],
        }
        for n in range(3)
    ]
