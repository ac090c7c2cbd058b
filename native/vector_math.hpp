// Elementary functions on whole vectors: exp, log, sin, cos, tan, tanh, pow in double; exp, log, tanh, sigmoid in
// float for the policy. Each is argument reduction, one minimax polynomial (tools/coefficients.py prints the
// constants), reconstruction. No fused multiply-add is used, so every instruction set gives the same bits.
//
// Special values (NaN, infinities, zeros, denormals, huge angles) are sorted out by one test of the whole vector and
// a cold function that handles them; ordinary vectors pay a compare and a predicted branch.
// The accuracy beside each function is the largest error measured against quadruple precision.
#pragma once

#include "simd.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define SYMSEEK_COLD inline __attribute__((noinline, cold))

namespace symseek::SYMSEEK_ISA {

// ---- Helpers -------------------------------------------------------------------------------------------------------

namespace detail {

constexpr double ROUND = 0x1.8p52;  // adding it rounds to an integer, which then sits in the low bits
constexpr float ROUNDF = 0x1.8p23f;
constexpr double INFINITE = __builtin_inf();
constexpr int64_t SIGN = INT64_MIN;

SYMSEEK_INLINE f64x8 all(double value) { return f64x8::all(value); }
SYMSEEK_INLINE i64x8 all(int64_t value) { return i64x8::all(value); }

// Is any |a| not below the limit? NaN counts.
SYMSEEK_INLINE bool any_not_less(const f64x8& a, double limit) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask(a.r[0], _mm512_set1_pd(limit), _CMP_NLT_UQ) != 0;
#elif defined(__AVX2__)
  const __m256d bound = _mm256_set1_pd(limit);
  return _mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(a.r[0], bound, _CMP_NLT_UQ),
                                         _mm256_cmp_pd(a.r[1], bound, _CMP_NLT_UQ))) != 0;
#elif defined(__SSE2__)
  const __m128d bound = _mm_set1_pd(limit);
  const __m128d low = _mm_or_pd(_mm_cmpnlt_pd(a.r[0], bound), _mm_cmpnlt_pd(a.r[1], bound));
  const __m128d high = _mm_or_pd(_mm_cmpnlt_pd(a.r[2], bound), _mm_cmpnlt_pd(a.r[3], bound));
  return _mm_movemask_pd(_mm_or_pd(low, high)) != 0;
#else
  bool out = false;
  for (int i = 0; i < f64x8::REGISTERS; ++i)
    for (int j = 0; j < f64x8::WIDTH; ++j) out |= !(a.r[i][j] < limit);
  return out;
#endif
}

// Is any lane not a positive normal finite number?
SYMSEEK_INLINE bool any_not_positive_normal(const f64x8& a) {
#if defined(__AVX512DQ__)
  return _mm512_fpclass_pd_mask(a.r[0], 0xff) != 0;  // every class there is: NaN, 0, infinite, denormal, negative
#else
  // As integers, the positive normals are the ones in [2^52, 0x7ff << 52); as doubles that is min <= a < inf.
  const f64x8 inside = as_float(less_equal(all(0x1p-1022), a) & less(a, all(INFINITE)));
#if defined(__AVX2__)
  return _mm256_movemask_pd(_mm256_and_pd(inside.r[0], inside.r[1])) != 15;
#elif defined(__SSE2__)
  return _mm_movemask_pd(_mm_and_pd(_mm_and_pd(inside.r[0], inside.r[1]),
                                    _mm_and_pd(inside.r[2], inside.r[3]))) != 3;
#else
  return any(as_integer(inside) ^ all(INT64_C(-1)));
#endif
#endif
}

// Bits of yes where the mask has ones, of no elsewhere: no 64-bit compare, which SSE2 lacks.
SYMSEEK_INLINE f64x8 merge(const i64x8& mask, const f64x8& yes, const f64x8& no) {
  const i64x8 a = as_integer(yes), b = as_integer(no);
  return as_float(b ^ ((a ^ b) & mask));
}
SYMSEEK_INLINE f64x8 flip_sign(const f64x8& a, const i64x8& sign) { return as_float(as_integer(a) ^ sign); }

// The leading 26 bits of the significand: two such numbers have an exact product.
SYMSEEK_INLINE f64x8 leading(const f64x8& a) { return as_float(as_integer(a) & all(INT64_C(-0x8000000))); }

