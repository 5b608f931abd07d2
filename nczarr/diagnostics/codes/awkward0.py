"""Codes of Awkward 0.x persistence (awkward0-persistence §1 to §8)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, Code

_START = ">>> import nczarr.awkward0\n>>> "


def _read(schema: str, blobs: str = "") -> str:
    """A script that reads a document with this schema."""
    document = f"""b'{{"awkward0": "1", "schema": {schema}}}'"""
    return f"""{_START}nczarr.awkward0.columns({{"": {document}{blobs}}})\n"""


CODES = (
    Code(
        "bad-awkward-document",
        ERROR,
        "A text is no document of Awkward 0.x persistence: no JSON object, without a signature or a schema, or with "
        "two members of one name.",
        f"{_START}nczarr.awkward0.columns({{'': b'{{\"schema\": {{\"json\": 1}}}}'}})\n",
        "A document has a member `awkward0` (or `awkward`) and a member `schema`; `prefix` is text.",
    ),
    Code(
        "bad-awkward-expression",
        ERROR,
        "An expression has no identifying key or two, members of the wrong kind, an id that stands twice, a reference "
        "that leads nowhere, or arguments that the function does not take.",
        _read('{"json": 1, "list": []}'),
        "An expression is an object with one of call, read, list, tuple, dict, pairs, dtype, function, json and ref.",
    ),
    Code(
        "forbidden-function",
        ERROR,
        "A document names a function that is not in the table, or not in the whitelist that was given, or has a "
        "pickled object. Nothing of it was run.",
        _read('{"call": ["os", "getcwd"]}'),
        "Find out who made the document. A whitelist narrows the table of functions, and never widens it.",
    ),
    Code(
        "missing-blob",
        ERROR,
        "A document reads a blob that the storage does not have.",
        _read('{"read": "1"}'),
        "A blob has the name of the document's `prefix` and what `read` says; with `absolute` the latter alone.",
    ),
    Code(
        "bad-blob",
        ERROR,
        "A blob has other bytes than its elements need, cannot be inflated, or is no bytes at all.",
        _read(
            '{"call": ["numpy", "frombuffer"], "args": [{"read": "1"}, {"dtype": "<i8"}, {"json": 3}]}', ', "1": b"12"'
        ),
        "Structures with gaps are written without them beside bytes that have them; whoever writes has to pack them. "
        "More bytes than the elements need are right where `absolute` is true, and nowhere else.",
    ),
    Code(
        "bad-awkward-dtype",
        ERROR,
        "A description of elements is none, has objects in it, or describes elements of no or of too many bytes.",
        _read('{"dtype": "object"}'),
        "Elements are described by a text as `<i4`, by a base and a shape, or by a list of names and descriptions.",
    ),
    Code(
        "bad-awkward-array",
        ERROR,
        "The parts of an array do not fit: a count, offset, index or tag leads out of the content, a mask is too "
        "short, columns have one name, sizes are not those of the pieces.",
        _read('{"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [{"json": [3]}, {"json": [1.5]}]}'),
        "The array was damaged, or written by a program that did not check it; awkward0 itself may read it and "
        "fail later.",
    ),
    Code(
        "oversized-awkward",
        ERROR,
        "A document asks for more than the limits allow: too large, too deep, too many blobs or arrays, or blobs that "
        "inflate to too much.",
        f"{_START}few = nczarr.awkward0.Limits(nesting=2)\n"
        '>>> text = b\'{"awkward0": 1, "schema": {"list": [{"list": [{"json": 1}]}]}}\'\n'
        ">>> nczarr.awkward0.columns({'': text}, limits=few)\n",
        "If the document is to be trusted, give other `limits`.",
    ),
    Code(
        "bad-container",
        ERROR,
        "A ZIP archive or an HDF5 group is not read: it is damaged, or has members or links that no program of "
        "awkward0 makes and that may lead out of it.",
        f"{_START}import io\n>>> nczarr.awkward0.load(io.BytesIO(b'no archive'))\n",
        "Members of an archive are not encrypted, have names that lead nowhere else, each once; datasets are "
        "reached by hard links and have their bytes in the file.",
    ),
    Code(
        "lost-union",
        ERROR,
        "Items of an array are of different types, or the array is within itself: no type of netCDF is that.",
        '== u.json\n{"awkward0": "1", "schema": {"call": ["awkward0", "UnionArray", "fromtags"], "args": ['
        '{"json": [0, 1]}, {"list": [{"json": [1]},'
        ' {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [{"json": [1]}, {"json": [2]}]}]}]}}\n',
        "Read the rest with `--allow-loss lost-union`; `nczarr.awkward0.load` reads all of it.",
    ),
    Code(
        "lost-mask",
        ERROR,
        "Some items of an array are missing, and no value stands for that: lists, records, truth values, and numbers "
        "of which every value is there. Missing numbers get a fill value, missing texts are NIL.",
        '== m.json\n{"awkward0": "1", "schema": {"call": ["awkward0", "MaskedArray"], "args": ['
        '{"json": [true, false]},'
        ' {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [{"json": [0, 1]}, {"json": [2]}]}]}}\n',
        "With `--allow-loss lost-mask` missing lists are empty and missing numbers zero; `nczarr.awkward0.load` reads "
        "them as missing.",
    ),
)
