"""A user's table: settings, the search in good units, the pick, the scikit-learn estimator."""
