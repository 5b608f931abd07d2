"""Element types that a store keeps of a variable: its source's, and booleans of HDF5."""

from __future__ import annotations

from nczarr.arrays.sources.memory import is_complete, patterns
from nczarr.arrays.sources.source import fill_of
from nczarr.arrays.values.elements import find_element, is_element
from nczarr.ast import Variable
from nczarr.ast.dataset import Element
from nczarr.semantics.checked import Checked


def find_kept_element(fqn: str, variable: Variable, checked: Checked) -> Element | None:
    """Return the element type in which stores of elements keep a variable; None for a type of the model.

    libnetcdf fills enums with the default of their base, which is no boolean: an
    enum of FALSE and TRUE with such cells stays one.
    """
    element = find_element(variable, checked.types)
    if element != "bool" or variable.storage.element is not None:
        return element
    source = checked.parts.get(fqn, {}).get("")
    declared = [attribute.value.data for attribute in variable.attributes if attribute.name == "_FillValue"]
    fill = None if source is None else fill_of(source)
    if fill is None:
        fill = dict(patterns(checked.fills[fqn], variable.type, checked.types))[""][0]
    is_seen = 0 not in checked.shapes[fqn] and (source is None or not is_complete(source))
    seen = [*declared, fill] if is_seen else declared
    return element if all(isinstance(one, bytes) and is_element(one, "|b1") for one in seen) else None
