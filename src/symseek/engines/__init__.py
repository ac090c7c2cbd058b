"""Engines: where the arithmetic of a search happens.

- `interface`: what an engine is asked for, and the choice of one by name
- `native`: the C++ core, on all the threads it is given
- `cuda`: kernels on a GPU
- `choice`: which of them a fit uses
- `faults`: a device that fails, in one sentence
- `packing`: rule tables and tokens as the core reads them
"""
