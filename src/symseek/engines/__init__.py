"""Engines: where the arithmetic happens. `native` is the C++ core, `breeding` evolves on it."""
