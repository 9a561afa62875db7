"""Benchmarks, run from the repository's root: `python -m bench.quality`, and so on."""
