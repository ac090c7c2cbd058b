// Compiled once per instruction set with -DSYMSEEK_ISA=<name> and that set's flags; see CMakeLists.txt.
#include "simd/kernels.hpp"

#include "simd/simd.hpp"
#include "simd/special_math.hpp"
#include "simd/vector_math.hpp"

#define SYMSEEK_LAMBDA __attribute__((always_inline))
#define SYMSEEK_OUTLINE static __attribute__((noinline))

namespace symseek::SYMSEEK_ISA {

#include "breeding/pairing.inl"
#include "evaluation/evaluate.inl"
#include "fitting/tape.inl"
#include "policy/policy.inl"

#define SYMSEEK_TEXT2(NAME) #NAME
#define SYMSEEK_TEXT(NAME) SYMSEEK_TEXT2(NAME)

extern const Kernels table;
const Kernels table = {SYMSEEK_TEXT(SYMSEEK_ISA),
                       multiply,
                       add_inputs,
                       cell_forward,
                       cell_sample,
                       cell_backward,
                       choose,
                       log_softmax,
                       adam,
                       evaluate,
                       prepare,
                       measure,
                       derive,
                       pair};

}  // namespace symseek::SYMSEEK_ISA
