"""Codes of datasets that do not follow a schema (`check --schema`)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code


def _example(schema: str, text: str) -> str:
    return f"$ nczarr check a.cdl --schema s.cdl\n== s.cdl\nnetcdf s {{\n{schema}}}\n== a.cdl\nnetcdf a {{\n{text}}}\n"


CODES = (
    Code(
        "missing-element",
        ERROR,
        "The schema has a group, type, dimension, variable or attribute, and the dataset has not.",
        _example("variables:\n  int temp ;\n", ""),
        "Add it to the dataset, or take it out of the schema.",
    ),
    Code(
        "different-element",
        ERROR,
        "The schema and the dataset have something of one name that is not the same: another length, type, shape or "
        "value "
        "of an attribute.",
        _example("variables:\n  int temp ;\n", "variables:\n  float temp ;\n"),
        "Change the dataset, or the schema. In the schema, `UNLIMITED` stands for any length.",
    ),
    Code(
        "extra-element",
        WARNING,
        "The dataset has something that the schema has not.",
        _example("", "variables:\n  int temp ;\n"),
        "Nothing, unless the schema is meant to be complete: `--strict` makes it an error.",
    ),
    Code(
        "fixed-dimension",
        WARNING,
        "A dimension is unlimited in the schema, and fixed in the dataset, where its length is not compared.",
        _example("dimensions:\n  x = UNLIMITED ;\n", "dimensions:\n  x = 2 ;\n"),
        "Make it unlimited if the dataset shall grow. Pure Zarr knows no such dimensions.",
    ),
)
