"""What every series of runs here is reported with, whoever's experiment it is.

- `experiment`: an experiment as data: its runs, and the function that reports them
- `tables`, `cells`: tables as Markdown, CSV and LaTeX, and how their numbers are written
- `statistics`: intervals and tests
- `report`: the files of an experiment
"""
