"""Every code: its name, its example, and that the source uses what is declared and declares what it uses."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.catalog import CODES, KINDS, SUBJECTS, Code
from nczarr.diagnostics.report import VALUE_LOSSES, Diagnostic, Report, Severity
from tests.conftest import run_command
from tests.support.facts import PACKAGE, Module, modules
from tests.support.plugins import EVERY, note_lost

PROVOKED = {
    "abandoned-target",
    "absent-member",
    "adapted-form",
    "bad-constant",
    "bad-nwb",
    "busy-target",
    "cf-unjudged",
    "damaged-archive",
    "dropped-filter",
    "empty-archive",
    "failed-edit",
    "finished-target",
    "full-disk",
    "incomplete-change",
    "lossy-filter",
    "internal-error",
    "kept-aggregation",
    "out-of-memory",
    "many-files",
    "mismatched-dimension",
    "mismatched-scale",
    "nested-archive",
    "nwb-difference",
    "nwb-external-link",
    "nwb-loss",
    "oversized-content",
    "several-members",
    "unreadable-member",
    "plugin-error",
    "plugin-note",
    "plugin-warning",
    "scattered-metadata",
    "missing-library",
    "missing-permission",
    "omitted-link",
    "omitted-name",
    "omitted-object",
    "omitted-shape",
    "omitted-type",
    "tiny-chunks",
    "unequal-digest",
    "unequal-target",
    "unread",
    "unread-variable",
    "unnamed-target",
    "unfinished-append",
    "unmet-requirement",
    "unfinished-store",
    "unlocked-target",
    "unranged-server",
    "unclosed-file",
    "unused-layout",
}
"""Codes that no text provokes: a tree made by hand does, or a fault put into a pass (tests/core/cli/test_cli.py)."""


def sources() -> list[Module]:
    """Modules that may use codes; a list of codes is no use of them."""
    return [module for module in modules() if module.path.name != "value_losses.py"]


REPORTING = {"error", "warning", "report_lost", "warn", "Diagnostic", "BadHeaderError", "_LiteralError", "_error"}
REPORTING |= {"_stop", "UnsuitedValueError", "UnreadableDocumentError", "UnreadableStreamError", "_add", "ReaderFault"}
"""Functions of ours whose first argument is a code."""


def reported(module: Module) -> set[tuple[str, str]]:
    """Codes that a module hands to a report as a literal first argument, and the function that took each."""
    return {
        (call.function, call.first)
        for call in module.calls
        if call.function in REPORTING and isinstance(call.first, str)
    }


def test_names_and_pages() -> None:
    for code in (*CODES.values(), *KINDS.values()):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+){0,3}", code.name)
        for text in (code.meaning, code.remedy):
            assert text[0].isupper() or text[0] in "`-", (code.name, text)
            assert text.endswith("."), (code.name, text)
        assert bool(code.example) != (code.name in PROVOKED), code.name


@EVERY
def test_every_page_has_a_section() -> None:
    assert {code.subject for code in CODES.values()} == set(SUBJECTS[:-2])
    assert {kind.subject for kind in KINDS.values()} == set(SUBJECTS[-2:])
    assert set(CODES) & set(KINDS) == {"missing-group", "renamed-dimension"}


@EVERY
def test_a_name_of_a_code_and_of_a_kind_has_both_pages() -> None:
    ran = run_command("explain", "missing-group")
    assert CODES["missing-group"].remedy in ran.out.decode()
    assert "diff old.cdl new.cdl" in ran.out.decode()


@pytest.mark.slow
def test_codes_that_the_source_uses_are_declared() -> None:
    used = {(module.name, code) for module in sources() for _, code in reported(module)}
    assert not {(name, code) for name, code in used if code not in CODES}


@pytest.mark.slow
def test_severities_are_those_declared() -> None:
    wrong = []
    for module in sources():
        for function, code in reported(module):
            if function in ("error", "warning") and str(CODES[code].severity) != function:
                wrong.append(f"{module.name} reports {code} as {function}")
    assert not wrong


@pytest.mark.slow
def test_declared_codes_are_used() -> None:
    used = {text for module in sources() for _, text in module.strings}
    tables = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.toml"))
    used |= {code for table in tables for code in re.findall('^code = "(.*)"$', table, re.MULTILINE)}
    assert not set(CODES) - used


VARYING = {"failed-pass", "ignored-values", "unencodable-variable", "unreadable-file", "unusable-parser"}
VARYING |= {"unknown-format", "unknown-target"}
"""Codes whose message quotes another library, and so depends on its release, or lists the formats of plugins."""

LONG = {"disputed-byte-order", "name-too-long", "rank-limit", "unsafe-name"}
"""Codes whose examples need a long line."""


@pytest.mark.parametrize("code", [*CODES.values(), *KINDS.values()], ids=lambda code: f"{code.subject}-{code.name}")
def test_an_example_is_short_and_has_telling_names(code: Code) -> None:
    lines = code.example.splitlines()
    assert len(lines) <= 16
    assert code.name in LONG or all(len(line) <= 100 for line in lines)
    if "netcdf " in code.example:
        text = re.sub(r"--order F|\d+ m s-1", "", code.example)
        names = re.findall(r"(?<![-\w\\'#%.<|/=\"])([a-wA-W])(?=[ (:=;}])", text)
        assert set(names) <= {"K", "m", "s"}


OF_PLUGINS = {"lost-mask": "awkward0", "lost-union": "awkward0"}
OF_PLUGINS |= dict.fromkeys(("ambiguous-node", "foreign-member", "undefined-fill"), "zarr_drafts")
"""Codes of the compiler whose examples are in the format of a plugin."""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, marks=[pytest.mark.plugin(OF_PLUGINS[code.name])] if code.name in OF_PLUGINS else [])
        for code in CODES.values()
        if code.example
    ],
    ids=lambda code: code.name,
)
def test_example(code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The example is reported with this code and severity, and with no other, and the page has the message."""
    monkeypatch.chdir(tmp_path)
    found, messages = provoke(code.example)
    if code.name != "lost-annotations":  # which every pure target has, beside whatever else it loses
        found.discard(("lost-annotations", Severity.WARNING))
    if code.name == "missing-values":  # which are a loss as well
        found.discard(("unread", Severity.WARNING))
    assert found == {(code.name, code.severity)}
    if code.name in VARYING:
        assert code.message == ""
        return
    require_message(code, first_message(code, messages), request)


