"""Many tables fitted with the same settings: `symseek fit *.csv`, a folder, `--by`, `fit_many`.

- `tables`: the files and folders that were named, and the safe names of their run folders
- `groups`: one long table, or tables in memory, written as one file for each fit
- `folder`: the parent folder, which knows what is to be fitted and what has been
- `fit`: one of the fits, done in a worker
- `line`: what the summary says of one fit
- `forms`: formulas that differ only in their numbers
- `progress`: what is shown meanwhile
- `results`: `symseek.fit_many`, and what it returns

The workers, and what keeps track of them, are those of `symseek.jobs`.
"""