template <class T>
struct UnsignedOf;
template <>
struct UnsignedOf<i64x8> { typedef uint64_t type __attribute__((vector_size(REGISTER_BYTES))); };
template <>
struct UnsignedOf<i32x16> { typedef uint32_t type __attribute__((vector_size(REGISTER_BYTES))); };

// >> that shifts in zeros: the arithmetic one has no 64-bit instruction before AVX-512.
template <class I>
SYMSEEK_INLINE I shift_right(const I& a, int bits) {
  I out;
  for (int i = 0; i < I::REGISTERS; ++i)
    out.r[i] = reinterpret_cast<typename I::Register>(
        reinterpret_cast<typename UnsignedOf<I>::type>(a.r[i]) >> bits);
  return out;
}

}  // namespace detail

// ---- exp -----------------------------------------------------------------------------------------------------------

namespace detail {

// exp(r) for |r| <= ln2/2: 1 + r + r^2 P(r), in pairs so that the chain is short.
SYMSEEK_INLINE f64x8 exp_reduced(const f64x8& r) {
  const f64x8 r2 = r * r;
  const f64x8 r4 = r2 * r2;
  const f64x8 p0 = 0x1.000000000000ap-1 + r * 0x1.55555555554f9p-3;
  const f64x8 p1 = 0x1.5555555550841p-5 + r * 0x1.1111111127d19p-7;
  const f64x8 p2 = 0x1.6c16c1843840cp-10 + r * 0x1.a01a012a0fe7bp-13;
  const f64x8 p3 = 0x1.a01999e36a854p-16 + r * 0x1.71df25a96f6a9p-19;
  const f64x8 p4 = 0x1.28ad9aa6e6c1fp-22 + r * 0x1.ad7f595a7b2bfp-26;
  const f64x8 low = p0 + p1 * r2;
  const f64x8 high = (p2 + p3 * r2) + p4 * r4;
  return 1.0 + (r + r2 * (low + high * r4));
}

constexpr double LOG2E = 0x1.71547652b82fep+0;
constexpr double LN2_HIGH = 0x1.62e42fefa4000p-1;  // 41 bits: times an exponent it is exact
constexpr double LN2_LOW = -0x1.8432a1b0e2634p-43;

// 2^n for an integer-valued n, -1022 <= n <= 1023.
SYMSEEK_INLINE f64x8 power_of_two(const f64x8& n) { return as_float(as_integer(n + (ROUND + 1023.0)) << 52); }

// y 2^n for y near 1 and any |n| < 2000, in two steps so that overflow and gradual underflow round once.
SYMSEEK_INLINE f64x8 scale_widely(const f64x8& y, const f64x8& n) {
  const f64x8 half = (n * 0.5 + ROUND) - ROUND;
  return (y * power_of_two(half)) * power_of_two(n - half);
}

SYMSEEK_COLD f64x8 exp_special(const f64x8& x) {
  const f64x8 clamped = minimum(all(710.0), maximum(all(-746.0), x));  // NaN passes
  const f64x8 n = (clamped * LOG2E + ROUND) - ROUND;
  return scale_widely(exp_reduced((clamped - n * LN2_HIGH) - n * LN2_LOW), n);
}

}  // namespace detail

SYMSEEK_INLINE f64x8 vexp(const f64x8& x) {
  using namespace detail;
  if (any_not_less(absolute(x), 708.0)) [[unlikely]] {
    const f64x8 copy = x;
    return exp_special(copy);
  }
  const f64x8 shifted = x * LOG2E + ROUND;
  const f64x8 n = shifted - ROUND;
  const f64x8 y = exp_reduced((x - n * LN2_HIGH) - n * LN2_LOW);
  return as_float(as_integer(y) + (as_integer(shifted) << 52));
}

// ---- log -----------------------------------------------------------------------------------------------------------

