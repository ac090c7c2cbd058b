"""The settings of a spec, read and checked: how a run differs from the paper's tuned method.

Every setting has the paper's value as its default, so a spec names only what differs; but whether
an underflow makes a program invalid, as in the authors' code, is named where it does. Unknown
settings are refused by name, as are hyper-parameters of another method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from symseek.arguments import check_fields
from symseek.engines.interface import ENGINES, engine_named
from symseek.errors import InputError, unknown_name
from symseek.jobs.spec import Spec, canonical

if TYPE_CHECKING:
    from symseek.constraints.forms import Constraint
    from symseek.lab.baselines.gp import GPConfig
    from symseek.lab.problems import BenchmarkProblem
    from symseek.objectives import Objective
    from symseek.search import SearchConfig
    from symseek.tokens import Library

_POLICY = ("batch_size", "learning_rate", "entropy_weight", "max_constants")

_OBJECTIVE = ("size", "weight", "epsilon")  # of priority queue training

#: What may be tuned, by method.
HYPERPARAMETERS: dict[str, tuple[str, ...]] = {
    "dsr": (*_POLICY, "epsilon"),
    "pqt": (*_POLICY, "size", "weight", "epsilon"),
    "pqt-whole": (*_POLICY, "size"),
    "vpg": (*_POLICY, "beta"),
    "hybrid": (*_POLICY, "epsilon"),
    "evolution": ("batch_size",),
    "gp": ("population", "tournament", "crossover", "mutation", "constraints"),
}

#: The paper's ablations, and which parts of Algorithm 1 each one removes.
ABLATIONS: dict[str, tuple[str, ...]] = {
    "No risk": ("risk",),
    "No entropy": ("entropy",),
    "No constraints": ("constraints",),
    "No risk/ent.": ("risk", "entropy"),
    "No risk/con.": ("risk", "constraints"),
    "No ent./con.": ("entropy", "constraints"),
    "All ablations": ("risk", "entropy", "constraints"),
}

_NO_RISK_BETA = 0.5  # the ablation's own baseline: an average with weight 0.5
LENGTH, _CONSTANTS = 30, 3  # without constraints, a program is closed after this many tokens

THREADS = 1024  # at most


@dataclass(frozen=True)
class Plan:
    """What a run does.

    >>> plan = Plan.of(Spec("dsr", "Nguyen-1", 0, {"max_expressions": 4000, "epsilon": 0.1}))
    >>> plan.early_stop, plan.tuned
    (True, {'epsilon': 0.1})
    """

    max_expressions: int  # the budget
    early_stop: bool = True  # end when the formula is recovered; never on noisy targets
    noise: float = 0.0  # of the training targets, over their root mean square
    data_factor: int = 1  # training points, as a multiple of the usual number
    reward: str = "inverse_nrmse"
    reward_noise: float = 0.0  # standard deviation of what is added to every reward learned from
    ablation: str = ""  # one of `ABLATIONS`
    curve: bool = False  # keep the training curve
    distribution: bool = False  # keep the distributions of the rewards, now and then
    front_recovery: bool = False  # the formula counts anywhere on the front
    underflow_invalid: bool = False  # named in a spec wherever it holds: see `settings_of`
    protected: bool = False  # operators that are defined everywhere, as some programs have them
    threads: int = 1  # they change the speed, never the result
    engine: str = "native"  # or "cuda": the same distributions, not the same bits
    tuned: Mapping[str, Any] = field(default_factory=dict)  # hyper-parameters

    @classmethod
    def of(cls, spec: Spec) -> Plan:
        """The plan of a spec; an unknown setting or a wrong kind of value is refused."""
        if spec.method not in HYPERPARAMETERS:
            raise unknown_name("method", spec.method, HYPERPARAMETERS)
        tunable = HYPERPARAMETERS[spec.method]
        known = [each.name for each in fields(cls) if each.name != "tuned"]
        given: dict[str, Any] = {"max_expressions": None, "tuned": {}}
        for name, value in spec.settings.items():
            if name not in known and name not in tunable:
                raise unknown_name("setting", name, [*known, *tunable])
            (given if name in known else given["tuned"])[name] = value
        given.setdefault("early_stop", not given.get("noise"))
        return cls(**given)

    def __post_init__(self) -> None:
        check_fields(self, noise=0, reward_noise=0, data_factor=1, threads=(1, THREADS))
        if self.ablation and self.ablation not in ABLATIONS:
            raise unknown_name("ablation", self.ablation, ABLATIONS)
        if self.noise and self.early_stop:
            raise InputError("a run on noisy targets cannot stop early, as no reward is exact")
        if self.engine not in ENGINES:
            raise unknown_name("engine", self.engine, ENGINES)

    @property
    def without(self) -> tuple[str, ...]:
        """The parts of the algorithm that are removed."""
        return ABLATIONS[self.ablation] if self.ablation else ()

    def library(self, problem: BenchmarkProblem) -> Library:
        """The problem's tokens, protected where the plan says so."""
        from symseek.tokens import OPERATORS, Library

        if not self.protected:
            return problem.library()
        protected = [f"protected_{name}" for name in problem.operators]
        pairs = zip(problem.operators, protected, strict=True)
        return Library([two if two in OPERATORS else one for one, two in pairs], problem.variables)

    def constraints(self) -> list[Constraint] | None:
        """What replaces the paper's constraints, where they are removed."""
        from symseek.constraints.forms import CloseUnfinished, MaxConstants

        if "constraints" not in self.without:
            return None
        return [CloseUnfinished(LENGTH), MaxConstants(_CONSTANTS)]


