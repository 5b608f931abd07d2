"""Dataset tree, variable shapes and fill values of a header.

The tree is the model in the header (written by `header_writer.py`), else derived from its declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.parts import Types, descr, is_fixed, parts, size
from nczarr.arrays.source import itemsize
from nczarr.arrays.validate_constant import sound_types
from nczarr.ast import ATOMIC, Dimension, Variable
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType
from nczarr.check.checked import Tables, Unchecked
from nczarr.check.type_sizes import oversized
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read import header_tree
from nczarr.formats.ncstream.wire.cells import fixed
from nczarr.formats.ncstream.wire.decode import unsigned
from nczarr.formats.ncstream.wire.definitions import Declared
from nczarr.formats.ncstream.wire.element_types import NUMPY, dtype_of
from nczarr.formats.ncstream.wire.trees import Numbers, Tree
from nczarr.json import ast_document
from nczarr.source import Source

MODEL = "nczarr"
"""Name of the header field that contains the model, as shown in diagnostics."""


def dataset_of(header: pb.Header, asked: header_tree.Asked, name: str) -> Unchecked | None:
    """Return the dataset of a header without values. `name`: name of the source in diagnostics."""
    if header.HasField("nczarr"):
        dataset = ast_document.read(Source(name, header.nczarr, key=MODEL), asked.report)
        return None if dataset is None else Unchecked(dataset)
    return Unchecked(header_tree.dataset(header, asked))


def told_fills(header: pb.Header) -> dict[str, dict[str, bytes]]:
    """Return the fill bytes in the header, by variable FQN and part."""
    found: dict[str, dict[str, bytes]] = {}
    for each in header.fills:
        path, part = (text.decode("utf-8", "surrogateescape") for text in (each.path, each.part))
        found.setdefault(path, {})[part] = each.value
    return found


def shapes_of(known: Tables) -> dict[str, tuple[int, ...]]:
    """Return the shapes of variables with valid dimensions and types; a check pass reports the others."""
    sound = sound_types(known.types)
    unsuited = oversized(sound)
    unsuited |= {path for path in sound if path not in unsuited and is_fixed(path, sound) and not size(path, sound)}
    unsuited |= {
        path
        for path, each in sound.items()
        if isinstance(each, CompoundType) and len({field.name for field in each.fields}) < len(each.fields)
    }
    if unsuited:
        sound = sound_types({path: each for path, each in sound.items() if path not in unsuited})
    found = {}
    for path, variable in known.variables.items():
        lengths = [known.dimensions.get(each) if isinstance(each, str) else each for each in variable.dimensions]
        if None not in lengths and (variable.type in ATOMIC or variable.type in sound):
            found[path] = tuple(each.size if isinstance(each, Dimension) else each or 0 for each in lengths)
    return found


def suited_fills(
    given: Mapping[str, bytes], variable: Variable, known: Tables, lost: Callable[[str], None]
) -> dict[str, bytes]:
    """Return the fills that are one element of their part; report the others through `lost`."""
    found = {}
    for part in parts(variable.type, (), known.types):
        fill = given.get(part.path)
        width = itemsize(descr(part.type, known.types))
        if fill is not None and width and len(fill) != width:
            lost(f"what fills `{part.path}` of `{variable.name}` is {len(fill)} bytes, and elements have {width}")
        elif fill is not None:
            found[part.path] = fill
    return found


def immediate_values(
    declared: Declared | None, type_name: TypeName, shape: tuple[int, ...], types: Types
) -> NDArray[Any] | None:
    """Return the values of a variable that the header contains, or None. Raises ValueError if they do not fit."""
    if not isinstance(declared, pb.Variable) or not declared.HasField("data"):
        return None
    return fixed(_numbers(declared), type_name, shape, types)


def _numbers(declared: pb.Variable) -> Tree:
    """Return the header's values, always big-endian. Raises ValueError if the type is not numeric."""
    if declared.dataType not in NUMPY:
        raise ValueError("they are no numbers")
    made = Numbers(declared.dataType, np.frombuffer(declared.data, dtype_of(declared.dataType, big=True)))
    return unsigned(made) if declared.unsigned else made
