"""A needle in a text of any length: found at which depth, how fast, in how much memory.

    python -m bench.sliding --data dev/*.jsonl.gz --tokens 50000 --depths 0 0.25 0.5 0.75 1
    python -m bench.sliding --data dev/*.jsonl.gz --tokens 1000000 --depths 0.5

The text is made of the passages of the data, in turn, each once a round; at each depth a sentence
about an invented thing is put between two of them, and asked for. One line for each depth: {tokens,
depth, found, kept_tokens, seconds, tokens_per_second, peak_mib}. `peak_mib` is the highest resident
memory of the process so far: that of a longer text shows what length costs.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .data import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foveate import Proxy

NEEDLE = "The lighthouse keeper of Orvessa hid the brass key under the third blue tile. "
QUESTION = "Where did the lighthouse keeper of Orvessa hide the key?"
ANSWER = "under the third blue tile"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    from foveate import load_proxy

    parser = argparse.ArgumentParser(prog="python -m bench.sliding", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--tokens", type=int, default=50_000)
    parser.add_argument("--depths", type=float, nargs="+", default=[0.0, 0.25, 0.5, 0.75, 1.0])
    parser.add_argument("--budget", type=int, default=256)
    parser.add_argument("--scorer", default="fused")
    parser.add_argument("--proxy", default="default")
    parser.add_argument("--limit", type=int, help="records of each file")
    args = parser.parse_args(arguments)
    proxy = load_proxy(args.proxy)
    passages = [text for path in args.data for text in texts(path, args.limit)]
    for depth in args.depths:
        print(json.dumps(measure(proxy, passages, depth, args)), flush=True)
    return 0


def measure(
    proxy: Proxy, passages: Sequence[str], depth: float, args: argparse.Namespace
) -> dict[str, Any]:
    """One text with one needle."""
    from foveate import slide

    read = [0]
    stream = haystack(proxy, passages, args.tokens, depth, read)
    start = time.perf_counter()
    found = slide(QUESTION, stream, budget=args.budget, scorer=args.scorer, proxy=proxy)
    seconds = time.perf_counter() - start
    if found.degraded:
        raise AssertionError(found.degraded_reason)
    return {
        "tokens": read[0],
        "depth": depth,
        "found": ANSWER in found.text,
        "kept_tokens": found.tokens,
        "seconds": round(seconds, 1),
        "tokens_per_second": round(read[0] / seconds),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def haystack(
    proxy: Proxy, passages: Sequence[str], tokens: int, depth: float, read: list[int]
) -> Iterator[str]:
    """Passages until there are so many tokens, counted in `read`; the needle at its depth."""
    there = False
    for passage in cycle(passages):
        if not there and read[0] >= depth * tokens:
            there = True
            yield NEEDLE + "\n\n"
        if read[0] >= tokens:
            return
        read[0] += proxy.tokenizer.count(passage)
        yield passage + "\n\n"


def texts(path: Path, limit: int | None) -> Iterator[str]:
    """The texts of a file's passages, each once."""
    seen: dict[str, None] = {}
    for record in load(path, limit):
        seen.update((passage.text, None) for passage in record.passages if passage.text.strip())
    yield from seen


if __name__ == "__main__":
    sys.exit(main())
