"""Coordinates whose values repeat or change their direction, so that an index of them finds wrong cells or none."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import np
from nczarr.diagnostics.report import CompileError
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import is_numeric
from nczarr.plugins.readers.rule import Finding
from nczarr.semantics.checked import Checked

MOST = 1 << 20
"""Values of a coordinate that are read at most."""


def find_unsorted(checked: Checked) -> Iterator[Finding]:
    """Find coordinates that neither increase nor decrease throughout. Raises OSError."""
    for path, variable in checked.variables.items():
        shape = checked.shapes[path]
        if variable.dimensions != (path,) or not 1 < shape[0] <= MOST or not is_numeric(checked, path):
            continue
        try:
            values = read_outer(checked, path, [slice(0, shape[0], 1)])
        except CompileError:  # chunks that cannot be decoded are found by other rules, and by `--data`
            continue
        up, down = values[1:] > values[:-1], values[1:] < values[:-1]
        if up.all() or down.all():
            continue
        rises = up.sum() >= down.sum()
        place = int(np.argmin(up if rises else down)) + 1
        text = f"the values of `{path}` do not {'increase' if rises else 'decrease'}: "
        text += f"{values[place]!s} after {values[place - 1]!s}"
        is_ordered = not down.any() or not up.any()
        does = "finds several cells for one value, and refuses to align by it (`reindex`)" if is_ordered else ""
        remedy = f"sort all cells: `nczarr combine SRC DST --along {path[1:]} --sort`"
        if len(np.unique(values)) < len(values):
            remedy += ", with `--duplicates first` or `last` for equal values"
        yield Finding("unsorted-coordinate", "", "", text, does, remedy, variable.span)
