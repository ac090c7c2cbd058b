"""Structure by linear algebra: what the rows tell of a formula before any search.

    rows ──> surrogate ──> symmetries ──> transform: fewer columns ──> projections ──> programs

A smooth surrogate shows on which combinations of columns the target depends. In those few columns
a transformed target often lies in a small space of features, which least squares finds at once.
What is left is searched for in the same few columns.
"""
