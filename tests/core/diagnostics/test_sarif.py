"""SARIF 2.1.0: every document holds to the schema's rules for the members that we write, and says what JSON says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.report import Diagnostic, Label, Severity, Source, Span
from nczarr.diagnostics.sarif import Log, uri
from tests.conftest import ROOT, Ran, run_command, shared_folder


def closed(required: str, **properties: Any) -> dict[str, Any]:
    """An object of these members alone."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": properties,
    }


def several(items: dict[str, Any], *, unique: bool = False, at_least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": unique, "minItems": at_least}


TEXT = {"type": "string", "minLength": 1}
POSITIVE = {"type": "integer", "minimum": 1}
MESSAGE = closed("text", text=TEXT)
LEVEL = {"enum": ["none", "note", "warning", "error"]}
REGION = closed(
    "", startLine=POSITIVE, startColumn=POSITIVE, endLine=POSITIVE, endColumn=POSITIVE,
    byteOffset={"type": "integer", "minimum": 0},
)  # fmt: skip
ARTIFACT = closed("uri", uri={"type": "string", "pattern": r"^(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-F]{2})+$"})
LOCATION = closed(
    "",
    id={"type": "integer", "minimum": 0},
    physicalLocation=closed("artifactLocation", artifactLocation=ARTIFACT, region=REGION),
    logicalLocations=several(closed("", name=TEXT, fullyQualifiedName=TEXT, kind=TEXT), unique=True),
    message=MESSAGE,
)
RULE = closed(
    "id", id=TEXT, shortDescription=MESSAGE, fullDescription=MESSAGE, help=MESSAGE,
    defaultConfiguration=closed("", level=LEVEL),
)  # fmt: skip
RESULT = closed(
    "ruleId ruleIndex level message locations",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations=several(LOCATION),
    relatedLocations=several(LOCATION, unique=True),
    properties=closed("", notes=several(TEXT), helps=several(TEXT)),
)
INVOCATION = closed(
    "executionSuccessful exitCode",
    executionSuccessful={"type": "boolean"},
    exitCode={"type": "integer"},
    toolExecutionNotifications=several(closed("message", message=MESSAGE, level=LEVEL)),
)
RUN = closed(
    "tool invocations columnKind results",
    tool=closed(
        "driver", driver=closed("name version rules", name=TEXT, version=TEXT, rules=several(RULE, unique=True))
    ),
    invocations=several(INVOCATION, at_least=1),
    columnKind={"const": "unicodeCodePoints"},
    newlineSequences=several(TEXT, unique=True, at_least=1),
    results=several(RESULT),
)
LOG = {**closed("version runs", version={"const": "2.1.0"}, runs=several(RUN, at_least=1)), "$id": "urn:sarif"}
LOG["properties"]["$schema"] = {"type": "string", "format": "uri"}  # type: ignore[index]
"""The members of the published schema that we write, with its limits, and no others."""

VALID = Draft7Validator(LOG)


def run_of(text: str) -> dict[str, Any]:
    """The one run of a document that is as it must be."""
    document = json.loads(text)
    assert text.isascii()
    assert text.encode("utf-8").decode("utf-8")
    json.dumps(document, ensure_ascii=False).encode("utf-8")  # no lone surrogate
    assert not [error.message for error in VALID.iter_errors(document)]
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted({result["ruleId"] for result in run["results"]})
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert not re.search(r"(?<!\\)\[[^\[\]]*\]\(", result["message"]["text"]), "a link"
        numbers = [location["id"] for location in result.get("relatedLocations", ())]
        assert len(numbers) == len(set(numbers))
    return run  # type: ignore[no-any-return]


def same_as_json(run: dict[str, Any], ran: Ran) -> None:
    """The run's results are the JSON lines, one for one."""
    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert run["invocations"][0]["exitCode"] == ran.status
    assert len(lines) == len(run["results"])
    for line, result in zip(lines, run["results"], strict=True):
        message = result["message"]["text"].replace("{{", "{").replace("}}", "}").replace("\\[", "[")
        assert (line["code"], line["severity"]) == (result["ruleId"], result["level"])
        assert message.startswith(re.sub("[\ud800-\udfff]", "\ufffd", line["message"]))
        assert all(f"help: {help_}" in message for help_ in line["helps"])
        if line["line"] is not None:
            region = result["locations"][0]["physicalLocation"]["region"]
            wanted = [line[name] for name in ("line", "column", "end_line", "end_column")]
            assert [region[name] for name in ("startLine", "startColumn", "endLine", "endColumn")] == wanted


def one(diagnostic: Diagnostic, status: int = 1) -> dict[str, Any]:
    log = Log()
    log.add([diagnostic])
    return run_of(log.text(status))["results"][0]  # type: ignore[no-any-return]


_shared = shared_folder()
ERRORS = [] if _shared is None else sorted((_shared / "data" / "cdl-errors").glob("*.cdl"))
CHUNKS = [
    (path.name, number, text)
    for path in sorted((ROOT / "tests" / "errors").glob("*.cdl"))
    for number, text in enumerate(path.read_bytes().split(b"\n---\n"))
]


def test_corpus_is_there(shared: Path) -> None:
    """Skips visibly where the cases below are none for want of the data."""
    assert len(ERRORS) > 100


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.name)
def test_every_erroneous_file(path: Path) -> None:
    ran = run_command("check", str(path), "--message-format", "sarif", "--kind", "nc3")
    same_as_json(run_of(ran.err), run_command("check", str(path), "--message-format", "json", "--kind", "nc3"))


