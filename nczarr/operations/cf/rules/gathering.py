"""8.2 Lossless compression by gathering."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nczarr.operations.cf.breaches import find_missing_dimensions, find_no_text
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.values import has_values, read_pieces
from nczarr.operations.cf.view import INTEGERS, CFDataset


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find lists of gathered cells that are wrong."""
    for variable in dataset.variables.values():
        node = variable.attributes.get("compress")
        if node is None:
            continue
        if not variable.is_coordinate or variable.type not in INTEGERS:
            what = f"`{variable.path}` has `compress`, and is not a coordinate variable of integers"
            yield Breach("place", what, node)
        words = variable.text("compress").split()
        yield from find_no_text(variable, "compress")
        yield from find_missing_dimensions(dataset, variable, "compress", words)
        if "bounds" in variable.attributes:
            yield Breach("bounds", f"`{variable.path}` has `compress` and `bounds`", variable.attributes["bounds"])
        axes = [dataset.resolve_dimension(name, variable.group) for name in words]
        if not axes or None in axes or variable.type not in INTEGERS or not has_values(dataset, variable):
            continue
        cells = math.prod(map(dataset.length, axes))
        for values, missing in read_pieces(dataset, variable):
            wrong = ~missing & ((values < 0) | (values >= cells))
            if wrong.any():
                what = f"`{variable.path}` has the index {values[wrong][0]}, and the dimensions have {cells} cells"
                yield Breach("range", what, node)
                break


TOPIC = Topic(load_rules("gathering"), find)
