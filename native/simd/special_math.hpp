// More elementary functions on whole vectors, in double: arcus functions, hyperbolic functions, erf, floor. Written
// as those of vector_math.hpp are: no fused multiply-add, the same bits on every instruction set. The accuracy beside
// each function is the largest error seen against 64-bit significands, over some 10^6 arguments.
#pragma once

#include "simd/vector_math.hpp"

namespace symseek::SYMSEEK_ISA {

namespace detail {

// A number in two parts: high is it to the nearest double.
struct Split {
  double high, low;
};
constexpr Split PI_4 = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
constexpr Split PI_2 = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
constexpr Split PI_3_4 = {0x1.2d97c7f3321d2p+1, 0x1.a79394c9e8a0ap-54};
constexpr Split PI = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};

// The sign of b on a, which is not negative.
SYMSEEK_INLINE f64x8 with_sign_of(const f64x8& b, const f64x8& a) {
  return as_float(as_integer(a) | (as_integer(b) & all(SIGN)));
}
// All-ones where the sign bit is set, zeros included.
SYMSEEK_INLINE i64x8 negative_sign(const f64x8& a) { return less(with_sign_of(a, all(1.0)), all(0.0)); }

// ---- atan, atan2 ---------------------------------------------------------------------------------------------------

// The angle of the point (x, y), x and y not negative, or of its mirror image (-x, y). From the nearest of 0, pi/4 and
// pi/2 it differs by atan(t), |t| <= 0.66: t + t z P(z)/Q(z), z = t^2.
SYMSEEK_INLINE f64x8 angle_of(const f64x8& y, const f64x8& x, const i64x8& mirrored) {
  const i64x8 middle = less(x * 0.66, y);
  const i64x8 steep = less(x * 0x1.3504f333f9de6p+1, y);  // tan(3 pi/8)
  const f64x8 top = select(steep, -x, select(middle, y - x, y));
  const f64x8 bottom = select(steep, y, select(middle, y + x, x));
  const f64x8 t = top / select(equal(bottom, all(0.0)), all(1.0), bottom);  // 0/0 is the angle 0
  const f64x8 z = t * t;
  const f64x8 z2 = z * z;
  const f64x8 p = (-0x1.5555555555542p-2 + z * -0x1.436598352f4e6p-1) +
                  ((-0x1.8ac9a99e9c2d7p-2 + z * -0x1.5427b4f0df583p-4) + z2 * -0x1.26be7013e17abp-8) * z2;
  const f64x8 q =
      (1.0 + z * 0x1.3f58fef4b00abp+1) +
      ((0x1.1ccbfe1113a36p+1 + z * 0x1.b248bedac0174p-1) + (0x1.05a9de42a4efap-3 + z * 0x1.50d366efe5051p-8) * z2) * z2;
  const f64x8 rest = ((t * z) * p) / q;
  const f64x8 flat_high = select(mirrored, all(PI.high), all(0.0));
  const f64x8 flat_low = select(mirrored, all(PI.low), all(0.0));
  const f64x8 middle_high = select(mirrored, all(PI_3_4.high), all(PI_4.high));
  const f64x8 middle_low = select(mirrored, all(PI_3_4.low), all(PI_4.low));
  const f64x8 high = select(steep, all(PI_2.high), select(middle, middle_high, flat_high));
  const f64x8 low = select(steep, all(PI_2.low), select(middle, middle_low, flat_low));
  const i64x8 back = mirrored & all(SIGN);
  return high + (flip_sign(t, back) + (flip_sign(rest, back) + low));
}

// Points so far out that sums overflow, or so near to 0 that products lose bits; infinities, NaN.
SYMSEEK_COLD f64x8 atan2_special(const f64x8& y, const f64x8& x) {
  const f64x8 size_y = absolute(y), size_x = absolute(x), sum = size_y + size_x;
  const i64x8 infinite_y = equal(size_y, all(INFINITE)), infinite_x = equal(size_x, all(INFINITE));
  const i64x8 infinite = infinite_y | infinite_x;
  f64x8 scale = merge(less(sum, all(0x1p1020)), all(1.0), all(0x1p-4));
  scale = merge(less(sum, all(0x1p-960)), all(0x1p100), scale);
  const f64x8 one = all(1.0), none = all(0.0);
  const f64x8 angle = angle_of(merge(infinite, merge(infinite_y, one, none), size_y * scale),
                               merge(infinite, merge(infinite_x, one, none), size_x * scale), negative_sign(x));
  return with_sign_of(y, merge(equal(sum, sum), angle, sum));
}

}  // namespace detail

