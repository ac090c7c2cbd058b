"""How sure: standard errors of numbers, intervals of predictions, and what decides between forms.

Least squares says where the numbers of a formula are, and the derivatives there how far from it
they may be. This is below the model: it knows programs and rows, and no fit.
"""
