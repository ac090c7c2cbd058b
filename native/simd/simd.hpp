// Vectors of a fixed logical width, whatever the machine's: 8 doubles or 16 floats. Each instruction set maps
// them onto its own registers (one 512-bit, two 256-bit or four 128-bit), so a kernel is written once and
// adds up in the same order everywhere: the same seed gives the same bits on every variant.
//
// This header is compiled once per instruction set, inside a namespace of that name; nothing in it may leave
// that namespace, or the linker could pick an AVX-512 copy of a function for a machine without AVX-512.
#pragma once

#include <cstdint>
#include <cstring>

#ifndef SYMSEEK_ISA
#error "compile kernels with -DSYMSEEK_ISA=<namespace>, one object file per instruction set"
#endif

#define SYMSEEK_INLINE inline __attribute__((always_inline))

namespace symseek::SYMSEEK_ISA {

#if defined(__AVX512F__)
constexpr int REGISTER_BYTES = 64;
#elif defined(__AVX2__)
constexpr int REGISTER_BYTES = 32;
#else
constexpr int REGISTER_BYTES = 16;
#endif

// Integer lanes wrap around: arithmetic runs on the unsigned type of the same width.
template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<int32_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using type = uint64_t;
};

template <class T, int N>
struct Lanes {
  static constexpr int WIDTH = REGISTER_BYTES / static_cast<int>(sizeof(T));
  static constexpr int REGISTERS = N / WIDTH;
  static constexpr int SIZE = N;
  typedef T Register __attribute__((vector_size(REGISTER_BYTES)));
  typedef typename Wrapping<T>::type Wrapped __attribute__((vector_size(REGISTER_BYTES)));
  typedef T Loose __attribute__((vector_size(REGISTER_BYTES), aligned(sizeof(T)), may_alias));

  Register r[REGISTERS];

  static SYMSEEK_INLINE Lanes load(const T* p) {
    Lanes out;
    for (int i = 0; i < REGISTERS; ++i) out.r[i] = *reinterpret_cast<const Loose*>(p + i * WIDTH);
    return out;
  }
  static SYMSEEK_INLINE Lanes all(T value) {
    Lanes out;
    for (int i = 0; i < REGISTERS; ++i) out.r[i] = value - Register{};
    return out;
  }
  SYMSEEK_INLINE void store(T* p) const {
    for (int i = 0; i < REGISTERS; ++i) *reinterpret_cast<Loose*>(p + i * WIDTH) = r[i];
  }
};

using f64x8 = Lanes<double, 8>;
using i64x8 = Lanes<int64_t, 8>;
using f32x16 = Lanes<float, 16>;
using i32x16 = Lanes<int32_t, 16>;

#define SYMSEEK_LANEWISE(OP)                                                                      \
  template <class T, int N>                                                                       \
  SYMSEEK_INLINE Lanes<T, N> operator OP(const Lanes<T, N>& a, const Lanes<T, N>& b) {            \
    Lanes<T, N> out;                                                                              \
    using W = typename Lanes<T, N>::Wrapped;                                                      \
    using R = typename Lanes<T, N>::Register;                                                     \
    for (int i = 0; i < Lanes<T, N>::REGISTERS; ++i)                                              \
      out.r[i] = reinterpret_cast<R>(reinterpret_cast<W>(a.r[i]) OP reinterpret_cast<W>(b.r[i])); \
    return out;                                                                                   \
  }                                                                                               \
  template <class T, int N>                                                                       \
  SYMSEEK_INLINE Lanes<T, N> operator OP(const Lanes<T, N>& a, T b) {                             \
    return a OP Lanes<T, N>::all(b);                                                              \
  }                                                                                               \
  template <class T, int N>                                                                       \
  SYMSEEK_INLINE Lanes<T, N> operator OP(T a, const Lanes<T, N>& b) {                             \
    return Lanes<T, N>::all(a) OP b;                                                              \
  }
SYMSEEK_LANEWISE(+)
SYMSEEK_LANEWISE(-)
SYMSEEK_LANEWISE(*)
SYMSEEK_LANEWISE(/)
SYMSEEK_LANEWISE(&)
SYMSEEK_LANEWISE(|)
SYMSEEK_LANEWISE(^)
#undef SYMSEEK_LANEWISE

