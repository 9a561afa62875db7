"""What is fitted once per model: the reader (an adapter), the probe (weights of a score)."""
