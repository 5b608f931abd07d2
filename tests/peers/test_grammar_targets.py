"""The grammars stand alone: parsers that ANTLR generates from them in JavaScript and Java make the trees of ours.

Ours are the trees that the generated Python parsers make of the tokens of our own sources.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.formats.cdl.read.frontend import check_syntax
from nczarr.formats.notation import backend
from tests.conftest import ROOT
from tests.support.peers import corpus
from tests.support.peers.grammar_targets import GrammarTarget, antlr_jar, javascript_runtime
from tests.support.peers.parse_trees import REFUSED, cdl_tree, dap2_tree, notation_tree

pytestmark = [pytest.mark.peer, pytest.mark.long]

SAMPLES = ROOT / "samples"
NEEDS_NAMES = re.compile(r"keyword-case|keyword-space|expected-token: `.*:` is not a section")
"""Errors of syntax that depend on the variables declared before: `Data :a = 1` may be an attribute of one."""

UNDECODED = "refused text that is not UTF-8"
"""The answer to a text that a program of another language cannot decode; CDL may hold raw bytes in strings."""


@pytest.fixture(scope="module", params=["JavaScript", "Java"])
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], str]
) -> GrammarTarget:
    return GrammarTarget(tmp_path_factory.mktemp(request.param), tool, request.param)


def is_refused(text: bytes) -> bool:
    """Whether the whole front end of CDL refuses a text, which reads value lists last."""
    try:
        nczarr.from_cdl(text.decode("utf-8", "surrogateescape"))
    except CompileError:
        return True
    return False


def compare_cdl(target: GrammarTarget, paths: Iterable[Path]) -> tuple[int, int]:
    """Compare the trees of CDL files; the numbers of equal trees, and of files that both refuse."""
    files = list(paths)
    equal = refused = 0
    for path, theirs in zip(files, target.trees(("CDL", "ncdesc", path) for path in files), strict=True):
        data, report = path.read_bytes(), Report()
        is_sound = check_syntax(Source(path.name, data), report)
        found = [f"{each.code}: {each.message}" for each in report.list_sorted()]
        if not is_sound:
            is_told = theirs.startswith(REFUSED)
            assert is_told or all(NEEDS_NAMES.match(text) for text in found), (path.name, found)
            refused += is_told
        elif theirs == UNDECODED:
            assert any(text.startswith("raw-byte") for text in found), path.name
        elif theirs.startswith(REFUSED):
            assert cdl_tree(data) == REFUSED, (path.name, theirs)
            assert is_refused(data), path.name
            refused += 1
        else:
            assert theirs == cdl_tree(data), path.name
            equal += 1
    return equal, refused


def compare(target: GrammarTarget, grammar: str, rule: str, files: dict[Path, str]) -> int:
    """Compare trees with ours; the number of equal ones that are not refused."""
    theirs = target.trees((grammar, rule, path) for path in files)
    assert len(theirs) == len(files)
    for (path, ours), found in zip(files.items(), theirs, strict=True):
        assert (REFUSED if found.startswith(REFUSED) else found) == ours, (path.name, found[:200])
    return sum(tree != REFUSED for tree in files.values())


def write_texts(folder: Path, texts: Iterable[bytes]) -> list[Path]:
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}.txt")
        paths[-1].write_bytes(text)
    return paths


CDL_CORNERS = [
    "netcdf{}",
    'netcdf 1990\'s "data" // name\n {}',
    "\ufeff// note\n/* { */ NETCDF t { /**/ /* * ** */ }",
    "netcdf t { :a = 1, -2, 3LL, 0x1fL, 1e3, .5, -Inff, NaN, 'c' ; :b = '\\'', \"s\\\"\", {1, {2}}, _, NIL, /g/e ; }",
    "netcdf t { dimensions: d = 2, e = UNLIMITED ; \\1st = 0x10 ; a\\ b = *; 变\U0001d538 = 1 ; }",
    "netcdf t { types: int enum e {a = 1} ; int(*) v ; opaque(3) o ; compound c { int x(2, 3), y ; } ; }",
    "netcdf t { variables: int netcdf, unlimited(netcdf) ; group: g { group: h { variables: int v(/d) ; } } :a = 1 ; }",
    'netcdf t { variables: int v ; v:a.b@c+d%e-f = "x;y" ; data: v = 1 /* ; */ , // ;\n 2 ; }',
]
CDL_FAULTS = [
    "",
    "netcdf",
    "netcdf t",
    "netcdfs t {}",
    "x netcdf t {}",
    "netcdf t\nvariables: int v ; group: g {}",
    "netcdf t { } trailing",
    "netcdf t { /* ",
    'netcdf t { :a = "x ; }',
    'netcdf t { :a = "x\0" ; }',
    "netcdf t { // \0\n}",
    "netcdf t { :a\u00a0b = 1 ; }",
    "netcdf t { :a = 1\u2028; }",
    "netcdf t { variables: int v ;; }",
    "netcdf t { data: v = @ ; }",
]
NOTATION_FAULTS = [
    "",
    "dataset",
    "dataset t 2.0 {}",
    'dataset t 2.0.0 { attribute a string "x }',
    "dataset t 2.0.0 {} {",
]
DAP2_CORNERS = {
    "dds": [
        "Dataset { Grid { ARRAY: Int32 a[x = 2]; Maps :\n Byte x[2]; } g; } n;",
        'dataset { Structure { Sequence { Url %20é; } s; } Grid[3]; String "a b"; } # end\n',
        "Dataset { Int32 a[; } n;",
    ],
    "das": [
        'Attributes { a { String b "x \\" ; {", y-1.5e3; } array maps:x Array:y; } # comment {\n;',
        'Attributes { a { String b "x; } }',
    ],
}


@pytest.fixture(scope="module")
def corpus_files(shared: Path) -> list[Path]:
    """At most 300 files of the corpus, of which each has another text."""
    paths = sorted((shared / "data" / "netcdf-c").rglob("*.cdl"))
    small = (path for path in paths if path.stat().st_size < 1 << 18)
    return list({path.read_bytes(): path for path in small}.values())[:300]


def test_trees_of_cdl(target: GrammarTarget, tmp_path: Path) -> None:
    samples = sorted(SAMPLES.glob("*.cdl"))
    assert compare_cdl(target, samples) == (len(samples), 0)
    corners = write_texts(tmp_path, (text.encode() for text in CDL_CORNERS))
    assert compare_cdl(target, corners) == (len(corners), 0)
    faults = write_texts(tmp_path, (text.encode() for text in CDL_FAULTS))
    assert compare_cdl(target, faults) == (0, len(faults))


def test_trees_of_the_corpus(target: GrammarTarget, corpus_files: list[Path], shared: Path) -> None:
    equal, refused = compare_cdl(target, corpus_files)
    assert len(corpus_files) == 300
    assert equal + refused >= len(corpus_files) - 2
    faulty = sorted((shared / "data" / "cdl-errors").glob("*.cdl"))
    equal, refused = compare_cdl(target, faulty)
    assert equal + refused >= len(faulty) - 3
    assert refused >= 24


def test_trees_of_the_notation(target: GrammarTarget, corpus_files: list[Path], tmp_path: Path) -> None:
    """The samples, and what the corpus is in the notation."""
    made = []
    for path in corpus_files:
        read = corpus.checked(path)
        if read is not None:
            made.append(backend.text(read.dataset).encode())
    paths = [*sorted(SAMPLES.glob("*.ncz")), *write_texts(tmp_path, made)]
    assert len(paths) > 250
    assert compare(target, "NCZarr", "dataset", {path: notation_tree(path.read_bytes()) for path in paths}) == len(
        paths
    )
    faults = write_texts(tmp_path, (text.encode() for text in NOTATION_FAULTS))
    assert compare(target, "NCZarr", "dataset", {path: notation_tree(path.read_bytes()) for path in faults}) == 0


def test_a_section_word_begins_a_section(target: GrammarTarget, tmp_path: Path) -> None:
    """The grammar knows no names: with a colon right behind it, `data` is no variable, even if one is declared."""
    text = b'netcdf t { variables: int data ; data:units = "m" ; }'
    (path,) = write_texts(tmp_path, [text])
    (theirs,) = target.trees([("CDL", "ncdesc", path)])
    assert '(section DATA"data:" (datastatement (word NAME"units")' in theirs
    assert '(varstatement (word NAME"data") (attdecl COLON":" (name NAME"units")' in cdl_tree(text)


@pytest.mark.parametrize("heading", ["JavaScript", "Java"])
def test_the_commands_of_the_page(heading: str, tool: Callable[[str], str], tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "grammars" / "other-languages.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL))
    ((name, program),) = re.findall(r"as `(.+?)`.*?```(?:js|java)\n(.*?)```", parts[heading], re.DOTALL)
    (tmp_path / name).write_text(program, encoding="utf-8")
    (tmp_path / "samples").symlink_to(SAMPLES)
    tool("java"), antlr_jar()
    if heading == "JavaScript":
        (tmp_path / "node_modules").symlink_to(javascript_runtime(tool("npm")))
    script = "".join(re.findall(r"```sh\n(.*?)```", page[: page.index("## ")] + parts[heading], re.DOTALL))
    script = re.sub(r"^(?:pip|npm) install .*\n", "", script, flags=re.MULTILINE)  # done
    places = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    environment = {**os.environ, "PATH": places, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-ec", script], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert done.stdout.startswith(
        b"(ncdesc netcdf  station  { (body (section dimensions: (dimstatement (word station) ="
    )


@pytest.mark.plugin("opendap")
@pytest.mark.parametrize("rule", DAP2_CORNERS)
def test_trees_of_dap2(target: GrammarTarget, rule: str, shared: Path, tmp_path: Path) -> None:
    recorded = sorted((shared / "data" / "dap" / "dap2").glob(f"*.{rule}"))
    assert len(recorded) > 70
    paths = [*recorded, *write_texts(tmp_path, (text.encode() for text in DAP2_CORNERS[rule]))]
    equal = compare(target, "DAP2", rule, {path: dap2_tree(path.read_bytes(), rule) for path in paths})
    assert equal == len(paths) - 1
