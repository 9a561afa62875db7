"""What a reading costs, against the same model's plain prefill over the same text in the same run.

    python -m bench.speed --passages 20 --json out.json

{tokens, cold_over_prefill, warm_over_cold, peak_mib, model_mib, blocks_mib, libraries_mib}. Ratios
are of medians over alternating repeats. Prefill is the ordinary SDPA forward of all layers, without
the language-model head. Cold: tokenize, encode, read, no block known. Warm: the same passages, a
new query. `peak_mib` is the resident memory of the process at its highest during a cold and a warm
reading, less `libraries_mib`, what Python, torch and transformers take before any model is loaded.
Memory is read from /proc, and null where there is none.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from foveate import Passage, load_proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foveate import Proxy

WORDS_PER_PASSAGE = 118
QUERIES = (
    "Which method opens a file without following symbolic links?",
    "What happens to the lock when the process that holds it is killed?",
    "How are dates in ISO 8601 format parsed?",
    "Who may call this function from another thread?",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    args = _arguments(arguments)
    libraries = _libraries_mib()
    proxy = load_proxy(args.proxy, dtype=args.dtype)
    passages = _passages(args.passages)
    _forget_peak()
    blocks = proxy.encode(passages)
    for query in QUERIES[:2]:
        proxy.read(query, proxy.encode(passages))
    peak = _memory_mib("VmHWM")
    ids = [*proxy.prompt.head, *(i for block in blocks for i in block.ids.tolist())]
    times = _alternate(proxy, passages, ids, args.repeats)
    result = {
        "tokens": len(ids),
        "cold_over_prefill": round(median(times["cold"]) / median(times["prefill"]), 4),
        "warm_over_cold": round(median(times["warm"]) / median(times["cold"]), 4),
        "peak_mib": None if peak is None or libraries is None else round(peak - libraries, 1),
        "model_mib": round(sum(p.nbytes for p in proxy.model.parameters()) / 2**20, 1),
        "blocks_mib": round(blocks.nbytes / 2**20, 1),
        "libraries_mib": libraries and round(libraries, 1),
    }
    print(json.dumps(result))
    print({name: [round(t, 3) for t in each] for name, each in times.items()}, file=sys.stderr)
    if args.json:
        args.json.write_text(json.dumps(result) + "\n")
    return 0


def _alternate(
    proxy: Proxy, passages: Sequence[Passage], ids: list[int], repeats: int
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"prefill": [], "cold": [], "warm": []}
    for n in range(repeats):
        times["prefill"].append(_seconds(lambda: _prefill(proxy, ids)))
        proxy.store.clear()
        times["cold"].append(_seconds(lambda: proxy.read(QUERIES[0], proxy.encode(passages))))
        query = QUERIES[1 + n % (len(QUERIES) - 1)]
        times["warm"].append(_seconds(lambda: proxy.read(query, proxy.encode(passages))))  # noqa: B023
    return times


def _prefill(proxy: Proxy, ids: list[int]) -> None:
    model: Any = proxy.model
    used = model.config._attn_implementation
    model.set_attn_implementation("sdpa")
    try:
        with torch.inference_mode():
            model.base_model(input_ids=torch.tensor([ids], device=proxy.device), use_cache=False)
    finally:
        model.set_attn_implementation(used)


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _passages(count: int) -> list[Passage]:
    """Prose that every machine has, the standard library's own; about 200 tokens a passage."""
    import pydoc
    import shutil
    import threading

    words = " ".join(
        pydoc.render_doc(module, renderer=pydoc.plaintext) for module in (shutil, threading)
    ).split()
    size = WORDS_PER_PASSAGE
    words *= 1 + count * size // len(words)
    return [
        Passage(" ".join(words[n * size : (n + 1) * size]), str(n), "Standard library")
        for n in range(count)
    ]


def _libraries_mib() -> float | None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    _ = AutoModelForCausalLM, AutoTokenizer  # imported on first use, like all of transformers
    return _memory_mib("VmRSS")


def _forget_peak() -> None:
    peak = Path("/proc/self/clear_refs")
    if peak.exists():
        gc.collect()
        peak.write_text("5")


def _memory_mib(field: str) -> float | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 2**10


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("--passages", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--proxy", default="default")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
