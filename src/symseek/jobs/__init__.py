"""Many runs, each done once and kept: on this machine, or on a cluster of Ray.

- `spec`, `record`: what determines a run, and what it leaves
- `perform`, `provenance`: one run with its errors caught, and with what code and machine
- `pool`, `cluster`: worker processes on this machine, or on a Ray cluster
- `store`, `database`, `owner`: the file that keeps the runs, and which process is doing which
- `runner`: the loop between the store and the workers; `progress`: what a person sees meanwhile

What a run does is a function given by name. `symseek.many` fits tables with it, `symseek.lab` does
the paper's experiments.
"""
