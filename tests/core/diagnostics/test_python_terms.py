"""Options in texts for Python callers, and the arguments that they name."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.python_terms import KEYWORDS, in_python
from nczarr.options import Following, Writing
from tests.support import facts

PACKAGE = Path(nczarr.__file__).parent

COMMAND_LINE = {"char", "recover", "rename", "set", "verbose"}
"""Options in remedies that no function takes, or takes in another form."""


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
        ("convert it: `nczarr convert SRC DST --to zarr2`", "convert it: `nczarr convert SRC DST --to zarr2`"),
        ("an unknown --option stays", "an unknown --option stays"),
    ],
)
def test_an_option_becomes_a_keyword_argument(text: str, expected: str) -> None:
    assert in_python(text) == expected


def parameters() -> set[str]:
    functions = (nczarr.open, nczarr.convert, nczarr.append, nczarr.diff, nczarr.digest, nczarr.edit, nczarr.migrate)
    more = (nczarr.refs.combine, nczarr.refs.append, nczarr.refs.expand)
    return {name for function in (*functions, *more) for name in inspect.signature(function).parameters}


@pytest.mark.parametrize("keyword", KEYWORDS.values(), ids=KEYWORDS.keys())
def test_every_keyword_is_an_argument_of_a_public_function(keyword) -> None:
    if not keyword.holder:
        assert keyword.name in parameters()
        return
    holders = {"writing": Writing, "following": Following, "limits": nczarr.refs.Limits}
    assert keyword.holder in parameters()
    assert keyword.name in holders[keyword.holder]._fields


def helps_of(path: Path) -> set[str]:
    """Return the options in strings that a module passes as `helps`, or assigns to a name of it."""
    options: set[str] = set()
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(facts.parse(source)) if "helps" in source and "--" in source else ():
        values = [node.value] if isinstance(node, ast.keyword) and node.arg == "helps" else []
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == "helps" for each in node.targets
        ):
            values.append(node.value)
        for value in values:
            for part in ast.walk(value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    text = re.sub(r"`nczarr [^`]*`", "", part.value)
                    options |= set(re.findall(r"--([a-z][a-z-]*)", text))
    return options


@pytest.mark.long
def test_every_option_of_a_remedy_has_a_keyword() -> None:
    apart = {PACKAGE / "cli", PACKAGE / "plugins" / "serve", PACKAGE / "plugins" / "readers"}
    rooms = [path for path in PACKAGE.rglob("*.py") if apart.isdisjoint(path.parents)]
    options = {option for path in rooms for option in helps_of(path)}
    assert {"overwrite", "allow-loss", "chunks"} <= options
    assert options - KEYWORDS.keys() <= COMMAND_LINE


def test_the_text_of_an_error_has_its_remedies() -> None:
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.from_cdl("netcdf d { dimensions: x = 2 ; variables: string v(x) ; }", kind="nc3")
    assert '\n  help: use kind="nc4", another type, or `narrow=True`' in str(caught.value)
    (helps,) = caught.value.diagnostics[0].helps
    assert helps.startswith("use --kind nc4, another type, or `--narrow`")
