"""Formulas as a C99 function of doubles, which needs nothing but `math.h`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from symseek.export.names import ascii_identifier, described, function_name, identifiers
from symseek.export.own import OwnColumns
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

    Where the formula has no value the function returns a NaN or an infinity. Of a formula with
    numbers of each group's own, the label of the group is the last argument; a NaN is returned for
    another label.

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
    checked(program)
    function_name(name, ascii_identifier, _KEYWORDS | _FUNCTIONS)
    own = OwnColumns.of(program)
    tables = (f"{name}_labels", f"{name}_numbers")
    taken = _KEYWORDS | called(program, "c") | {name}
    if own.group is not None:
        taken |= {*tables, "group", "strcmp"}

    def reserved(each: str) -> bool:
        return each in taken or _MACROS.fullmatch(each) is not None

    names = identifiers(program.library.variables, ascii_identifier, reserved)
    source = write(program, _LANGUAGE, names, {name})
    body = [
        *(f"(void){names[i]};" for i in own.columns if i not in source.used),
        *_of_group(own, names, *tables),
        *source.lines,
        f"return {source.expression};",
    ]
    arguments = [f"double {names[i]}" for i in own.columns]
    if own.group is not None:
        arguments.append(f"const char *{names[own.group]}")
    lines = [
        "#include <math.h>",
        *(["#include <string.h>"] if own.group is not None else []),
        "",
        *_tables(own, *tables),
        *_comment(described(program, names)),
        f"double {name}({', '.join(arguments) or 'void'})",
        "{",
        *("    " + line for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _tables(own: OwnColumns, labels: str, numbers: str) -> list[str]:
    """The labels of the groups, and their numbers, as arrays."""
    if own.group is None:
        return []
    return [
        f"static const char *const {labels}[] = {{",
        *(f"    {_string(label)}," for label in own.labels),
        "};",
        f"static const double {numbers}[][{len(own.numbers)}] = {{",
        *(f"    {{{', '.join(_number(v).text for v in values)}}}," for _, values in own.lines()),
        "};",
        "",
    ]


def _of_group(own: OwnColumns, names: Sequence[str], labels: str, numbers: str) -> list[str]:
    """The lines that take the numbers of the group that is asked for."""
    if own.group is None:
        return []
    count = len(own.labels)
    return [
        "int group = 0;",
        f"while (group < {count} && strcmp({labels}[group], {names[own.group]}) != 0)",
        "    ++group;",
        f"if (group == {count})",
        "    return NAN;",
        *(
            f"const double {names[at]} = {numbers}[group][{place}];"
            for place, at in enumerate(own.numbers)
        ),
    ]


def _string(text: str) -> str:
    r"""A string of C; what is not plain is written byte by byte.

    >>> print(_string('a "b"?'), _string("Δ"))
    "a \042b\042\077" "\316\224"
    """
    plain = set(range(32, 127)) - set(b'"?\\')
    data = text.encode(errors="backslashreplace")
    inside = "".join(chr(each) if each in plain else f"\\{each:03o}" for each in data)
    return f'"{inside}"'


def _comment(lines: list[str]) -> list[str]:
    """The lines as a comment that nothing in them ends, opens again or, as ??/ may, continues.

    >>> print("\\n".join(_comment(["x", 'a: column 0, "*/"'])))
    /* x
     * a: column 0, "* /"
     */
    """
    safe = [re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)", " ", line) for line in lines]
    return [f"/* {safe[0]}", *(f" * {line}".rstrip() for line in safe[1:]), " */"]