def first_message(code: Code, text: str) -> str:
    """Return the first diagnostic of a code with its lines of source, notes and help; `/data` is the working folder."""
    text = text.replace(str(Path.cwd()), "/data")
    match = re.search(rf"^{code.severity}\[{code.name}\].*(?:\n.+)*", text, re.MULTILINE)
    assert match is not None, text
    lines = [line.rstrip() for line in match[0].split("\n")]
    return "".join(f"{line if len(line) <= 160 else f'{line[:150]} …'}\n" for line in lines)


def require_message(code: Code, message: str, request: pytest.FixtureRequest) -> None:
    """Compare a message with that of the page; `--accept CODE` writes it there."""
    accept = request.config.getoption("--accept")
    if message != code.message and accept and fnmatch.fnmatch(code.name, accept):
        page = page_of(code)
        text = re.sub(r"^```message\n.*?^```\n\n", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        before, after = text.split("**What to do.**")
        page.write_text(f"{before}```message\n{message}```\n\n**What to do.**{after}", encoding="utf-8")
    note_lost(code.message, message)
    assert message == code.message


def page_of(code: Code) -> Path:
    """Return the file of a page."""
    paths = [
        path
        for path in PACKAGE.rglob(f"{code.name}.md")
        if f"- Subject: {code.subject}\n" in path.read_text(encoding="utf-8")
    ]
    (path,) = paths
    return path


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_example_of_a_difference(
    kind: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Its two datasets differ in nothing else."""
    monkeypatch.chdir(tmp_path)
    call, _, texts = kind.example.partition("\n")
    store(texts)
    ran = run_command(*shlex.split(call)[2:], "--message-format", "json")
    found = [json.loads(line) for line in ran.out.decode().splitlines()]
    assert [(each["code"], each["severity"]) for each in found] == [(kind.name, str(kind.severity))]
    assert ran.status == (kind.severity is Severity.ERROR)
    require_message(kind, run_command(*shlex.split(call)[2:]).out.decode(), request)


@pytest.mark.slow
def test_kinds_of_difference_are_those_that_are_found() -> None:
    missing = {"group", "type", "dimension", "variable", "attribute"}
    found = {f"missing-{what}" for what in missing}
    calls = [call for module in sources() for call in module.calls if call.function == "Difference"]
    found |= {str(call.first) for call in calls}
    assert found == {kind.name for kind in KINDS.values() if kind.subject == "Kinds of difference"}


def test_bad_constant() -> None:
    """Front ends make constants that suit their types; a tree made by hand need not."""
    from nczarr.ast import Attribute, Constant, Dataset, OpaqueType
    from nczarr.semantics import check
    from nczarr.semantics.checked import Unchecked

    value = Constant(type="/o", count=1, data=b"x")
    tree = Dataset(name="t", types=(OpaqueType(name="o", size=2),), attributes=(Attribute(name="a", value=value),))
    report = Report()
    assert check(Unchecked(tree), report) is None
    assert [each.code for each in report.list_sorted()] == ["bad-constant"]


def provoke(example: str) -> tuple[set[tuple[str, Severity]], str]:
    """Return what is reported for an example, and the messages as they are printed."""
    if example.startswith("$ "):
        return commands(example)
    if example.startswith(">>> "):
        return script(example)
    if example.startswith("== "):
        store(example)
        return commands("$ nczarr check .")
    name = "example.cdl" if example.startswith(("netcdf", "/", "\n")) or not example.strip() else "example"
    Path(name).write_bytes(example.encode("utf-8", "surrogateescape"))
    return commands(f"$ nczarr check {name}")


def store(example: str) -> None:
    """Put a store that stands as `== key` blocks into the working folder."""
    for block in example.split("== ")[1:]:
        key, _, text = block.partition("\n")
        Path(key).parent.mkdir(parents=True, exist_ok=True)
        Path(key).write_text(text, encoding="utf-8")


def commands(example: str) -> tuple[set[tuple[str, Severity]], str]:
    lines = example.split("\n")
    calls = [line[2:] for line in lines if line.startswith("$ ")]
    stdin = "\n".join(line for line in lines if not line.startswith("$ "))
    if "\n== " in example:
        store(stdin)
    found, messages = set(), ""
    for call in calls:
        ran = run_command(*shlex.split(call)[1:], stdin=stdin.encode("utf-8", "surrogateescape"))
        messages += ran.err
        for severity, code in re.findall(r"^(error|warning|note)\[([a-z0-9-]+)\]", ran.err, re.MULTILINE):
            found.add((code, Severity(severity)))
    return found, messages


def script(example: str) -> tuple[set[tuple[str, Severity]], str]:
    text = "\n".join(line.removeprefix(">>> ").removeprefix("... ") for line in example.split("\n"))
    found: list[Diagnostic] = []
    names: dict[str, object] = {"nczarr": nczarr}
    try:
        exec(text, names)
    except nczarr.CompileError as error:
        found = error.diagnostics
    if isinstance(dataset := names.get("dataset"), nczarr.DatasetHandle):
        found = [*found, *dataset.diagnostics]
    if isinstance(report := names.get("report"), Report):
        found = [*found, *report.list_sorted()]
    return {(each.code, each.severity) for each in found}, "".join(f"{each}\n\n" for each in found)


@pytest.mark.slow
def test_losses_that_can_be_allowed_are_those_that_are_found() -> None:
    """Every `Loss(kind, "value", …)` of the source, and nothing else, is a word for `--allow-loss`.

    A kind of netCDF file that cannot hold the dataset is found earlier, by the passes, as equal names are; what of a
    store cannot be read is lost when it is read.
    """
    found = {"format-conflict", "duplicate-name", "unsafe-key"}
    for module in sources():
        for name, first, second, count in module.calls:
            if count > 1 and (
                name in ("_lose", "report_lost", "NoExpressionError", "NoVariableError")
                or (name == "Loss" and second == "value")
            ):
                found.add(str(first))
    assert found == VALUE_LOSSES
    assert found <= set(CODES)
