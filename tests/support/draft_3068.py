"""Stores of netCDF-C's draft of NCZarr on Zarr v3 (pull request 3068): a generator, and a small reader after its table.

Neither uses the package: documents are made with `json`, chunks with zarr-python or NumPy.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

ZARR = {
    "byte": "int8", "ubyte": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "int64": "int64", "uint64": "uint64", "float": "float32", "double": "float64", "char": "char", "string": "string",
}  # fmt: skip
"""The draft's name of each netCDF type."""

NETCDF = {**{name: netcdf for netcdf, name in ZARR.items()}, "json": "char"}


class Form:
    """One of the two notations: that of the draft's code, or that of its documentation."""

    def __init__(self, documented: bool) -> None:
        self.documented = documented

    def superblock(self) -> dict[str, Any]:
        return {"version": "3.0.0", "format": 3} if self.documented else {"version": "3.0.0"}

    def group(self, dimensions: dict[str, Any], arrays: list[str], groups: list[str]) -> dict[str, Any]:
        """`dimensions`: length, or (length, 0 or 1) by name."""
        if not self.documented:
            written: Any = {
                name: {"size": each[0], "unlimited": each[1]} if isinstance(each, tuple) else each
                for name, each in dimensions.items()
            }
            return {"dimensions": written, "arrays": arrays, "groups": groups}
        pairs = {name: each if isinstance(each, tuple) else (each, 0) for name, each in dimensions.items()}
        written = [{"name": name, "size": size, "unlimited": flag} for name, (size, flag) in pairs.items()]
        return {"dimensions": written, "arrays": arrays, "subgroups": groups}

    def array(self, references: list[str], alias: str | None) -> dict[str, Any]:
        found: dict[str, Any] = {"dimension_references": references}
        if not self.documented:
            found |= {"scalar": 1} if not references else {}
            found["storage"] = "chunked"
        if alias is not None:
            found["type_alias" if self.documented else "nczarr_type"] = alias
        return found

    def types(self, given: dict[str, str]) -> dict[str, Any]:
        """Return `_nczarr_attrs`, which types itself as well."""
        every = {**given, "_nczarr_attrs": "json"}
        if not self.documented:
            return {"attribute_types": every}
        return {"attribute_types": [{"name": name, "configuration": {"type": kind}} for name, kind in every.items()]}


class Maker:
    """Writer of one store, with attributes as `{name: (draft type, JSON value)}`."""

    def __init__(self, root: Path, documented: bool) -> None:
        self.root = root
        self.form = Form(documented)

    def attributes(self, given: dict[str, tuple[str, Any]], **hidden: Any) -> dict[str, Any]:
        types = {name: kind for name, (kind, _) in given.items()} | dict.fromkeys(hidden, "json")
        values = {name: value for name, (_, value) in given.items()}
        return {**values, **hidden, "_nczarr_attrs": self.form.types(types)}

    def write(self, path: str, document: dict[str, Any]) -> None:
        folder = self.root / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "zarr.json").write_text(json.dumps(document))

    def group(
        self,
        path: str,
        dimensions: dict[str, Any],
        arrays: list[str],
        groups: list[str],
        attributes: dict[str, tuple[str, Any]],
    ) -> None:
        hidden: dict[str, Any] = {"_nczarr_group": self.form.group(dimensions, arrays, groups)}
        if not path:
            hidden["_nczarr_superblock"] = self.form.superblock()
        made = self.attributes(attributes, **hidden)
        self.write(path, {"zarr_format": 3, "node_type": "group", "attributes": made})

    def array(
        self,
        path: str,
        kind: str,
        references: list[str],
        values: Any,
        fill: Any,
        attributes: dict[str, tuple[str, Any]] | None = None,
        *,
        alias: str | None = None,
        chunks: list[int] | None = None,
    ) -> None:
        """Write an array of a netCDF type; char values are bytes, strings are texts."""
        from zarr.codecs import BytesCodec

        longest = 0
        if kind == "char":
            stored = np.asarray(values, dtype="S1").view("u1")
            data_type, alias = "uint8", alias or "char"
        elif kind == "string":
            encoded = [each.encode() for each in np.asarray(values, dtype=object).reshape(-1)]
            longest = max(1, *map(len, encoded))
            stored = np.array(encoded, dtype=f"S{longest}").reshape(np.shape(values))
            data_type, alias = f"r{8 * longest}", "string"
        else:
            data_type = ZARR[kind]
            stored = np.asarray(values, dtype=data_type)
        shape = list(stored.shape)
        hidden = {"_nczarr_array": self.form.array(references, alias)}
        document = {
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type, "fill_value": fill,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks or shape}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "dimension_names": [each.rpartition("/")[2] for each in references],
            "attributes": self.attributes(attributes or {}, **hidden),
        }  # fmt: skip
        if longest or fill is None or isinstance(fill, str):  # what zarr-python does not know
            (self.root / path / "c").parent.mkdir(parents=True, exist_ok=True)
            key = self.root / path / "/".join(["c", *["0"] * len(shape)])
            key.parent.mkdir(parents=True, exist_ok=True)
            key.write_bytes(stored.tobytes())
        else:
            import zarr

            made = zarr.create_array(
                store=str(self.root / path), shape=shape, chunks=chunks or shape, dtype=stored.dtype, fill_value=fill,
                serializer=BytesCodec(endian="little"), compressors=None, filters=None, zarr_format=3,
            )  # fmt: skip
            made[...] = stored
        self.write(path, document)


