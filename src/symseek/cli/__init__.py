"""The commands for tables, each a module; `symseek.command` adds those of the lab."""