@pytest.mark.parametrize(("name", "number", "text"), CHUNKS, ids=lambda value: str(value)[:20])
def test_our_own_errors(name: str, number: int, text: bytes) -> None:
    ran = run_command("check", "-", "--message-format", "sarif", stdin=text)
    same_as_json(run_of(ran.err), run_command("check", "-", "--message-format", "json", stdin=text))


@pytest.mark.parametrize(
    "call",
    [
        ["check", "-"],
        ["compile", "-"],
        ["compile", "-", "--to", "cdl"],
        ["dump", "-"],
        ["formats"],
        ["explain"],
        ["explain", "value-range"],
    ],
)
def test_nothing_found(call: list[str]) -> None:
    ran = run_command(*call, "--message-format", "sarif", stdin=b"netcdf t {\n}\n")
    run = run_of(ran.err)
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]
    assert ran.status == 0


def test_several_sources_are_one_document(tmp_path: Path) -> None:
    paths = [tmp_path / "a.cdl", tmp_path / "b.cdl", tmp_path / "none.cdl"]
    for path in paths[:2]:
        path.write_text("netcdf t { variables: int v(x) ; }")
    ran = run_command("check", *map(str, paths), "--message-format", "sarif")
    run = run_of(ran.err)
    assert [result["ruleId"] for result in run["results"]] == ["undefined-dimension"] * 2 + ["unreachable-file"]
    assert ran.status == 3
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 3}]


def test_quiet_and_strict() -> None:
    warns = b"netcdf t {\ndimensions:\n  x = 0 ;\n}\n"
    call = ["check", "-", "--message-format", "sarif"]
    assert [result["level"] for result in run_of(run_command(*call, stdin=warns).err)["results"]] == ["warning"]
    assert run_of(run_command(*call, "-q", stdin=warns).err)["results"] == []
    strict = run_command(*call, "-q", "--strict", stdin=warns)
    assert [result["level"] for result in run_of(strict.err)["results"]] == ["error"]
    assert strict.status == 1


def test_a_crash_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("nczarr.pipeline.phases.read", crash)
    run = run_of(run_command("check", "-", "--verbose", "--message-format", "sarif", stdin=b"netcdf t {\n}\n").err)
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 1}]
    assert "Traceback" in run["results"][0]["message"]["text"]


def test_an_interrupt_still_gives_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nczarr.pipeline.phases.read", stop)
    ran = run_command("check", "-", "--message-format", "sarif", stdin=b"")
    assert ran.status == 130
    assert run_of(ran.err)["invocations"] == [{"executionSuccessful": False, "exitCode": 130}]


def test_columns_are_characters() -> None:
    text = "// 漢字\r\nnetcdf t { :é😀 = é ; }".encode()
    source = Source("t.cdl", text)
    at = text.rindex("é".encode())
    region = one(Diagnostic("syntax-error", Severity.ERROR, "m", Label(Span(source, at, at + 2))))
    assert region["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 2,
        "startColumn": 18,
        "endLine": 2,
        "endColumn": 19,
    }


