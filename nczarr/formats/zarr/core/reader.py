"""How a version of Zarr lays down its documents: the base class between the versions and the readers of hierarchies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nczarr.ast import Constant
from nczarr.ast.plain import Plain, plain
from nczarr.formats.zarr.core.array_metadata import Described
from nczarr.formats.zarr.core.fill_values import FAULTS, INVALID
from nczarr.json.documents import Documents, Json
from nczarr.json.positions import pointer


class BadDocumentError(ValueError):
    """A document that says something that is not followed: `member` is where."""

    def __init__(self, message: str, member: str, code: str = "bad-metadata") -> None:
        super().__init__(message)
        self.member = member
        self.code = code


class Reader:
    """Documents of one version of Zarr by node. What is wrong with them is reported once.

    A node is named by what its keys begin with: `foo/bar/`, empty for the root.
    """

    axes_member = ""
    """The member that names the dimensions of an array; empty: there is none."""
    texts_are_strings = False
    """Whether a text of one byte is a string where nothing says that it is a char."""
    portable_names = False
    """Whether segments of keys are names as `arrays/key_segments.py` makes them portable."""
    named_by_file = True
    """Whether a dataset that does not say its name has that of its file."""
    fill_stands_for_attribute = True
    """Whether a fill value that plain JSON attributes cannot hold stands for a `_FillValue`."""
    names: tuple[str, ...]
    """Names of the documents that an array or group may have."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents

    def name(self, prefix: str) -> str:
        """The name of an array or group, which perhaps is not the segment of its keys."""
        return prefix[:-1].rpartition("/")[2]

    def is_array(self, prefix: str) -> bool:
        """Whether an array stands there, readable or not."""
        raise NotImplementedError

    def is_group(self, prefix: str) -> bool:
        """Whether a group stands there, readable or not."""
        raise NotImplementedError

    def key(self, prefix: str) -> str:
        """The key of the document that holds the attributes, for diagnostics."""
        raise NotImplementedError

    def array_key(self, prefix: str) -> str:
        """The key of the document that describes an array."""
        return self.key(prefix)

    def attributes(self, prefix: str) -> Json:
        """The attributes of an array or group; empty if there are none."""
        raise NotImplementedError

    def array(self, prefix: str) -> Described | None:
        """The array there; None (reported) if it is none that can be read."""
        try:
            return self.described(prefix)
        except BadDocumentError as fault:
            self.documents.lost(fault.code, str(fault), self.array_key(prefix), pointer(fault.member))
            return None

    def described(self, prefix: str) -> Described | None:
        """The array there; None (reported) if there is none. Raises BadDocumentError."""
        raise NotImplementedError

    def fill(self, key: str, decoded: Callable[[], bytes | None]) -> bytes | None:
        """A fill value as it is `decoded`; None (reported) if it is invalid."""
        try:
            return decoded()
        except FAULTS as fault:
            self.documents.lost("bad-metadata", f"{INVALID}: {fault}", key, "/fill_value")
            return None

    def hidden(self, prefix: str, what: str) -> tuple[Json | None, str]:
        """The `superblock`, `group`, `array` or `attr` that the netCDF library hides there, and its key."""
        found = self.attributes(prefix).get(f"_nczarr_{what}")
        return (found if isinstance(found, dict) else None), self.key(prefix)

    def own_fill(self, type_name: str, value: Any) -> Constant | None:
        """The constant of a `_FillValue` among the attributes that has a code of its own; None if it has none."""
        return None

    def shown_fill(self, constant: Constant) -> Plain:
        """What stands among the attributes for a `_FillValue`."""
        return plain(constant)


def axes_of(written: Any) -> tuple[str | None, ...] | None:
    """Names of dimensions as a document lists them; None if it lists none."""
    if not isinstance(written, list):
        return None
    return tuple(each if isinstance(each, str) else None for each in written)
