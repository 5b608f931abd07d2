"""Codes of kinds of netCDF file and of targets."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "format-conflict",
        ERROR,
        "The dataset uses something that the kind of netCDF file cannot hold, or is too large for it.",
        "$ nczarr check - --kind nc3\nnetcdf t {\nvariables:\n  string s ;\n}\n",
        "Ask for a kind that holds it (`--kind nc4` holds all), or remove the construct; `--allow-loss "
        "format-conflict` leaves it out.",
    ),
    Code(
        "unequal-target",
        ERROR,
        "The finished target was read again, and does not hold the values that were to be written: the medium is "
        "damaged, another program writes there, or nczarr has a fault. There is no target.",
        "",
        "Convert again; if that ends alike, report it with the source.",
    ),
    Code(
        "unread-variable",
        WARNING,
        "`--verify` read the finished target with the library of its format as well, and that library does not read "
        "the variable. Our own reader found it equal.",
        "",
        "Nothing, unless readers that use this library need the variable: then choose another type, codec or format.",
    ),
    Code(
        "finished-target",
        WARNING,
        "With `--resume`, a target was there already and finished: it is left as it is. That its variables are those "
        "of the source was looked at, and with `--verify` that its values are.",
        "",
        "Remove it, or say `--overwrite`, where it is to be made anew.",
    ),
    Code(
        "missing-library",
        ERROR,
        "A library that this format needs is not installed. Exit status 3.",
        "",
        "Install what the message names, or write another format.",
    ),
    Code(
        "oversized-chunk",
        ERROR,
        "A chunk would have to be decoded that is larger than the memory that the run may use. Nothing was written.",
        "$ nczarr compile - -o t.zarr --memory 1KiB\nnetcdf t {\ndimensions:\n  x = 300 ;\nvariables:\n  int v(x) ;\n"
        "  v:_ChunkSizes = 300 ;\ndata:\n  v = 1 ;\n}\n",
        "Raise the limit with `--memory 4GiB`, ask for smaller chunks with `--chunks`, or keep the chunks and codecs "
        "of the source: encoded chunks are moved as they are, whatever their size.",
    ),
    Code(
        "oversized-target",
        ERROR,
        "The variables of a netCDF file or of an archive of Awkward arrays would declare more bytes than the run "
        "allows. Nothing was written.",
        "$ nczarr compile - -o t.nc\nnetcdf t {\ndimensions:\n  x = 1000000000000 ;\nvariables:\n  byte v(x) ;\n}\n",
        "Raise the limit with `--max-size 2TB`, or write a store, where what is not given takes no room.",
    ),
    Code(
        "refused-storage",
        ERROR,
        "The netCDF library does not store a variable so: filters that exclude one another, or that do not suit its "
        "type, parameters that a filter does not take.",
        "$ nczarr compile - -o t.nc\nnetcdf t {\ndimensions:\n  x = 8 ;\nvariables:\n  int v(x) ;\n"
        '  v:_Filter = "4,32,8|1,5" ;\n}\n',
        "Choose other filters, in the dataset or with `--codec`.",
    ),
    Code(
        "target-exists",
        ERROR,
        "The target is there already. Nothing was touched. Exit status 2. With `--overwrite`: it is a folder, and the "
        "new target is a file, or what is in it is no store; or it is a device.",
        "$ nczarr compile - -o t.zarr\n$ nczarr compile - -o t.zarr\nnetcdf t {\n}\n",
        "Choose another name, or give `--overwrite`; folders of other things must be removed by hand.",
    ),
    Code(
        "unavailable-filter",
        ERROR,
        "Values are to be encoded by an HDF5 filter that neither the library nor nczarr has.",
        "$ nczarr compile - -o t.nc\nnetcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\n"
        '  v:_Filter = "33000,1" ;\n  v:_ChunkSizes = 2 ;\ndata:\n  v = 1, 2 ;\n}\n',
        "Install the filter's plug-in and name its folder in HDF5_PLUGIN_PATH, or choose another codec.",
    ),
    Code(
        "unknown-format",
        ERROR,
        "The format of a source can be told neither from its content nor from its suffix; or a folder or archive has "
        "no document of a store at its root.",
        "$ nczarr check -\nonce upon a time\n",
        "A CDL text starts with `netcdf`, the notation with `dataset`, an AST with `{`; `nczarr formats` lists all.",
    ),
    Code(
        "unknown-target",
        ERROR,
        "The format named for a target, or that of its suffix, is none that can be written. Exit status 2.",
        "$ nczarr compile - -o ocean.docx\nnetcdf t {\n}\n",
        "Name the format with `--to`; `nczarr formats` lists all.",
    ),
)
