"""A plugin of a test, as another distribution would have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from nczarr.arrays.codecs import table
from nczarr.names import plugin_index
from nczarr.names.plugin_index import Found, Plugin


def add_rows(monkeypatch: pytest.MonkeyPatch, **rows: Mapping[str, Any]) -> None:
    """Install a plugin with these fields until the end of the test; what nczarr keeps of its codecs ends with it."""
    plugin = Plugin("of-a-test", "a plugin of a test", **rows)
    monkeypatch.setattr(plugin_index, "_list_others", lambda: (Found(plugin.name, "1", lambda: plugin, None),))
    for name, place in plugin.codecs.items():
        monkeypatch.setitem(table.ROWS, name, table.Row(place))
        monkeypatch.delitem(table.ROWS, name)  # `table` enters it, and the end of the test removes it
    table._load.cache_clear()
