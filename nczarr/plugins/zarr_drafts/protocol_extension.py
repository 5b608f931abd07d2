"""The netCDF model as one protocol extension of the Zarr v3 draft of 2019.

::

    {"extension": "urn:nczarr:extension:netcdf:1", "must_understand": false, "name": "g 1",
     "dimensions": [{"name": "time", "size": 3, "unlimited": true}],
     "attribute_types": {"units": ">S1"},
     "nczarr": {"superblock": {…}, "group": {…}, "attributes": {…}}}

One object replaces the four hidden attributes of NCZarr: `read_hidden` derives them,
`of_group` and `of_array` invert it. The members of `nczarr` are grouped by
hidden attribute. `members` of a group are the key names of its children in
definition order, for stores without listing; of a multi-part variable, the
paths of its arrays. `fill_bits` of an array is the base64 of a NaN fill value
with unusual bits; arrays that are parts of a variable have an object only for
it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.formats.zarr.core.fill_values import Json

URI = "urn:nczarr:extension:netcdf:1"


class ExtensionObject(NamedTuple):
    """Extension object of one node."""

    document: Json

    @property
    def name(self) -> str | None:
        """True name, or None."""
        name = self.document.get("name")
        return name if isinstance(name, str) else None

    def _inner(self, member: str) -> Any:
        inner = self.document.get("nczarr", {})
        return inner.get(member, {}) if isinstance(inner, dict) else inner

    @property
    def members(self) -> list[str] | None:
        """Key names of a group's children; None without a list."""
        group = self._inner("group")
        members = group.get("members") if isinstance(group, dict) else None
        return members if isinstance(members, list) and all(isinstance(member, str) for member in members) else None

    @property
    def fill(self) -> bytes | None:
        """Bytes of the fill value if its plain form is inexact, else None."""
        written = self.document.get("fill_bits")
        try:
            return base64.b64decode(written, validate=True) if isinstance(written, str) else None
        except ValueError:
            return None

    def read_hidden(self, what: str, arrays: list[str], groups: list[str]) -> Json | None:
        """Return NCZarr's `superblock`, `group`, `array` or `attr`; None for a missing superblock.

        `arrays` and `groups`: key names of the children.
        """
        match what:
            case "superblock":
                inner = self._inner(what)
                return {"nczarr": inner} if inner != {} else None
            case "group":
                dimensions = self.document.get("dimensions", [])
                return {
                    "dimensions": _by_name(dimensions) if isinstance(dimensions, list) else dimensions,
                    "arrays": arrays,
                    "groups": groups,
                    "nczarr": self._inner(what),
                }
            case "array":
                references = self.document.get("dimension_references")
                if isinstance(references, list) and all(isinstance(reference, str) for reference in references):
                    references = list(map(_plainly, references))
                scalar = {"scalar": 1} if references == [] else {}  # as NCZarr marks them
                return {"dimension_references": references, **scalar, "nczarr": self._inner(what)}
            case _:
                return {"types": self.document.get("attribute_types", {}), "nczarr": self._inner("attributes")}


def _by_name(dimensions: list[Any]) -> Json:
    """Return dimensions in netCDF-C's form; invalid ones are None under their number."""
    sizes: Json = {}
    for number, dimension in enumerate(dimensions):
        name = dimension.get("name") if isinstance(dimension, dict) else None
        if not isinstance(name, str) or name in sizes:
            sizes[f"dimension number {number}"] = None
        elif dimension.get("unlimited") is True:
            sizes[name] = {"size": dimension.get("size"), "unlimited": 1}  # as NCZarr marks it
        else:
            sizes[name] = dimension.get("size")
    return sizes


def _plainly(fqn: str) -> str:
    """Return an unescaped reference; an invalid FQN is unchanged."""
    try:
        return "/" + "/".join(names.split(fqn))
    except ValueError:
        return fqn


def find_extension(extensions: Any) -> ExtensionObject | None:
    """Return our extension object among the `extensions` of a document."""
    for extension in extensions if isinstance(extensions, list) else ():
        if isinstance(extension, dict) and extension.get("extension") == URI:
            return ExtensionObject(extension)
    return None


def of_group(name: str, group: Json, members: Iterable[str], hidden_attributes: Json, superblock: Json | None) -> Json:
    """Return a group's object from its hidden attributes and its children's key names."""
    dimensions = [
        {
            "name": dimension,
            "size": size["size"] if isinstance(size, dict) else size,
            "unlimited": isinstance(size, dict),
        }
        for dimension, size in group["dimensions"].items()
    ]
    inner = {"group": {**group.get("nczarr", {}), "members": list(members)}}
    if superblock is not None:
        inner = {"superblock": superblock["nczarr"], **inner}
    return _object(name, {"dimensions": dimensions}, hidden_attributes, inner)


def of_array(name: str, array: Json, hidden_attributes: Json) -> Json:
    """Return the object of a variable that is one array."""
    references = [names.fqn(reference.removeprefix("/").split("/")) for reference in array["dimension_references"]]
    return _object(name, {"dimension_references": references}, hidden_attributes, {"array": array.get("nczarr", {})})


def with_fill(extensions: list[Json], fill: bytes) -> list[Json]:
    """Return an array's extensions with the exact fill value in ours."""
    ours = find_extension(extensions)
    document = {"extension": URI, "must_understand": False} if ours is None else ours.document
    bits = {**document, "fill_bits": base64.b64encode(fill).decode()}
    return [bits, *(extension for extension in extensions if extension is not document)]


def _object(name: str, members: Json, hidden_attributes: Json, inner: Mapping[str, Any]) -> Json:
    """Make the extension object of a node; empty members of `nczarr` are left out."""
    attributes = hidden_attributes.get("nczarr", {})
    stated = {key: value for key, value in {**inner, "attributes": attributes}.items() if value}
    return {
        "extension": URI,
        "must_understand": False,  # the draft: others may ignore it
        **({"name": name} if name else {}),
        **members,
        "attribute_types": hidden_attributes["types"],
        **({"nczarr": stated} if stated else {}),
    }
