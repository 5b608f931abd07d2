"""`nczarr fmt`: one style, the same dataset and comments, and files that are replaced at once or not at all."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr import registry
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.write import backend
from nczarr.formats.notation import backend as notation
from nczarr.options import TextOptions
from nczarr.plugins.fmt import reformat as operation
from nczarr.plugins.fmt.reformat import TextLayout
from nczarr.plugins.testing.strategies import datasets, datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Unchecked
from tests.conftest import ROOT, run_command, shared_folder
from tests.support.formatting import assert_formats, format_text, pieces, scatter
from tests.support.mutants import corpus, mutate

WILD = """\ufeff

/* head
   of file */   \r
// second
netcdf  my name { // after the brace


// global attributes:
  :title="x"   ;
        // :history = "gone" ;
  :source = "a",
"b" // why
 , "c";\x20
types: compound c { int a, b(2,3); // first
   // line of its own
   float d; } ; opaque(5) raw; int(*) v ; ubyte enum e { a=0,b=1,
 c=2 } // no semicolon
 int(*) w
dimensions:x=UNLIMITED;y=3,z=4;

  // of dimensions
\tdata = 3 ;

  // the last one
variables: /* vv */ float v(x,y),w ( z ) ; float data;
  w : units = "K"; data :units="m"; string :gg = "1"; c  :hh = {1, {1,2,3,4,5,6}, 3} ;
    w /* mid */ :
     // on a line of its own
      foo = 1,2,3;
   int   q // behind
    (x) ;
      // q:comment = 1 ;
data:
 v =\x20
   1,2,3,
       // deeper
       4,5 ,  6
   , 7
   // last
   ;
 w = 1.0f,0x1F, 010 /* octal */ , NaN ;
  q = { 1 , 2 } , {3,
   "a , b" , ' ' };

group: g { variables: int a ; a:u = "x"; data: a = 1 ; group: h { :b = 1 ; } // h
   // end of g
 }
// after g
:after = 2;
}
// the end"""

TAME = """/* head
   of file */
// second
netcdf my name { // after the brace

// global attributes:
→→:title = "x" ;
→→// :history = "gone" ;
→→:source = "a",
→→→"b" // why
→→→, "c" ;
types:
  compound c {
    int a, b(2, 3) ; // first
    // line of its own
    float d ;
  };
  opaque(5) raw ;
  int(*) v ;
  ubyte enum e {a = 0, b = 1,
    c = 2} // no semicolon
  int(*) w
dimensions:
→x = UNLIMITED ;
→y = 3, z = 4 ;

→// of dimensions
→data = 3 ;

→// the last one
variables: /* vv */
→float v(x, y), w(z) ;
→float data ;
→→w :units = "K" ;
→→data :units = "m" ;
→→string :gg = "1" ;
→→c :hh = {1, {1, 2, 3, 4, 5, 6}, 3} ;
→→w /* mid */ :
→→→// on a line of its own
→→→foo = 1, 2, 3 ;
→int q // behind
→→(x) ;
→// q:comment = 1 ;
data:
 v =
  1, 2, 3,
    // deeper
    4, 5, 6,
  7
    // last
    ;
 w = 1.0f, 0x1F, 010 /* octal */, NaN ;
 q = {1, 2}, {3,
    "a , b", ' '} ;

group: g {
  variables:
  →int a ;
  →→a:u = "x" ;
  data:
   a = 1 ;
  group: h {
    →→:b = 1 ;
    } // h
  →→// end of g
  }
→→// after g
→→:after = 2 ;
}
// the end
""".replace("→", "\t")


def test_one_style() -> None:
    assert format_text(WILD.encode())[0] == TAME.encode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('variables: float data; data :a = 1; float v; v:a="1";', "\t\tdata :a = 1 ;\n\tfloat v ;\n\t\tv:a = \"1\" ;"),
        ("types: int(*) t; variables: int v; t v:a = {1}; t :b = {1};", "\t\tt v:a = {1} ;\n\t\tt :b = {1} ;"),
        ('string :s="a";short :n = 0017,0xFF ;', '\t\tstring :s = "a" ;\n\t\tshort :n = 0017, 0xFF ;'),
        (":m=-1LL,077LL; :n = 1ub;", "\t\t:m = -1LL, 077LL ;\n\t\t:n = 1ub ;"),
        ("dimensions: x = 1; group: h { variables: int v(/x); //g/x\n }", "  \tint v(/x) ; //g/x"),
        ("variables: int a\\,b; a\\,b:c\\ d = 1;", "\tint a\\,b ;\n\t\ta\\,b:c\\ d = 1 ;"),
        (':a = "x\r\ny  \n" ;\r\n', '\t\t:a = "x\r\ny  \n" ;'),
        (":a =;", "\t\t:a = ;"),
        ("dimensions: x = 3; variables: byte v(x); data: v = ',', '\\'', ' ';", " v = ',', '\\'', ' ' ;"),
        ("types: opaque ( 2 ) o int ( * ) t", "  opaque(2) o\n  int(*) t\n"),
        ("types: compound c { int a ; } int ( * ) t", "  compound c {\n    int a ;\n  }\n  int(*) t\n"),
        ("DIMENSION = 1; :b=2;", None),
        ("dimensions: x = UNLIMITED; // (2 currently)\n", "\tx = UNLIMITED ; // (2 currently)"),
        (":a = 1; /* b */ :c = 2 ;", "\t\t:a = 1 ; /* b */\n\t\t:c = 2 ;"),
        (":a = 1;\n /* b */ :c = 2 ;", "\t\t:a = 1 ;\n/* b */ :c = 2 ;"),
    ],
)  # fmt: skip
def test_traps(body: str, expected: str | None) -> None:
    data = f"netcdf t {{{body}}}".encode()
    text = assert_formats(data)
    if expected is None:
        assert text is None
    else:
        assert text is not None
        assert expected in text.decode()


