"""Benchmarks: `python -m bench.quality`, `python -m bench.speed`. Run from the repository's root."""
