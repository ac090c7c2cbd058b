"""The training of the starting policy, on formulas drawn from a grammar."""
