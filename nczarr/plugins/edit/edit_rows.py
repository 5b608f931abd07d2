"""Formats that are changed in place, by the rows of plugins: those of other distributions as well."""

from nczarr.names import plugin_index
from nczarr.names.plugin_index import EditRow

_UNCHANGEABLE = EditRow()


def find_row(name: str) -> EditRow:
    """Return how the format of a name is changed in place; an empty row for one that is not."""
    row: EditRow | None = plugin_index.find_row("edit", name)
    return row or _UNCHANGEABLE