namespace detail {

// x = 2^exponent significand, with sqrt(1/2) <= significand < sqrt(2); x positive and normal.
SYMSEEK_INLINE void split_exponent(const f64x8& x, f64x8& exponent, f64x8& significand) {
  constexpr int64_t ROOT_HALF = INT64_C(0x3fe6a09e667f3bcd);
  constexpr int64_t ONE = INT64_C(0x3ff0000000000000);
  const i64x8 shifted = as_integer(x) + all(ONE - ROOT_HALF);
  // The biased exponent becomes the low bits of 2^52 + exponent + 1023.
  exponent = as_float(shift_right(shifted, 52) | all(INT64_C(0x4330000000000000))) - (0x1p52 + 1023.0);
  significand = as_float((shifted & all(INT64_C(0x000fffffffffffff))) + all(ROOT_HALF));
}

// With f = m - 1 and s = f/(2+f): log(m) = 2s + s z P(z), z = s^2, arranged as f - (f^2/2 - s (f^2/2 + z P(z))) so that
// the leading term f is exact.
SYMSEEK_INLINE f64x8 log_normal(const f64x8& x, const f64x8& extra_exponent) {
  f64x8 exponent, m;
  split_exponent(x, exponent, m);
  exponent = exponent + extra_exponent;
  const f64x8 f = m - 1.0;
  const f64x8 s = f / (m + 1.0);
  const f64x8 half_square = (f * 0.5) * f;
  const f64x8 z = s * s;
  const f64x8 z2 = z * z;
  const f64x8 p0 = 0x1.5555555555593p-1 + z * 0x1.999999997f9f7p-2;
  const f64x8 p1 = 0x1.249249422a60cp-2 + z * 0x1.c71c51d7affd7p-3;
  const f64x8 p2 = 0x1.746649b792e06p-3 + z * 0x1.39a09496f2bbbp-3;
  const f64x8 p = (p0 + p1 * z2) + (p2 + z2 * 0x1.2f118a57eb661p-3) * (z2 * z2);
  const f64x8 low = s * (half_square + z * p) + exponent * LN2_LOW;
  return exponent * LN2_HIGH + (f - (half_square - low));
}

SYMSEEK_COLD f64x8 log_special(const f64x8& x) {
  const i64x8 tiny = less(x, all(0x1p-1022));
  const f64x8 scaled = select(tiny, x * 0x1p54, x);
  f64x8 y = log_normal(scaled, select(tiny, all(-54.0), all(0.0)));
  y = select(less(x, all(INFINITE)), y, x);  // infinity and NaN stay
  y = select(equal(x, all(0.0)), all(-INFINITE), y);
  return select(less(x, all(0.0)), all(__builtin_nan("")), y);
}

}  // namespace detail

SYMSEEK_INLINE f64x8 vlog(const f64x8& x) {
  using namespace detail;
  if (any_not_positive_normal(x)) [[unlikely]] {
    const f64x8 copy = x;
    return log_special(copy);
  }
  return log_normal(x, all(0.0));
}

// ---- sin, cos, tan -------------------------------------------------------------------------------------------------

namespace detail {

constexpr double ANGLE_LIMIT = 1e5;  // below it, multiples of the parts of pi (37 bits each) are exact

SYMSEEK_COLD void sin_huge(const f64x8& x, f64x8& y) {
  for (int i = 0; i < f64x8::REGISTERS; ++i)
    for (int j = 0; j < f64x8::WIDTH; ++j)
      if (!(__builtin_fabs(x.r[i][j]) < ANGLE_LIMIT)) y.r[i][j] = __builtin_sin(x.r[i][j]);
}
SYMSEEK_COLD void cos_huge(const f64x8& x, f64x8& y) {
  for (int i = 0; i < f64x8::REGISTERS; ++i)
    for (int j = 0; j < f64x8::WIDTH; ++j)
      if (!(__builtin_fabs(x.r[i][j]) < ANGLE_LIMIT)) y.r[i][j] = __builtin_cos(x.r[i][j]);
}
SYMSEEK_COLD void tan_huge(const f64x8& x, f64x8& y) {
  for (int i = 0; i < f64x8::REGISTERS; ++i)
    for (int j = 0; j < f64x8::WIDTH; ++j)
      if (!(__builtin_fabs(x.r[i][j]) < ANGLE_LIMIT)) y.r[i][j] = __builtin_tan(x.r[i][j]);
}

// high + low = x - n pi, in three subtractions of which the first two are exact, so that next to a multiple of pi
// the remainder keeps its relative accuracy.
SYMSEEK_INLINE void subtract_multiple(const f64x8& x, const f64x8& n, double part0, double part1, double part2,
                                      f64x8& high, f64x8& low) {
  const f64x8 first = x - n * part0;
  const f64x8 second = n * part1;
  high = first - second;
  low = ((first - high) - second) - n * part2;
}

// sin(high + low) for |high| <= pi/2: r + r z P(z).
SYMSEEK_INLINE f64x8 sin_reduced(const f64x8& high, const f64x8& low) {
  const f64x8 z = high * high;
  const f64x8 z2 = z * z;
  const f64x8 p0 = -0x1.5555555555555p-3 + z * 0x1.11111111110c8p-7;
  const f64x8 p1 = -0x1.a01a01a014d6ep-13 + z * 0x1.71de3a52a0a13p-19;
  const f64x8 p2 = -0x1.ae6454d46809ap-26 + z * 0x1.6123cd02c93e1p-33;
  const f64x8 p3 = -0x1.ae4382e42b628p-41 + z * 0x1.88327319e0396p-49;
  const f64x8 p = (p0 + p1 * z2) + (p2 + p3 * z2) * (z2 * z2);
  return high + (low + (high * z) * p);
}

constexpr double INVERSE_PI = 0x1.45f306dc9c883p-2;
constexpr double PI_0 = 0x1.921fb54440000p+1, PI_1 = 0x1.68c234c4c0000p-38, PI_2 = 0x1.98a2e03707345p-76;

}  // namespace detail

