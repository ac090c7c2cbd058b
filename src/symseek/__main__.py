"""`python -m symseek` is the `symseek` command."""

from symseek_command import main

if __name__ == "__main__":
    raise SystemExit(main())
