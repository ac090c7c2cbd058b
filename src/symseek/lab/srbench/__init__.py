"""`symseek srbench`: the problems with known formulas of SRBench, by its protocol.

- `protocol`: the 130 problems, the split of the rows, the noise
- `symbolic`: SRBench's rule for a formula that is printed: is it the law?
- `grading`: that grade beside two others: is the form right, are the predictions accurate?
- `execute`: one run, a fit as a user has it without settings
- `published`: what others reach
- `experiment`: the runs, their tables and the figure
"""