SYMSEEK_INLINE f64x8 vsin(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);  // so that sin(-0) = -0
  const f64x8 shifted = size * INVERSE_PI + ROUND;
  f64x8 high, low;
  subtract_multiple(size, shifted - ROUND, PI_0, PI_1, PI_2, high, low);
  const i64x8 sign = (as_integer(shifted) << 63) ^ (as_integer(x) & all(SIGN));
  const f64x8 y = flip_sign(sin_reduced(high, low), sign);
  if (any_not_less(size, ANGLE_LIMIT)) [[unlikely]] {
    f64x8 out = y;
    const f64x8 copy = x;
    sin_huge(copy, out);
    return out;
  }
  return y;
}

// cos(x) = sin(x + pi/2): the nearest odd multiple of pi/2 is subtracted.
SYMSEEK_INLINE f64x8 vcos(const f64x8& x) {
  using namespace detail;
  const f64x8 shifted = (x * INVERSE_PI - 0.5) + ROUND;
  f64x8 high, low;
  subtract_multiple(x, (shifted - ROUND) + 0.5, PI_0, PI_1, PI_2, high, low);
  const i64x8 sign = (as_integer(shifted) << 63) ^ all(SIGN);
  const f64x8 y = flip_sign(sin_reduced(high, low), sign);
  if (any_not_less(absolute(x), ANGLE_LIMIT)) [[unlikely]] {
    f64x8 out = y;
    const f64x8 copy = x;
    cos_huge(copy, out);
    return out;
  }
  return y;
}

// sin/cos of the remainder by pi/2, upside down in every second quadrant.
SYMSEEK_INLINE f64x8 vtan(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);
  const f64x8 shifted = size * 0x1.45f306dc9c883p-1 + ROUND;
  f64x8 high, low;
  subtract_multiple(size, shifted - ROUND, 0.5 * PI_0, 0.5 * PI_1, 0.5 * PI_2, high, low);
  const f64x8 z = high * high;
  const f64x8 z2 = z * z;
  const f64x8 s0 = -0x1.5555555555548p-3 + z * 0x1.111111110f730p-7;
  const f64x8 s1 = -0x1.a01a019be9221p-13 + z * 0x1.71de35552c480p-19;
  const f64x8 s2 = -0x1.ae5e4b84e02ebp-26 + z * 0x1.5d8b55ea8dd2fp-33;
  const f64x8 c0 = 0x1.555555555554bp-5 + z * -0x1.6c16c16c15013p-10;
  const f64x8 c1 = 0x1.a01a019c8ed05p-16 + z * -0x1.27e4f7f140e09p-22;
  const f64x8 c2 = 0x1.1ee9db8e03096p-29 + z * -0x1.8fa65e7372ec9p-37;
  const f64x8 sine = high + (low + (high * z) * (s0 + (s1 + s2 * z2) * z2));
  const f64x8 half = z * 0.5;
  const f64x8 near = 1.0 - half;
  const f64x8 cosine = near + (((1.0 - near) - half) + (z2 * (c0 + (c1 + c2 * z2) * z2) - high * low));
  const i64x8 odd = i64x8{} - (as_integer(shifted) & all(INT64_C(1)));
  const i64x8 sign = (as_integer(shifted) << 63) ^ (as_integer(x) & all(SIGN));
  const f64x8 y = flip_sign(merge(odd, cosine, sine) / merge(odd, sine, cosine), sign);
  if (any_not_less(size, ANGLE_LIMIT)) [[unlikely]] {
    f64x8 out = y;
    const f64x8 copy = x;
    tan_huge(copy, out);
    return out;
  }
  return y;
}

