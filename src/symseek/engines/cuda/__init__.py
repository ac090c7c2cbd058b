"""The engine on a GPU: CUDA C++ kernels, compiled when they are first used, through CuPy.

- `device`: memory, compilation and launches; what is said when there is no GPU
- `source`: the text of the kernels: the files of `kernels/` with the sizes they need
- `operations`: what the operators of a library do, as text for the kernels
- `rules`, `policy`: constraints as the kernels read them; programs drawn, scored and learnt from
- `table`, `evaluator`, `fitting`, `pairing`: data, and what programs make of them
- `engine`: what `symseek.engines.interface` asks of an engine
- `learning`, `runs`: many searches side by side, every step of them on the device
"""
