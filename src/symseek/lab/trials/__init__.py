"""One run of a method on a benchmark problem.

- `plan`: its settings, read and checked
- `execute`: the search; `judge`, `refit`: whether it found the formula
- `training_curve`, `csv_file`: what is kept of it
- `run`: many of them, on this machine, a cluster or a GPU
"""
