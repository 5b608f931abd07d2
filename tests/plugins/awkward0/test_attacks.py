"""Documents that ask for more than they are, or for code: each refused, in a measured process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

PRELUDE = """
import io, json, lzma, resource, struct, sys, zlib
import numpy as np
import nczarr.awkward0 as door
from nczarr.diagnostics import CompileError

def read(schema, blobs=None, raw=None, **options):
    text = raw if raw is not None else json.dumps({"awkward0": "1", "schema": schema}).encode()
    return door.columns({"": text, **(blobs or {})}, **options)

def buffer(name, dtype="<i8", *count):
    return {"call": ["numpy", "frombuffer"], "args": [{"read": name}, {"dtype": dtype}, *({"json": n} for n in count)]}

def inflated(name, module="zlib", **more):
    return {"call": [module, "decompress"], "args": [{"read": name, **more}]}

def call(*names, **arguments):
    return {"call": ["awkward0", *names], "kwargs": arguments}

def zeros(count, packer=None):
    packer = packer or zlib.compressobj()
    return b"".join([packer.compress(bytes(10**6)) for _ in range(count // 10**6)] + [packer.flush()])

def numbers(*values):
    return {"json": list(values)}

def done():
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("@", peak, used.ru_utime + used.ru_stime)

try:
    made = ATTACK()
except CompileError as error:
    for each in error.diagnostics:
        assert each.severity != "error" or each.primary.key is not None or each.primary.span.source is not None
        print(each.code, (each.primary.pointer or ""), each.message.encode("ascii", "replace").decode())
    done()
else:
    print("accepted", str(made)[:500])
"""


def said(attack: str, seconds: float = 8, megabytes: float = 200) -> str:
    """What is said of an attack, an expression, in bounded time and memory."""
    code = PRELUDE.replace("ATTACK()", "(\n" + attack + "\n    )")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert last.startswith("@"), last
    _, peak, used = last.split()
    assert int(peak) * 1024 < megabytes * 1e6, f"{peak} kB: {lines}"
    assert float(used) < seconds, lines
    return "\n".join(lines)


CODE_THAT_RUNS = {
    "python": """read({"python": "gASVCQAAAAAAAACPlChLAUsCkC4="}, whitelist="*")""",
    "python in an argument": """read({"list": [{"json": 1}, {"python": "gASVCQAAAAAAAACPlChLAUsCkC4="}]})""",
    "topython": """read({"call": ["awkward0.persist", "topython"], "args": [{"json": "gAJLAS4="}]})""",
    "topython, allowed": """read({"call": ["awkward0.persist", "topython"], "args": [{"json": "gAJLAS4="}]},
                                 whitelist=[["awkward0.persist"], ["*", "topython"]])""",
    "module": """read({"call": ["os", "system"], "args": [{"json": "true"}]}, whitelist=[["os", "system"]])""",
    "short name": """read({"call": ["os"]}, whitelist=[["os", "get*"]])""",
    "no name": """read({"call": []})""",
    "attributes": """read({"call": ["awkward0", "JaggedArray", "fromcounts", "__func__", "__globals__"]},
          whitelist="*")""",
    "numpy": """read({"call": ["numpy", "load"], "args": [{"json": "/etc/passwd"}]}, whitelist="*")""",
    "numpy below awkward0": """read({"call": ["awkward0", "numpy", "fromfile"], "args": [{"json": "/etc/passwd"}]})""",
    "builtins": """read({"call": ["builtins", "eval"], "args": [{"json": "1"}]}, whitelist="*")""",
    "parquet": """read({"call": ["awkward0.arrow", "_ParquetFile", "fromjson"], "args": [{"json": {}}]})""",
    "virtual": """read(call("VirtualArray", generator={"function": ["os", "getcwd"]}), whitelist="*")""",
    "virtual by name": """read(call("VirtualArray", generator={"json": ["os", "getcwd"]}), whitelist="*")""",
    "function outside of the whitelist": """read({"function": ["os", "system"]}, whitelist=[["numpy", "*"]])""",
    "function outside of a whitelist of none": """read(buffer("1"), {"1": b"12345678"}, whitelist=[])""",
    "object dtype": """read(buffer("1", "object", 1), {"1": b"12345678"})""",
    "objects in a structure": """read(buffer("1", [["x", "O"]], 1), {"1": b"12345678"})""",
    "metadata of a dtype": """read({"dtype": ["<i4", {"x": 1}]})""",
    "dtype by dictionary": """read({"dtype": {"names": ["a"], "formats": ["<i4"], "offsets": [2147483000]}})""",
    "encoding": """read(call("StringArray", starts=numbers(0), stops=numbers(1), content=buffer("1", "|u1"),
                             encoding={"json": "zip_codec"}), {"1": b"1"})""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CODE_THAT_RUNS)
def test_code(name: str) -> None:
    assert said(CODE_THAT_RUNS[name]).split()[0] in {
        "forbidden-function",
        "bad-awkward-dtype",
        "bad-awkward-array",
        "bad-awkward-expression",
    }


BOMBS = {
    "to bytes": """read(inflated("1"), {"1": zeros(10**8)})""",
    "with a count": """read(buffer("1", "<i8", 3) | {"args": [inflated("1"), {"dtype": "<i8"}, {"json": 3}]},
                            {"1": zeros(10**9)})""",
    "without a count": """read({"call": ["numpy", "frombuffer"], "args": [inflated("1"), {"dtype": "<i8"}]},
                               {"1": zeros(10**8)})""",
    "more than the limit": """read({"call": ["numpy", "frombuffer"], "args": [inflated("1"), {"dtype": "<i8"},
                                   {"json": 125 * 10**6}]}, {"1": zeros(10**9)}, limits=door.Limits(inflated=10**7))""",
    "lzma": """read({"call": ["numpy", "frombuffer"], "args": [inflated("1", "lzma"), {"dtype": "<i8"}, {"json": 3}]},
                    {"1": zeros(3 * 10**8, lzma.LZMACompressor())})""",
    "lzma with a large dictionary": """read(inflated("1", "backports.lzma"), {"1": b"\\x5d"
          + struct.pack("<Iq", 2**32 - 1, -1)
                                            + bytes(20)})""",
    "lzma of many streams": """read(inflated("1", "lzma"), {"1": lzma.compress(b"") * 100_000})""",
    "twice": """read({"call": ["numpy", "frombuffer"], "args": [{"call": ["zlib", "decompress"],
          "args": [inflated("1")]},
                     {"dtype": "<i8"}, {"json": 1}]}, {"1": zlib.compress(zeros(10**9))})""",
    "many times": """read({"list": [inflated("1")] * 1000}, {"1": zlib.compress(b"0" * 10**6)},
                          limits=door.Limits(inflated=10**7))""",
    "cut": """read(inflated("1"), {"1": zlib.compress(b"0" * 1000)[:-5]})""",
    "nothing": """read(inflated("1"), {"1": b""})""",
    "garbage": """read(inflated("1"), {"1": b"garbage"})""",
    "bytes after": """read(inflated("1"), {"1": zlib.compress(b"0") + b"1"})""",
}


@pytest.mark.long
@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    assert said(BOMBS[name]).split()[0] in {"bad-blob", "oversized-awkward"}


DOCUMENTS = {
    "brackets": """read(None, raw=b"[" * 10**6)""",
    "objects": """read(None, raw=b'{"a":' * 10**6)""",
    "deep expressions": """read(None, raw=b'{"awkward0":1,"schema":' + b'{"list":[' * 101 + b'{"json":1}'
          + b"]}" * 101 + b"}")""",
    "very deep expressions": """read(None, raw=b'{"awkward0":1,"schema":' + b'{"list":[' * 400
          + b'{"json":1}' + b"]}" * 400 + b"}")""",
    "deep JSON": """read(None, raw=b'{"awkward0":1,"schema":{"json":' + b"[" * 101 + b"]" * 101 + b"}}")""",
    "deep dtype": """read(None, raw=b'{"awkward0":1,"schema":{"dtype":' + b"[" * 101 + b"]" * 101 + b"}}")""",
    "digits": """read(None, raw=b'{"awkward0":1,"schema":{"json":' + b"9" * 10**7 + b"}}")""",
    "large": """read(None, raw=b" " * 10**8)""",
    "wide": """read(None, raw=b'{"awkward0":1,"schema":{"json":[' + b"1," * 5 * 10**6 + b"1]}}")""",
    "many expressions": """read(None, raw=b'{"awkward0":1,"schema":{"list":[' + b'{"json":1},' * 400_000
                           + b'{"json":1}]}}', limits=door.Limits(arrays=50_000))""",
    "not UTF-8": """read(None, raw=b"\\xff\\xfe")""",
    "null": """read(None, raw=b"null")""",
    "nothing": """read(None, raw=b"")""",
    "two schemas": """read(None, raw=b'{"awkward0":1,"schema":{"json":1},"schema":{"json":2}}')""",
    "prefix": """read(None, raw=b'{"awkward0":1,"schema":{"json":1},"prefix":5}')""",
    "a lone surrogate": """read(None, raw=b'{"awkward0":1,"schema":{"read":"\\\\ud800"}}')""",
    "large id": """read({"json": 1, "id": -1})""",
    "id that is true": """read({"json": 1, "id": True})""",
    "two of one id": """read({"list": [{"json": 1, "id": 1}, {"json": 2, "id": 1}]})""",
    "unknown id": """read({"list": [{"json": 1, "id": 1}, {"ref": 2}]})""",
    "itself": """read({"ref": 1, "id": 1})""",
    "each other": """read({"list": [{"ref": 2, "id": 1}, {"ref": 1, "id": 2}]})""",
    "a list in itself": """read({"list": [{"ref": 1}], "id": 1})""",
    "chunks in themselves": """read({"call": ["awkward0", "ChunkedArray"], "args": [{"list": [{"ref": 1}]}],
          "id": 1})""",
    "a column of itself": """read({"call": ["awkward0", "Table", "frompairs"], "args": [{"pairs": [["x",
          {"ref": 1}]]}], "id": 1})""",
    "masked by itself": """read({**call("MaskedArray", mask={"json": [True]}, content={"ref": 1}), "id": 1})""",
    "references in a row": """read({"list": [{"ref": n + 1, "id": n} for n in range(1000)] + [{"json": 1,
          "id": 1000}]})""",
    "two keys": """read({"json": 1, "python": ""})""",
    "no key": """read({"id": 1})""",
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(name: str) -> None:
    megabytes = 400 if name == "large" else 200  # twice the document
    assert said(DOCUMENTS[name], megabytes=megabytes).split()[0] in {
        "bad-awkward-document",
        "bad-awkward-expression",
        "bad-awkward-array",
        "missing-blob",
        "oversized-awkward",
    }


def doubling(kind: str, levels: int = 60) -> str:
    """A list of values, each of which holds the one before it twice."""
    above = {
        "lists": '{"list": [{"ref": n - 1}, {"ref": n - 1}], "id": n}',
        "dictionaries": '{"dict": {"a": {"ref": n - 1}, "b": {"ref": n - 1}}, "id": n}',
        "tables": '{"call": ["awkward0", "Table", "frompairs"], "id": n, '
        '"args": [{"pairs": [["a", {"ref": n - 1}], ["b", {"ref": n - 1}]]}]}',
        "chunks": '{"call": ["awkward0", "ChunkedArray"], "args": [{"list": [{"ref": n - 1}] * 100}], "id": n}',
        "unions": '{**call("UnionArray", tags=numbers(0, 1), index=numbers(0, 0), '
        'contents={"list": [{"ref": n - 1}, {"ref": n - 1}]}), "id": n}',
    }[kind]
    return f'read({{"list": [{{"json": [1, 2], "id": 0}}, *({above} for n in range(1, {levels}))]}})'


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lists", "dictionaries", "tables", "chunks", "unions"])
def test_doubling(kind: str) -> None:
    assert said(doubling(kind)).startswith("oversized-awkward")


SIZES = {
    "count": """read(buffer("1", "<i8", 2**62), {"1": b"12345678"})""",
    "count and width": """read(buffer("1", "|V1000000", 2**44), {"1": b"12345678"})""",
    "count beyond 64 bits": """read(buffer("1", "<i8", 2**64), {"1": b"12345678"})""",
    "negative count": """read(buffer("1", "<i8", -2), {"1": b"12345678"})""",
    "real count": """read(buffer("1", "<i8", 1.0), {"1": b"12345678"})""",
    "true count": """read(buffer("1", "<i8", True), {"1": b"12345678"})""",
    "negative offset": """read(buffer("1", "<i8", 1, -8), {"1": b"12345678"})""",
    "large offset": """read(buffer("1", "<i8", 1, 2**63 - 8), {"1": b"12345678"})""",
    "longer blob": """read(buffer("1", "<i8", 1), {"1": bytes(16)})""",
    "odd blob": """read(buffer("1", "<i8"), {"1": bytes(15)})""",
    "elements without bytes": """read(buffer("1", [], 10**12), {"1": b""})""",
    "elements of no shape": """read(buffer("1", ["<i4", [0, 5]], 10**12), {"1": b""})""",
    "no count for elements without bytes": """read(buffer("1", []), {"1": b""})""",
    "size of 0": """read({"dtype": "|S0"})""",
    "size of 2^40": """read({"dtype": f"|S{2**40}"})""",
    "size of 2^31": """read({"dtype": f"<U{2**31}"})""",
    "sub-array of 10^10": """read({"dtype": ["<i4", [10**10]]})""",
    "sub-array of 10^9 in one of 10^9": """read({"dtype": [["|i1", [10**9]], [10**9]]})""",
    "sub-array of many dimensions": """read({"dtype": ["<i4", [1] * 65]})""",
    "negative shape": """read({"dtype": ["<i4", [-1]]})""",
    "true shape": """read({"dtype": ["<i4", [True]]})""",
    "structure of 2^40": """read({"dtype": [["a", ["|i1", [2 * 10**9]]], ["b", ["|i1", [2 * 10**9]]]]})""",
    "two fields of one name": """read({"dtype": [["a", "<i4"], ["a", "<i4"]]})""",
    "titles": """read({"dtype": [[["a", "b"], "<i4"]]})""",
    "comma": """read({"dtype": "i4,O"})""",
    "sub-array by text": """read({"dtype": "(1000000000,)i4"})""",
    "sparse": """read(call("SparseArray", length={"json": 2**62}, index=numbers(1), content=numbers(1.5)))""",
    "sparse, negative": """read(call("SparseArray", length={"json": -1}, index=numbers(), content=numbers()))""",
    "view": """read(call("Table", "fromview", view={"tuple": [{"json": 0}, {"json": 0}, {"json": 2**40}]},
                         base=call("Table", "frompairs", pairs={"pairs": [["x", numbers(1)]]})))""",
    "view of no columns": """read(call("Table", "fromview", view={"tuple": [{"json": 0}, {"json": 1}, {"json": 2**62}]},
                                       base=call("Table", "frompairs", pairs={"pairs": []})))""",
    "element of chunks": """read(call("AppendableArray", chunkshape={"tuple": [{"json": 10**9}] * 5},
          dtype={"dtype": "<i8"}))""",
    "one blob as many arrays": """read({"list": [
        call("JaggedArray", "fromcounts", counts=buffer("1", "|i1"), content=buffer("1",
              "|i1")) for _ in range(10_000)]},
        {"1": bytes(10**6)}, limits=door.Limits(expanded=10**6))""",
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str) -> None:
    assert said(SIZES[name]).split()[0].startswith(("bad-", "oversized-awkward"))


CONTENTS = {
    "negative counts": """call("JaggedArray", "fromcounts", counts=numbers(1, -1), content=numbers(1.5))""",
    "counts beyond": """call("JaggedArray", "fromcounts", counts=numbers(1, 1), content=numbers(1.5))""",
    "counts that overflow": """call("JaggedArray", "fromcounts", counts=numbers(2**62, 2**62), content=numbers(1.5))""",
    "counts that wrap to 0": """call("JaggedArray", "fromcounts", counts=numbers(*[2**62] * 4),
          content=numbers(1.5))""",
    "unsigned counts": """call("JaggedArray", "fromcounts", counts=numbers(2**64 - 1), content=numbers(1.5))""",
    "real counts": """call("JaggedArray", "fromcounts", counts=numbers(1.0), content=numbers(1.5))""",
    "true counts": """call("JaggedArray", "fromcounts", counts=numbers(True), content=numbers(1.5))""",
    "counts of texts": """call("JaggedArray", "fromcounts", counts=numbers("1"), content=numbers(1.5))""",
    "ragged counts": """call("JaggedArray", "fromcounts", counts={"json": [[1], [1, 2]]}, content=numbers(1.5))""",
    "a list of a number and a text": """call("IndexedArray", index=numbers(0), content=numbers(1, "a"))""",
    "objects as content": """call("IndexedArray", index=numbers(0), content={"json": [{"a": 1}]})""",
    "large integers as content": """call("IndexedArray", index=numbers(0), content={"json": [2**64, -1]})""",
    "starts beyond": """call("JaggedArray", starts=numbers(1), stops=numbers(2), content=numbers(1.5))""",
    "stops before starts": """call("JaggedArray", starts=numbers(1), stops=numbers(0), content=numbers(1.5))""",
    "negative starts": """call("JaggedArray", starts=numbers(-1), stops=numbers(0), content=numbers(1.5))""",
    "too few stops": """call("JaggedArray", starts=numbers(0, 0), stops=numbers(0), content=numbers(1.5))""",
    "offsets that descend": """call("JaggedArray", "fromoffsets", offsets=numbers(0, 1, 0), content=numbers(1.5))""",
    "the offsets are missing": """call("JaggedArray", "fromoffsets", offsets=numbers(), content=numbers(1.5))""",
    "texts of wide integers": """call("StringArray", "fromcounts", counts=numbers(1), content=numbers(1))""",
    "texts of an array": """call("StringArray", "fromcounts", counts=numbers(1), content=call("Table"))""",
    "encoding": """call("StringArray", "fromcounts", counts=numbers(), content=numbers(), encoding=numbers())""",
    "index beyond": """call("IndexedArray", index=numbers(1), content=numbers(1.5))""",
    "negative index": """call("IndexedArray", index=numbers(-1), content=numbers(1.5))""",
    "masked index beyond": """call("IndexedMaskedArray", mask=numbers(-1, 1), content=numbers(1.5))""",
    "another negative index": """call("IndexedMaskedArray", mask=numbers(-2), content=numbers(1.5))""",
    "masked otherwise": """call("IndexedMaskedArray", mask=numbers(-1, 9), content=numbers(1.5),
          maskedwhen={"json": 9})""",
    "long mask": """call("MaskedArray", mask=numbers(True, True), content=numbers(1.5))""",
    "short mask of bits": """call("BitMaskedArray", mask=buffer("1", "|u1", 1), content=numbers(*range(9)))""",
    "mask of reals": """call("MaskedArray", mask=numbers(1.5), content=numbers(1.5))""",
    "masked by a text": """call("MaskedArray", mask=numbers(True), content=numbers(1.5), maskedwhen={"json": "x"})""",
    "tags beyond": """call("UnionArray", "fromtags", tags=numbers(1), contents={"list": [numbers(1.5)]})""",
    "negative tags": """call("UnionArray", "fromtags", tags=numbers(-1), contents={"list": [numbers(1.5)]})""",
    "too many of a tag": """call("UnionArray", "fromtags", tags=numbers(0, 0), contents={"list": [numbers(1.5)]})""",
    "index of a union": """call("UnionArray", tags=numbers(0), index=numbers(1), contents={"list": [numbers(1.5)]})""",
    "short index of a union": """call("UnionArray", tags=numbers(0, 0), index=numbers(0),
          contents={"list": [numbers(1.5)]})""",
    "contents that are none": """call("UnionArray", tags=numbers(), index=numbers(), contents={"json": 5})""",
    "sizes of chunks": """call("ChunkedArray", chunks={"list": [numbers(1.5)]}, chunksizes=numbers(2))""",
    "too many sizes": """call("ChunkedArray", chunks={"list": [numbers(1.5)]}, chunksizes=numbers(1, 0))""",
    "other dtype of chunks": """call("AppendableArray", chunkshape={"json": 1}, dtype={"dtype": "<i4"},
                                    chunks={"list": [numbers(1.5)]})""",
    "places that repeat": """call("SparseArray", length={"json": 3}, index=numbers(1, 1), content=numbers(1.5, 2.5))""",
    "texts without a default": """call("SparseArray", length={"json": 3}, index=numbers(1), content=numbers("a"))""",
    "a large default": """call("SparseArray", length={"json": 3}, index=numbers(1), content=numbers(1),
                                        default={"json": 2**63})""",
    "a large default of texts": """call("SparseArray", length={"json": 3}, index=numbers(1), content=numbers("a"),
                                        default={"json": [2**63]})""",
    "a dtype as default": """call("SparseArray", length={"json": 3}, index=numbers(1), content=numbers("a"),
                                        default={"dtype": "<i8"})""",
    "places beyond": """call("SparseArray", length={"json": 1}, index=numbers(1), content=numbers(1.5))""",
    "more places than items": """call("SparseArray", length={"json": 3}, index=numbers(1, 2), content=numbers(1.5))""",
    "default of a sparse array": """call("SparseArray", length={"json": 3}, index=numbers(), content=numbers(),
                                        default={"json": "x"})""",
    "two columns of the same name": """call("Table", "frompairs", pairs={"pairs": [["x", numbers(1)], ["x",
          numbers(1)]]})""",
    "view of no table": """call("Table", "fromview", view={"json": None}, base=numbers(1))""",
    "function of objects": """call("ObjectArray", content=numbers(1), generator={"json": "os.system"})""",
    "missing argument": """call("JaggedArray", starts=numbers(0))""",
    "unknown argument": """call("IndexedArray", index=numbers(0), content=numbers(1), length={"json": 1})""",
    "argument twice": """{**call("IndexedArray", index=numbers(0), content=numbers(1)), "args": [numbers(0)]}""",
    "too many arguments": """{"call": ["zlib", "decompress"], "args": [{"read": "1"}, {"json": 15}]}""",
    "number as blob": """{"call": ["numpy", "frombuffer"], "args": [{"json": 5}]}""",
    "number as dtype": """{"call": ["numpy", "frombuffer"], "args": [{"read": "1"}, {"json": 5}]}""",
}


@pytest.mark.slow
def test_contents() -> None:
    """All in one process: none of them is large."""
    code = PRELUDE.partition("try:")[0] + "\nimport nczarr.diagnostics.catalog\nfor name, schema in {\n"
    code += "".join(f"    {name!r}: {schema},\n" for name, schema in CONTENTS.items())
    code += (
        "}.items():\n    try:\n        read(schema, {'1': b'1'})\n"
        "    except CompileError as error:\n"
        "        assert all(each.primary.pointer.startswith('/schema') for each in error.diagnostics), name\n"
        "        assert {each.code for each in error.diagnostics} <= set(nczarr.diagnostics.catalog.CODES)\n"
        "    else:\n        print('accepted:', name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.slow
def test_a_long_text_among_short_ones_takes_no_room_in_these() -> None:
    code = PRELUDE.partition("try:")[0]
    code += """
made = read(call("IndexedArray", index=numbers(5), content={"json": ["a"] * 100_000 + ["b" * 10**6]}))
assert door.items(made) == ["a"]
done()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) * 1024 < 200e6