// ---- tanh ----------------------------------------------------------------------------------------------------------

// Below 5/8: x + x z P(z)/Q(z), z = x^2. Beyond: 1 - 2/(exp(2|x|) + 1). One division serves both.
SYMSEEK_INLINE f64x8 vtanh(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);
  const f64x8 capped = minimum(all(20.0), size);  // tanh rounds to 1 from 19.1; NaN passes
  const f64x8 shifted = capped * (2.0 * LOG2E) + ROUND;
  const f64x8 n = shifted - ROUND;
  const f64x8 y = exp_reduced(((capped + capped) - n * LN2_HIGH) - n * LN2_LOW);
  const f64x8 power = as_float(as_integer(y) + (as_integer(shifted) << 52));
  const f64x8 z = capped * capped;
  const f64x8 p = -0x1.5555555555554p-2 + (-0x1.4fd1afd3476cdp-6 + z * -0x1.a184ace736e85p-13) * z;
  const f64x8 q = (1.0 + z * 0x1.d890ea9136ecfp-2) + (0x1.7d8f9552374fdp-6 + z * 0x1.b0ee50473f2f7p-13) * (z * z);
  const i64x8 small = less(size, all(0.625));
  const f64x8 top = select(small, (size * z) * p, all(-2.0));
  const f64x8 bottom = select(small, q, power + 1.0);
  const f64x8 base = select(small, size, all(1.0));
  return as_float(as_integer(base + top / bottom) | (as_integer(x) & all(SIGN)));
}

// ---- pow -----------------------------------------------------------------------------------------------------------

namespace detail {

// high + low = log2(x) to about 2^-66 relative, high with 26 bits; x positive and normal. As in log, s = (m-1)/(m+1);
// log2(m) = 2/(3 ln2) s (3 + s^2 + s^4 P(s^2)), where s and the bracket carry a short head and a tail.
SYMSEEK_INLINE void log2_extended(const f64x8& x, f64x8& high, f64x8& low) {
  f64x8 exponent, m;
  split_exponent(x, exponent, m);
  const f64x8 f = m - 1.0;
  const f64x8 inverse = 1.0 / (m + 1.0);
  const f64x8 s = f * inverse;
  const f64x8 s_head = leading(s);
  const f64x8 m_head = leading(m);
  const f64x8 s_tail = inverse * ((f - s_head * (m_head + 1.0)) - s_head * (m - m_head));
  const f64x8 z = s * s;
  const f64x8 z2 = z * z;
  const f64x8 p0 = 0x1.3333333333465p-1 + z * 0x1.b6db6db68382fp-2;
  const f64x8 p1 = 0x1.555555a239be9p-2 + z * 0x1.1745af5a85a6bp-2;
  const f64x8 p2 = 0x1.d8ae68092ec64p-3 + z * 0x1.973f4e9ea777bp-3;
  const f64x8 p = (p0 + p1 * z2) + (p2 + z2 * 0x1.956962a3716a4p-3) * (z2 * z2);
  const f64x8 square = s_head * s_head;
  const f64x8 rest = z2 * p + s_tail * (s_head + s);
  const f64x8 sum_head = leading((3.0 + square) + rest);
  const f64x8 sum_tail = rest - ((sum_head - 3.0) - square);
  const f64x8 product = s_head * sum_head;
  const f64x8 product_rest = s_tail * sum_head + sum_tail * s;
  const f64x8 head = leading(product + product_rest);
  const f64x8 tail = product_rest - (head - product);
  constexpr double C_HEAD = 0x1.ec709e0000000p-1, C_TAIL = -0x1.e2fe0145b01f5p-28;  // 2/(3 ln2)
  const f64x8 scaled = head * C_HEAD;
  const f64x8 scaled_rest = head * C_TAIL + tail * (C_HEAD + C_TAIL);
  high = leading((scaled + scaled_rest) + exponent);
  low = scaled_rest - ((high - exponent) - scaled);
}

SYMSEEK_COLD void pow_special(const f64x8& a, const f64x8& b, f64x8& y) {
  for (int i = 0; i < f64x8::REGISTERS; ++i)
    for (int j = 0; j < f64x8::WIDTH; ++j) y.r[i][j] = __builtin_pow(a.r[i][j], b.r[i][j]);
}

}  // namespace detail

