"""The settings of a fit. Each is declared once, here, and everything else is made from that.

The parameters of `SymbolicRegressor`, the options of the command line, the settings in a run
folder, the form of the studio and the page docs/settings.md are all made from this table. To add a
setting, add a field to `Settings`; to use it, read it where the search needs it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from symseek import presets
from symseek.constraints import Constraint, Custom, phrases
from symseek.data import FEWEST_ROWS
from symseek.engines.choice import AUTO
from symseek.engines.interface import ENGINES
from symseek.errors import InputError, Setting, shown, unknown_name
from symseek.form import Form
from symseek.groups import MOST_OWN
from symseek.losses import Loss
from symseek.rewards import REWARDS, USUAL, Reward
from symseek.search import SearchConfig
from symseek.selection import rules
from symseek.tokens import Token
from symseek.value_types import (
    ConstraintList,
    Flag,
    FormType,
    FormulaList,
    Instance,
    LimitList,
    LossType,
    Name,
    Number,
    OperatorList,
    PhraseList,
    UnitsType,
    ValueType,
    Whole,
)
from symseek.value_types import Reward as RewardType

OPERATORS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square")
"""What formulas are made of unless something else is asked for."""

MOST_SEEDS = 100

_BATCH = 1000  # formulas in a batch, unless the whole budget is smaller


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """What there is to know of a setting, or of another parameter of the estimator."""

    type: ValueType
    help: str  # a sentence, without a capital letter and a full stop
    more: str = ""  # further sentences, for the reference page
    link: str = ""  # a page of the docs about it
    label: str = ""  # in a form
    is_usual: bool = False  # whether a form shows it at once, not behind "more"
    while_paused: bool = False  # whether a run that has begun may continue with another value
    off: str = ""  # what it means to switch it off, if it is a flag that is on by default
    changes_result: bool = True  # else a run folder does not have it
    by_itself: tuple[str, Callable[[], Any]] | None = None  # the default of a command, if another
    name: str = ""
    default: Any = None

    @property
    def is_text(self) -> bool:
        """Whether a command line can give it."""
        return self.type.is_text

    @property
    def in_file(self) -> bool:
        """Whether the settings of a run folder have it."""
        return self.is_text and self.changes_result

    @property
    def word(self) -> str:
        """Its name on a command line, without the dashes before."""
        return self.name.replace("_", "-")

    @property
    def option(self) -> str:
        """The option that sets it; of a flag, the one that turns its default round."""
        off = isinstance(self.type, Flag) and self.default
        return f"--{'no-' if off else ''}{self.word}"

    @property
    def wanted(self) -> str:
        """What it must be, and what None means."""
        return self.type.wanted + (f" for {self.type.none}" if self.type.none else "")

    @property
    def sentence(self) -> str:
        """What it is, with the names to choose from and what None means."""
        names = f" ({', '.join(self.type.known())})" if isinstance(self.type, Name) else ""
        return self.help + names + (f", or none for {self.type.none}" if self.type.none else "")

    def check(self, value: Any) -> Any:
        """The value as a setting has it; what is none is refused by the setting's name."""
        return self.type.check(Setting(self.name), value)


def declared(default: Any, type: ValueType, help: str, **more: Any) -> Any:
    """A field of a dataclass with its `Parameter`."""
    parameter = Parameter(type=type, help=help, default=default, **more)
    return field(default=default, metadata={"parameter": parameter})


