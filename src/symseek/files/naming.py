"""What the name of a column says about its whole numbers: an identifier, a number of something."""

from __future__ import annotations

import re
from enum import Enum, auto


class Hint(Enum):
    """What whole numbers may be, by the name of their column."""

    IDENTIFIER = auto()  # they identify, whatever they are
    SUBJECT = auto()  # the same, unless there are only two of them
    UNNAMED = auto()  # a first column that R and pandas write
    NUMBER = auto()  # named no. or nr, and nothing else
    INDEX = auto()
    NUMBERED = auto()  # the number of something, or a quantity such as a Mach no.
    GROUP = auto()  # something that is numbered, and not counted
    THING = auto()  # something that is numbered, and sometimes counted
    COUNTED = auto()  # something that is numbered, and often counted
    ROW = auto()
    RUN = auto()
    COUNTER = auto()  # an order in time, which may be a quantity, too


_WORDS = {
    Hint.SUBJECT: "subject subj patient participant respondent flight",
    Hint.GROUP: """
        batch block lot plot subplot site station stratum cluster cohort fold group class
        strain treatment diet variety species cultivar genotype hybrid breed replicate rep expt
        lab laboratory operator machine technician analyst observer rater judge panelist assessor
        experimenter investigator school hospital clinic firm company country county region
        district province locality transect quadrat farm herd litter orchard wafer
        """,
    Hint.THING: """
        obs observation case specimen sample assay shot scan event object point person individual
        volunteer donor woman man mother father child twin family couple player team teacher doctor
        nurse driver pilot animal rat mouse rabbit hamster horse dog cat cow calf bull pig piglet
        sow sheep lamb goat monkey hen chicken chick bird fish insect larva frog turtle lizard snail
        crab sire dam cage pen tank pond flock hive nest colony tree plant seedling shrub leaf fruit
        flower seed pot tray stand well borehole catchment lake river island tube vial bottle flask
        dish plate slide ingot coil chip board unit device sensor engine motor pump turbine reactor
        instrument camera detector robot vehicle car truck ship voyage haul star galaxy house
        building dwelling city town village store shop bank
        """,
    Hint.COUNTED: "household passenger student user customer client employee worker state",
    Hint.ROW: "row line record entry seq",
    Hint.RUN: "run experiment",
    Hint.COUNTER: "item sequence counter trial test measurement",
}
_HINTS = {word: hint for hint, words in _WORDS.items() for word in words.split()}
# With these before it, "no", "number" or "index" identifies, such as in "serial number".
_NUMBERED = {
    *("subject", "subj", "sample", "case", "obs", "observation", "patient", "participant"),
    *("person", "respondent", "individual", "specimen", "animal", "student", "user", "customer"),
    *("client", "employee", "household", "passenger"),
    *("row", "line", "record", "entry", "item", "seq", "sequence", "counter", "run", "trial"),
    *("test", "experiment", "measurement"),
    *("serial", "s", "sl", "sr", "lfd", "order", "ticket", "invoice", "account", "phone"),
    *("batch", "lot", "part"),
}
_NUMBER = {"no", "nr", "num", "number"}
_INDICES = {"index", "idx"}
# With these before it, "no" is a quantity.
_MEASURED = {
    *("wave", "atomic", "quantum", "mass", "charge", "proton", "neutron", "electron", "nucleon"),
    *("mach", "reynolds", "re", "prandtl", "pr", "nusselt", "nu", "grashof", "rayleigh", "froude"),
    *("weber", "peclet", "schmidt", "sherwood", "stokes", "biot", "strouhal", "bond", "capillary"),
    *("octane", "cetane", "iodine", "acid", "coordination", "hydration", "mode", "harmonic"),
    *("turn", "turns", "winding", "f", "abbe", "delta", "log", "total", "mean", "max", "min"),
    *("month", "week", "day", "year", "hour", "cycle", "lap", "step", "level", "layer", "stage"),
}
# Whatever stands before them.
_IDENTIFIERS = {
    *("id", "ids", "uid", "uuid", "guid", "gid", "oid", "rowid", "key", "code", "zip", "zipcode"),
    *("postcode", "plz", "ssn", "barcode", "isbn", "rowname", "rownames"),
}
_UNNAMED = re.compile(r"unnamed: 0(\.\d+)?|\.\.\.1|level_0|_c0|__index_level_0__|")
_BRACKETS = re.compile(r"\[[^]]*\]|\([^)]*\)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_GLUED = re.compile(r"(\w+?)(id|no|nr|num|number|code|index|idx|names?)")
_DIGITS = re.compile(r"(id|uid|gid|oid|rowid|objectid)\d+")  # such as id1, after a merge
_GAS = re.compile(r"([^A-Z]*[\W_])?NO")  # nitric oxide


def hint(name: str) -> Hint | None:
    """What the name of a column says of whole numbers in it.

    >>> [hint(name) for name in ("PatientID", "Id.x", "Tree", "height")]
    [<Hint.IDENTIFIER: 1>, <Hint.IDENTIFIER: 1>, <Hint.THING: 8>, None]
    """
    if _UNNAMED.fullmatch(name.casefold()):
        return Hint.UNNAMED
    words = _words(name)
    if not words:
        return None
    *before, last = words
    if before == ["row"] and last in ("name", "names"):
        return Hint.IDENTIFIER
    if last in _IDENTIFIERS:
        return Hint.IDENTIFIER
    if not before and name == "NO":
        return Hint.COUNTER
    if not before:
        first = dict.fromkeys(_NUMBER, Hint.NUMBER) | dict.fromkeys(_INDICES, Hint.INDEX)
        return {**_HINTS, **first, "number": Hint.INDEX, "fid": Hint.INDEX}.get(last)
    if last in _NUMBER | _INDICES:
        if all(word in _NUMBERED for word in before):
            return Hint.IDENTIFIER
        numbered = before[-1] in _HINTS or last in ("no", "nr", "num")
        measured = _GAS.fullmatch(name) or _MEASURED & set(before)
        return Hint.NUMBERED if numbered and not measured else None
    return Hint.GROUP if last == "stratum" else None


def names_identifier(name: str) -> bool:
    """Whether a column of this name is an identifier, if it holds no quantity.

    >>> [names_identifier(name) for name in ("PatientID", "rownames", "zip code", "", "serial no.")]
    [True, True, True, True, True]
    >>> [names_identifier(name) for name in ("x", "time", "atomic number", "fluid", "price index")]
    [False, False, False, False, False]
    """
    first = Hint.IDENTIFIER, Hint.SUBJECT, Hint.UNNAMED, Hint.NUMBER, Hint.INDEX, Hint.NUMBERED
    return hint(name) in first


def _words(name: str) -> list[str]:
    """The words of a name in lower case, without what is in brackets or what a merge adds.

    >>> _words("PatientID"), _words("sample_no. [1]"), _words("rowid"), _words("#"), _words("ID_1")
    (['patient', 'id'], ['sample', 'no'], ['row', 'id'], ['no'], ['id'])
    """
    plain = _CAMEL.sub(" ", _BRACKETS.sub(" ", name)).casefold()
    plain = re.sub(r"#|№|\bn°", " no ", plain)
    found: list[str] = []
    for word in re.findall(r"[^\W_]+", plain):
        word = word.rstrip("0123456789") if _DIGITS.fullmatch(word) else word
        glued = _GLUED.fullmatch(word)
        numbered = _NUMBERED | _HINTS.keys()
        apart = glued is not None and glued[1] in numbered and word not in numbered
        found += list(glued.groups()) if glued is not None and apart else [word]
    merged = len(found) > 1 and (found[-1] in ("x", "y") or found[-1].isdecimal())
    return found[:-1] if merged and found[-2] in _IDENTIFIERS else found
