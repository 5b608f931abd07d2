"""Extension of Griffe: public names that plugins add to `nczarr`, which it loads when they are used."""

from __future__ import annotations

from typing import Any

from griffe import Alias, Extension, Module

from nczarr.plugin_index import load_all


class PublicNames(Extension):
    """Adds an alias for each public name of a plugin."""

    def on_package(self, *, pkg: Module, **context: Any) -> None:
        """Add the names to the package `nczarr`."""
        if pkg.path == "nczarr":
            for plugin in load_all():
                for name, place in plugin.names.items():
                    pkg.set_member(name, Alias(name, place.replace(":", "."), parent=pkg))
