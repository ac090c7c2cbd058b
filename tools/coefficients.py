"""Computes the constants of native/simd/*_math.hpp: minimax polynomials and split constants.

The Remez exchange runs in 60-digit arithmetic (mpmath). Coefficients are then rounded to double (or
float) one at a time from the lowest power up, and the ones above refitted around each rounded
value, so that the rounding costs almost no accuracy. `python tools/coefficients.py` prints every
constant with its error bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[mp.mpf], mp.mpf]
LN2 = mp.log(2)


def rounded(value: mp.mpf, bits: int) -> mp.mpf:
    """The nearest number with a significand of that many bits."""
    if value == 0:
        return mp.mpf(0)
    _, exponent = mp.frexp(value)
    scale = mp.mpf(2) ** (bits - exponent)
    return mp.nint(value * scale) / scale


def spread(low: mp.mpf, high: mp.mpf, count: int) -> list[mp.mpf]:
    """Chebyshev points, ends included."""
    return [
        (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (count - 1)) for i in range(count)
    ]


def extrema(grid: Sequence[mp.mpf], errors: Sequence[mp.mpf], count: int) -> list[int]:
    """Where the error alternates: the index of the largest one between consecutive sign changes."""
    found: list[int] = []
    for i, error in enumerate(errors):
        if found and (errors[found[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > count:  # drop the weaker end, which keeps the alternation
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    return found


def remez(
    targets: Sequence[mp.mpf],
    weights: Sequence[mp.mpf],
    powers: Sequence[int],
    grid: Sequence[mp.mpf],
):
    """Coefficients c minimising max |weight (target - sum c_i x^powers_i)| over the grid."""
    count = len(powers) + 1
    points = [(2 * i + 1) * len(grid) // (2 * count) for i in range(count)]
    coefficients: list[mp.mpf] = []
    for _ in range(40):
        system = mp.matrix(count, count)
        values = mp.matrix(count, 1)
        for i, at in enumerate(points):
            for j, power in enumerate(powers):
                system[i, j] = grid[at] ** power
            system[i, count - 1] = (-1) ** i / weights[at]
            values[i] = targets[at]
        solution = list(mp.lu_solve(system, values))
        coefficients, level = solution[:-1], abs(solution[-1])
        errors = [
            w * (t - sum(c * x**p for c, p in zip(coefficients, powers, strict=True)))
            for x, t, w in zip(grid, targets, weights, strict=True)
        ]
        fresh = extrema(grid, errors, count)
        if len(fresh) < count or max(map(abs, errors)) < level * mp.mpf("1.001"):
            break
        points = fresh
    return coefficients


def polynomial(target: Function, weight: Function, terms: int, low, high, bits: int = 53):
    """Minimax coefficients rounded to `bits`, and the error of the rounded polynomial.

    On an interval that starts at zero the powers above a coefficient are refitted after rounding.
    """
    grid = spread(mp.mpf(low), mp.mpf(high), 500)[1:]
    targets = [target(x) for x in grid]
    weights = [weight(x) for x in grid]
    if low < 0:
        kept = [rounded(c, bits) for c in remez(targets, weights, range(terms), grid)]
    else:
        kept = []
        for first in range(terms):
            rest = [
                t - sum(c * x**p for p, c in enumerate(kept))
                for x, t in zip(grid, targets, strict=True)
            ]
            kept.append(rounded(remez(rest, weights, range(first, terms), grid)[0], bits))
    errors = (
        abs(w * (t - sum(c * x**p for p, c in enumerate(kept))))
        for x, t, w in zip(grid, targets, weights, strict=True)
    )
    return kept, max(errors)


def rational(target: Function, weight: Function, top: int, bottom: int, low, high, bits: int = 53):
    """target ~ p/q with q(0) = 1: each exchange solves for p, q and the levelled error in turn."""
    grid = spread(mp.mpf(low), mp.mpf(high), 500)[1:]
    targets = [target(x) for x in grid]
    weights = [weight(x) for x in grid]
    count = top + 1 + bottom + 1
    points = [(2 * i + 1) * len(grid) // (2 * count) for i in range(count)]
    level = mp.mpf(0)
    p: list[mp.mpf] = []
    q: list[mp.mpf] = []
    for _ in range(40):
        for _ in range(60):
            system = mp.matrix(count, count)
            values = mp.matrix(count, 1)
            for i, at in enumerate(points):
                x, sign = grid[at], (-1) ** i / weights[at]
                shifted = targets[at] - sign * level
                for j in range(top + 1):
                    system[i, j] = x**j
                for j in range(1, bottom + 1):
                    system[i, top + j] = -shifted * x**j
                system[i, count - 1] = sign
                values[i] = targets[at]
            solution = list(mp.lu_solve(system, values))
            p, q, fresh_level = (
                solution[: top + 1],
                [mp.mpf(1), *solution[top + 1 : -1]],
                solution[-1],
            )
            done = abs(fresh_level - level) <= abs(level) * mp.mpf("1e-12")
            level = fresh_level
            if done:
                break

        errors = [
            w * (t - mp.polyval(p[::-1], x) / mp.polyval(q[::-1], x))
            for x, t, w in zip(grid, targets, weights, strict=True)
        ]
        fresh = extrema(grid, errors, count)
        if len(fresh) < count or max(map(abs, errors)) < abs(level) * mp.mpf("1.001"):
            break
        points = fresh
    return [rounded(c, bits) for c in p], [rounded(c, bits) for c in q], max(map(abs, errors))


def near_rational(target: Function, weight: Function, top: int, bottom: int, low, high):
    """target ~ p/q with q(0) = 1 by least squares, close to the best one.

    For weights so uneven that `rational` does not converge. Each round minimises the sum of
    (weight (p - target q) / q')^2, with q' the denominator of the round before.
    """
    grid = spread(mp.mpf(low), mp.mpf(high), 300)
    targets = [target(x) for x in grid]
    weights = [weight(x) for x in grid]
    divisors = [mp.mpf(1)] * len(grid)
    p: list[mp.mpf] = []
    q: list[mp.mpf] = []
    for _ in range(8):
        system = mp.matrix(len(grid), top + 1 + bottom)
        values = mp.matrix(len(grid), 1)
        for i, (x, t, w, d) in enumerate(zip(grid, targets, weights, divisors, strict=True)):
            for j in range(top + 1):
                system[i, j] = w / d * x**j
            for j in range(1, bottom + 1):
                system[i, top + j] = -w / d * t * x**j
            values[i] = w / d * t
        solution = list(mp.lu_solve(system, values))
        p, q = solution[: top + 1], [mp.mpf(1), *solution[top + 1 :]]
        divisors = [mp.polyval(q[::-1], x) for x in grid]
    p, q = [rounded(c, 53) for c in p], [rounded(c, 53) for c in q]
    errors = (
        abs(w * (t - mp.polyval(p[::-1], x) / mp.polyval(q[::-1], x)))
        for x, t, w in zip(grid, targets, weights, strict=True)
    )
    return p, q, max(errors)


def parts(value: mp.mpf, widths: Sequence[int]) -> list[mp.mpf]:
    """value as a sum of numbers with so many bits each."""
    out = []
    for bits in widths:
        out.append(rounded(value, bits))
        value -= out[-1]
    return out


def show(
    name: str, coefficients: Sequence[mp.mpf], error: mp.mpf | None = None, single: bool = False
) -> None:
    note = (
        ""
        if error is None
        else f"  // error {mp.nstr(error, 3)} = 2^{mp.nstr(mp.log(error, 2), 4)}"
    )
    print(f"{name}:{note}")
    for c in coefficients:
        print(f"  {mp.nstr(c, 9)}f," if single else f"  {float(c).hex()},  // {mp.nstr(c, 17)}")


def main() -> None:
    half_ln2 = LN2 / 2 * mp.mpf("1.0005")

    c, e = polynomial(
        lambda r: sum(r**i / mp.factorial(i + 2) for i in range(40)),
        lambda r: r * r * mp.exp(-r),
        10,
        -half_ln2,
        half_ln2,
    )
    show("exp: exp(r) = 1 + r + r^2 P(r)", c, e)
    show("exp: 1/ln2, ln2 in two parts", [rounded(1 / LN2, 53), *parts(LN2, [41, 53])])

    # log(m) = 2s + s z P(z) with s = (m-1)/(m+1), z = s^2, sqrt(1/2) <= m <= sqrt(2)
    z_max = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0005")
    c, e = polynomial(
        lambda z: sum(2 * z**i / (2 * i + 3) for i in range(60)), lambda z: z / 2, 7, 0, z_max
    )
    show("log: log(m) = 2s + s z P(z)", c, e)
    show("log: ln2 in two parts", parts(LN2, [41, 53]))

    z_max = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
    c, e = polynomial(
        lambda z: sum((-1) ** (i + 1) * z**i / mp.factorial(2 * i + 3) for i in range(40)),
        lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
        6,
        0,
        z_max,
    )
    show("sin, cos: sin(r) = r + r z P(z), |r| <= pi/4", c, e)

    def tan_rest(z: mp.mpf) -> mp.mpf:
        x = mp.sqrt(z)
        return (mp.tan(x) / x - 1) / z

    p, q, e = rational(tan_rest, lambda z: z / (1 + z * tan_rest(z)), 3, 3, 0, z_max)
    show("tan: tan(r) = r + r z P(z)/Q(z), |r| <= pi/4: P", p, e)
    show("tan: Q", q)
    show(
        "sin, cos, tan: 2/pi, pi/2 in three parts",
        [rounded(2 / mp.pi, 53), *parts(mp.pi / 2, [37, 37, 53])],
    )
    with mp.workdps(500):
        print("sin, cos, tan: 2/pi, 64 bits a word")
        bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * 21)))
        for i in range(21):
            print(f"  0x{bits >> 64 * (20 - i) & (2**64 - 1):016x},")
        print(f"pi/2, 64 bits: 0x{int(mp.nint(mp.pi / 2 * mp.mpf(2) ** 63)):016x}")

    # tanh(x) = x + x z P(z)/Q(z) below 3/4; beyond, 1 - 2/(exp(2x)+1)
    def tanh_rest(z: mp.mpf) -> mp.mpf:
        x = mp.sqrt(z)
        return (mp.tanh(x) / x - 1) / z

    p, q, e = rational(tanh_rest, lambda z: z / (1 + z * tanh_rest(z)), 2, 3, 0, mp.mpf("0.5626"))
    show("tanh: P", p, e)
    show("tanh: Q", q)

    # pow: log2(m) = (2/(3 ln2)) s (3 + z + z^2 P(z))
    z_max = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0005")
    c, e = polynomial(
        lambda z: sum(3 * z**i / (2 * i + 5) for i in range(60)), lambda z: z * z / 3, 7, 0, z_max
    )
    show("pow: log2(m) = 2/(3 ln2) s (3 + z + z^2 P(z))", c, e)
    show("pow: 2/(3 ln2) in two parts", parts(2 / (3 * LN2), [26, 53]))
    show("pow: ln2", [rounded(LN2, 53)])

    # x + x z P(z)/Q(z), z = x^2, for functions that begin so
    def rest(function: Function) -> Function:
        return lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z

    for name, function, bottom, most in (
        ("atan, |x| <= 0.66", mp.atan, 5, "0.4357"),
        ("asin, |x| <= 1/2", mp.asin, 4, "0.2501"),
        ("asinh, |x| <= 1/2", mp.asinh, 4, "0.2501"),
    ):
        r = rest(function)
        p, q, e = rational(r, lambda z, r=r: z / (1 + z * r(z)), 4, bottom, 0, mp.mpf(most))
        show(f"{name}: P", p, e)
        show(f"{name}: Q", q)
    for quarters in range(1, 5):
        show(f"atan, asin, acos: {quarters} pi/4", parts(quarters * mp.pi / 4, [53, 53]))

    c, e = polynomial(
        lambda z: sum(z**i / mp.factorial(2 * i + 3) for i in range(40)),
        lambda z: z * mp.sqrt(z) / mp.sinh(mp.sqrt(z)),
        7,
        0,
        mp.mpf("1.0001"),
    )
    show("sinh: sinh(x) = x + x z P(z), |x| <= 1", c, e)

    # erf(x) = x + x P(z)/Q(z) below 1; beyond, 1 - exp(-z) P(x)/Q(x), where absolute errors count
    def erf_rest(z: mp.mpf) -> mp.mpf:
        return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1

    p, q, e = rational(erf_rest, lambda z: 1 / (1 + erf_rest(z)), 5, 5, 0, mp.mpf("1.0001"))
    show("erf, |x| < 1: P", p, e)
    show("erf, |x| < 1: Q", q)
    p, q, e = near_rational(
        lambda x: mp.exp(x * x) * mp.erfc(x), lambda x: mp.exp(-x * x), 5, 6, mp.mpf("0.999"), 6
    )
    show("erf, 1 <= |x| <= 6: P", p, e)
    show("erf, 1 <= |x| <= 6: Q", q)
    show("erf: 2/sqrt(pi)", [rounded(2 / mp.sqrt(mp.pi), 53)])

    # Single precision.
    c, e = polynomial(
        lambda r: sum(r**i / mp.factorial(i + 2) for i in range(40)),
        lambda r: r * r * mp.exp(-r),
        4,
        -half_ln2,
        half_ln2,
        bits=24,
    )
    show("fexp: exp(r) = 1 + r + r^2 P(r)", c, e, single=True)
    show(
        "fexp: 1/ln2, ln2 in two parts", [rounded(1 / LN2, 24), *parts(LN2, [16, 24])], single=True
    )
    low, high = mp.sqrt(mp.mpf("0.5")) - 1, mp.sqrt(mp.mpf(2)) - 1
    c, e = polynomial(
        lambda f: sum((-1) ** i * f**i / (i + 3) for i in range(200)),
        lambda f: f**3 / mp.log1p(f) if f else mp.mpf(0),
        8,
        low,
        high,
        bits=24,
    )
    show("flog: log(1+f) = f - f^2/2 + f^3 P(f)", c, e, single=True)


if __name__ == "__main__":
    main()
