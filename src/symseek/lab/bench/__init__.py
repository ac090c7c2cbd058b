"""`symseek bench`: benchmark problems by methods and seeds, without a file to keep the runs.

- `specs`: the runs that are asked for, and the command that repeats one
- `display`: what is printed while they run
- `summary`: what the runs of a problem by a method amount to; the JSON file
- `tables`: the summaries as text
"""
