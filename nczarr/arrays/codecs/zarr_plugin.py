"""Codecs of plugins of zarr-python, such as `gribberish`, which decodes GRIB messages.

A chain with one codec that only a plugin has is one step: zarr-python decodes each of its chunks as an array in memory.
Such chunks are read, and stay where they are in references of Zarr v3; none is encoded. Packages register their codecs
under the entry point `zarr.codecs`. The parameters of the step are the bytes of its JSON.
"""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config, Parameters, Step
from nczarr.arrays.lazy_numpy import np


class ZarrPlugin(CodecKind):
    """Whole chain of a chunk, in the words of its document."""

    config_id = "zarr_plugin"
    changes_arrays = True

    def config(self, parameters: Parameters, itemsize: int) -> dict[str, Any]:
        return {"id": self.config_id, **json.loads(bytes(parameters))}

    def parameters(self, config: Config) -> Parameters:
        members = {key: member for key, member in config.items() if key != "id"}
        return tuple(json.dumps(members, sort_keys=True).encode())

    def is_lossy(self, step: Config) -> bool:
        return True

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        """Decode a chunk by zarr-python, as an array of one chunk in a store in memory."""
        import zarr
        from zarr.core.buffer import default_buffer_prototype
        from zarr.storage import MemoryStore

        shape = step["shape"]
        document = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": np.dtype(step["dtype"]).name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0,
            "codecs": step["codecs"],
            "attributes": {},
        }
        content = {"zarr.json": json.dumps(document).encode(), "/".join(["c", *["0"] * len(shape)]): data}
        make = default_buffer_prototype().buffer.from_bytes
        store = MemoryStore({key: make(held) for key, held in content.items()})
        try:
            values = np.asarray(zarr.open_array(store, mode="r")[...], step["dtype"])
        except Exception as error:  # plugins raise anything
            raise ValueError(f"{type(error).__name__}: {error}") from error
        if values.nbytes > limit:
            raise ValueError(TOO_MUCH)
        return values.tobytes()


def plugin_step(names: Sequence[str], written: list[Any], shape: Sequence[int], dtype: str) -> Step | None:
    """Return the step of a chain in which plugins of zarr-python know every codec; None otherwise.

    `names`: names of all codecs; `written`: the chain as in the document; `dtype`: of the array, little-endian.
    """
    if find_spec("zarr") is None or np.dtype(dtype).kind not in "biufc":
        return None
    from zarr.registry import get_codec_class

    for name in names:
        try:
            get_codec_class(name)
        except (KeyError, ValueError, ImportError):  # an error of its own since 3.4
            return None
    return {"id": ZarrPlugin.config_id, "codecs": written, "shape": list(map(int, shape)), "dtype": dtype}


def names_of(parameters: Parameters) -> list[str]:
    """Return the names of the codecs in a chain, which the parameters of its step describe."""
    written = json.loads(bytes(parameters))["codecs"]
    return [codec if isinstance(codec, str) else str(codec.get("name")) for codec in written]


CODECS = (ZarrPlugin(),)
