"""The typed tree: one model of a dataset for every format.

This is where to start reading. A front end makes a tree from a source, passes
check and complete it, and a back end writes it; no format knows another one.

**What a dataset is.** The model is NCZarr's, extended to all of netCDF-4. A
`Dataset` is the root `Group`. A group is a scope: user-defined types,
`Dimension`s, `Variable`s, `Attribute`s and inner groups, each in definition
order, because netCDF files number their content, and a copy should have the same
numbers. A variable is a name, a type, its dimensions, and how it is stored
(`Storage`). An attribute is a typed `Constant`. Types are the twelve atomic
names of netCDF-4 and four kinds of user-defined ones (`types.py`).

**What is not in it.**

- *Values of variables.* The tree of a file of a terabyte takes as long to read
  as that of one of a kilobyte. `Checked.parts` has an array source for each
  variable, which reads when it is asked.
- *Derived properties.* The declaration that a name means, the shape of a
  variable, its fill value: they follow from the tree and are computed once, by
  `semantics`, into `Checked`. A tree that had them too could contradict itself.
- *Content of one format alone.* What Zarr has beyond the model, say, goes beside
  the tree into `Checked.foreign`, and is written only to that format again. The
  exceptions are members that any target has to know in order to say what it
  loses: `Attribute.json`, `Storage.element`, `Variable.axes`.

**Names.** Names are text in NFC without escapes; each language escapes them in its own
way at its border (`nczarr.names`). After the front end, references are fully
qualified names: `/g/x` is the dimension `x` of the group `g`, whichever scope
the source looked it up from. An integer among dimensions is an anonymous one,
which Zarr has and netCDF has not.

**Constants keep bits, not numbers.** A `Constant` has the packed little-endian
bytes of its values, so that the payload of a NaN, -0.0, and the difference of
`char`, `string` and missing strings survive. Python's numbers are made when
somebody asks.

**Nodes are values.** They are frozen, equal by content, hashable, and without a
reference to their parent: a subtree can be in two trees, a test is
`read(write(tree)) == tree`, and a change is a new node (`model_copy`,
`map_groups`). A node checks itself when it is made, so that a wrong tree cannot
be built; this costs a few comparisons, and pydantic decides the unusual cases
(`node.py`). The `span` says where the source has the node. It is no part of
the value: two files with the same content have equal trees.

**Before and after the passes.** The same classes hold what was written and what
was resolved. In `Unchecked` a name may mean nothing, or two things; after the
passes (`semantics.PASSES`) every `TypeName` is atomic or the FQN of a declared
type, and every dimension is declared. Back ends accept `Checked` alone.

The tree has a JSON form (`json.py`), with a published schema, which is a format
like any other.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nczarr.ast.dataset import (
    DEFAULT_STORAGE,
    Attribute,
    Codec,
    Dataset,
    Dimension,
    DimensionRef,
    Group,
    Kind,
    Quantize,
    Storage,
    Variable,
)
from nczarr.ast.node import Name, Node, TypeName
from nczarr.ast.types import ATOMIC, CompoundType, EnumConstant, EnumType, Field, OpaqueType, UserType, VlenType
from nczarr.ast.values import Constant

if TYPE_CHECKING:
    from nczarr.ast.renaming import rename
    from nczarr.ast.traversal import transform, walk

__all__ = [
    "ATOMIC", "DEFAULT_STORAGE", "Attribute", "Codec", "CompoundType", "Constant", "Dataset", "Dimension",
    "DimensionRef", "EnumConstant", "EnumType", "Field", "Group", "Kind", "Name", "Node", "OpaqueType", "Quantize",
    "Storage", "TypeName", "UserType", "Variable", "VlenType", "rename", "transform", "walk",
]  # fmt: skip

_LATER = {"rename": "nczarr.ast.renaming", "transform": "nczarr.ast.traversal", "walk": "nczarr.ast.traversal"}
"""Functions for passes of users, loaded on first use: the compiler itself needs none."""


def __getattr__(name: str) -> Any:
    """Load a function on first use."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
