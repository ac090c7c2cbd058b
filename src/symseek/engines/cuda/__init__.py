"""The engine on a GPU: CUDA C++ kernels, compiled when they are first used, through CuPy.

- `device`: memory, compilation and launches; what is said when there is no GPU
- `source`: the text of the kernels: the files of `kernels/` and what follows from the operators
- `operations`: tokens as the kernels read them, and the code of their operators
- `table`: the data, on the device or, where they do not fit, block by block
- `fitting`, `pairing`: constants, and programs that complete each other
- `tables`: constraints as the kernels read them
- `policy`, `evaluator`, `engine`: what `symseek.engines.interface` asks of an engine
- `runs`: many searches side by side, every step of them on the device
"""
