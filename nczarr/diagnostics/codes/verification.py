"""Codes of looking at the targets of reference documents."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "unreachable-target",
        ERROR,
        "A target of a reference document is not there, or cannot be reached. Exit status 3.",
        '$ nczarr refs verify - --chunks none\n{"x/0": ["nowhere.nc", 0, 8]}\n',
        "Bring the target back, or say where it is: relative URLs are those of files beside the document.",
    ),
    Code(
        "changed-target",
        ERROR,
        "A target of a reference document has another size, tag or time of change than the document notes of it, so "
        "ranges may mean other bytes by now.",
        '$ nczarr refs expand - -o t.json\n$ nczarr refs verify - --chunks none\n{"version": 1, "refs": '
        '{"x/0": ["t.json", 0, 1]}, "nczarr": {"targets": {"t.json": {"size": 5}}}}\n',
        "Make the document anew.",
    ),
    Code(
        "range-beyond-target",
        ERROR,
        "A reference names bytes behind the end of its target. Other readers get short or empty data there, silently.",
        '$ nczarr refs expand - -o t.json\n$ nczarr refs verify - --chunks none\n{"x/0": ["t.json", 0, 1000]}\n',
        "Make the document anew; the target may be cut, or be another one.",
    ),
    Code(
        "stray-reference",
        WARNING,
        "The key of a reference is a chunk of no array: beyond its grid, of another rank, or with another separator. "
        "Readers take fill values for what it holds, silently.",
        '$ nczarr refs verify -\n{".zgroup": {"zarr_format": 2}, "v/.zattrs": {"_ARRAY_DIMENSIONS": []}, "v/.zarray": '
        '{"zarr_format": 2, "shape": [], "chunks": [], "dtype": "<i4", "fill_value": 0, "order": "C", '
        '"compressor": null, "filters": null}, "v/0.0": ["file:///dev/null", 0, 0]}\n',
        "Make the document anew, or give the reference the key that the metadata of its array ask for (`v/0` for a "
        "scalar).",
    ),
)
