"""Records of libraries about objects: what in them changes with the object."""

from typing import Any

_TELLING = ("ETag", "etag", "md5Hash", "content_settings", "version_id", "VersionId", "generation", "mtime",
            "LastModified", "last_modified", "updated", "created")  # fmt: skip
"""Members of libraries' records that change with the object."""


def describe_object(info: dict[str, Any]) -> str:
    """Return the properties in a library's record that change with an object."""
    return " ".join([str(info.get("size")), *(str(info[name]) for name in _TELLING if name in info)])