def check(specs: Iterable[Spec], with_libraries: bool = True) -> None:
    """Refuse settings that no run can have, before the first run starts.

    `with_libraries`: refuse a method, too, whose library is not installed on this machine.

    >>> check([Spec("dsr", "Nguyen-1", 0, {"max_expressions": 4000, "noise": -0.1})])
    Traceback (most recent call last):
    ...
    symseek.errors.InputError: Plan.noise is -0.1; it must be a number of 0 or more
    """
    engines = {"native": None}
    for spec in {(spec.method, canonical(dict(spec.settings))): spec for spec in specs}.values():
        plan = Plan.of(spec)
        engines[plan.engine] = None
        if spec.method != "gp":
            search_config(spec.method, plan)
            continue
        gp_config(plan)
        if with_libraries:
            from symseek.lab.baselines.gp import operators

            operators()
    for name in engines if with_libraries else ():  # they may name one that is not here
        engine_named(name, threads=1)


def settings_of(method: str, **settings: Any) -> dict[str, Any]:
    """The settings of a spec, with what its method's preset does where a value underflows.

    A spec that does not name it is a run where an underflow is valid, so that stores keep the two
    kinds of runs apart.

    >>> settings_of("dsr", max_expressions=4000)
    {'underflow_invalid': True, 'max_expressions': 4000}
    >>> settings_of("dsr", underflow_invalid=False), settings_of("hybrid"), settings_of("gp")
    ({}, {}, {})
    """
    own = {"underflow_invalid": _underflow_invalid(method), **settings}
    return own if own["underflow_invalid"] else {k: own[k] for k in own if k != "underflow_invalid"}


@cache
def _underflow_invalid(method: str) -> bool:
    """Whether the preset of a method has it; genetic programming has none."""
    from symseek.presets import METHODS

    return method in METHODS and METHODS[method]().underflow_invalid


def on_engine(specs: Iterable[Spec], engine: str) -> list[Spec]:
    """The same runs on another engine; genetic programming has none.

    >>> specs = on_engine([Spec("dsr", "Nguyen-1", 0), Spec("gp", "Nguyen-1", 0)], "cuda")
    >>> [dict(spec.settings) for spec in specs]
    [{'engine': 'cuda'}, {}]
    """
    return [
        spec
        if engine == "native" or spec.method == "gp"
        else replace(spec, settings={**spec.settings, "engine": engine})
        for spec in specs
    ]


def search_config(method: str, plan: Plan) -> SearchConfig:
    """The configuration of a search by policy.

    >>> spec = Spec("dsr", "Nguyen-1", 0, {"max_expressions": 4000, "ablation": "No risk/ent."})
    >>> config = search_config("dsr", Plan.of(spec))
    >>> config.objective, config.entropy_weight
    (VanillaPolicyGradient(beta=0.5), 0.0)
    """
    from symseek import presets

    changes = {name: value for name, value in plan.tuned.items() if name in _POLICY}
    objective = _objective(method, plan)
    if objective is not None:
        changes["objective"] = objective
    if "entropy" in plan.without:
        changes["entropy_weight"] = 0.0
    changes["underflow_invalid"] = plan.underflow_invalid
    return presets.method(method, max_expressions=plan.max_expressions, **changes)


def _objective(method: str, plan: Plan) -> Objective | None:
    """The objective, where it is not the method's own."""
    from symseek.objectives import PriorityQueue, RiskSeeking, VanillaPolicyGradient, WholeQueue

    if "risk" in plan.without:
        return VanillaPolicyGradient(_NO_RISK_BETA)
    tuned = {name: plan.tuned[name] for name in _OBJECTIVE if name in plan.tuned}
    if method == "pqt" and tuned:
        return PriorityQueue(**tuned)
    if method == "pqt-whole" and tuned:
        return WholeQueue(**tuned)
    if "epsilon" in plan.tuned:
        return RiskSeeking(plan.tuned["epsilon"])
    if "beta" in plan.tuned:
        return VanillaPolicyGradient(plan.tuned["beta"])
    return None


def gp_config(plan: Plan) -> GPConfig:
    """The configuration of genetic programming; settings that need a policy are refused."""
    from symseek.lab.baselines.gp import GPConfig

    for name in ("ablation", "reward_noise", "distribution"):
        if getattr(plan, name):
            raise InputError(f"genetic programming has no setting {name!r}: it has no policy")
    if plan.engine != "native":
        raise InputError("genetic programming has no setting 'engine': it runs on the host")
    return GPConfig.from_dict({"max_expressions": plan.max_expressions, **plan.tuned})
