"""Codes of ragged arrays on their way to Awkward 0.x persistence, and to awkward 2 (contract §4, §5, §9)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "unsuited-array",
        ERROR,
        "An array has a part that the other side cannot hold: Python objects, numbers without bytes of their own, "
        "positions outside of what they point into, a value that is neither an array nor JSON. The message names "
        "its place: `/x/[]` are the items of the lists in column `x`, `#1` is the second kind of a union.",
        ">>> import numpy\n>>> from nczarr.formats.awkward0.write.serialize import serialize\n"
        ">>> serialize(numpy.array([1, None]), {})\n",
        "Give the part another type, or leave it out. Nothing is pickled, and nothing was written.",
    ),
    Code(
        "lost-parameters",
        WARNING,
        "Awkward 0.x has no word for a part of an array's type: names of records, parameters, tuples, lists of one "
        "length, categories, arrays of unknown type. The values are written.",
        ">>> import awkward\n>>> from nczarr.diagnostics.report import Report\n"
        ">>> from nczarr.formats.awkward0.write.serialize import serialize\n>>> report = Report()\n"
        ">>> _ = serialize(awkward.Array([(1, 2)]), {}, report=report)\n",
        "Nothing needs to be done if the values are enough; else keep what is lost in `metadata`.",
    ),
)
