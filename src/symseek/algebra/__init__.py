"""Formulas changed without changing what they say: normal form, simplification, neat numbers."""
