"""Which formula to use, and when to stop: description length, the digits of the data, tests."""
