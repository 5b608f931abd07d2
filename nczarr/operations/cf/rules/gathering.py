"""8.2 Lossless compression by gathering."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nczarr.operations.cf.breaches import find_missing_dimensions, find_no_text
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.values import has_values, read_pieces
from nczarr.operations.cf.view import INTEGERS, CFDataset

R = Rules("cf-gathering", "8.2")

_L = "dimensions: x = 2 ; y = 3 ; land = 1 ; n = 2 ; variables: int land(land) ; land:compress = "

RULES = (
    R.must("place", "`compress` stands at a coordinate variable of integers.", _L.replace("int", "«float|int»")
        + '"y x" ; data: land = 1 ;', "give the variable the name of its dimension, and store integers"),
    R.must("text", "`compress` is a text with names of dimensions.", _L + '«1|"y x"» ; data: land = 1 ;',
        "write the names in one text"),
    R.must("exists", "The compressed dimensions exist.", _L + '"«z|y» x" ; data: land = 1 ;', "correct the name"),
    R.must("range", "The indices are from 0 to the number of cells of the compressed dimensions less 1.", _L
        + '"y x" ; data: land = «6|5» ;', "count the cells from 0"),
    R.must("bounds", "A variable with `compress` has no bounds.", _L
        + '"y x" ; «land:bounds = "b" ;|» int b(land, n) ; data: land = 1 ;', "remove the bounds", since=(1, 11)),
)  # fmt: skip


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


TOPIC = Topic(RULES, find)