def test_long_lists_of_data_are_folded_if_they_are_on_one_line() -> None:
    numbers = ", ".join(map(str, range(100)))
    header = "netcdf t { dimensions: x = UNLIMITED; variables: int v(x);"
    text = format_text(f"{header} v:a = {numbers}; data: v = {numbers};}}".encode())[0]
    assert text is not None
    lines = text.decode().split("\n")
    assert f"\t\tv:a = {numbers} ;" in lines
    assert lines[7].startswith(" v = 0, 1, 2, ")
    assert {len(line) <= 80 for line in lines[7:]} == {True}
    assert lines[8].startswith("    2")
    two = format_text(f"{header} data: v = {numbers},\n{numbers};}}".encode())[0]
    assert two is not None
    assert f" v = {numbers},\n    {numbers} ;" in two.decode()


def test_a_block_comment_before_the_first_row() -> None:
    text = b"netcdf t { dimensions: x = 4; variables: int v(x); data: v =\n/* a\nb */ 1,\n/* c */ 2,\n  3,\n4;}"
    result = assert_formats(text)
    assert result is not None
    assert b" v =\n  /* a\nb */ 1,\n  /* c */ 2,\n    3,\n  4 ;" in result


def test_a_name_may_look_like_a_comment() -> None:
    text, _ = format_text(b"netcdf a // b \n  {\n:c = 1;}")
    assert text == b"netcdf a // b\n{\n\t\t:c = 1 ;\n}\n"


NOTATION = b"""dataset   x 2.0.0 { // c
 attribute a int 1 2
    3 // d
 enum e byte {good 0 bad   1}  compound   c @8 { f int 3  g /e }
 variable v int /y 4 { chunks 1 { 3 { 4 2 } } fill 1 attribute b /c { { 1 2 3 } good } } group   g { variable w int
    // last
 }   dimension group 4
 dimension y 3
}"""


def test_the_notation() -> None:
    text = assert_formats(NOTATION, "t.ncz")
    assert text is not None
    assert (
        text.decode()
        == """dataset x 2.0.0 { // c
  attribute a int 1 2
      3 // d
  enum e byte {
    good 0
    bad 1
  }
  compound c @8 {
    f int 3
    g /e
  }
  variable v int /y 4 {
    chunks 1 {3 {4 2}}
    fill 1
    attribute b /c { { 1 2 3 } good }
  }
  group g {
    variable w int
    // last
  }
  dimension group 4
  dimension y 3
}
"""
    )


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("samples/*.cdl")), *sorted(ROOT.glob("samples/*.ncz"))], ids=str)
def test_samples(path: Path) -> None:
    assert assert_formats(path.read_bytes(), path.name) is not None


relaxed = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def _strip_lines(text: str) -> str:
    """Without the blanks that ncdump leaves at the ends of folded lines."""
    return "\n".join(line.rstrip(" ") for line in text.split("\n"))


@pytest.mark.long
@given(datasets_with_data(cdl=True))
@settings(relaxed, max_examples=30)
def test_what_the_package_prints_is_formatted(generated: tuple[Dataset, dict[str, Parts]]) -> None:
    dataset, parts = generated
    checked = check(Unchecked(dataset, parts=parts), Report())
    assert checked is not None
    text = "".join(backend.pieces(checked, TextOptions(special=True)))
    result = assert_formats(text.encode("utf-8", "surrogateescape"))
    assert result is not None
    words = pieces(result)
    assert words == pieces(text.encode("utf-8", "surrogateescape")) or "'" in text


@pytest.mark.long
@given(datasets())
@settings(relaxed, max_examples=30)
def test_the_notation_that_the_package_prints_is_formatted(dataset: Dataset) -> None:
    text = notation.text(dataset).encode("utf-8", "surrogateescape")
    assert assert_formats(text, "t.ncz") == text


def test_printed_texts_do_not_change() -> None:
    for path in sorted(ROOT.glob("samples/*.cdl")):
        printed = run_command("dump", str(path)).out
        text, codes = format_text(printed)
        assert text is not None, codes
        assert text.decode() == _strip_lines(printed.decode()), path.name


