"""Run by an interpreter that has awkward0: reads storages and prints the values of their arrays.

Standard input: one JSON object a line, `{"name": key of the document, "storage": {key: base64}}`, or `{"file": path}`
of an `.awkd` file, or `{"hdf5": path, "name": …}`; with `"contexts": pattern` the array is written again, and what
lies in these contexts is compressed. Standard output: one line each, `{"value": …}` as `marked` has it, or the storage
of the array written again, or `{"error": …, "read": whether the array was made}`. Python 3.8.
"""

import base64
import json
import sys
import zlib

import awkward0
import numpy


def marked(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numpy.bool_):
        return bool(value)
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
        return {"time": [int(value.astype("i8")), value.dtype.str[1:]]}
    if isinstance(value, (int, numpy.integer)):
        return int(value)
    if isinstance(value, (float, numpy.floating)):
        return {"float": float(value).hex()}
    if isinstance(value, (complex, numpy.complexfloating)):
        return {"complex": [float(value.real).hex(), float(value.imag).hex()]}
    if isinstance(value, numpy.void):
        if value.dtype.names is None:
            return {"bytes": value.tobytes().hex()}
        return {"record": [[name, marked(value[name])] for name in value.dtype.names]}
    if isinstance(value, awkward0.Table.Row):
        return {"record": [[name, marked(value[name])] for name in value._table._contents]}
    if isinstance(value, dict):
        return {"record": [[name, marked(each)] for name, each in value.items()]}
    return [marked(each) for each in value]


def asked(question):
    if "file" in question:
        found = awkward0.load(question["file"])
        if isinstance(found, awkward0.persist.Load):
            return {name: found[name] for name in sorted(found)}
        return found
    if "hdf5" in question:
        import h5py

        with h5py.File(question["hdf5"], "r") as file:
            return awkward0.hdf5(file)[question["name"]]
    storage = {key: base64.b64decode(data) for key, data in question["storage"].items()}
    return awkward0.deserialize(storage, question["name"])


def again(array, contexts):
    storage = {}
    rule = {"contexts": contexts, "pair": (zlib.compress, ("zlib", "decompress"))}
    awkward0.serialize(array, storage, compression=[rule])
    return {key: base64.b64encode(bytes(data)).decode() for key, data in storage.items()}


for line in sys.stdin:
    read = False
    try:
        question = json.loads(line)
        array = asked(question)
        read = True
        answer = {"value": again(array, question["contexts"]) if "contexts" in question else marked(array)}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
