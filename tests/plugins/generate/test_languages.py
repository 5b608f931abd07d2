"""Each language makes a program of each sample, or refuses it for a known reason."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.ast.json import dump
from nczarr.plugins.generate.languages import LANGUAGES
from tests.conftest import Ran
from tests.support.generated import SAMPLES, find_sample, run, write_files

LISTS = dict.fromkeys(("03", "05", "11", "12"), "lists are several arrays")

REFUSED: dict[str, dict[str, str]] = {
    "c": {},
    "fortran": dict.fromkeys(("03", "05", "06", "11", "12"), "variables of numbers and chars"),
    "java": {
        "03": "variables of atomic types", "04": "of a whole file", "05": "variables of atomic types",
        "06": "no missing string", "07": "of a whole file", "11": "atomic types", "12": "atomic types",
    },
    "json-schema": LISTS,
    "pydantic": LISTS,
    "typescript": {**LISTS, "03": "no compound types", "05": "no opaque types"},
    "ncml": {"02": "means none or another one", "06": "no missing string"},
    "python-netcdf4": {
        "03": "field `instrument` is of a type", "05": "no opaque types", "06": "beyond ASCII",
        "12": "field `temp_vl` is of a type",
    },
    "python-zarr": {
        "03": "lists are several arrays", "05": "lists are several arrays", "06": "no missing string",
        "11": "lists are several arrays", "12": "lists are several arrays",
    },
    "xarray": {
        "02": "hides a dimension", "03": "no compound types", "05": "no opaque types", "06": "no missing string",
        "07": "cannot leave cells undefined", "11": "no vlen types", "12": "no compound types",
    },
}  # fmt: skip
"""Samples that a language cannot express, by number, with a reason of theirs."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_sample_is_made_or_refused(language: str) -> None:
    refused = {}
    for sample in SAMPLES:
        try:
            files = nczarr.generate(language, nczarr.open(sample))
        except nczarr.CompileError as error:
            refused[sample.name[:2]] = " ".join(one.message for one in error.diagnostics)
        else:
            assert all(text.endswith("\n") for text in files.values())
            assert language == "contract" or not any("\t" in text for text in files.values())  # CDL has tabs
    wanted = REFUSED.get(language, {})
    assert list(refused) == list(wanted)
    assert [number for number, reason in wanted.items() if not re.search(f"`/.*{reason}", refused[number])] == []


GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize("language", LANGUAGES)
def test_golden_files(language: str, request: pytest.FixtureRequest) -> None:
    accept = request.config.getoption("--accept")
    made = nczarr.generate(language, nczarr.open(find_sample("08")))
    folder = GOLDEN / language
    wanted = {path.name.removesuffix(".txt"): path.read_text("utf-8") for path in folder.glob("*.txt")}
    if made != wanted and accept and fnmatch.fnmatch(language, accept):
        write_files({f"{name}.txt": text for name, text in made.items()}, folder)
    assert made == wanted


SLASHES = 'a"\'\\\n\r\u2028*/ --> </script>${x}{{1}}//"""/*'
CONTROLS = 'a"\'\n\r\u2028*)-->${x}{{1}}"""\u202e'


def make_tree(name: str) -> Dataset:
    """Return a tree in which everything has a hostile name, which no text in CDL can give it."""
    text = Constant.text(name.encode())
    attributes = tuple(Attribute(name=one, value=text) for one in (f"{name}n", "long_name", "units"))
    variable = Variable(
        name=f"{name}v", type="int", attributes=attributes, dimensions=(nczarr.names.join("/", f"{name}d"),)
    )
    dimension, group = Dimension(name=f"{name}d", size=2), Group(name=f"{name}g", attributes=attributes)
    return Dataset(name=name, dimensions=(dimension,), variables=(variable,), groups=(group,))


MADE = {
    SLASHES: ["c", "markdown", "html", "fortran", "contract"],
    CONTROLS: [language for language in LANGUAGES if language not in ("python-netcdf4", "xarray", "ncml")],
}


@pytest.mark.parametrize("name", MADE, ids=["slashes", "controls"])
def test_hostile_names_of_trees_stay_literals(name: str, tmp_path: Path, tool: Callable[[str], str]) -> None:
    made = []
    for language in LANGUAGES:
        try:
            files = nczarr.generate(language, make_tree(name))
        except nczarr.CompileError:
            continue
        made.append(language)
        for path in write_files(files, tmp_path / language):
            text = path.read_text("utf-8")
            if path.suffix == ".py":
                compile(text, path.name, "exec", dont_inherit=True)
            elif path.suffix == ".json":
                json.loads(text)
            assert path.suffix == ".json" or not re.search("[\r\u2028\u202e]", text), "no strange end of a line"
    assert made == MADE[name]
    if Path("/usr/include/netcdf.h").exists():
        flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
        run(tool("gcc"), *flags, *(tmp_path / "c").glob("*.c"))
    if Path("/usr/include/netcdf.mod").exists():
        flags = ("-std=f2008", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I/usr/include")
        run(tool("gfortran"), *flags, *(tmp_path / "fortran").glob("a*[0-9].f90"), cwd=tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_dimensions_of_other_groups_and_declared_lengths(language: str) -> None:
    beside = "group: a { dimensions: d = 2 ; } group: b { variables: int v(/a/d) ; data: v = 1, 2 ; }"
    large = "dimensions: x = 5000000000 ; variables: int v(x) ; byte w(x) ; data: v = 1 ;"
    for text in (beside, large):
        try:
            assert sum(map(len, nczarr.generate(language, nczarr.from_cdl(f"netcdf d {{ {text} }}")).values())) < 40_000
        except nczarr.CompileError as error:
            assert "/v`" in str(error)  # noqa: PT017


def test_names_that_cannot_be_keys_are_reported(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(dump(make_tree(SLASHES))), encoding="utf-8")
    ran = nczarr_command("generate", "json-schema", str(tmp_path / "a.json"), "-o", str(tmp_path / "out"))
    assert ran.status == 1
    assert "error[unsafe-name]" in ran.err
    assert not (tmp_path / "out").exists()