def test_secondary_labels_are_related_locations() -> None:
    source = Source("t.cdl", b"a\na\n")
    first = Label(Span(source, 0, 1), "first declared here")
    result = one(Diagnostic("duplicate-name", Severity.ERROR, "twice", Label(Span(source, 2, 3)), (first, first)))
    assert [place["id"] for place in result["relatedLocations"]] == [1, 2]
    assert result["relatedLocations"][0]["message"] == {"text": "first declared here"}


def test_places_in_stores_and_binary_files() -> None:
    store = one(Diagnostic("bad-codec", Severity.ERROR, "m", Label(key="v/.zarray", pointer="/filters/0/i~1d")))
    assert store["locations"] == [
        {
            "logicalLocations": [
                {"name": "i/d", "fullyQualifiedName": "v/.zarray#/filters/0/i~1d", "kind": "value"},
            ]
        }
    ]
    key = one(Diagnostic("bad-codec", Severity.ERROR, "m", Label(key="v/0")))
    assert key["locations"][0]["logicalLocations"][0]["kind"] == "resource"
    file = Source("t.nc", b"CDF\x01")
    binary = one(Diagnostic("bad-codec", Severity.ERROR, "m", Label(Span(file, 0, 0), offset=3)))
    assert binary["locations"][0]["physicalLocation"]["region"] == {"byteOffset": 3}
    assert one(Diagnostic("bad-codec", Severity.ERROR, "m"))["locations"] == []


def test_texts_cannot_be_mistaken() -> None:
    said = one(Diagnostic("bad-codec", Severity.ERROR, "`{0}` and [a](1) \udcff", notes=("n",), helps=("h",)))
    assert said["message"]["text"] == "`{{0}}` and \\[a](1) \ufffd\nnote: n\nhelp: h"
    assert said["properties"] == {"notes": ["n"], "helps": ["h"]}


def test_what_was_not_kept_is_counted() -> None:
    log = Log()
    log.add([], dropped=2)
    log.add([], dropped=3)
    (invocation,) = run_of(log.text(1))["invocations"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("5 more")


def test_codes_of_others_have_rules_too() -> None:
    assert one(Diagnostic("foreign-code", Severity.NOTE, "m"))["level"] == "note"


def test_every_code_makes_a_rule() -> None:
    log = Log()
    log.add(Diagnostic(name, code.severity, "m") for name, code in CODES.items())
    run = run_of(log.text(1))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == sorted(CODES)
    assert all("helpUri" not in rule for rule in run["tool"]["driver"]["rules"])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("samples/a b.cdl", "samples/a%20b.cdl"),
        ("/data/50%.cdl", "file:///data/50%25.cdl"),
        ("../x:y#z?.cdl", "../x%3Ay%23z%3F.cdl"),
        ("a:b.cdl", "a%3Ab.cdl"),
        ("é.cdl", "%C3%A9.cdl"),
        ("\udcff.cdl", "%FF.cdl"),
        ("<stdin>", "%3Cstdin%3E"),
        ("s3://bucket/a b.zarr", "s3://bucket/a%20b.zarr"),
        ("file:///p/x.zarr#mode=nczarr,file", "file:///p/x.zarr#mode=nczarr,file"),
        ("new\nline.cdl", "new%0Aline.cdl"),
    ],
)
def test_uris(name: str, wanted: str) -> None:
    assert uri(name) == wanted


def test_findings_without_a_place_are_in_the_source_of_their_task(tmp_path: Path) -> None:
    """GitHub takes no document with a finding that has no file."""
    text = b"netcdf a { dimensions: x = 3 ; variables: int v(x) ; data: v = 1, 2, 3 ; }"
    files = [str(tmp_path / "a.nc"), str(tmp_path / "missing.nc")]
    assert run_command("compile", "-", "-o", files[0], "--kind", "nc4", stdin=text).status == 0
    ran = run_command("check", *files, "--for", "cmip7", "--message-format", "sarif")
    results = json.loads(ran.err)["runs"][0]["results"]
    places = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}
    assert places == {uri(file) for file in files}
    assert all(len(result["locations"]) == 1 for result in results)
