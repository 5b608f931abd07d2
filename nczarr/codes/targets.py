"""Codes of kinds of netCDF file and of targets (cdl-language §7.5; DESIGN §4)."""

from __future__ import annotations

from nczarr.codes.code import ERROR, Code

CODES = (
    Code(
        "format-conflict",
        ERROR,
        "The dataset uses something that the kind of netCDF file asked for cannot hold.",
        'netcdf t {\n  :_Format = "classic" ;\nvariables:\n  string s ;\n}\n',
        "Ask for a kind that holds it (`--kind nc4` holds all), or remove the construct.",
    ),
    Code(
        "target-exists",
        ERROR,
        "The target is there already. Nothing was touched. Exit status 2.",
        "$ nczarr compile - -o t.zarr\n$ nczarr compile - -o t.zarr\nnetcdf t {\n}\n",
        "Choose another name, or give `--overwrite`.",
    ),
    Code(
        "unknown-format",
        ERROR,
        "The format of a source cannot be told from its content, or that of a target from its suffix. Exit status 2.",
        "$ nczarr check -\nonce upon a time\n",
        "Name the target's format with `--to`. A CDL text starts with `netcdf`, the notation with `dataset`, an "
        "AST with `{`. `nczarr formats` lists all.",
    ),
)
