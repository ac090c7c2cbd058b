"""Formulas as text: read, written, and to and from SymPy."""
