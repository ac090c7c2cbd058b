"""The commands of `symseek`, a module for what belongs together; `cli` puts them into one."""
