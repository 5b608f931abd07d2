"""Codes of parts of datasets: sections, and what they do to dimensions."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "bad-section",
        ERROR,
        "The text behind `--section` is no section; the marker shows where it stops being one. Exit status 2.",
        "$ nczarr convert - t.cdl --section v(0:)\nnetcdf t {\ndimensions:\n  x = 8 ;\nvariables:\n  int v(x) ;\n}\n",
        "Write one extent a dimension, `temp(0:9:2, :, 5)`: first, last and stride, from 0, the last included.",
    ),
    Code(
        "unmatched-section",
        ERROR,
        "A section does not suit the dataset: there is no such variable, or several, it has another number of "
        "dimensions, or an index lies outside.",
        "$ nczarr convert - t.cdl --section v(8)\nnetcdf t {\ndimensions:\n  x = 8 ;\nvariables:\n  int v(x) ;\n}\n",
        "Correct the name or the extents; `nczarr dump --as tree` shows the lengths.",
    ),
    Code(
        "split-dimension",
        WARNING,
        "A section cuts a dimension that other variables use whole, or cut otherwise. The dimension stays as it is, "
        "and the variable gets one of its own, which has no coordinates.",
        "$ nczarr convert - t.cdl --section v(3)\n"
        "netcdf t {\ndimensions:\n  x = 8 ;\nvariables:\n  int v(x) ;\n  int w(x) ;\n}\n",
        "Give all variables that use it the same section, or choose those that you want with `--var`.",
    ),
)