// Within 0.90 ULP.
SYMSEEK_INLINE f64x8 vatan(const f64x8& x) {
  using namespace detail;
  return with_sign_of(x, angle_of(absolute(x), all(1.0), i64x8::all(0)));
}

// Within 1.52 ULP; special cases as in C99.
SYMSEEK_INLINE f64x8 vatan2(const f64x8& y, const f64x8& x) {
  using namespace detail;
  const f64x8 size_y = absolute(y), size_x = absolute(x), sum = size_y + size_x;
  if (any_not_less(sum, 0x1p1020) || any_not_less(-sum, -0x1p-960)) [[unlikely]] {
    const f64x8 copy_y = y, copy_x = x;
    return atan2_special(copy_y, copy_x);
  }
  return with_sign_of(y, angle_of(size_y, size_x, negative_sign(x)));
}

// ---- asin, acos ----------------------------------------------------------------------------------------------------

namespace detail {

// Up to 1/2, asin(s) = s + s r with r = z P(z)/Q(z), z = s^2. Beyond, asin(x) = pi/2 - 2 asin(s) with
// s = sqrt((1 - x)/2), which is head + tail more closely. NaN beyond 1.
struct Arc {
  i64x8 large;
  f64x8 s, r, head, tail;
};
SYMSEEK_INLINE Arc arc_of(const f64x8& size) {
  Arc arc;
  arc.large = less(all(0.5), size);
  const f64x8 half = (1.0 - size) * 0.5;
  const f64x8 root = square_root(half);
  const f64x8 z = select(arc.large, half, size * size);
  const f64x8 z2 = z * z;
  const f64x8 p = (0x1.55555555555b5p-3 + z * -0x1.30eb7199fcd3ep-2) +
                  ((0x1.4b161b8ea3e9dp-3 + z * -0x1.a9d43b6c19908p-6) + z2 * 0x1.1b8cf06d3a996p-12) * z2;
  const f64x8 q = (1.0 + z * -0x1.1e4a2ecd15f98p+1) +
                  ((0x1.b56775a4e8a0bp+0 + z * -0x1.0419d81f2ab58p-1) + z2 * 0x1.79402e891a5cap-5) * z2;
  arc.s = select(arc.large, root, size);
  arc.r = (z * p) / q;
  arc.head = leading(root);
  const f64x8 both = root + arc.head;
  arc.tail = (half - arc.head * arc.head) / select(equal(both, all(0.0)), all(1.0), both);
  return arc;
}

}  // namespace detail

// Within 0.94 ULP; NaN beyond 1.
SYMSEEK_INLINE f64x8 vasin(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);
  const Arc arc = arc_of(size);
  const f64x8 product = arc.s * arc.r;
  const f64x8 rest = 2.0 * product - (PI_2.low - 2.0 * arc.tail);
  const f64x8 large = PI_4.high - (rest - (PI_4.high - 2.0 * arc.head));
  return with_sign_of(x, select(arc.large, large, size + product));
}

// Within 0.91 ULP; NaN beyond 1.
SYMSEEK_INLINE f64x8 vacos(const f64x8& x) {
  using namespace detail;
  const Arc arc = arc_of(absolute(x));
  const f64x8 product = arc.s * arc.r;
  const f64x8 small = PI_2.high - (x - (PI_2.low - x * arc.r));
  const f64x8 near_one = 2.0 * (arc.head + (product + arc.tail));
  const f64x8 near_minus_one = PI.high - 2.0 * (arc.s + (product - PI_2.low));
  return select(arc.large, select(less(x, all(0.0)), near_minus_one, near_one), small);
}

// ---- sinh, cosh ----------------------------------------------------------------------------------------------------

