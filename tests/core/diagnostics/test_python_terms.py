"""Options in texts for Python callers, and the arguments that they name."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import nczarr
from nczarr.api.hints import add_hints
from nczarr.diagnostics.python_terms import KEYWORDS, in_python
from nczarr.diagnostics.report import Diagnostic, Severity
from nczarr.options import Following, Writing
from tests.support import facts

PACKAGE = Path(nczarr.__file__).parent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read the rest with `--allow-loss lost-mask`", 'read the rest with `allow_loss=["lost-mask"]`'),
        ("use --kind nc4, or another type", 'use kind="nc4", or another type'),
        ("use --kind nc5 or nc4", 'use kind="nc5" or "nc4"'),
        ("replace it with `--overwrite`", "replace it with `overwrite=True`"),
        ("continue with `--resume` and the same source", "continue with `resume=True` and the same source"),
        ("stack it with `--along VARIABLE --new-dim NAME`", "stack it with `along=VARIABLE, new_dim=NAME`"),
        ("read with `--storage-option order=big`", 'read with `storage_options={"order": "big"}`'),
        ("give `--base URL`", "give `writing=Writing(base=URL)`"),
        ("raise the limit with `--memory`", "raise the limit with `memory=`"),
        ("convert it: `nczarr convert SRC DST --to zarr2`", 'convert it: `nczarr.convert(SRC, DST, format="zarr2")`'),
        ("`nczarr convert a.nc NEW --header-pad 64KiB`", '`nczarr.convert("a.nc", NEW, header_pad=64 << 10)`'),
        ("`nczarr edit 'a b.nc' --recover` restores it", '`nczarr.edit("a b.nc")` restores it'),
        ("`nczarr edit a.nc --set '/v@_FillValue=…'`", '`nczarr.edit("a.nc", attributes={"/v@_FillValue": …})`'),
        ("`nczarr refs combine … -o NEW`", "`nczarr.refs.combine(…, NEW)`"),
        ("`nczarr combine … --along time --sort`", '`nczarr.combine(…, along="time", sort=True)`'),
        ("`nczarr append` was interrupted", "`nczarr append` was interrupted"),
        ("`nczarr pyramid s.zarr --update` adds them", '`nczarr.pyramid("s.zarr", update=True)` adds them'),
        ("see `nczarr explain lost-nil`", "see `nczarr explain lost-nil`"),
        ("use --rename-illegal", "use rename_illegal=True"),
        ("cut it: `--dim x=0:9`", 'cut it: `dims={"x": slice(0, 10)}`'),
        ("cut it: `--dim x=0:-1:2`", 'cut it: `dims={"x": slice(0, None, 2)}`'),
        ("the nearest: `--sel lat~45.3`", 'the nearest: `nearest={"lat": 45.3}`'),
        ("the nearest: `--sel time~2000-01-31T12:00`", 'the nearest: `nearest={"time": "2000-01-31T12:00"}`'),
        ("cut it: `--sel lat=-30:30`", 'cut it: `sel={"lat": (-30, 30)}`'),
        ("give `--chunks time=100`, or `--chunks x=1,2`", 'give `chunks={"time": 100}`, or `chunks={"x": (1, 2)}`'),
        ("state it: `--rename '/a b=c'`", 'state it: `rename={"/a b": "c"}`'),
        ("remove it: `--delete dim:/x`, or not", 'remove it: `delete=["dim:/x"]`, or not'),
        ("define it with `--set u=TEXT`", 'define it with `templates={"u": TEXT}`'),
        ("follow it: `--source-root s3://a`", 'follow it: `following=Following(roots=["s3://a"])`'),
        ("list them with `--verbose`", "list them with `option verbose`"),
        ("a table of CDL -- or an em dash", "a table of CDL -- or an em dash"),
    ],
)
def test_an_option_becomes_a_keyword_argument(text: str, expected: str) -> None:
    assert in_python(text) == expected


def parameters() -> set[str]:
    functions = (nczarr.open, nczarr.convert, nczarr.append, nczarr.diff, nczarr.digest, nczarr.edit, nczarr.migrate)
    more = (
        nczarr.refs.combine,
        nczarr.refs.append,
        nczarr.refs.expand,
        nczarr.rechunk,
        nczarr.check,
        nczarr.layer,
        nczarr.pyramid,
    )
    return {name for function in (*functions, *more) for name in inspect.signature(function).parameters}


@pytest.mark.parametrize("keyword", KEYWORDS.values(), ids=KEYWORDS.keys())
def test_every_keyword_is_an_argument_of_a_public_function(keyword) -> None:
    if not keyword.holder:
        assert keyword.name in parameters()
        return
    holders = {"writing": Writing, "following": Following, "limits": nczarr.refs.Limits}
    assert keyword.holder in parameters()
    assert keyword.name in holders[keyword.holder]._fields


COMMANDS = re.compile(r"(command\w*|options|plugin|wrapper|render|help|source_comparison|compile_rows)\.py")
"""Modules whose texts only the command line shows."""


def texts_of(path: Path) -> set[str]:
    """Return the texts of a module that name options, without docstrings; placeholders are `x`."""
    source = path.read_text(encoding="utf-8")
    if "--" not in source:
        return set()
    nodes = list(ast.walk(facts.parse(source)))
    apart = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    apart |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = set()
    for node in nodes:
        if id(node) in apart:
            continue
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        if all(isinstance(part, ast.Constant) and not isinstance(part.value, str) for part in parts):
            continue
        if isinstance(node, ast.JoinedStr | ast.Constant):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
            texts.add(text.replace("{}", "x"))
    return {text for text in texts if re.search(r"(?<![\w-])--[a-z]+", text) and " " in text}


@pytest.mark.long
def test_no_text_of_the_source_names_an_option_to_a_python_caller() -> None:
    apart = {PACKAGE / "cli", PACKAGE / "plugins" / "serve"}
    modules = [path for path in PACKAGE.rglob("*.py") if apart.isdisjoint(path.parents)]
    texts = {text for path in modules if not COMMANDS.fullmatch(path.name) for text in texts_of(path)}
    assert len(texts) > 100
    assert {text: in_python(text) for text in texts if re.search(r"--[a-z]|-o ", in_python(text))} == {}
    words = {text: in_python(text) for text in texts if re.search(r"\boption [a-z-]+", in_python(text))}
    named = set(re.findall(r"\boption ([a-z-]+)", " ".join(words.values())))
    assert named <= {
        "char",
        "verbose",
        "parser",
        "merge",
        "recover",
        "x",
        "hard-dereference",
    }  # only command lines have them


def test_no_message_of_a_page_of_a_code_names_an_option_to_a_python_caller() -> None:
    """The remedies of every page, as a Python caller reads them, are Python up to the last parenthesis."""
    pages = PACKAGE.rglob("codes/*.md")
    lines = {
        line.strip()
        for path in pages
        for block in re.findall(r"```message\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
        for line in block.splitlines()
        if re.search(r"= (help|note): |^(error|warning)\[", line.strip())
    }
    options = [line for line in lines if "--" in line]
    assert len(options) > 50
    for line in options:
        text = in_python(line)
        assert "--" not in text, text
        for call in re.findall(r"`(nczarr\.\w[^`]*\))`", text):
            ast.parse(call.replace("…", "..."))


def test_representations_and_notes_are_in_terms_of_python(tmp_path: Path) -> None:
    found = Diagnostic("many-files", Severity.WARNING, "with `--shards auto`", helps=("use --kind nc4",))
    assert repr(found) == 'warning[many-files]: with `shards="auto"`'

    @add_hints
    def fail() -> None:
        error = OSError("full")
        error.add_note("continue with `--resume`")
        raise error

    with pytest.raises(OSError, match="full") as caught:
        fail()
    assert caught.value.__notes__ == ["continue with `resume=True`"]


def test_selections_are_in_terms_of_python(tmp_path: Path) -> None:
    text = "netcdf a { dimensions: lat = 2 ; variables: float lat(lat) ; int v(lat) ; data: lat = 10, 20 ; }"
    dataset = nczarr.from_cdl(text)
    with pytest.raises(nczarr.CompileError, match=r'nearest value is 20: `nearest=\{"lat": 20\}`') as caught:
        nczarr.convert(dataset, tmp_path / "a.nc", sel={"lat": 17})
    assert "~" not in str(caught.value)
    nczarr.convert(dataset, tmp_path / "a.nc", nearest={"lat": 20})
    assert nczarr.open(tmp_path / "a.nc")["lat"][:].tolist() == [20]


def test_the_text_of_an_error_has_its_remedies() -> None:
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.from_cdl("netcdf d { dimensions: x = 2 ; variables: string v(x) ; }", kind="nc3")
    assert '\n  help: use kind="nc4", another type, or `narrow=True`' in str(caught.value)
    (helps,) = caught.value.diagnostics[0].helps
    assert helps.startswith("use --kind nc4, another type, or `--narrow`")
