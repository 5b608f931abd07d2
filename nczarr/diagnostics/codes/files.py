"""Codes of files and of runs as a whole."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "unreachable-file",
        ERROR,
        "A file or store cannot be read or written; the message has the system's reason. Exit status 3.",
        "$ nczarr check missing.cdl\n",
        "Check the path, its permissions and the space left.",
    ),
    Code(
        "unreadable-file",
        ERROR,
        "A file of a format that a library reads cannot be read by it; the message has the library's reason.",
        "\udc89HDF\r\n\x1a\n and nothing more",
        "Fetch or write the file again.",
    ),
    Code(
        "unseen-object",
        WARNING,
        "An HDF5 file has a dataset, type or attribute that does not come into the tree. netCDF has no name for its "
        "type: references, bitfields, half and extended floats, records with texts in them; or the netCDF library "
        "gives up on it: attributes of several dimensions, scales that only some dimensions have. "
        "Or it is the layout of an empty array, whose dimension of length 0 the library takes for unlimited.",
        "",
        "Write the object with a type that netCDF has, or go on without it.",
    ),
    Code(
        "internal-error",
        ERROR,
        "The compiler itself failed: the message names the phase. No target was left behind.",
        "",
        "Report it with the input, or the smallest part of it that fails, and with what `--verbose` prints.",
    ),
    Code(
        "bad-url",
        ERROR,
        "A URL has no path, a protocol or mode that there is not, or a mode that the target cannot have. Status 2.",
        "$ nczarr check file:///t.zarr#mode=nczar\n",
        "Write a path, a URL of a protocol that fsspec knows, or either with `#mode=…` and modes of the netCDF "
        "library.",
    ),
    Code(
        "unequal-digest",
        ERROR,
        "A dataset has another digest than the file of `digest --check` says: its model or its values have changed, or "
        "it is another dataset.",
        "",
        "Lines that `digest --parts` wrote say which variable or group it is; `diff` says how it differs from a copy.",
    ),
    Code(
        "bad-digest-line",
        ERROR,
        "A file of `digest --check` has a line that is not `DIGEST  NAME`, 64 hexadecimal digits and the name of a "
        "dataset; or it has no line.",
        "$ nczarr digest --check -\nonce upon a time\n",
        "Give a file that `nczarr digest` wrote.",
    ),
    Code(
        "unfinished-store",
        ERROR,
        "A store has a journal: a run that makes it is at work, or ended before its end. What is there is not all.",
        "",
        "Run the same command again with `--resume`, which goes on with it; or with `--overwrite`, which begins anew.",
    ),
    Code(
        "indivisible-run",
        ERROR,
        "A cluster (`--dask`) is to make what only one process can write (a file, an archive, standard output), or of "
        "what only this one can read (standard input). Nothing was written. Exit status 2.",
        "$ nczarr convert - t.zarr --dask tcp://127.0.0.1:8786\nnetcdf t {\n}\n",
        "Make a store of files that all workers see, or leave out `--dask`.",
    ),
    Code(
        "clashing-targets",
        ERROR,
        "Several sources of one command would become targets of one name. Nothing was written. Exit status 2.",
        "$ nczarr convert a/t.nc b/t.nc out\n",
        "Convert one of them to a target of its own.",
    ),
)