namespace detail {

// Halves of exp(x), as high + low, and of exp(-x).
struct Halves {
  f64x8 high, low, inverse;
};
// From exp(r) - 1 and the power of two that goes with it, for x = n ln2 + r not negative.
SYMSEEK_INLINE Halves halves_of(const f64x8& x) {
  if (any_not_less(x, 709.0)) [[unlikely]] {
    const f64x8 capped = merge(less(all(711.0), x), all(711.0), x);  // NaN passes
    const f64x8 n = nearest(capped * LOG2E);
    const f64x8 more = exp_reduced_less_one((capped - n * LN2_HIGH) - n * LN2_LOW);
    const f64x8 y = 1.0 + more, high = scale_widely(y, n - 1.0);
    return {high, scale_widely(more - (y - 1.0), n - 1.0), 0.25 / high};
  }
  const f64x8 n = nearest(x * LOG2E);
  const f64x8 more = exp_reduced_less_one((x - n * LN2_HIGH) - n * LN2_LOW);
  const f64x8 y = 1.0 + more, scale = power_of_two(n - 1.0), high = y * scale;
  return {high, (more - (y - 1.0)) * scale, 0.25 / high};
}

}  // namespace detail

// Below 1: x + x z P(z), z = x^2. Within 1.06 ULP.
SYMSEEK_INLINE f64x8 vsinh(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);
  const Halves halves = halves_of(size);
  const f64x8 z = size * size;
  const f64x8 z2 = z * z;
  const f64x8 p0 = 0x1.5555555555556p-3 + z * 0x1.111111111101ep-7;
  const f64x8 p1 = 0x1.a01a01a037269p-13 + z * 0x1.71de3a3b06bf7p-19;
  const f64x8 p2 = 0x1.ae646ff507e9fp-26 + z * 0x1.6116f4a289162p-33;
  const f64x8 p = p0 + (p1 + (p2 + z2 * 0x1.b5c8964840f69p-41) * z2) * z2;
  const f64x8 large = halves.high + (halves.low - halves.inverse);
  return with_sign_of(x, select(less(size, all(1.0)), size + (size * z) * p, large));
}

// Within 1.05 ULP.
SYMSEEK_INLINE f64x8 vcosh(const f64x8& x) {
  using namespace detail;
  const Halves halves = halves_of(absolute(x));
  return halves.high + (halves.low + halves.inverse);
}

// ---- asinh ---------------------------------------------------------------------------------------------------------

// Up to 1/2: x + x z P(z)/Q(z), z = x^2. Beyond: log(u), u = x + sqrt(x^2 + 1), where what rounding took from u is
// added again; from 2^28 on log(2x). Within 0.82 ULP.
SYMSEEK_INLINE f64x8 vasinh(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);
  const f64x8 z = size * size;
  const f64x8 z2 = z * z;
  const f64x8 p = (-0x1.555555555554bp-3 + z * -0x1.16af540e48a89p-2) +
                  ((-0x1.0c2de7a38ebd0p-3 + z * -0x1.223ffa90dd067p-6) + z2 * -0x1.0ffb36f793bc7p-13) * z2;
  const f64x8 q = (1.0 + z * 0x1.0a9d18a44fed4p+1) +
                  ((0x1.7483edf6db6bep+0 + z * 0x1.8ab918cf21927p-2) + z2 * 0x1.ea7d8543726f0p-6) * z2;
  const f64x8 small = size + ((size * z) * p) / q;

  const f64x8 head = leading(size), tail = size - head;
  const f64x8 z_low = ((head * head - z) + 2.0 * head * tail) + tail * tail;
  const f64x8 sum = z + 1.0, shift = sum - z;
  const f64x8 sum_low = (z - (sum - shift)) + (1.0 - shift);
  const f64x8 root = square_root(sum);
  const f64x8 root_head = leading(root), root_tail = root - root_head;
  const f64x8 missing = ((sum - root_head * root_head) - 2.0 * root_head * root_tail) - root_tail * root_tail;
  const f64x8 u = root + size;
  const f64x8 u_low = size - (u - root);
  const f64x8 twice = root + root;
  const f64x8 correction = (u_low * twice + (missing + (z_low + sum_low))) / (twice * u);

  const i64x8 huge = less(all(0x1p28), size);
  f64x8 exponent, m;
  split_exponent(select(huge, size, u), exponent, m);
  exponent = exponent + select(huge, all(1.0), all(0.0));
  const f64x8 large = log_sum(exponent, m, exponent * LN2_LOW + select(huge, all(0.0), correction));
  const f64x8 y = select(less(size, all(0.5)), small, large);
  return with_sign_of(x, select(less(size, all(INFINITE)), y, size));  // infinity and NaN stay
}

