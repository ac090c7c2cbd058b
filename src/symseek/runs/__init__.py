"""Runs on disk: the folder of a fit, and checkpoints from which a search continues."""
