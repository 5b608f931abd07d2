"""Lexers of Pygments: every byte of a text is in a token, and texts that parse have no token of an error."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from nczarr import registry
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from tests.conftest import ROOT, shared_folder
from tests.support.library import library

pygments = library("pygments")

from pygments.token import Comment, Error, Keyword, Name, Number  # noqa: E402

from nczarr.plugins.pygments.lexers import CdlLexer, NotationLexer  # noqa: E402


def _tokens(path: Path, data: bytes) -> list[tuple[object, str]]:
    lexer = (CdlLexer if path.suffix == ".cdl" else NotationLexer)(stripnl=False, ensurenl=False)
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    tokens = list(lexer.get_tokens(text))
    assert "".join(value for _, value in tokens) == text.removeprefix("\ufeff"), path
    return tokens


def _parses(path: Path, data: bytes) -> bool:
    form = registry.for_target(path.name)
    assert form is not None
    assert form.read is not None
    report = Report()
    registry.load(form.read)(Source(path.name, data), report, Options())
    return not report.errors


def _assert_no_error(path: Path) -> bool:
    data = path.read_bytes()
    tokens = _tokens(path, data)
    if not _parses(path, data):
        return False
    assert [value for kind, value in tokens if kind is Error] == [], path
    return True


@pytest.mark.parametrize("path", sorted([*ROOT.glob("samples/*.cdl"), *ROOT.glob("samples/*.ncz")]), ids=str)
def test_samples(path: Path) -> None:
    assert _assert_no_error(path)


@pytest.mark.slow
def test_the_corpus() -> None:
    folder = shared_folder()
    paths = [] if folder is None else sorted((folder / "data").rglob("*.cdl"))
    correct = [path for path in paths if path.stat().st_size < 3_000_000 and _assert_no_error(path)]
    assert not paths or len(correct) > 500


def test_kinds_of_cdl() -> None:
    text = 'netcdf d { // c\ntypes: int enum e {a = 1}; variables: e data; data :_FillValue = a; string :t = "x";\n}'
    kinds = {value: kind for kind, value in CdlLexer().get_tokens(text)}
    assert kinds["netcdf"] is Keyword.Declaration
    assert kinds["types:"] is Keyword.Namespace
    assert kinds["e"] is Name.Class
    assert kinds["data"] is Name.Variable
    assert kinds["_FillValue"] is Name.Builtin
    assert kinds["t"] is Name.Attribute
    assert kinds["string"] is Keyword.Type
    assert kinds["1"] is Number.Integer
    assert kinds["// c"] is Comment.Single


def test_kinds_of_the_notation() -> None:
    kinds = {
        value: kind for kind, value in NotationLexer().get_tokens("dataset d 2.0.0 {\n variable group int /x 4\n}")
    }
    assert kinds["variable"] is Keyword.Declaration
    assert kinds["group"] is Name.Variable
    assert kinds["int"] is Keyword.Type
    assert kinds["/x"] is Name.Class


def test_guesses() -> None:
    assert CdlLexer.analyse_text("// c\nnetcdf d {") == 1
    assert CdlLexer.analyse_text("int main() {") == 0
    assert NotationLexer.analyse_text("dataset d 2.0.0 {") == 1


def test_entry_points() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lexers = package["entry-points"]["pygments.lexers"]
    assert [registry.load(lexer) for lexer in lexers.values()] == [CdlLexer, NotationLexer]