// ---- erf -----------------------------------------------------------------------------------------------------------

// Below 1: x + x P(z)/Q(z), z = x^2. Beyond: 1 - exp(-z) P(x)/Q(x). One division serves both. Within 1.40 ULP.
SYMSEEK_INLINE f64x8 verf(const f64x8& x) {
  using namespace detail;
  const f64x8 size = absolute(x);
  const f64x8 capped = smaller(size, all(6.0));  // erf rounds to 1 from 5.93
  const f64x8 z = capped * capped;
  const f64x8 z2 = z * z;
  const f64x8 n = nearest(z * -LOG2E);
  const f64x8 power = exp_reduced((-z - n * LN2_HIGH) - n * LN2_LOW) * power_of_two(n);
  const f64x8 small_p = (0x1.06eba8214db69p-3 + z * -0x1.449d38e6f0157p-2) +
                        ((-0x1.8beae880e355fp-5 + z * -0x1.20df9f40cc9a7p-7) +
                         (-0x1.03d93218c7645p-11 + z * -0x1.5bd72bb376208p-16) * z2) *
                            z2;
  const f64x8 small_q = (1.0 + z * 0x1.d790f0e350cedp-2) + ((0x1.8042a41da290ap-4 + z * 0x1.5e64da01f5223p-7) +
                                                            (0x1.6b12d62630e48p-11 + z * 0x1.5d254131037c9p-16) * z2) *
                                                               z2;
  const f64x8 p = (0x1.fffffc4cf2bf1p-1 + capped * 0x1.63c9dd88b7f3fp+0) +
                  ((0x1.e5a9ad9742688p-1 + capped * 0x1.7dfb5592448b5p-2) +
                   (0x1.58c11ba53d206p-4 + capped * 0x1.23c02da0c3eb6p-7) * z) *
                      z;
  const f64x8 q = (1.0 + capped * 0x1.42539f8431cf0p+1) +
                  ((0x1.651f857a9e761p+1 + capped * 0x1.c15aca1818f9cp+0) +
                   ((0x1.5697de8397aefp-1 + capped * 0x1.3185c167880a5p-3) + z * 0x1.028f31ec41f06p-6) * z) *
                      z;
  const i64x8 large = less_equal(all(1.0), size);  // false for NaN, which thus stays in the base
  const f64x8 top = select(large, -power * p, size * small_p);
  const f64x8 bottom = select(large, q, small_q);
  return with_sign_of(x, select(large, all(1.0), size) + top / bottom);
}

// ---- sign, floor, min, max -----------------------------------------------------------------------------------------

// -1, 0 or 1; NaN for NaN.
SYMSEEK_INLINE f64x8 vsign(const f64x8& x) {
  using namespace detail;
  return select(less(all(0.0), x), all(1.0), select(less(x, all(0.0)), all(-1.0), x - x));
}

SYMSEEK_INLINE f64x8 vfloor(const f64x8& x) {
#if defined(__AVX512F__)
  return {_mm512_mask_roundscale_pd(x.r[0], 0xff, x.r[0], _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
#elif defined(__AVX2__)
  return {_mm256_floor_pd(x.r[0]), _mm256_floor_pd(x.r[1])};
#else
  using namespace detail;
  const f64x8 size = absolute(x);
  const f64x8 near = flip_sign((size + 0x1p52) - 0x1p52, as_integer(x) & all(SIGN));
  const f64x8 below = near - as_float(less(x, near) & as_integer(all(1.0)));
  return merge(less(size, all(0x1p52)), below, x);  // all others are whole numbers already
#endif
}

// The second operand where both are equal; NaN where either is.
SYMSEEK_INLINE f64x8 vmin(const f64x8& a, const f64x8& b) { return select(equal(a, a), select(less(a, b), a, b), a); }
SYMSEEK_INLINE f64x8 vmax(const f64x8& a, const f64x8& b) { return select(equal(a, a), select(less(b, a), a, b), a); }

}  // namespace symseek::SYMSEEK_ISA
