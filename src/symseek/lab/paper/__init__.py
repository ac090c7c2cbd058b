"""The paper's experiments, and their tables beside what the paper printed.

- `experiment`, `catalogue`: what an experiment is, and all of them by name
- `recovery_tables`, `literature`, `runtimes`, `studies`, `training`, `grids`: the experiments
- `measures`, `statistics`, `tables`: results as tables, intervals and tests, how tables are written
- `published`: what the paper printed
- `report`: the files of an experiment
"""
