"""Extension of Griffe: public names that plugins add to `nczarr` and `nczarr.refs`, loaded when they are used."""

from __future__ import annotations

from typing import Any

from griffe import Alias, Extension, Module

from nczarr.names.plugin_index import load_all
from nczarr.plugins.refs import api as refs


class PublicNames(Extension):
    """Adds an alias for each public name of a plugin."""

    def on_package(self, *, pkg: Module, **context: Any) -> None:
        """Add the names to the package `nczarr`, and to the module that is its attribute `refs`."""
        if pkg.path == "nczarr":
            homes = {"": pkg, "refs": pkg[refs.__name__.partition(".")[2]]}
            for plugin in load_all():
                for name, place in plugin.names.items():
                    home, _, short = name.rpartition(".")
                    homes[home].set_member(short, Alias(short, place.replace(":", "."), parent=homes[home]))
            homes["refs"].exports = list(refs.__all__)
