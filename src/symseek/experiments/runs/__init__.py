"""Doing many runs, each once, and keeping what they leave.

- `spec`, `plan`: what determines a run, and its settings read and checked
- `execute`, `judge`, `training_curve`: one search, whether it found the formula, what is kept of it
- `perform`: one run with its errors caught and its provenance added
- `record`, `provenance`: what a run left, and with what code and machine it was done
- `pool`, `cluster`: worker processes on this machine, or on a Ray cluster
- `store`, `database`, `owner`: the file that keeps the runs, and which process is doing which
- `runner`: the loop between the store and the workers
"""
