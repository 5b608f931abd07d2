"""`chunk_codecs`, two ways: configurations of numcodecs ↔ objects with a URI and the parameters beside it.

    {"codec": "http://purl.org/zarr/spec/codec/gzip", "level": 1}

Source: the draft, "Codecs" and `chunk_codecs`; zarr-v3-2019-draft §4. The draft defines no codec; below this URI stands
the name that numcodecs has for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nczarr.arrays.codecs import Config, to_configs
from nczarr.arrays.decode import HARMLESS
from nczarr.ast import Codec

BASE = "http://purl.org/zarr/spec/codec/"

Json = dict[str, Any]


def written(codecs: Sequence[Codec], itemsize: int) -> list[Json]:
    """The member, of a neutral chain that a store can name."""
    return [
        {"codec": BASE + config["id"], **{name: value for name, value in config.items() if name != "id"}}
        for config in to_configs(codecs, itemsize)
    ]


def configs(given: Sequence[Json]) -> tuple[Config, ...]:
    """The inverse, for what `wire.faults` passes. A codec that is not known has its URI for a name, which whoever
    decodes a chunk refuses.
    """
    return tuple(map(_config, given))


def _config(step: Json) -> Config:
    uri = step["codec"]
    name = uri.removeprefix(BASE)
    known = uri.startswith(BASE) and name in HARMLESS
    return {**{key: value for key, value in step.items() if key not in ("codec", "id")}, "id": name if known else uri}
