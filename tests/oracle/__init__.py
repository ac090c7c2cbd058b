"""The slow, obviously correct versions that the fast code is compared with."""