def parameters(of: type) -> dict[str, Parameter]:
    """The parameters that the fields of a dataclass declare, by name."""
    return {
        each.name: replace(each.metadata["parameter"], name=each.name)
        for each in fields(of)
        if "parameter" in each.metadata
    }


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What to search for, and for how long.

    >>> Settings(max_seconds=10).method
    'hybrid'
    """

    operators: Collection[str | float | Token] = declared(
        OPERATORS,
        OperatorList(),
        "what formulas are made of: operators and numbers",
        more="In Python also `Token`s of your own.",
        link="results.md#complexity",
        label="Operators",
        is_usual=True,
    )
    constants: bool = declared(
        True,
        Flag(),
        "formulas may have numbers that are fitted to the data",
        off="formulas without fitted numbers",
        label="Numbers",
        is_usual=True,
    )
    max_length: int = declared(
        30,
        Whole(low=1, high=1000),
        "the most tokens (operators, columns, numbers) that the search writes in a formula",
        label="Length",
        is_usual=True,
    )
    method: str = declared(
        "hybrid",
        Name(of="method", known=lambda: presets.METHODS),
        "how to search",
        more="`dsr` is the paper's.",
        link="evolution.md",
        label="Method",
    )
    max_expressions: int | None = declared(
        None,
        Whole(low=2, none="no limit"),
        "how many formulas to try at most",
        more="The same seed and budget give the same result on any machine, as long as"
        " `max_seconds` does not end the search first.",
        label="Expressions",
        is_usual=True,
        while_paused=True,
    )
    max_seconds: float | None = declared(
        60.0,
        Number(low=1e-9, high=1e12, words="a positive number", none="no limit"),
        "how many seconds to search at most",
        label="Seconds",
        is_usual=True,
        while_paused=True,
    )
    patience: int | None = declared(
        100_000,
        Whole(low=1, none="never"),
        "after this many formulas without a better one, and twice as many as it took to find the"
        " one to pick, the search ends if what is left cannot be distinguished from noise, and"
        " begins anew if it can",
        link="getting-started.md#when-a-fit-ends",
        label="Patience",
        while_paused=True,
    )
    reward: str | Reward | Callable[..., Any] = declared(
        USUAL,
        RewardType(of="reward", known=lambda: REWARDS),
        "what to maximise",
        more="In Python also a reward object, or a function of predictions.",
        link="extending.md#a-new-reward",
        label="Reward",
    )
    loss: str | Loss | Callable[..., Any] = declared(
        "squared",
        LossType(),
        "what each row counts, which is to be small on the whole: squared, absolute, huber,"
        " quantile, relative, log_cosh, poisson or logistic",
        more="Some have a parameter behind a colon, as in `huber:0.5` or `quantile:0.9`. Every"
        " loss but the squared one makes its own reward. In Python also a `Loss`, or a function of"
        " the target and predictions [B, N] that gives the loss of each.",
        link="what-you-know.md#losses-and-errors-of-measurement",
        label="Loss",
    )
    validation: float = declared(
        0.0,
        Number(low=0, high=0.9, words="a share of the rows from 0 to 0.9"),
        "the share of the rows to validate on, and not to train on",
        label="Validation share",
        is_usual=True,
    )
    pick: str = declared(
        "auto",
        Name(of="pick rule", known=lambda: rules.RULES, former=rules.FORMER_NAMES),
        "which formula to pick",
        more="`accuracy` is the smallest training error, `mdl` the shortest description of the"
        " data, `validation` the simplest formula within one standard error of the best on the"
        " validation rows. `auto` is validation where there are such rows, else mdl with tests of"
        " poles, waves, residuals and held-out rows, which may overrule it. In Python, set to"
        " another rule after `fit`, it picks anew among the same formulas.",
        link="results.md#the-picked-row",
        label="Pick",
    )
    sample_rows: int | None = declared(
        10_000,
        Whole(low=FEWEST_ROWS, none="all"),
        "search on this many rows, drawn at random, if there are more",
        more="The best formulas are then fitted and graded on all.",
        label="Rows to search on",
    )
    scale: bool = declared(
        True,
        Flag(),
        "search columns of size far from 1 in other units, where constants are fitted",
        more="Formulas are always in the units of the data.",
        off="search all columns in the units of the data",
        label="Other units",
    )
    structure: bool = declared(
        True,
        Flag(),
        "look first for columns that act together, and for formulas by linear algebra",
        off="do not look for columns that act together, nor for formulas by linear algebra",
        link="structure.md",
        label="Structure",
    )
    seed: int = declared(
        0,
        Whole(low=0, high=2**64 - 1),
        "random numbers: the same seed gives the same result",
        label="First seed",
    )
    seeds: int = declared(
        1,
        Whole(low=1, high=MOST_SEEDS),
        "how many searches, with this seed and those after it, each with the whole budget",
        more="Their formulas are merged; the table says how many seeds came to each.",
        link="getting-started.md#several-seeds",
        label="Seeds",
        is_usual=True,
    )
    threads: int = declared(
        1,
        Whole(low=1, high=1024),
        "threads; they change the speed, never the result",
        label="Threads",
        while_paused=True,
        changes_result=False,
        by_itself=("every core", cores),
    )
    engine: str = declared(
        AUTO,
        Name(of="engine", known=lambda: [AUTO, *ENGINES]),
        "where to compute; auto takes a GPU if there is one and it pays",
        more="Engines differ in the last bits of a result.",
        link="gpu.md",
        label="Engine",
        while_paused=True,
    )
    missing: str = declared(
        "refuse",
        Name(of="missing", known=lambda: ("refuse", "rows", "column")),
        "what to do about missing values: refuse the table, or leave out rows, or columns",
        more="A row is left out if it has no value of the target, whichever of the two is chosen.",
        link="what-you-know.md#missing-values",
        label="Missing values",
    )
    guesses: Collection[str] = declared(
        (),
        FormulaList(),
        "formulas of the columns to begin with, whose numbers are fitted",
        link="getting-started.md#a-guess-of-your-own",
        label="Formulas to begin with",
    )
    units: str | Mapping[str, str] | None = declared(
        None,
        UnitsType(none="no check of units"),
        "units of columns, with which every formula must agree, such as 'h: m, t: s, g: m/s^2';"
        " 'table' for those in the table's heading",
        more="A column that none is given for is a plain number, but for the target, which may have"
        " any unit. Needs Pint: `pip install pint`.",
        link="what-you-know.md#units",
        label="Units",
        is_usual=True,
    )
    numbers: str = declared(
        "plain",
        Name(of="numbers", known=lambda: ("plain", "free")),
        "with units, whether fitted numbers have none, or free each the one that its place needs",
        link="what-you-know.md#units",
        label="Units of numbers",
    )
    form: str | Form | None = declared(
        None,
        FormType(none="any formula"),
        "the form of the formula, with unknown functions and named numbers, such as"
        " 'y = f(x)*exp(-k*t) + g(z)'",
        more="After semicolons it may say what a function is made of: 'f: operators add,mul length"
        " 10'. In Python also a `Form`.",
        link="what-you-know.md#a-given-form",
        label="Form",
        is_usual=True,
    )
    constraints: Collection[Constraint | Custom] = declared(
        (),
        ConstraintList(),
        "what else the formulas that the search writes must obey, such as `Count('div', high=1)`",
        more="Guesses, and what linear algebra finds, need not obey them.",
        link="extending.md#a-new-constraint",
    )
    require: Collection[str] = declared(
        (),
        PhraseList(words=phrases.REQUIRED),
        "columns and operators that every formula has, or how often, such as `at most 2 sin`",
        link="what-you-know.md#limits",
        label="Required",
    )
    forbid: Collection[str] = declared(
        (),
        PhraseList(words=phrases.FORBIDDEN),
        "columns, operators and nestings that no formula has, such as `sin inside exp`",
        link="what-you-know.md#limits",
        label="Forbidden",
    )
    limit: Collection[str] = declared(
        (),
        LimitList(),
        "what every formula keeps to, such as `x: increasing` or `numbers: positive`",
        more="In Python also limits as objects, such as `Increasing('x')`.",
        link="what-you-know.md#limits",
        label="Limits",
    )
    own: int = declared(
        2,
        Whole(low=0, high=MOST_OWN),
        "with groups, how many numbers of a formula each group may have of its own",
        link="what-you-know.md#groups",
        label="Own numbers",
    )
    config: SearchConfig | None = declared(
        None,
        Instance(of=SearchConfig, none="the method's"),
        "every detail of the search, instead of the method and the budgets",
        link="extending.md#in-symbolicregressor",
    )

    def __post_init__(self) -> None:
        for name, parameter in PARAMETERS.items():
            object.__setattr__(self, name, parameter.check(getattr(self, name)))
        rules.known_rule(self.pick, self.validation > 0)
        self.search_config()

    def search_config(self) -> SearchConfig:
        """The settings of the search itself."""
        if self.config is not None:
            return self.config
        return presets.method(
            self.method,
            max_expressions=self.max_expressions,
            max_seconds=self.max_seconds,
            batch_size=min(_BATCH, self.max_expressions or _BATCH),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which cannot hold the caller's Python objects."""
        record = {name: each.type.saved(getattr(self, name)) for name, each in PARAMETERS.items()}
        return {name: record[name] for name in self._in_file()}

    @classmethod
    def from_dict(cls, record: Any, threads: int = 1) -> Settings:
        """Read what `to_dict` wrote; what is not there is as it is by default."""
        if not isinstance(record, Mapping):
            raise InputError(f"the settings are {shown(record)}, which is no object")
        for name in record:
            if name not in cls._in_file():
                raise unknown_name("setting", name, cls._in_file())
        return cls(**record, threads=threads)

    @staticmethod
    def _in_file() -> list[str]:
        return [name for name, each in PARAMETERS.items() if each.in_file]


PARAMETERS = parameters(Settings)
"""The settings by name, in their order."""
