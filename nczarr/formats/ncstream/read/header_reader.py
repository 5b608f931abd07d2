"""What a header tells of a dataset: its tree, the shapes that follow from it, and what fills arrays.

Where the header holds the model (`heading.py` wrote it) that is the tree, else one is made of the header's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nczarr.arrays.parts import descr, is_fixed, parts, size
from nczarr.arrays.source import itemsize
from nczarr.arrays.validate_constant import sound_types
from nczarr.ast import ATOMIC, Dimension, Variable
from nczarr.ast.types import CompoundType
from nczarr.check.checked import Unchecked
from nczarr.check.tables import Tables
from nczarr.check.type_sizes import oversized
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read import model
from nczarr.json import ast_document
from nczarr.source import Source

MODEL = "nczarr"
"""What the model is called in messages: the field of the header that holds it."""


def dataset_of(header: pb.Header, asked: model.Asked, name: str) -> Unchecked | None:
    """The dataset of a header, without values: that of the model in it, if it has one. `name`: of what it stands in."""
    if header.HasField("nczarr"):
        dataset = ast_document.read(Source(name, header.nczarr, key=MODEL), asked.report)
        return None if dataset is None else Unchecked(dataset)
    return Unchecked(model.dataset(header, asked))


def told_fills(header: pb.Header) -> dict[str, dict[str, bytes]]:
    """What fills arrays, by FQN of the variable and part."""
    found: dict[str, dict[str, bytes]] = {}
    for each in header.fills:
        path, part = (text.decode("utf-8", "surrogateescape") for text in (each.path, each.part))
        found.setdefault(path, {})[part] = each.value
    return found


def shapes_of(known: Tables) -> dict[str, tuple[int, ...]]:
    """The shapes of the variables whose dimensions and types can be worked with; a pass reports the others."""
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
    """What is told to fill the arrays of a variable, as far as it is one element of each."""
    found = {}
    for part in parts(variable.type, (), known.types):
        fill = given.get(part.path)
        width = itemsize(descr(part.type, known.types))
        if fill is not None and width and len(fill) != width:
            lost(f"what fills `{part.path}` of `{variable.name}` is {len(fill)} bytes, and elements have {width}")
        elif fill is not None:
            found[part.path] = fill
    return found