// 2^(b log2 a), the logarithm and the product in head and tail.
SYMSEEK_INLINE f64x8 vpow(const f64x8& a, const f64x8& b) {
  using namespace detail;
  f64x8 log_head, log_tail;
  log2_extended(a, log_head, log_tail);
  const f64x8 b_head = leading(b);
  const f64x8 head = b_head * log_head;
  const f64x8 tail = (b - b_head) * log_head + b * log_tail;
  const f64x8 power = head + tail;
  const f64x8 shifted = power + ROUND;
  const f64x8 fraction = (head - (shifted - ROUND)) + tail;
  const f64x8 y = exp_reduced(fraction * 0x1.62e42fefa39efp-1);
  if (any_not_positive_normal(a) | any_not_less(absolute(power), 1021.0)) [[unlikely]] {
    f64x8 out;
    const f64x8 copy_a = a, copy_b = b;
    pow_special(copy_a, copy_b, out);
    return out;
  }
  return as_float(as_integer(y) + (as_integer(shifted) << 52));
}

// ---- Single precision, for the policy ------------------------------------------------------------------------------

// exp within 2e-7 relative for -87 <= x <= 88, constant beyond.
SYMSEEK_INLINE f32x16 fexp(const f32x16& x) {
  using namespace detail;
  const f32x16 clamped = minimum(f32x16::all(88.0f), maximum(f32x16::all(-87.0f), x));
  const f32x16 shifted = clamped * 1.44269502f + ROUNDF;
  const f32x16 n = shifted - ROUNDF;
  const f32x16 r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
  const f32x16 p = (0.499992311f + r * 0.166671157f) + (0.0418903232f + r * 0.00831251405f) * (r * r);
  const f32x16 y = 1.0f + (r + (r * r) * p);
  return as_float(as_integer(y) + (as_integer(shifted) << 23));
}

// 1/(1 + exp(-x)) within 2e-7.
SYMSEEK_INLINE f32x16 fsigmoid(const f32x16& x) { return 1.0f / (1.0f + fexp(-x)); }

// tanh within 2e-7 absolute.
SYMSEEK_INLINE f32x16 ftanh(const f32x16& x) { return 1.0f - 2.0f / (1.0f + fexp(x + x)); }

// log of a positive normal float.
SYMSEEK_INLINE f32x16 flog(const f32x16& x) {
  using namespace detail;
  constexpr int32_t ROOT_HALF = 0x3f3504f3, ONE = 0x3f800000;
  const i32x16 shifted = as_integer(x) + i32x16::all(ONE - ROOT_HALF);
  const f32x16 n = as_float(shift_right(shifted, 23) | i32x16::all(0x4b000000)) - (0x1p23f + 127.0f);
  const f32x16 f = as_float((shifted & i32x16::all(0x007fffff)) + i32x16::all(ROOT_HALF)) - 1.0f;
  const f32x16 f2 = f * f;
  const f32x16 p0 = 0.333333313f + f * -0.250008196f;
  const f32x16 p1 = 0.200012252f + f * -0.166233584f;
  const f32x16 p2 = 0.142017841f + f * -0.131602004f;
  const f32x16 p3 = 0.127613962f + f * -0.0763421357f;
  const f32x16 p = (p0 + p1 * f2) + (p2 + p3 * f2) * (f2 * f2);
  const f32x16 low = (f * f2) * p + n * 1.42860677e-6f;
  return n * 0.693145752f + (f + (low - f2 * 0.5f));
}

}  // namespace symseek::SYMSEEK_ISA

#undef SYMSEEK_COLD
