"""Reference documents: every vector, the grammar against jinja2, generators, attacks."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nczarr import CompileError, refs
from nczarr.diagnostics.report import Diagnostic, Report, Source
from nczarr.formats.reference import wire
from nczarr.formats.reference.limits import DEFAULT, Limits
from nczarr.plugins.refs.templates import expansion
from tests.conftest import ROOT, Ran, shared_folder
from tests.support.work import counted

FOLDER = shared_folder()
VECTORS = [] if FOLDER is None else json.loads((FOLDER / "data/references/index.json").read_text())["vectors"]


def expanded(
    document: Any, overrides: dict[str, str] | None = None, limits: Limits = DEFAULT
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The expansion of a document, None if it is refused, and what was found."""
    report = Report()
    source = Source("t.json", document if isinstance(document, bytes) else json.dumps(document).encode())
    read = wire.read(source, report, limits, overrides)
    found = None
    if read is not None:
        try:
            found = dict(expansion.mapping(read, source, report, limits))
        except CompileError:
            assert report.errors
    return found, report.list_sorted()


def text(url: str, **templates: str) -> Any:
    """What a URL renders to, or the messages that refuse it."""
    found, why = expanded({"version": 1, "templates": {"unused": "", **templates}, "refs": {"a": [url]}})
    return found["a"][0] if found is not None else [each.message for each in why]


def generated(**item: Any) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    return expanded({"version": 1, "gen": [{"key": "k{{i}}", "url": "u", "dimensions": {"i": {"stop": 3}}, **item}]})


REFUSED = {"v0-refs-key"}
"""Documents that fsspec takes for version 0, with keys `refs` and `templates`: surely not what their writer meant."""


@pytest.mark.parametrize("name", [vector["id"] for vector in VECTORS])
def test_vector(name: str, shared: Path) -> None:
    vector = json.loads((shared / f"data/references/{name}.json").read_text())
    required = vector.get("require", {})
    found, why = expanded(vector["spec"], vector.get("template_overrides"))
    if name in REFUSED or "error" in required or ("error" in vector and "expanded" not in required):
        assert found is None
        assert all(each.primary.pointer for each in why)
        return
    assert found is not None
    wanted = required["expanded"] if "expanded" in required else vector["expanded"]
    assert list(found) == list(wanted)
    assert {key: parsed(value) for key, value in found.items()} == {k: parsed(value) for k, value in wanted.items()}
    assert ("warning" in required) <= bool(why)


def parsed(value: Any) -> Any:
    """A value; the text of an object as the object, since libraries spell it in different ways."""
    return json.loads(value, strict=False) if isinstance(value, str) and value[:2] in ('{"', "{}") else value


@pytest.mark.parametrize(
    "expression",
    [
        "1 + 2 * 3 - 4 // 3 % 2", "2 ** 3 ** 2", "-2 ** 2", "- 3 | string", "7 / 2", "-7 // 2", "-7 % 3", "2 ** -1",
        "'a' if 1 < 2 < 3 else 'b'", "1 if 2 == 3 else 4 if 5 else 6", "'%03d|%-5s|%x' | format(7, 'ab', 255)",
        "'aB' | upper", "'aB' | lower", "'12' | int + 1", "'x' | int", "'x' | int(7)", "3.5 | int if 0 else 2",
        "'a' + 'b' * 3", "'%d' % 5", "(1 + 2) * 3", "'\\x41\\n\\''", "'}}'", '"{{"', "1 == 1", "1_000", "+3", "--3",
        "u", "f(c=1, d=u)", "f(c='x')", "f()", "'a' ~ 'b'", "none", "u.upper()", "u[0]", "[1]", "range(3)",
        "1 and 2", "not 1", "u is defined", "0x10", "1.5", "1 +", "'5' | int('x')", "10 ** 30", "1 / 3",
        "'%s' | format(1 == 1)", "5 | format", "'%s%%' | format('a')", "u - 1", "1 < 'a'",
    ],
)  # fmt: skip
def test_expressions_mean_what_jinja2_says_or_are_refused(expression: str, peer: Callable[[str], ModuleType]) -> None:
    jinja2 = peer("jinja2")
    try:
        call = jinja2.Template("{{c}}-{{d}}").render
        wanted = jinja2.Template(f"<{{{{ {expression} }}}}>").render(u="value", f=call)
    except (jinja2.TemplateError, TypeError, ZeroDivisionError):
        wanted = None
    found = text(f"<{{{{ {expression} }}}}>", u="value", f="{{c}}-{{d}}")
    outside = ("~", "none", ".", "[", "range", "and", "not", "is ", "0x")
    if isinstance(found, str):
        assert found == wanted
    else:
        assert wanted is None or any(mark in expression for mark in outside), found


