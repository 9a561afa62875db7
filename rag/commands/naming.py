"""Help that names the methods there are, those of installed packages too."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

SCORERS, ORDERERS = "{scorers}", "{orderers}"
"""Stand for the names in the help of an option: they are looked up when somebody asks for it."""


class Naming(TyperCommand):
    """A command whose help names methods."""

    def get_help(self, ctx: Any) -> str:
        """The help, with the names in it."""
        from foveate.compressors.base import SCORERS as SCORER_REGISTRY
        from foveate.reorder.base import ORDERERS as ORDERER_REGISTRY

        names = {SCORERS: SCORER_REGISTRY.names(), ORDERERS: ORDERER_REGISTRY.names()}
        for param in self.params:
            for stand_in, known in names.items():
                if getattr(param, "help", None):
                    param.help = param.help.replace(stand_in, ", ".join(known))  # type: ignore[attr-defined]
        return super().get_help(ctx)
