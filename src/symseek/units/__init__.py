"""Units of columns: from text to dimensions, and back to the units of fitted numbers.

- `given`: what a fit is told of units, as text
- `reading`: the text of one unit, read with Pint
- `columns`: the units of a table's columns, and the constraint that formulas agree with them
- `numbers`: the units that the numbers of a formula need
"""

from symseek.units.columns import ColumnUnits
from symseek.units.given import GivenUnits
from symseek.units.reading import Unit, read_unit

__all__ = ["ColumnUnits", "GivenUnits", "Unit", "read_unit"]
