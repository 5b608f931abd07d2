"""Documents of Awkward 0.x persistence are read: values, references, names, whitelists, places of faults."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.awkward0.columns.nodes import ArrayPieces, BackReference, Flat, ListNode, Objects, TableNode
from nczarr.plugins.awkward0.read.evaluation import FUNCTIONS, canonical
from nczarr.plugins.awkward0.wire import dtypes
from nczarr.plugins.awkward0.wire.limits import UnreadableDocumentError, allows, patterns
from tests.conftest import ROOT
from tests.support.ragged import CASES, OTHERS, TREE, buffer, call, document, ints, numbers, stored


def refused(storage: Any, **options: Any) -> Any:
    """The only diagnostic of a document."""
    with pytest.raises(CompileError) as error:
        nczarr.awkward0.columns(storage, **options)
    (found,) = error.value.diagnostics
    return found


@pytest.mark.parametrize("name", CASES)
def test_arrays(name: str) -> None:
    storage, content = CASES[name]
    found = nczarr.awkward0.columns(storage)
    assert json.dumps(nczarr.awkward0.items(found), default=repr) == json.dumps(content, default=repr)
    assert len(found) == len(content)


@pytest.mark.parametrize("name", OTHERS)
def test_other_values(name: str) -> None:
    storage, content = OTHERS[name]
    found = nczarr.awkward0.columns(storage)
    assert found == content
    assert type(found) is type(content)


@pytest.mark.parametrize("name", CASES)
def test_arrays_of_awkward(name: str) -> None:
    awkward = pytest.importorskip("awkward")
    storage, content = CASES[name]
    if name == "a tree":
        with pytest.raises(CompileError):
            nczarr.awkward0.deserialize(storage)
        return
    found = nczarr.awkward0.deserialize(storage)
    assert isinstance(found, awkward.Array)
    assert json.dumps(found.to_list(), default=repr) == json.dumps(content, default=repr)


@pytest.mark.slow
def test_without_awkward_arrays_are_columns() -> None:
    code = (
        "import sys; sys.modules['awkward'] = None; import nczarr.awkward0 as door; "
        'print(type(door.deserialize({\'\': b\'{"awkward0": 1, "schema": {"call": ["awkward0", "IndexedArray"], '
        '"args": [{"json": [0]}, {"json": [1]}]}}\'})).__name__)'
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "Indexed\n"


def test_the_door_loads_neither_numpy_nor_pydantic() -> None:
    code = "import sys, nczarr.awkward0; print({'numpy', 'pydantic', 'awkward', 'h5py'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "set()\n"


def test_every_function_of_the_table_has_a_case() -> None:
    text = b"".join(storage[""] for storage, _ in (*CASES.values(), *OTHERS.values()))
    called = {canonical(tuple(each)) for each in _calls(text)} | {("lzma", "decompress"), ("lz4.block", "decompress")}
    assert called >= set(FUNCTIONS)


def _calls(text: bytes) -> list[list[str]]:
    found: list[list[str]] = []
    decoder = json.JSONDecoder(object_hook=lambda each: found.append(each["call"]) if "call" in each else None)
    rest = text.decode()
    while rest:
        _, end = decoder.raw_decode(rest)
        rest = rest[end:]
    return found


def test_what_storages_may_hold() -> None:
    schema = call("JaggedArray", "fromcounts", counts=buffer("1", "<i8", 2), content=buffer("2", "<f8", 2))
    wanted = [[1.5], [2.5]]
    content = np.array([1.5, 2.5])
    for blob in (bytearray(ints(1, 1)), memoryview(ints(1, 1)), np.array([1, 1]), np.frombuffer(ints(1, 1), "u1")):
        for text in (document(schema), document(schema).decode(), np.frombuffer(document(schema), np.uint8)):
            storage = {"": text, "1": blob, "2": content}
            assert nczarr.awkward0.items(nczarr.awkward0.columns(storage)) == wanted


def test_arrays_of_a_storage_are_read_by_their_type_where_no_dtype_is_said() -> None:
    storage = stored(call("JaggedArray", "fromcounts", counts={"read": "1"}, content={"read": "2"}))
    storage |= {"1": np.array([1, 1], ">i4"), "2": np.array([1.5, 2.5])}  # type: ignore[dict-item]
    assert nczarr.awkward0.items(nczarr.awkward0.columns(storage)) == [[1.5], [2.5]]
    assert nczarr.awkward0.items(nczarr.awkward0.columns(storage | {"1": ints(1, 1)})) == [[1.5], [2.5]]


def test_arrays_that_share_counts_share_offsets() -> None:
    shared = {**buffer("1", "|i1"), "id": 0}
    lists = [call("JaggedArray", "fromcounts", counts={"ref": 0}, content={"ref": 0}) for _ in range(50)]
    _, *found = nczarr.awkward0.columns(stored({"list": [shared, *lists]}, _1=bytes(1000)))
    assert len({id(each.offsets) for each in found}) == 1


def test_values_are_not_copied() -> None:
    data = np.arange(10.0)
    column = nczarr.awkward0.columns({"": document(buffer("1", "<f8", 10)), "1": data})
    assert np.shares_memory(column.values, data)


def test_names_that_are_not_there() -> None:
    with pytest.raises(KeyError, match="x"):
        nczarr.awkward0.columns({}, "x")


def test_a_storage_with_get_alone() -> None:
    class Bare:
        def get(self, key: str) -> bytes | None:
            return {"d": document(buffer("1")), "1": ints(4)}.get(key)

    assert nczarr.awkward0.items(nczarr.awkward0.columns(Bare(), "d")) == [4]


def test_errors_of_the_storage_are_not_hidden() -> None:
    class Broken(dict[str, bytes]):
        def __getitem__(self, key: str) -> bytes:
            if key == "1":
                raise OSError("the disk is gone")
            return super().__getitem__(key)

    with pytest.raises(OSError, match="gone"):
        nczarr.awkward0.columns(Broken({"": document(buffer("1"))}))


def test_one_value_wherever_references_lead() -> None:
    table = nczarr.awkward0.columns(
        stored(call("Table", "frompairs", pairs={"pairs": [["a", {"ref": 1}], ["b", buffer("1", id=1)]]}), _1=ints(1))
    )
    assert isinstance(table, TableNode)
    assert table.columns[0] is table.columns[1]


@pytest.mark.parametrize("name", ["VirtualArray", "ObjectArray"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"generator": {"json": 1}}, "`generator` must be a function"),
        ({"args": {"json": 1}}, "`args` must be a list"),
        ({"kwargs": {"json": [1]}}, "`kwargs` must be an object"),
    ],
)
def test_invalid_arguments_of_a_generator_are_named(name: str, given: dict[str, Any], message: str) -> None:
    function = {"generator": {"function": ["awkward0", "JaggedArray"]}, **given}
    content = {"content": {"json": [1]}} if name == "ObjectArray" else {}
    assert message in refused(stored(call(name, **function, **content)), whitelist="*").message


def test_a_forward_reference_to_an_integer() -> None:
    schema = {"list": [buffer("1") | {"args": [{"read": "1"}, {"dtype": "<i8"}, {"ref": 5}]}, {"json": 1, "id": 5}]}
    found, count = nczarr.awkward0.columns(stored(schema, _1=ints(8)))
    assert (nczarr.awkward0.items(found), count) == ([8], 1)


def test_an_array_in_itself_has_items_until_the_limit() -> None:
    column = nczarr.awkward0.columns(stored(TREE))
    assert isinstance(column, TableNode)
    assert isinstance(column.columns[1], ListNode)
    assert isinstance(column.columns[1].content, BackReference)
    assert column.columns[1].content.found() is column
    with pytest.raises(ValueError, match="is infinite"):
        nczarr.awkward0.items(column, 10_000)


def test_functions_of_objects_are_kept_by_name() -> None:
    column = nczarr.awkward0.columns(CASES["objects"][0])
    assert isinstance(column, Objects)
    assert (column.function, column.args, column.kwargs) == (("fractions", "Fraction"), (3,), ())


def test_arguments_of_objects_are_values() -> None:
    schema = call(
        "ObjectArray",
        content=numbers(1),
        generator={"function": ["m", "f"]},
        args={"tuple": [{"read": "1"}, {"function": ["m", "g"]}, numbers(1)]},
        kwargs={"dict": {"n": {"list": [{"read": "1"}]}}},
    )
    column = nczarr.awkward0.columns(stored(schema, _1=b"abc"))
    assert isinstance(column, Objects)
    assert (column.args, column.kwargs) == ((b"abc", ("m", "g"), [1]), (("n", [b"abc"]),))


def test_empty_chunks_have_a_type() -> None:
    column = nczarr.awkward0.columns(CASES["appendable, empty"][0])
    assert isinstance(column, ArrayPieces)
    (piece,) = column.pieces
    assert isinstance(piece, Flat)
    assert piece.values.dtype == np.dtype("<i8")


def test_faults_say_where_they_are() -> None:
    text = b'{"awkward0": "1",\n "schema": {"list": [{"json": 1},\n   {"call": ["os", "getcwd"]}]}}'
    found = refused({"v.json": text}, name="v.json")
    assert (found.code, found.primary.key, found.primary.pointer) == ("forbidden-function", "v.json", "/schema/list/1")
    assert found.notes == ("line 3, column 4",)


def test_all_faults_of_a_document_are_found_at_once() -> None:
    storage = stored({"list": [{"jsn": 1}, {"read": 5}, {"json": 1, "id": "x"}, {"pairs": [["a"]]}, [1]]})
    with pytest.raises(CompileError) as error:
        nczarr.awkward0.columns(storage)
    assert [each.primary.pointer for each in error.value.diagnostics] == [
        "/schema/list/0",
        "/schema/list/1/read",
        "/schema/list/2/id",
        "/schema/list/3/pairs/0",
        "/schema/list/4",
    ]


def test_faults_of_arguments_are_at_their_expressions() -> None:
    found = refused(stored(call("IndexedArray", index=numbers(1), content=numbers(1))))
    assert (found.code, found.primary.pointer) == ("bad-awkward-array", "/schema/kwargs/index")


def test_a_blob_that_is_too_long_is_refused_unless_it_is_read_absolutely() -> None:
    schema = buffer("1", "<i8", 1)
    assert refused(stored(schema, _1=ints(1, 2))).code == "bad-blob"
    schema["args"][0]["absolute"] = True
    assert nczarr.awkward0.items(nczarr.awkward0.columns(stored(schema, _1=ints(1, 2)))) == [1]


def test_limits() -> None:
    storage = CASES["counts in chunks"][0]
    for limits in (
        nczarr.awkward0.Limits(document=10),
        nczarr.awkward0.Limits(values=3),
        nczarr.awkward0.Limits(nesting=2),
        nczarr.awkward0.Limits(blobs=1),
        nczarr.awkward0.Limits(arrays=2),
    ):
        assert refused(storage, limits=limits).code == "oversized-awkward"
    assert refused(CASES["lzma in zlib"][0], limits=nczarr.awkward0.Limits(inflated=20)).code == "oversized-awkward"


def test_nesting_up_to_the_limit() -> None:
    schema: Any = numbers(1)
    for _ in range(99):
        schema = {"list": [schema]}
    assert nczarr.awkward0.columns(stored(schema))
    assert refused(stored({"list": [schema]})).code == "oversized-awkward"


@pytest.mark.parametrize(
    ("whitelist", "parts", "wanted"),
    [
        (None, ("awkward0", "Table"), True),
        ([], ("awkward0", "Table"), False),
        ("*", ("awkward0", "JaggedArray", "fromcounts"), True),
        (["awkward0", "*Array"], ("awkward0", "JaggedArray", "fromcounts"), True),
        (["awkward0", "*Array"], ("awkward0", "JaggedArray"), True),
        (["awkward0", "*Array"], ("awkward0", "Table"), False),
        (["awkward0", "*Array"], ("awkward0", "JaggedArray", "__init__"), False),
        (["awkward0", "*array"], ("awkward0", "JaggedArray"), False),
        ([["awkward0", "Table", "from*"]], ("awkward0", "Table", "frompairs"), True),
        ([["awkward0", "Table", "from*"]], ("awkward0", "Table"), False),
        ([["numpy", "frombuffer"], "awkward*"], ("awkward0", "Table"), True),
        ([["os", "get*"]], ("os",), False),
        (["zlib"], ("zlib", "decompress"), True),
        ([[]], ("zlib", "decompress"), False),
    ],
)
def test_whitelists(whitelist: Any, parts: tuple[str, ...], wanted: bool) -> None:
    assert allows(patterns(whitelist), parts) is wanted


def test_a_whitelist_narrows_what_is_read() -> None:
    storage = CASES["counts"][0]
    allowed = [["awkward0", "numpy", "frombuffer"], ["awkward0", "JaggedArray"]]
    assert nczarr.awkward0.columns(storage, whitelist=allowed)
    assert refused(storage, whitelist=allowed[:1]).code == "forbidden-function"
    assert refused(stored({"call": ["os", "getcwd"]}), whitelist="*").code == "forbidden-function"


def test_a_whitelist_that_is_none() -> None:
    with pytest.raises(TypeError):
        nczarr.awkward0.columns(stored({"json": 1}), whitelist=[["a", 5]])


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("int32", "<i4"),
        ("float", "<f8"),
        (">M8[25s]", ">M8[25s]"),
        ("timedelta64[ms]", "<m8[ms]"),
        ("|V7", "|V7"),
        ("=i4", "<i4"),
        ("?", "|b1"),
        (["<i2", 3], ("<i2", (3,))),
        ([["a", ["<i2", [2, 2]]], ["b", "<f4", [3]]], [("a", "<i2", (2, 2)), ("b", "<f4", (3,))]),
        ([[["a", "|u1"]], [2]], ([("a", "|u1")], (2,))),
        ([], []),
    ],
)
def test_dtypes(written: Any, wanted: Any) -> None:
    assert dtypes.of_json(written) == np.dtype(wanted)


@pytest.mark.parametrize(
    "written",
    ["O", "object", "i3", "S", "S0", "l", "i4,i4", "str", "", None, 5, {}, ["<i4", []], ["x", "<i4"], [["x"]], [5]],
)
def test_no_dtypes(written: Any) -> None:
    with pytest.raises(UnreadableDocumentError):
        dtypes.of_json(written)


@pytest.mark.parametrize("dtype", ["<U1", ">U1", ["<U1", [1]], [["a", "<U1"]]])
def test_what_is_no_character(dtype: Any) -> None:
    storage = stored(buffer("1", dtype), _1=b"\xff\xff\xff\xff")
    assert refused(storage).code == "bad-awkward-array"


def test_escapes_of_documents() -> None:
    text = rb'{"awkward0": 1, "schema": {"json": ["\ud83c\udf0a", "\\ud83c", "\\\\ud83c", "\u00e9"]}}'
    assert nczarr.awkward0.columns({"": text}) == ["\U0001f30a", "\\ud83c", "\\\\ud83c", "é"]
    for wrong in (rb"\ud83c", rb"\udf0a", rb"\ud83c\ud83c\udf0a", rb"\\\ud83cx"):
        found = refused({"": b'{"awkward0": 1, "schema": {"json": "' + wrong + b'"}}'})
        assert "surrogate" in found.message


def scaled(document: Any = None, **functions: Any) -> Any:
    """The items of a document that calls `survey.tools.scaled`, a function of the caller."""
    schema = {"call": ["survey.tools", "scaled"], "args": [buffer("1")]} if document is None else document
    given = {f"survey.tools.{name}": function for name, function in functions.items()}
    return nczarr.awkward0.items(nczarr.awkward0.columns(stored(schema, _1=ints(4, 8)), functions=given))


def test_functions_of_the_caller() -> None:
    assert refused(stored({"call": ["survey.tools", "scaled"]})).code == "forbidden-function"
    assert scaled(scaled=lambda values: values / 4) == [1.0, 2.0]
    assert scaled(scaled=lambda values: np.ma.array(values, mask=[True, False])) == [None, 8]
    assert scaled(scaled=lambda values: TableNode(("x",), (Flat(values),), 2)) == [{"x": 4}, {"x": 8}]
    named = {"call": ["survey.tools", "scaled"], "kwargs": {"by": {"json": 2}, "of": {"tuple": [numbers(1, 3)]}}}
    assert scaled(named, scaled=lambda by, of: np.array(of[0]) * by) == [2, 6]
    virtual = call("VirtualArray", generator={"function": ["survey.tools", "scaled"]}, args={"tuple": [buffer("1")]})
    assert scaled(virtual, scaled=lambda values: values + 1) == [5, 9]


def test_a_decompressor_of_the_caller_gives_a_blob() -> None:
    packed = {"call": ["mine", "unpack"], "args": [{"read": "1"}]}
    schema = {"call": ["numpy", "frombuffer"], "args": [packed, {"dtype": "<i8"}, {"json": 2}]}
    storage = stored(schema, _1=ints(5, 6)[::-1])
    assert nczarr.awkward0.deserialize(storage, functions={"mine.unpack": lambda data: data[::-1]}).tolist() == [5, 6]
    wrong = refused(storage, functions={"mine.unpack": lambda data: data[1:]})
    assert (wrong.code, "15 bytes" in wrong.message) == ("bad-blob", True)
    limited = {"limits": nczarr.awkward0.Limits(inflated=20), "functions": {"mine.unpack": lambda data: data * 2}}
    assert refused(storage, **limited).code == "oversized-awkward"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda values: {"x": values}, "survey.tools.scaled: the caller's function must return an array or bytes"),
        (lambda values: np.array([values, None], object), "must return an array or bytes"),
        (lambda values: np.float64(values[0]), "must return an array or bytes"),
        (lambda values: values[7], "the caller's function raises IndexError: index 7"),
        (lambda: None, "raises TypeError"),
        (lambda values: np.frombuffer(b"\xff\xff\xff\xff", "<U1"), "is not a Unicode character"),
    ],
)
def test_results_of_the_callers_functions_are_arrays(function: Any, message: str) -> None:
    schema = {"list": [{"call": ["survey.tools", "scaled"], "args": [buffer("1")]}]}
    found = refused(stored(schema, _1=ints(4, 8)), functions={"survey.tools.scaled": function})
    assert message in found.message
    assert (found.code, found.primary.pointer) == ("bad-awkward-array", "/schema/list/0")


def test_the_callers_functions_stay_outside_the_table() -> None:
    storage = stored(buffer("1"), _1=ints(1))
    for name in ("numpy.frombuffer", "awkward.util.frombuffer", "zlib.decompress", "awkward0.array.jagged.JaggedArray"):
        with pytest.raises(ValueError, match="the reader has this function itself"):
            nczarr.awkward0.columns(storage, functions={name: print})
    with pytest.raises(TypeError, match="a full name and a function"):
        nczarr.awkward0.columns(storage, functions={("os", "getcwd"): print})
    pickled = stored({"python": "gASVCQAAAAAAAACPlChLAUsCkC4="})
    assert refused(pickled, functions={"awkward0.persist.topython": print}).code == "forbidden-function"


def test_the_callers_functions_read_archives_and_groups(tmp_path: Any) -> None:
    schema = {"call": ["mine", "made"], "args": [numbers(1, 2)]}
    with zipfile.ZipFile(tmp_path / "a.awkd", "w") as archive:
        archive.writestr("v.json", document(schema))
    made = {"mine.made": np.array}
    with nczarr.awkward0.load(tmp_path / "a.awkd", functions=made) as opened:
        assert opened["v"].tolist() == [1, 2]
    with nczarr.awkward0.load(tmp_path / "a.awkd") as opened, pytest.raises(CompileError):
        opened["v"]
