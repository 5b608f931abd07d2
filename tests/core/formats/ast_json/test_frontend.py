from __future__ import annotations

import json

import pytest

from nczarr.ast import Attribute, Constant, Dataset, VlenType
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.ast_json import backend, frontend
from tests.conftest import ROOT


def faults(text: str) -> list[tuple[str, str | None]]:
    report = Report()
    assert frontend.read(Source("t.ast.json", text.encode("utf-8", "surrogatepass")), report) is None
    return [(found.code, found.primary.pointer) for found in report.list_sorted()]


def document(**members: object) -> str:
    return json.dumps({"ast": 1, "dataset": {"name": "t", **members}})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", [("empty-input", None)]),
        ("{", [("bad-ast", None)]),
        ("[1]", [("bad-ast", "")]),
        ("9" * 5000, [("bad-ast", None)]),
        ('{"ast": 2, "dataset": {"name": "t"}}', [("bad-ast", "/ast")]),
        ('{"ast": 1, "ast": 1, "dataset": {"name": "t"}}', [("bad-ast", "")]),
        (document(dimensions=[{"name": "x", "size": -1}]), [("bad-ast", "/dataset/dimensions/0/size")]),
        (document(dimensions=[{"name": "x", "size": True}]), [("bad-ast", "/dataset/dimensions/0/size")]),
        (document(variables=[{"name": "v"}]), [("bad-ast", "/dataset/variables/0/type")]),
        (document(colour=1), [("bad-ast", "/dataset/colour")]),
        (
            document(types=[{"kind": "enum", "name": "e", "base": "float", "constants": []}]),
            [("bad-ast", "/dataset/types/0/base")],
        ),
        (
            document(attributes=[{"name": "a", "value": {"type": "byte", "values": [300]}}]),
            [("bad-ast", "/dataset/attributes/0/value")],
        ),
        (
            document(
                types=[{"kind": "opaque", "name": "o", "size": 2}],
                attributes=[{"name": "a", "value": {"type": "/o", "count": 10**12, "base64": "AAE="}}],
            ),
            [("bad-ast", "/dataset/attributes/0/value")],
        ),
        ("[" * 100_000, [("too-deep-nesting", None)]),
        ('{"a": "\ud800"}', [("invalid-utf8", None)]),
    ],
)
def test_faults_have_code_and_pointer(text: str, wanted: list[tuple[str, str | None]]) -> None:
    assert faults(text) == wanted


def test_deep_groups_are_refused_where_they_get_too_deep() -> None:
    group: dict[str, object] = {"name": "g"}
    for _ in range(64):
        group = {"name": "g", "groups": [group]}
    assert faults(document(groups=[group])) == [("too-deep-nesting", "/dataset" + "/groups/0" * 65)]


def test_nested_constants_read_back() -> None:
    inner = Constant.numbers("int", [1, 2])
    value = Constant(type="/v", count=1, data=(inner,))
    dataset = Dataset(name="t", types=(VlenType(name="v", base="int"),), attributes=(Attribute(name="a", value=value),))
    unchecked = frontend.read(Source("t.ast.json", backend.text(dataset).encode()), Report())
    assert unchecked is not None
    assert unchecked.dataset == dataset


def test_what_is_written_follows_the_published_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    published = json.loads((ROOT / "docs" / "reference" / "ast.schema.json").read_text("utf-8"))
    dataset = Dataset(name="t", attributes=(Attribute(name="a", value=Constant.text(b"K")),))
    jsonschema.validate(json.loads(backend.text(dataset)), published)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"ast": 1, "dataset": {"name": "t", "colour": 1}}, published)
