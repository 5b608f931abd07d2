"""The typed tree: one model of a dataset for every format.

It is the NCZarr data model, extended to all of netCDF-4. A `Dataset` is a
`Group`, a scope of types, dimensions, variables, attributes and groups. Nodes
are values. Derived properties (the declaration of a name, the shape of a
variable) are in `Checked`, not in the tree.
"""

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

__all__ = [
    "ATOMIC",
    "DEFAULT_STORAGE",
    "Attribute",
    "Codec",
    "CompoundType",
    "Constant",
    "Dataset",
    "Dimension",
    "DimensionRef",
    "EnumConstant",
    "EnumType",
    "Field",
    "Group",
    "Kind",
    "Name",
    "Node",
    "OpaqueType",
    "Quantize",
    "Storage",
    "TypeName",
    "UserType",
    "Variable",
    "VlenType",
]
