// Elementary functions on whole vectors: exp, log, sin, cos, tan, tanh, pow in double; exp, log, tanh, sigmoid in
// float for the policy. Each is argument reduction, one minimax polynomial (tools/coefficients.py prints the
// constants), reconstruction. No fused multiply-add is used, so every instruction set gives the same bits.
//
// Special values (NaN, infinities, zeros, denormals, huge angles) are sorted out by one test of the whole vector and
// a cold function that handles them; ordinary vectors pay a compare and a predicted branch.
// The accuracy beside each function is the largest error seen against 64-bit significands, over 10^8 arguments.
#pragma once

#include "simd/simd.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define SYMSEEK_COLD inline __attribute__((noinline))  // not `cold`: that would also compile it for size

namespace symseek::SYMSEEK_ISA {

// ---- Helpers -------------------------------------------------------------------------------------------------------

namespace detail {

constexpr double ROUND = 0x1.8p52;  // adding it rounds to an integer, which then sits in the low bits
constexpr float ROUNDF = 0x1.8p23f;
constexpr double INFINITE = __builtin_inf();
constexpr int64_t SIGN = INT64_MIN;

SYMSEEK_INLINE f64x8 all(double value) { return f64x8::all(value); }
SYMSEEK_INLINE i64x8 all(int64_t value) { return i64x8::all(value); }

// Is any lane not below the limit? NaN counts.
SYMSEEK_INLINE bool any_not_less(const f64x8& a, double limit) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask(a.r[0], _mm512_set1_pd(limit), _CMP_NLT_UQ) != 0;
#elif defined(__AVX2__)
  const __m256d bound = _mm256_set1_pd(limit);
  return _mm256_movemask_pd(
             _mm256_or_pd(_mm256_cmp_pd(a.r[0], bound, _CMP_NLT_UQ), _mm256_cmp_pd(a.r[1], bound, _CMP_NLT_UQ))) != 0;
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
  return _mm_movemask_pd(_mm_and_pd(_mm_and_pd(inside.r[0], inside.r[1]), _mm_and_pd(inside.r[2], inside.r[3]))) != 3;
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

// yes in the lanes whose lowest bit is 1, no elsewhere.
SYMSEEK_INLINE f64x8 where_odd(const i64x8& bits, const f64x8& yes, const f64x8& no) {
#if defined(__AVX512F__)
  return {_mm512_mask_blend_pd(_mm512_test_epi64_mask(reinterpret_cast<__m512i>(bits.r[0]), _mm512_set1_epi64(1)),
                               no.r[0], yes.r[0])};
#elif defined(__AVX2__)
  const f64x8 sign = as_float(bits << 63);
  return {_mm256_blendv_pd(no.r[0], yes.r[0], sign.r[0]), _mm256_blendv_pd(no.r[1], yes.r[1], sign.r[1])};
#else
  return merge(i64x8{} - (bits & all(INT64_C(1))), yes, no);
#endif
}

// The nearest integer, ties to even, for |a| < 2^51: (a + ROUND) - ROUND, or the one instruction for it.
SYMSEEK_INLINE f64x8 nearest(const f64x8& a) {
#if defined(__AVX512F__)
  return {_mm512_mask_roundscale_pd(a.r[0], 0xff, a.r[0], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
#elif defined(__AVX2__)
  return {_mm256_round_pd(a.r[0], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
          _mm256_round_pd(a.r[1], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
#else
  return (a + ROUND) - ROUND;
#endif
}

// The smaller and the larger of two; b where either is NaN.
SYMSEEK_INLINE f64x8 smaller(const f64x8& a, const f64x8& b) {
#if defined(__AVX512F__)
  return {_mm512_mask_min_pd(a.r[0], 0xff, a.r[0], b.r[0])};
#elif defined(__AVX2__)
  return {_mm256_min_pd(a.r[0], b.r[0]), _mm256_min_pd(a.r[1], b.r[1])};
#else
  return merge(less(a, b), a, b);
#endif
}
SYMSEEK_INLINE f32x16 clamp(const f32x16& a, float low, float high) {
#if defined(__AVX512F__)
  const __m512 raised = _mm512_mask_max_ps(a.r[0], 0xffff, _mm512_set1_ps(low), a.r[0]);
  return {_mm512_mask_min_ps(raised, 0xffff, _mm512_set1_ps(high), raised)};
#elif defined(__SSE2__)
  f32x16 out;
  for (int i = 0; i < f32x16::REGISTERS; ++i) {
#if defined(__AVX2__)
    out.r[i] = _mm256_min_ps(_mm256_set1_ps(high), _mm256_max_ps(_mm256_set1_ps(low), a.r[i]));
#else
    out.r[i] = _mm_min_ps(_mm_set1_ps(high), _mm_max_ps(_mm_set1_ps(low), a.r[i]));
#endif
  }
  return out;
#else
  const f32x16 raised = select(less(a, f32x16::all(low)), f32x16::all(low), a);
  return select(less(f32x16::all(high), raised), f32x16::all(high), raised);
#endif
}

// The leading 26 bits of the significand: two such numbers have an exact product.
SYMSEEK_INLINE f64x8 leading(const f64x8& a) { return as_float(as_integer(a) & all(INT64_C(-0x8000000))); }

template <class T>
struct UnsignedOf;
template <>
struct UnsignedOf<i64x8> {
  typedef uint64_t type __attribute__((vector_size(REGISTER_BYTES)));
};
template <>
struct UnsignedOf<i32x16> {
  typedef uint32_t type __attribute__((vector_size(REGISTER_BYTES)));
};

// >> that shifts in zeros: the arithmetic one has no 64-bit instruction before AVX-512.
template <class I>
SYMSEEK_INLINE I shift_right(const I& a, int bits) {
  I out;
  for (int i = 0; i < I::REGISTERS; ++i)
    out.r[i] = reinterpret_cast<typename I::Register>(reinterpret_cast<typename UnsignedOf<I>::type>(a.r[i]) >> bits);
  return out;
}

}  // namespace detail

// ---- exp -----------------------------------------------------------------------------------------------------------

namespace detail {

// exp(r) - 1 for |r| <= ln2/2: r + r^2 P(r), in pairs so that the chain is short.
SYMSEEK_INLINE f64x8 exp_reduced_less_one(const f64x8& r) {
  const f64x8 r2 = r * r;
  const f64x8 r4 = r2 * r2;
  const f64x8 p0 = 0x1.000000000000ap-1 + r * 0x1.55555555554f9p-3;
  const f64x8 p1 = 0x1.5555555550841p-5 + r * 0x1.1111111127d19p-7;
  const f64x8 p2 = 0x1.6c16c1843840cp-10 + r * 0x1.a01a012a0fe7bp-13;
  const f64x8 p3 = 0x1.a01999e36a854p-16 + r * 0x1.71df25a96f6a9p-19;
  const f64x8 p4 = 0x1.28ad9aa6e6c1fp-22 + r * 0x1.ad7f595a7b2bfp-26;
  return r + r2 * ((p0 + p1 * r2) + (p2 + (p3 + p4 * r2) * r2) * r4);
}
SYMSEEK_INLINE f64x8 exp_reduced(const f64x8& r) { return 1.0 + exp_reduced_less_one(r); }

constexpr double LOG2E = 0x1.71547652b82fep+0;
constexpr double LN2_HIGH = 0x1.62e42fefa4000p-1;  // 41 bits: times an exponent it is exact
constexpr double LN2_LOW = -0x1.8432a1b0e2634p-43;

// 2^n for an integer-valued n, -1022 <= n <= 1023.
SYMSEEK_INLINE f64x8 power_of_two(const f64x8& n) { return as_float(as_integer(n + (ROUND + 1023.0)) << 52); }

// y 2^n for y near 1 and any |n| < 2000, in two steps so that overflow and gradual underflow round once.
SYMSEEK_INLINE f64x8 scale_widely(const f64x8& y, const f64x8& n) {
  const f64x8 half = nearest(n * 0.5);
  return (y * power_of_two(half)) * power_of_two(n - half);
}

SYMSEEK_COLD f64x8 exp_special(const f64x8& x) {
  f64x8 clamped = merge(less(x, all(-746.0)), all(-746.0), x);
  clamped = merge(less(all(710.0), x), all(710.0), clamped);  // NaN passes
  const f64x8 n = nearest(clamped * LOG2E);
  return scale_widely(exp_reduced((clamped - n * LN2_HIGH) - n * LN2_LOW), n);
}

}  // namespace detail

// x = n ln2 + r, exp(x) = 2^n exp(r). Within 1.06 ULP; overflow to infinity, gradual underflow to 0.
SYMSEEK_INLINE f64x8 vexp(const f64x8& x) {
  using namespace detail;
  if (any_not_less(absolute(x), 708.0)) [[unlikely]] {
    const f64x8 copy = x;
    return exp_special(copy);
  }
  const f64x8 scaled = x * LOG2E;
  const f64x8 n = nearest(scaled);
  const f64x8 y = exp_reduced((x - n * LN2_HIGH) - n * LN2_LOW);
  return as_float(as_integer(y) + (as_integer(scaled + ROUND) << 52));
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

// exponent ln2 + log(m), the low part of the product and further small terms given as `low`. With f = m - 1,
// s = f/(2+f) and z = s^2, log(m) = 2s + s z P(z), and 2s = f - s f: written as f - s (f - z P(z)), where the leading
// term f is exact.
SYMSEEK_INLINE f64x8 log_sum(const f64x8& exponent, const f64x8& m, const f64x8& low) {
  const f64x8 f = m - 1.0;
  const f64x8 s = f / (m + 1.0);
  const f64x8 z = s * s;
  const f64x8 z2 = z * z;
  const f64x8 p0 = 0x1.5555555555593p-1 + z * 0x1.999999997f9f7p-2;
  const f64x8 p1 = 0x1.249249422a60cp-2 + z * 0x1.c71c51d7affd7p-3;
  const f64x8 p2 = 0x1.746649b792e06p-3 + z * 0x1.39a09496f2bbbp-3;
  const f64x8 p = p0 + (p1 + (p2 + z2 * 0x1.2f118a57eb661p-3) * z2) * z2;
  return exponent * LN2_HIGH + (f - (s * (f - z * p) - low));
}
SYMSEEK_INLINE f64x8 log_of(const f64x8& exponent, const f64x8& m) { return log_sum(exponent, m, exponent * LN2_LOW); }

SYMSEEK_COLD f64x8 log_special(const f64x8& x) {
  const i64x8 tiny = less(x, all(0x1p-1022));
  const f64x8 scaled = merge(tiny, x * 0x1p54, x);
  f64x8 exponent, m;
  split_exponent(scaled, exponent, m);
  f64x8 y = log_of(exponent - as_float(tiny & as_integer(all(54.0))), m);
  y = merge(less(x, all(INFINITE)), y, x);  // infinity and NaN stay
  y = merge(equal(x, all(0.0)), all(-INFINITE), y);
  return merge(less(x, all(0.0)), all(__builtin_nan("")), y);
}

}  // namespace detail

// Within 0.97 ULP, denormals included; -infinity at 0, NaN below.
SYMSEEK_INLINE f64x8 vlog(const f64x8& x) {
  using namespace detail;
  if (any_not_positive_normal(x)) [[unlikely]] {
    const f64x8 copy = x;
    return log_special(copy);
  }
  f64x8 exponent, m;
  split_exponent(x, exponent, m);
  return log_of(exponent, m);
}

// ---- sin, cos, tan -------------------------------------------------------------------------------------------------

namespace detail {

constexpr double ANGLE_LIMIT = 1e5;  // below it, multiples of the parts of pi/2 (37 bits each) are exact
constexpr double INVERSE_QUARTER = 0x1.45f306dc9c883p-1;  // 2/pi

// An angle as quadrant pi/2 + high + low, |high| <= pi/4; of the quadrant only the two lowest bits count.
struct Angle {
  f64x8 high, low;
  i64x8 quadrant;
};

// Below ANGLE_LIMIT: the multiple of pi/2 is subtracted in three parts. The first two subtractions are exact, so
// next to a multiple of pi/2 the remainder keeps its relative accuracy.
SYMSEEK_INLINE Angle reduce_angle(const f64x8& x) {
  const f64x8 scaled = x * INVERSE_QUARTER;
  const f64x8 n = nearest(scaled);
  const f64x8 first = x - n * 0x1.921fb54440000p+0;
  const f64x8 second = n * 0x1.68c234c4c0000p-39;
  const f64x8 high = first - second;
  const f64x8 low = ((first - high) - second) - n * 0x1.98a2e03707345p-77;
  return {high, low, as_integer(scaled + ROUND)};
}

// Any finite x >= 1: x 2/pi modulo 4, from the 192 bits of 2/pi that matter (Payne and Hanek's method). All in
// integers, so the same on every machine, which the C library does not promise.
SYMSEEK_COLD int64_t reduce_huge_angle(double x, double& high, double& low) {
  static constexpr uint64_t TWO_OVER_PI[22] = {
      0,  // so that the window may begin before the point
      0xa2f9836e4e441529,
      0xfc2757d1f534ddc0,
      0xdb6295993c439041,
      0xfe5163abdebbc561,
      0xb7246e3a424dd2e0,
      0x06492eea09d1921c,
      0xfe1deb1cb129a73e,
      0xe88235f52ebb4484,
      0xe99c7026b45f7e41,
      0x3991d639835339f4,
      0x9c845f8bbdf9283b,
      0x1ff897ffde05980f,
      0xef2f118b5a0a6d1f,
      0x6d367ecf27cb09b7,
      0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b,
      0x3d0739f78a5292ea,
      0x6bfb5fb11f8d5d08,
      0x56033046fc7b6bab,
      0xf0cfbc209af4361d,
      0xa9e391615ee61b08,
  };
  __extension__ typedef unsigned __int128 Wide;
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint64_t significand = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x0010000000000000);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1075;  // x = significand 2^exponent
  // Bits of 2/pi above this one only add multiples of 4.
  const int start = exponent - 2 + 64;
  const int word = start / 64, shift = start % 64;
  uint64_t window[3];
  for (int i = 0; i < 3; ++i) {
    window[i] = TWO_OVER_PI[word + i] << shift;
    if (shift) window[i] |= TWO_OVER_PI[word + i + 1] >> (64 - shift);
  }
  const Wide lowest = static_cast<Wide>(significand) * window[2];
  const Wide middle = static_cast<Wide>(significand) * window[1] + static_cast<uint64_t>(lowest >> 64);
  const uint64_t top = significand * window[0] + static_cast<uint64_t>(middle >> 64);
  // Two bits of quadrant, then the fraction; from one half on, the next quadrant and a negative fraction.
  int64_t quadrant = static_cast<int64_t>(top >> 62);
  Wide fraction = static_cast<Wide>(top) << 66 | static_cast<Wide>(static_cast<uint64_t>(middle)) << 2;
  const bool negative = fraction >> 127 != 0;
  if (negative) {
    ++quadrant;
    fraction = ~fraction;
  }
  // No double comes closer to a multiple of pi/2 than about 2^-61, so 64 significant bits are left.
  const int zeros = __builtin_clzll(static_cast<uint64_t>(fraction >> 64) | 1);
  const uint64_t leading_bits = static_cast<uint64_t>((fraction << zeros) >> 64);
  // times pi/2 = 0xc90f... 2^-63, of which 53 bits for high and 11 for low
  const Wide product = static_cast<Wide>(leading_bits) * UINT64_C(0xc90fdaa22168c235);
  const uint64_t result = static_cast<uint64_t>(product >> 64);  // r = result 2^(-63 - zeros)
  const uint64_t scale_bits = static_cast<uint64_t>(1023 - 63 - zeros) << 52;
  double scale;
  std::memcpy(&scale, &scale_bits, sizeof scale);
  if (negative) scale = -scale;
  high = static_cast<double>(static_cast<int64_t>(result >> 11)) * 2048.0 * scale;
  low = static_cast<double>(static_cast<int64_t>(result & 0x7ff)) * scale;
  return quadrant;
}

SYMSEEK_COLD Angle reduce_any_angle(const f64x8& x) {
  Angle angle = reduce_angle(x);
  double xs[8], highs[8], lows[8];
  int64_t quadrants[8];
  x.store(xs);
  angle.high.store(highs);
  angle.low.store(lows);
  angle.quadrant.store(quadrants);
  for (int i = 0; i < 8; ++i) {
    const double size = __builtin_fabs(xs[i]);
    if (size < ANGLE_LIMIT) continue;
    if (!(size < INFINITE)) {
      highs[i] = lows[i] = xs[i] - xs[i];
      continue;
    }
    quadrants[i] = reduce_huge_angle(size, highs[i], lows[i]);
    if (xs[i] < 0.0) {
      quadrants[i] = -quadrants[i];
      highs[i] = -highs[i];
      lows[i] = -lows[i];
    }
  }
  return {f64x8::load(highs), f64x8::load(lows), i64x8::load(quadrants)};
}

// sin(r + quadrant pi/2) for r = high + low, |r| <= pi/4. One polynomial, s = r + r z P(z), serves both kinds of
// quadrant: with z = r^2 it is sin(r), for the even ones; with z = (r/2)^2 it is 2 sin(r/2), and cos(r) = 1 - s^2/2.
SYMSEEK_INLINE f64x8 sin_in_quadrant(const Angle& angle) {
  const f64x8 square = angle.high * angle.high;
  const f64x8 z = where_odd(angle.quadrant, square * 0.25, square);
  const f64x8 z2 = z * z;
  const f64x8 p0 = -0x1.5555555555548p-3 + z * 0x1.111111110f730p-7;
  const f64x8 p1 = -0x1.a01a019be9221p-13 + z * 0x1.71de35552c480p-19;
  const f64x8 p2 = -0x1.ae5e4b84e02ebp-26 + z * 0x1.5d8b55ea8dd2fp-33;
  const f64x8 s = angle.high + (angle.low + (angle.high * z) * (p0 + (p1 + p2 * z2) * z2));
  return where_odd(angle.quadrant, 1.0 - (s * 0.5) * s, s);
}

}  // namespace detail

// Within 1.21 ULP for every finite x; about 15 times slower in a vector with some |x| >= 1e5.
SYMSEEK_INLINE f64x8 vsin(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);  // so that sin(-0) = -0
  Angle angle = reduce_angle(size);
  if (any_not_less(size, ANGLE_LIMIT)) [[unlikely]] {
    const f64x8 copy = size;
    angle = reduce_any_angle(copy);
  }
  return flip_sign(sin_in_quadrant(angle), ((angle.quadrant << 62) ^ as_integer(x)) & all(SIGN));
}

// The sine one quadrant further on, just as accurate.
SYMSEEK_INLINE f64x8 vcos(const f64x8& x) {
  using namespace detail;
  Angle angle = reduce_angle(x);
  if (any_not_less(absolute(x), ANGLE_LIMIT)) [[unlikely]] {
    const f64x8 copy = x;
    angle = reduce_any_angle(copy);
  }
  angle.quadrant = angle.quadrant + all(INT64_C(1));
  return flip_sign(sin_in_quadrant(angle), (angle.quadrant << 62) & all(SIGN));
}

// t = r + r z P(z)/Q(z) in the even quadrants; -1/t in the odd ones, where the rounding error of t is made good. Within
// 1.64 ULP for every finite x.
SYMSEEK_INLINE f64x8 vtan(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);
  Angle angle = reduce_angle(size);
  if (any_not_less(size, ANGLE_LIMIT)) [[unlikely]] {
    const f64x8 copy = size;
    angle = reduce_any_angle(copy);
  }
  const f64x8 z = angle.high * angle.high;
  const f64x8 p =
      0x1.5555555555555p-2 + (-0x1.5f51a26ae3d21p-6 + (0x1.00c96dc6aa568p-12 + z * -0x1.3375a9dbee43cp-26) * z) * z;
  const f64x8 q = 1.0 + (-0x1.db78e80da450ap-2 + (0x1.926973ecc588ep-6 + z * -0x1.0c7c8b2f0a28fp-12) * z) * z;
  // tan(high + low) = tan(high) + low (1 + tan(high)^2), where 3z/2 is near enough to the square
  const f64x8 rest = (angle.low + angle.low * (1.5 * z)) + ((angle.high * z) * p) / q;
  const f64x8 t = angle.high + rest;
  const f64x8 t_low = rest - (t - angle.high);
  const f64x8 inverse = 1.0 / t;
  const i64x8 sign = (angle.quadrant << 63) ^ (as_integer(x) & all(SIGN));
  return flip_sign(where_odd(angle.quadrant, inverse - (inverse * inverse) * t_low, t), sign);
}

// ---- tanh ----------------------------------------------------------------------------------------------------------

// Below 3/4: x + x z P(z)/Q(z), z = x^2. Beyond: 1 - 2/(exp(2|x|) + 1). One division serves both. Within
// 1.09 ULP.
SYMSEEK_INLINE f64x8 vtanh(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);
  const f64x8 capped = smaller(size, all(20.0));  // tanh rounds to 1 from 19.1
  const f64x8 scaled = capped * (2.0 * LOG2E);
  const f64x8 n = nearest(scaled);
  const f64x8 y = exp_reduced(((capped + capped) - n * LN2_HIGH) - n * LN2_LOW);
  const f64x8 power = as_float(as_integer(y) + (as_integer(scaled + ROUND) << 52));
  const f64x8 z = capped * capped;
  const f64x8 p = -0x1.5555555555546p-2 + (-0x1.4fb4635c2ca58p-6 + z * -0x1.a0dec4e3b6336p-13) * z;
  const f64x8 q = (1.0 + z * 0x1.d88b6c3ae1922p-2) + (0x1.7d6889536e80bp-6 + z * 0x1.b03ca7642e1f3p-13) * (z * z);
  const i64x8 large = less_equal(all(0.75), size);  // false for NaN, which thus stays in the base
  const f64x8 top = select(large, all(-2.0), (size * z) * p);
  const f64x8 bottom = select(large, power + 1.0, q);
  const f64x8 base = select(large, all(1.0), size);
  return as_float(as_integer(base + top / bottom) | (as_integer(x) & all(SIGN)));
}

// ---- pow -----------------------------------------------------------------------------------------------------------

namespace detail {

// high + low = exponent + log2(m) to about 2^-63 relative, high with 26 bits. As in log, s = (m-1)/(m+1);
// log2(m) = 2/(3 ln2) s (3 + s^2 + s^4 P(s^2)), where s and the bracket carry a short head and a tail.
SYMSEEK_INLINE void log2_extended(const f64x8& exponent, const f64x8& m, f64x8& high, f64x8& low) {
  const f64x8 f = m - 1.0;
  const f64x8 inverse = 1.0 / (m + 1.0);
  const f64x8 s = f * inverse;
  const f64x8 s_head = leading(s);
  const f64x8 m_head = leading(m);
  const f64x8 s_tail = inverse * ((f - s_head * (m_head + 1.0)) - s_head * (m - m_head));
  const f64x8 square = s_head * s_head;
  const f64x8 square_tail = s_tail * (s_head + s);
  const f64x8 z = square + square_tail;
  const f64x8 z2 = z * z;
  const f64x8 p0 = 0x1.3333333333465p-1 + z * 0x1.b6db6db68382fp-2;
  const f64x8 p1 = 0x1.555555a239be9p-2 + z * 0x1.1745af5a85a6bp-2;
  const f64x8 p2 = 0x1.d8ae68092ec64p-3 + z * 0x1.973f4e9ea777bp-3;
  const f64x8 p = (p0 + p1 * z2) + (p2 + z2 * 0x1.956962a3716a4p-3) * (z2 * z2);
  const f64x8 rest = z2 * p + square_tail;
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

// head + tail = b (exponent + log2(m)).
SYMSEEK_INLINE void multiply_log2(const f64x8& exponent, const f64x8& m, const f64x8& b, f64x8& head, f64x8& tail) {
  f64x8 log_head, log_tail;
  log2_extended(exponent, m, log_head, log_tail);
  const f64x8 b_head = leading(b);
  head = b_head * log_head;
  tail = (b - b_head) * log_head + b * log_tail;
}

constexpr double LN2 = 0x1.62e42fefa39efp-1;

// Denormal, negative and overflowing lanes; those whose result is exact (zeros, infinities, NaN) go to the C library.
SYMSEEK_COLD f64x8 pow_special(const f64x8& a, const f64x8& b) {
  const f64x8 size = absolute(a);
  const i64x8 tiny = less(size, all(0x1p-1022));
  f64x8 exponent, m, head, tail;
  split_exponent(merge(tiny, size * 0x1p54, size), exponent, m);
  multiply_log2(exponent - as_float(tiny & as_integer(all(54.0))), m, b, head, tail);
  const f64x8 power = head + tail;
  const i64x8 beyond = less(all(1100.0), absolute(power));
  const f64x8 limit = as_float((as_integer(power) & all(SIGN)) | as_integer(all(1100.0)));
  const f64x8 n = nearest(merge(beyond, limit, power));
  f64x8 y = scale_widely(exp_reduced(merge(beyond, all(0.0), ((head - n) + tail) * LN2)), n);
  const f64x8 shifted = b + ROUND;
  const i64x8 negative = less(a, all(0.0));
  y = flip_sign(y, (as_integer(shifted) << 63) & negative);
  y = merge(negative & not_equal(shifted - ROUND, b), all(__builtin_nan("")), y);
  if (!any_not_less(size, INFINITE) && !any_not_less(-size, 0.0) && !any_not_less(absolute(b), 0x1p51)) return y;
  double as[8], bs[8], ys[8];
  a.store(as);
  b.store(bs);
  y.store(ys);
  for (int i = 0; i < 8; ++i) {
    const double size_i = __builtin_fabs(as[i]), b_i = __builtin_fabs(bs[i]);
    const bool done = size_i > 0.0 && size_i < INFINITE && b_i < INFINITE && (as[i] > 0.0 || b_i < 0x1p51);
    if (!done) ys[i] = __builtin_pow(as[i], bs[i]);
  }
  return f64x8::load(ys);
}

}  // namespace detail

// 2^(b log2 a), the logarithm and the product in head and tail. Within 1.45 ULP; special cases as in C99.
SYMSEEK_INLINE f64x8 vpow(const f64x8& a, const f64x8& b) {
  using namespace detail;
  if (!any_not_positive_normal(a)) [[likely]] {
    f64x8 exponent, m, head, tail;
    split_exponent(a, exponent, m);
    multiply_log2(exponent, m, b, head, tail);
    const f64x8 power = head + tail;
    if (!any_not_less(absolute(power), 1021.0)) [[likely]] {
      const f64x8 y = exp_reduced(((head - nearest(power)) + tail) * LN2);
      return as_float(as_integer(y) + (as_integer(power + ROUND) << 52));
    }
  }
  const f64x8 copy_a = a, copy_b = b;
  return pow_special(copy_a, copy_b);
}

// ---- Single precision, for the policy ------------------------------------------------------------------------------

// exp within 1.9e-7 relative for -87 <= x <= 88, constant beyond.
SYMSEEK_INLINE f32x16 fexp(const f32x16& x, float highest = 88.0f) {
  using namespace detail;
  const f32x16 clamped = clamp(x, -87.0f, highest);
  const f32x16 shifted = clamped * 1.44269502f + ROUNDF;
  const f32x16 n = shifted - ROUNDF;
  const f32x16 r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
  const f32x16 p = (0.499992311f + r * 0.166671157f) + (0.0418903232f + r * 0.00831251405f) * (r * r);
  const f32x16 y = 1.0f + (r + (r * r) * p);
  return as_float(as_integer(y) + (as_integer(shifted) << 23));
}

// 1/(1 + exp(-x)) within 1e-7 absolute, 2.4e-7 relative above -87; never denormal.
SYMSEEK_INLINE f32x16 fsigmoid(const f32x16& x) { return 1.0f / (1.0f + fexp(-x, 87.0f)); }

// tanh within 2e-7 absolute.
SYMSEEK_INLINE f32x16 ftanh(const f32x16& x) { return 1.0f - 2.0f / (1.0f + fexp(x + x)); }

// log of a positive normal float, within 8.2e-8 relative.
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
