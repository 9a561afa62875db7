"""Passages, units, the proxy's reading, and blocks: encoded once, read many times."""