@pytest.mark.slow
def test_the_corpus() -> None:
    folder = shared_folder()
    paths = [] if folder is None else sorted((folder / "data").rglob("*.cdl"))
    formatted = [path for path in paths if assert_formats(path.read_bytes(), path.name) is not None]
    assert not paths or len(formatted) > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_mutants(seed: int) -> None:
    """Texts with random faults, most of them refused, and texts with other blanks and comments, most of them not."""
    files, pick = corpus(), random.Random(seed)
    formatted = 0
    for _ in range(400):
        data = pick.choice(files).read_bytes()
        for mutant in (mutate(data, pick), scatter(data, pick, pick.randint(1, 12))):
            formatted += assert_formats(mutant) is not None
    assert formatted > 200


@pytest.mark.long
def test_scattered_blanks_and_comments() -> None:
    pick = random.Random(1)
    texts = [assert_formats(scatter(WILD.encode(), pick, 8)) for _ in range(50)]
    assert sum(text is not None for text in texts) > 20


def test_a_text_with_errors_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.cdl"
    path.write_text("netcdf a { variables: int v }")
    done = run_command("fmt", str(path))
    assert (done.status, "expected-token" in done.err) == (1, True)
    assert path.read_text() == "netcdf a { variables: int v }"
    with pytest.raises(nczarr.CompileError, match="expected-token"):
        nczarr.reformat("netcdf a { variables: int v }")


def test_errors_other_than_of_syntax_are_no_obstacle() -> None:
    text = format_text(b"netcdf a { variables: byte v(x); v:a = 300b; w:b = 1; data: v = {; }")[0]
    assert text == b"netcdf a {\nvariables:\n\tbyte v(x) ;\n\t\tv:a = 300b ;\n\t\tw:b = 1 ;\ndata:\n v = { ;\n}\n"
    assert format_text(b"dataset a 2.0.0{variable v /t attribute b byte 300}", "t.ncz")[0] is not None


def test_files_of_other_formats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    done = run_command("fmt", str(path))
    assert (done.status, "unknown-format" in done.err) == (1, True)


def test_an_unequal_result_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the formatter is an internal error."""
    path = tmp_path / "a.cdl"
    path.write_text("netcdf a { :b = 1 ; }")

    def lose(source: Source, report: Report) -> TextLayout:
        return TextLayout(b"netcdf a {\n\t\t:b = 2 ;\n}\n", b"", ())

    load = registry.load
    monkeypatch.setattr(operation.registry, "load", lambda row: lose if row.endswith(":reformat") else load(row))
    done = run_command("fmt", str(path))
    assert (done.status, "internal-error" in done.err) == (1, True)
    assert path.read_text() == "netcdf a { :b = 1 ; }"


def test_files_are_replaced_in_their_place(tmp_path: Path) -> None:
    path, link = tmp_path / "a.cdl", tmp_path / "link.cdl"
    path.write_bytes(b"netcdf a { :b = 1 ; }\r\n")
    path.chmod(0o640)
    link.symlink_to("a.cdl")
    done = run_command("fmt", str(link), "--message-format", "json")
    assert done.status == 0
    assert json.loads(done.err) == {"result": "fmt", "target": str(link), "changed": True}
    assert link.is_symlink()
    assert path.read_bytes() == b"netcdf a {\n\t\t:b = 1 ;\n}\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.cdl", "link.cdl"]


def test_a_formatted_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.cdl"
    path.write_bytes(b"netcdf a {\n\t\t:b = 1 ;\n}\n")
    before = path.stat()
    done = run_command("fmt", str(path))
    assert (done.status, done.out, done.err) == (0, b"", "")
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_check_and_diff_write_nothing(tmp_path: Path) -> None:
    bad, good = tmp_path / "a.cdl", tmp_path / "b.ncz"
    bad.write_bytes(b"netcdf a { :b = 1 ; }")
    good.write_bytes(b"dataset b 2.0.0 {\n}\n")
    done = run_command("fmt", "--check", str(bad), str(good))
    assert (done.status, done.out, done.err) == (1, f"{bad}\n".encode(), "")
    assert run_command("fmt", "--check", str(good)).status == 0
    done = run_command("fmt", "--diff", str(bad), str(good))
    assert done.status == 0
    assert done.out.decode() == (
        f"--- {bad}\n+++ {bad} (formatted)\n@@ -1 +1,3 @@\n-netcdf a {{ :b = 1 ; }}\n\\ No newline at end of file\n"
        "+netcdf a {\n+\t\t:b = 1 ;\n+}\n"
    )
    assert run_command("fmt", "--check", "--diff", str(bad)).status == 1
    assert bad.read_bytes() == b"netcdf a { :b = 1 ; }"


def test_standard_input(tmp_path: Path) -> None:
    done = run_command("fmt", "-", stdin=b"netcdf a{}")
    assert (done.status, done.out) == (0, b"netcdf a {\n}\n")
    assert run_command("fmt", "--check", "-", stdin=b"netcdf a{}").out == b"<stdin>\n"


def test_a_section_word_with_an_escape_is_no_crash() -> None:
    """The word stood in a regular expression as it is."""
    _, codes = format_text(b"netcdf a {\nvariables:\n int v ;\ndim\\ensions:\n x = 1 ;\n}\n")
    assert "expected-token" in codes
