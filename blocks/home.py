"""Where Foveate keeps what it fetched or made: models, probes, the demo's index."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """`$FOVEATE_HOME`, or Foveate's part of the user's cache folder."""
    given = os.environ.get("FOVEATE_HOME")
    return Path(given).expanduser().absolute() if given else platformdirs.user_cache_path("foveate")