@pytest.mark.parametrize("url", ["a{{1}}\n", "a{{1}}\r\nb\r", "{{- 1 -}} b", "a {{- 1 }} b", "{{1}}}}", "{ {{1}} }"])
def test_text_around_expressions_is_that_of_jinja2(url: str, peer: Callable[[str], ModuleType]) -> None:
    assert text(url) == peer("jinja2").Template(url).render()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("{{u.x}}", "attribute access is not allowed"),
        ("{{u['x']}}", "index access is not allowed"),
        ("{{f(1)}}", "positional arguments are not allowed"),
        ("{{f}}", "takes arguments"),
        ("{{u()}}", "takes no arguments"),
        ("{{g()}}", "no template `g`"),
        ("{{1//0}}", "division by zero"),
        ("{{nope+1}}", "undefined name"),
        ("{{u", "braces that are not closed"),
        ("{{1}}{% if 1 %}", "statement"),
        ("{{u|escape}}", "no filter `escape`"),
        ("{{}}", "empty"),
        ("{{(-1)**(1/2)}}", "not a real number"),
    ],
)
def test_refused_expressions_are_named(url: str, message: str) -> None:
    found = text(url, u="x", f="{{c}}")
    assert all("`a`" in each for each in found)
    assert message in " ".join(found)


@pytest.mark.parametrize(
    "url",
    [
        "{{u*200000000}}", "{{'%0200000000d'|format(1)}}", "{{'%.*f'|format(9, 1)}}", "{{2**(2**40)}}",
        "{{10**4000*10**4000}}", "{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "{{" + "1+" * 5000 + "1}}",
        "{{" + "9" * 5000 + "}}", "{{'" * 9000, "{{" + "f(c=" * 500 + "1" + ")" * 500 + "}}",
        "{{u.__class__.__mro__[1].__subclasses__()}}", "{{f(c=u*60000)*9}}",
    ],
)  # fmt: skip
def test_attacks_in_texts_are_refused_at_once(url: str) -> None:
    with counted(2_000_000):
        assert isinstance(text(url, u="x", f="{{c}}{{c}}"), list) or url.startswith("{{(")


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "document",
    [
        {
            "version": 1,
            "gen": [{"key": "{{i}}{{j}}", "url": "u", "dimensions": {"i": {"stop": 10**5}, "j": {"stop": 10**5}}}],
        },
        {
            "version": 1,
            "gen": [{"key": "k", "url": "u", "dimensions": {f"d{n}": {"stop": 10**9} for n in range(9999)}}],
        },
        {"version": 1, "gen": [{"key": "k{{i}}", "url": "u", "dimensions": {"i": {"stop": 10**30}}}]},
        {"version": 1, "gen": [{"key": "{{'x'*i}}", "url": "u", "dimensions": {"i": {"start": 65530, "stop": 70000}}}]},
        b'{"a":' * 100_000,
        b'{"a":' + b"[" * 400 + b"]" * 400 + b"}",
        b'{"a":["u",0,' + b"9" * 100_000 + b"]}",
        {"a": ["u", 2**62, 2**62]},
        {"a": ["u", -1, 1]},
    ],
)
def test_attacks_on_documents_are_refused_in_little_time_and_memory(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    # the peak of a process counts what the one that started it had; that of its own memory is in `/proc`
    code = "import sys; from nczarr.__main__ import main; from tests.support.work import counted\n"
    code += "with counted(3_000_000) as work: status = main(sys.argv[1:])\n"
    code += "lines = open('/proc/self/status').read().split('\\n')\n"
    code += "print(status, next(line.split()[1] for line in lines if line.startswith('VmHWM')), work.calls)"
    call = [sys.executable, "-c", code, "refs", "expand", str(path)]
    done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=False)
    status, memory, calls = map(float, done.stdout.split())
    assert calls > 0
    assert status == 1, done.stderr
    assert "error[" in done.stderr
    assert "internal-error" not in done.stderr
    assert memory * 1024 < 200e6


@pytest.mark.slow
def test_entries_are_streamed() -> None:
    """A million entries, of which none is kept; more time than memory."""
    item = {"key": "x/{{i}}.{{j}}", "url": "{{u}}", "offset": "{{(i*1000+j)*8}}", "length": "8"}
    item["dimensions"] = {"i": {"stop": 1000}, "j": {"stop": 1000}}  # type: ignore[assignment]
    document = {"version": 1, "templates": {"u": "s3://b/a.nc"}, "gen": [item]}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    lines = sum(piece.count(b"\n") for piece in refs.lines(document))
    assert lines == 1_000_002
    assert time.process_time() - began < 8  # some 0.5 s on an idle machine
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 100e6


@pytest.mark.parametrize(
    "formula", ["i*3-j", "i//(j+1)%3+9", "(i if j<1 else 7)*2**3", "-i+99", "i**2*j+i//1", "('%d'|format(i))|int"]
)
def test_blocks_have_the_values_of_single_entries(formula: str) -> None:
    dimensions = {"i": {"start": 9, "stop": -2, "step": -4}, "j": [2, 0, 1, 700]}
    item = {
        "key": "{{i}}/{{j}}",
        "url": "u",
        "offset": f"{{{{({formula})**2}}}}",
        "length": "1",
        "dimensions": dimensions,
    }
    found, _ = expanded({"version": 1, "gen": [item]})
    assert found is not None
    for i in range(9, -2, -4):
        for j in (2, 0, 1, 700):
            plain = i if "format" in formula else eval(formula)
            assert found[f"{i}/{j}"] == ["u", plain**2, 1]


