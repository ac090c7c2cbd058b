"""The commands for benchmarks and the paper's experiments, a module for each."""
