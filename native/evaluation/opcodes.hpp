// Every operation the evaluator knows, one line each: the name the Python operator table uses and the arity.
// The formula stands beside the same name in evaluate.inl.
#pragma once

#include <cstdint>

#define SYMSEEK_COMMON_OPERATIONS(X) \
  X(add, 2)                          \
  X(sub, 2)                          \
  X(mul, 2)                          \
  X(div, 2)                          \
  X(pow, 2)                          \
  X(sin, 1)                          \
  X(cos, 1)                          \
  X(tan, 1)                          \
  X(tanh, 1)                         \
  X(exp, 1)                          \
  X(log, 1)                          \
  X(sqrt, 1)                         \
  X(square, 1)                       \
  X(cube, 1)                         \
  X(fourth, 1)                       \
  X(reciprocal, 1)                   \
  X(neg, 1)                          \
  X(abs, 1)                          \
  X(neg_exp, 1)

// Operations with code of their own: among the common ones they would take registers from those.
#define SYMSEEK_RARE_OPERATIONS(X) \
  X(asin, 1)                       \
  X(acos, 1)                       \
  X(atan, 1)                       \
  X(sinh, 1)                       \
  X(cosh, 1)                       \
  X(asinh, 1)                      \
  X(sign, 1)                       \
  X(floor, 1)                      \
  X(erf, 1)                        \
  X(atan2, 2)                      \
  X(min, 2)                        \
  X(max, 2)                        \
  X(protected_div, 2)              \
  X(protected_exp, 1)              \
  X(protected_log, 1)              \
  X(protected_reciprocal, 1)       \
  X(protected_square, 1)           \
  X(protected_cube, 1)

#define SYMSEEK_OPERATIONS(X) SYMSEEK_COMMON_OPERATIONS(X) SYMSEEK_RARE_OPERATIONS(X)

namespace symseek {

enum class Opcode : uint8_t {
#define X(NAME, ARITY) NAME,
  SYMSEEK_OPERATIONS(X)
#undef X
      number,  // value
  variable,    // column
  constant,    // the next placeholder
  argument,    // operand `index` of the composed operator being expanded: a copy of a stack entry
  finish,      // end of a composed operator: its value replaces its `index` operands
};

inline int arity_of(Opcode opcode) {
  switch (opcode) {
#define X(NAME, ARITY) \
  case Opcode::NAME: return ARITY;
    SYMSEEK_OPERATIONS(X)
#undef X
    default: return 0;
  }
}

struct Instruction {
  Opcode opcode;
  int32_t index = 0;
  double value = 0.0;
};

}  // namespace symseek
