"""Whole searches on a GPU, many side by side.

- `searches`: the searches of one kind that advance together; `evolving`, `learning`, `proposed`:
  their children, what they learn from, what structure proposed
- `shapes`, `limits`: which runs can advance together, and which cannot be done so
- `pool`, `cluster`: the runs of a machine with a GPU, and of all GPUs of a Ray cluster
"""