def make(root: Path, *, documented: bool) -> None:
    """Write a store with everything that the draft's table names."""
    it = Maker(root, documented)
    it.array("t", "double", ["/time"], [0.0, 1.5, 3.0], -1.0, {"units": ("char", "days since 2000-01-01")})
    it.array(
        "v", "float", ["/time", "/x"], np.arange(12).reshape(3, 4), -999.0,
        {
            "_FillValue": ("float32", -999.0), "valid_range": ("float32", [0, 11]), "flag": ("int8", -3),
            "count": ("uint16", 7), "big": ("uint64", 2**63 + 1), "names": ("string", ["a", "b", "ä"]),
            "one": ("string", "only"), "nan": ("float64", "NaN"), "table": ("json", {"a": [1, 2]}),
            "list": ("json", [1, 2]),
        },
        chunks=[2, 4],
    )  # fmt: skip
    it.array("c", "char", ["/x"], list(b"abc\0"), 0, {"_FillValue": ("char", "x"), "n": ("int16", 5)})
    it.array("cf", "char", ["/x"], [b"w", b"x", b"y", b"z"], "-")
    it.array("j", "char", ["/x"], [b"[", b"1", b"]", b" "], 0, alias="json")
    it.array("s", "string", ["/x"], ["", "a", "long text", "äö"], "", {"n": ("int64", [1, 2])})
    it.array("open", "int", ["/x"], [1, 2, 3, 4], None)
    it.array("openc", "char", ["/x"], [b"1", b"2", b"3", b"4"], None)
    it.array("scalar", "short", [], np.int16(-7), 0, {"unit": ("char", "m")})
    for number, kind in enumerate(("byte", "ubyte", "ushort", "uint", "int64", "uint64")):
        it.array(f"n{number}", kind, ["/x"], [1, 2, 3, 100], 0)
    it.array("g/w", "int", ["/x", "/g/y"], np.arange(8).reshape(4, 2), -1, {"n": ("uint32", 1)})
    it.array("g/h/z", "ubyte", ["/g/y"], [5, 6], 255)
    it.group("g/h", {}, ["z"], [], {"deep": ("int32", 1)})
    it.group("g", {"y": 2}, ["w"], ["h"], {"n": ("int16", [1, 2, 3])})
    arrays = ["t", "v", "c", "cf", "j", "s", "open", "openc", "scalar", *(f"n{each}" for each in range(6))]
    dimensions = {"time": (3, 1), "x": (4, 0), "unused": 5}
    root_attributes = {"title": ("char", "T"), "n": ("int8", 1), "empty": ("json", []), "real": ("float32", 0.5)}
    it.group("", dimensions, arrays, ["g"], root_attributes)


# ---- the reader ------------------------------------------------------------------------------------------------------
def described(root: Path) -> dict[str, Any]:
    """Return what a store of the draft holds, as plain values: see `_group` and `_array`."""
    return _group(root, "")


def _document(root: Path, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / path / "zarr.json").read_text())
    return found


def _group(root: Path, path: str) -> dict[str, Any]:
    """Dimensions as {name: (size, unlimited)}; attributes as {name: (type, values)}; arrays and groups by name."""
    attributes = _document(root, path)["attributes"]
    group = attributes["_nczarr_group"]
    given = group["dimensions"]
    if isinstance(given, list):
        given = {each["name"]: each for each in given}
    dimensions = {
        name: (each["size"], bool(each["unlimited"])) if isinstance(each, dict) else (each, False)
        for name, each in given.items()
    }
    inside = f"{path}/" if path else ""
    groups = group["groups"] if "groups" in group else group["subgroups"]
    return {
        "dimensions": dimensions,
        "attributes": _attributes(attributes),
        "arrays": {name: _array(root, inside + name) for name in group["arrays"]},
        "groups": {name: _group(root, inside + name) for name in groups},
    }


def _attributes(attributes: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    types = attributes["_nczarr_attrs"]["attribute_types"]
    if isinstance(types, list):
        types = {each["name"]: each["configuration"]["type"] for each in types}
    found = {}
    for name, value in attributes.items():
        if name.startswith("_nczarr_"):
            continue
        kind = types[name]
        if kind == "json":
            found[name] = ("char", json.loads(json.dumps(value)))
        elif kind in ("char", "string"):
            found[name] = (kind, value if kind == "char" or isinstance(value, list) else [value])
        else:
            numbers = np.asarray(value, dtype=kind).reshape(-1)
            found[name] = (NETCDF[kind], [repr(each) for each in numbers.tolist()])
    return found


def _array(root: Path, path: str) -> dict[str, Any]:
    """Type, dimensions, attributes, fill mode and values of an array."""
    document = _document(root, path)
    hidden = document["attributes"]["_nczarr_array"]
    alias = hidden.get("nczarr_type", hidden.get("type_alias"))
    stored, shape = document["data_type"], document["shape"]
    dtype = f"S{int(stored[1:]) // 8}" if stored.startswith("r") else "S1" if alias in ("char", "json") else stored
    chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
    values = np.zeros(shape, dtype)
    for index in np.ndindex(*[-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True)]):
        key = root / path / "/".join(["c", *map(str, index)])
        block = np.frombuffer(key.read_bytes(), dtype).reshape(chunks)
        place = tuple(slice(at * chunk, (at + 1) * chunk) for at, chunk in zip(index, chunks, strict=True))
        values[place] = block[tuple(slice(0, length) for length in values[place].shape)]
    return {
        "type": NETCDF[alias or stored],
        "dimensions": hidden["dimension_references"],
        "attributes": _attributes(document["attributes"]),
        "no_fill": document["fill_value"] is None,
        "values": values.tolist(),
    }
