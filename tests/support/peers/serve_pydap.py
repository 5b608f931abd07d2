"""Serve a dataset by pydap's server on a free port of loopback, which is printed; runs until it is stopped."""

from __future__ import annotations

from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import numpy as np
from pydap.handlers.lib import BaseHandler
from pydap.model import BaseType, DatasetType, GridType, SequenceType, StructureType


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def grid(name: str, array: Any, **maps: Any) -> GridType:
    found = GridType(name, long_name=f"grid {name}")
    found[name] = BaseType(name, np.asarray(array), dims=tuple(maps))
    for each, values in maps.items():
        found[each] = BaseType(each, np.asarray(values), dims=(each,))
    return found


def dataset() -> DatasetType:
    made = DatasetType("sample", title="served", dimensions={})
    made["b"] = BaseType("b", np.arange(5, dtype="u1"), dims=("x",), units="1")
    made["i"] = BaseType("i", np.arange(-6, 6, dtype=">i2").reshape(3, 4), dims=("y", "z"))
    made["f"] = BaseType("f", np.linspace(0, 1, 24).reshape(2, 3, 4), dims=("t", "y", "z"))
    made["one"] = BaseType("one", np.array(7, "i4"))
    made["s"] = BaseType("s", np.array([b"ann", b"", b"bobby"]), dims=("n",))
    made["a%20b"] = BaseType("a b", np.arange(3, dtype="f4"), dims=("w",))
    made["g"] = grid("g", np.arange(6, dtype="i4").reshape(2, 3), lat=[10.0, 20.0], lon=[1.0, 2.0, 3.0])
    made["h"] = grid("h", np.arange(2, dtype="i4"), lat=[10.0, 30.0])
    structure = made["st"] = StructureType("st")
    structure["k"] = BaseType("k", np.array(5, "i4"))
    structure["m"] = BaseType("m", np.arange(3, dtype="f8"), dims=("q",))
    sequence = made["people"] = SequenceType("people")
    sequence["age"], sequence["name"] = BaseType("age"), BaseType("name")
    sequence.data = np.array([(10, b"ann"), (20, b"bo")], dtype=[("age", "i4"), ("name", "S8")])
    return made


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, BaseHandler(dataset()), handler_class=Quiet)
    print(server.server_port, flush=True)
    server.serve_forever()
