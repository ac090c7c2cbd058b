"""The paper's experiments, and their tables beside what the paper printed.

- `catalogue`: all of them by name
- `recovery_tables`, `literature`, `settings`, `runtimes`, `studies`, `training`,
  `grids`: the experiments
- `measures`: results problem by problem and method by method
- `published`: what the paper printed
"""
