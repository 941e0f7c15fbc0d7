"""Benchmark: how well policies find loops in labelled runs, and at what cost."""