template <class T, int N>
SYMSEEK_INLINE Lanes<T, N> operator-(const Lanes<T, N>& a) {
  Lanes<T, N> out;
  for (int i = 0; i < Lanes<T, N>::REGISTERS; ++i) out.r[i] = -a.r[i];
  return out;
}
template <class T, int N>
SYMSEEK_INLINE Lanes<T, N> operator<<(const Lanes<T, N>& a, int bits) {
  Lanes<T, N> out;
  using W = typename Lanes<T, N>::Wrapped;
  for (int i = 0; i < Lanes<T, N>::REGISTERS; ++i)
    out.r[i] = reinterpret_cast<typename Lanes<T, N>::Register>(reinterpret_cast<W>(a.r[i]) << bits);
  return out;
}
template <class T, int N>
SYMSEEK_INLINE Lanes<T, N> operator>>(const Lanes<T, N>& a, int bits) {
  Lanes<T, N> out;
  for (int i = 0; i < Lanes<T, N>::REGISTERS; ++i) out.r[i] = a.r[i] >> bits;
  return out;
}

// The same bits read as another type of the same width.
SYMSEEK_INLINE i64x8 as_integer(const f64x8& a) {
  i64x8 out;
  for (int i = 0; i < f64x8::REGISTERS; ++i) out.r[i] = reinterpret_cast<i64x8::Register>(a.r[i]);
  return out;
}
SYMSEEK_INLINE f64x8 as_float(const i64x8& a) {
  f64x8 out;
  for (int i = 0; i < f64x8::REGISTERS; ++i) out.r[i] = reinterpret_cast<f64x8::Register>(a.r[i]);
  return out;
}
SYMSEEK_INLINE i32x16 as_integer(const f32x16& a) {
  i32x16 out;
  for (int i = 0; i < f32x16::REGISTERS; ++i) out.r[i] = reinterpret_cast<i32x16::Register>(a.r[i]);
  return out;
}
SYMSEEK_INLINE f32x16 as_float(const i32x16& a) {
  f32x16 out;
  for (int i = 0; i < f32x16::REGISTERS; ++i) out.r[i] = reinterpret_cast<f32x16::Register>(a.r[i]);
  return out;
}

// Comparisons give all-ones or all-zeros integers; select reads them.
template <class T>
struct MaskOf;
template <>
struct MaskOf<f64x8> {
  using type = i64x8;
};
template <>
struct MaskOf<i64x8> {
  using type = i64x8;
};
template <>
struct MaskOf<f32x16> {
  using type = i32x16;
};
template <>
struct MaskOf<i32x16> {
  using type = i32x16;
};

#define SYMSEEK_COMPARE(NAME, OP)                                        \
  template <class V>                                                     \
  SYMSEEK_INLINE typename MaskOf<V>::type NAME(const V& a, const V& b) { \
    typename MaskOf<V>::type out;                                        \
    for (int i = 0; i < V::REGISTERS; ++i) out.r[i] = a.r[i] OP b.r[i];  \
    return out;                                                          \
  }
SYMSEEK_COMPARE(less, <)
SYMSEEK_COMPARE(less_equal, <=)
SYMSEEK_COMPARE(equal, ==)
SYMSEEK_COMPARE(not_equal, !=)
#undef SYMSEEK_COMPARE

template <class V>
SYMSEEK_INLINE V select(const typename MaskOf<V>::type& mask, const V& yes, const V& no) {
  V out;
  for (int i = 0; i < V::REGISTERS; ++i) out.r[i] = mask.r[i] ? yes.r[i] : no.r[i];
  return out;
}
template <class V>
SYMSEEK_INLINE V maximum(const V& a, const V& b) {
  return select(less(a, b), b, a);
}

template <class V>
SYMSEEK_INLINE bool any(const V& mask) {
  auto merged = mask.r[0];
  for (int i = 1; i < V::REGISTERS; ++i) merged |= mask.r[i];
  int64_t words[REGISTER_BYTES / 8];
  std::memcpy(words, &merged, sizeof words);
  int64_t bits = 0;
  for (int64_t word : words) bits |= word;
  return bits != 0;
}

SYMSEEK_INLINE f64x8 absolute(const f64x8& a) {
  return as_float(as_integer(a) & i64x8::all(INT64_C(0x7fffffffffffffff)));
}
SYMSEEK_INLINE f64x8 square_root(const f64x8& a) {
  f64x8 out;
  for (int i = 0; i < f64x8::REGISTERS; ++i)
    for (int j = 0; j < f64x8::WIDTH; ++j) out.r[i][j] = __builtin_sqrt(a.r[i][j]);
  return out;
}

// The sum in one order for every register width: halves onto halves.
template <class T, int N>
SYMSEEK_INLINE T sum(const Lanes<T, N>& a) {
  T lanes[N];
  a.store(lanes);
  for (int half = N / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

}  // namespace symseek::SYMSEEK_ISA
