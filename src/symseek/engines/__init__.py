"""Engines: where the arithmetic of a search happens.

- `interface`: what an engine is asked for, and the choice of one by name
- `native`: the C++ core, on all the threads it is given
- `packing`: rule tables and tokens as the core reads them
"""
