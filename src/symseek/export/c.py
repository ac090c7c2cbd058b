"""Formulas as a C99 function of doubles, which needs nothing but `math.h`."""

from __future__ import annotations

import math
import re

from symseek.export.names import ascii_identifier, described, function_name, identifiers
from symseek.export.tree import checked
from symseek.export.writer import Language, called, literal, write
from symseek.notation.brackets import Fragment
from symseek.programs import Program


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The words of C99 and of later C and C++, so that the source may live there too.
_KEYWORDS = _words(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq
    """
)
_FUNCTIONS = _words(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1
    fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround
    log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10
    remainder remquo rint round scalb scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc y0
    y1 yn drem finite isinf isnan significand signgam main
    """
)
# Macros of math.h and of compilers, which would be replaced in the arguments.
_MACROS = re.compile(
    r"M_\w+|FP_\w+|HUGE\w*|MATH_\w+|INFINITY|NAN|SNAN\w*|DOMAIN|SING|OVERFLOW|UNDERFLOW|PLOSS"
    r"|TLOSS|X_TLOSS|MAXFLOAT|math_errhandling|linux|unix|i386"
)


def _number(value: float) -> Fragment:
    if math.isnan(value):
        return literal("NAN", value)
    return literal(repr(value).replace("inf", "INFINITY"), value)


# Compilers warn of an overflow that they see coming, so numbers among themselves get names.
_LANGUAGE = Language("c", _number, lift="", assign="const double {name} = {text};")


def to_c(program: Program, name: str = "formula") -> str:
    """The source of a C99 function of one double for each column, in the order of the columns.

    Where the formula has no value the function returns a NaN or an infinity.

    >>> print(to_c(Program.parse("2.5*sin(`flow rate`)**2 + x")), end="")
    #include <math.h>
    <BLANKLINE>
    /* 2.5*sin(`flow rate`)**2 + x
     *
     * flow_rate: column 0, "flow rate"
     * x: column 1, "x"
     */
    double formula(double flow_rate, double x)
    {
        const double part1 = sin(flow_rate);
        return 2.5*(part1*part1) + x;
    }
    """
    columns = checked(program).library.variables
    function_name(name, ascii_identifier, _KEYWORDS | _FUNCTIONS)
    taken = _KEYWORDS | called(program, "c") | {name}

    def reserved(each: str) -> bool:
        return each in taken or _MACROS.fullmatch(each) is not None

    names = identifiers(columns, ascii_identifier, reserved)
    source = write(program, _LANGUAGE, names, {name})
    body = [
        *(f"(void){each};" for i, each in enumerate(names) if i not in source.used),
        *source.lines,
        f"return {source.expression};",
    ]
    arguments = ", ".join(f"double {each}" for each in names) or "void"
    lines = [
        "#include <math.h>",
        "",
        *_comment(described(program, names)),
        f"double {name}({arguments})",
        "{",
        *("    " + line for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _comment(lines: list[str]) -> list[str]:
    """The lines as a comment that nothing in them ends, opens again or, as ??/ may, continues.

    >>> print("\\n".join(_comment(["x", 'a: column 0, "*/"'])))
    /* x
     * a: column 0, "* /"
     */
    """
    safe = [re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)", " ", line) for line in lines]
    return [f"/* {safe[0]}", *(f" * {line}".rstrip() for line in safe[1:]), " */"]
