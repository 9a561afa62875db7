"""The command `foveate`; what it can do stands in `commands/`.

Without typer it says what to install.
"""

from __future__ import annotations

import sys

from foveate.blocks.errors import MissingExtraError

USAGE = 2
"""Exit code for a command that cannot be run as it stands."""


def main() -> None:
    """Run the command line of this process."""
    try:
        from .commands import application
    except MissingExtraError as missing:
        sys.stderr.write(f"foveate: {missing}\n")
        sys.exit(USAGE)
    application.run()
