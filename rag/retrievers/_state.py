"""The state of an index at one commit: one record in the passage store, replaced by each commit."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ._seal import Seal

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class LexicalPart:
    """The tantivy folder of a commit.

    Attributes:
        folder: Its name inside the index folder; another with each commit.
        files: Its files, sealed.
        analysis: `ANALYSIS_VERSION` when it was written.
    """

    folder: str
    files: Mapping[str, Seal]
    analysis: int


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """The clustered vectors of a commit; they stay as they are while rows come and go.

    Attributes:
        file: Its name inside the index folder.
        seal: What the file must be.
        top_key: Highest key that was clustered. Vectors of higher keys are searched one by one.
        rows: Vectors in the file.
        dead: How many of them belong to passages that are gone.
    """

    file: str
    seal: Seal
    top_key: int
    rows: int
    dead: int

    @property
    def live(self) -> int:
        """Vectors in the file that still count."""
        return self.rows - self.dead


@dataclass(frozen=True, slots=True)
class State:
    """What one commit left.

    Attributes:
        generation: Commits so far.
        count: Passages.
        lexical: None while there was nothing to index.
        clusters: None while there are few vectors.
    """

    generation: int = 0
    count: int = 0
    lexical: LexicalPart | None = None
    clusters: ClusterPart | None = None

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self))


def parse_state(text: str) -> State:
    """Read what `State.to_json` wrote."""
    body = json.loads(text)
    lexical, clusters = body["lexical"], body["clusters"]
    if lexical:
        files = {name: Seal(**each) for name, each in lexical["files"].items()}
        lexical = LexicalPart(lexical["folder"], files, lexical["analysis"])
    if clusters:
        clusters = ClusterPart(**{**clusters, "seal": Seal(**clusters["seal"])})
    return State(body["generation"], body["count"], lexical, clusters)