def test_numbers_beyond_64_bits_are_exact() -> None:
    found, _ = generated(offset="{{(i + 2**200) // 2**195 - 31 + i*10**17}}", length="{{10**18}}")
    assert found == {f"k{i}": ["u", 1 + i * 10**17, 10**18] for i in range(3)}


def test_ranges_of_generators_are_checked() -> None:
    for offset in ("{{1-i}}", "{{2**62*i}}", "{{'x' if i == 2 else i}}", "{{5//(2-i)}}", " "):
        found, (why,) = generated(offset=offset, length="1")
        assert found is None
        assert why.primary.pointer == "/gen/0/offset"


def test_the_last_of_equal_keys_wins_in_the_place_of_the_first() -> None:
    items = [
        {"key": "k{{i//2}}", "url": "a{{i}}", "dimensions": {"i": {"stop": 3000}}},
        {"key": "k{{i}}", "url": "b{{i}}", "dimensions": {"i": [7, 1]}},
    ]
    found, _ = expanded({"version": 1, "gen": items, "refs": {"k2": "x", "z": "y"}})
    assert found is not None
    assert list(found)[:4] == ["k2", "z", "k0", "k1"]
    assert len(found) == 1501
    assert [found[f"k{i}"] for i in (1, 2, 7, 1499)] == [["b1"], ["a5"], ["b7"], ["a2999"]]


def test_version_is_no_key_of_version_0() -> None:
    assert expanded({"version": 1, "refs": {"version": "x"}})[0] is None
    assert generated(key="{{'version' if i == 1 else i}}")[0] is None


def test_faults_have_a_place_in_the_text() -> None:
    _, (why,) = expanded(b'{"version": 1,\n "refs": {"a": "x",\n  "b/0": ["u", 1]}}')
    assert (why.code, why.primary.pointer, why.notes) == ("bad-reference", "/refs/b~10", ("line 3, column 10",))
    assert "`b/0`" in why.message


def test_door_raises_everything_at_once() -> None:
    with pytest.raises(CompileError) as raised:
        refs.expand({"version": 1, "refs": {"a": 1, "b": None}})
    assert [each.code for each in raised.value.diagnostics] == ["bad-reference"] * 2


def test_command_writes_whole_documents_or_none(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    document = {"version": 1, "templates": {"u": "old"}, "refs": {"a": ["{{u}}", 0, 1]}}
    target = tmp_path / "out.json"
    call = ("refs", "expand", "-", "-o", str(target))
    assert nczarr_command(*call, "--set", "u=new", stdin=json.dumps(document).encode()).status == 0
    assert json.loads(target.read_bytes()) == {"a": ["new", 0, 1]}
    assert nczarr_command(*call, stdin=json.dumps(document).encode()).status == 2
    late = {"version": 1, "gen": [{"key": "{{i}}", "url": "{{1//(4000-i)}}", "dimensions": {"i": {"stop": 5000}}}]}
    for more in (("--overwrite",), ()):
        ran = nczarr_command(*(call if more else call[:3]), *more, stdin=json.dumps(late).encode())
        assert (ran.status, ran.out) == (1, b"")
    assert json.loads(target.read_bytes()) == {"a": ["new", 0, 1]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json"]


def test_many_faults_take_little_time() -> None:
    document = {"version": 1, "templates": {"u": "x"}, "refs": {f"a{n}": [f"{{{{u.x{n}}}}}"] for n in range(3000)}}
    with counted(3_000_000):
        found, why = expanded(document)
    assert found is None
    assert len(why) == 1000


def test_documents_of_other_tools_are_compacted_without_loss(shared: Path) -> None:
    """References that kerchunk and virtualizarr made, of versions 0 and 1."""
    folder = shared / "data/references"
    paths = [*folder.glob("*.kerchunk-*.json"), *folder.glob("*.virtualizarr.json")]
    assert len(paths) > 20
    for path in paths:
        document = refs.expand(path)
        assert refs.expand(refs.compact(document)) == document, path.name


@pytest.mark.parametrize(
    "refs_", [{}, {"a": "x"}, {"a": "x" * 70_000}, {"a": "x" * 70_000, "é": {"c": [1]}, "b": ["u"]}]
)
def test_compacted_documents_are_written_in_pieces(refs_: dict[str, Any]) -> None:
    document = {"version": 1, "gen": [{"key": "k"}], **({"refs": refs_} if refs_ else {})}
    assert json.loads(b"".join(refs.write_document(document))) == document


@pytest.mark.parametrize("more", ["", '"templates": {"u": "s3://b"}, ', '"gen": [], '])
def test_references_without_a_version_are_refused(more: str) -> None:
    """As documents of version 0, their keys would be `refs` and `templates`."""
    found, said = expanded(f'{{{more}"refs": {{"a/0": ["s3://b/x", 0, 10]}}}}'.encode())
    assert found is None
    assert [(one.code, one.primary.pointer) for one in said] == [("bad-reference-document", "/refs")]
