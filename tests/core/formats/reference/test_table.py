"""Entries in little room, and large documents in pieces: always what is read at once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.reference import table, wire
from nczarr.formats.reference.limits import DEFAULT
from nczarr.formats.reference.table import ReferenceTable
from tests.conftest import ROOT

TEXTS = [
    '],"',
    '"}',
    "}}",
    '",',
    '],\n"b":[',
    "é\\",
    '"refs":{',
    "{{u}}",
    "",
    "\u2028",
    "x" * 90,
    "a],[",
    "\ud83d\ude00",
    "\t",
]


def value(rng: random.Random, depth: int = 0) -> Any:
    match rng.randrange(9 if depth < 3 else 4):
        case 0:
            return rng.choice(TEXTS)
        case 1:
            return rng.choice([0, -1, 2**62, 2**63, 2**70, 1.5, None, True])
        case 2 | 3 | 4:
            return [rng.choice(["s3://a", "s3://b", *TEXTS]), rng.randrange(10**6), rng.randrange(10**4)]
        case 5:
            return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
        case 6:
            return [rng.choice(TEXTS)]
        case _:
            return {rng.choice(TEXTS): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def document(rng: random.Random) -> bytes:
    refs = {rng.choice(TEXTS) + str(rng.randrange(40)): value(rng) for _ in range(rng.randrange(40))}
    made: dict[str, Any] = refs
    if rng.random() < 0.6:
        parts = [("version", 1), ("templates", {"u": "x"}), ("gen", []), ("refs", refs), ("nczarr", value(rng))]
        made = dict(rng.sample(parts, 5))
    text = json.dumps(
        made,
        ensure_ascii=rng.random() < 0.5,
        indent=rng.choice([None, None, 1]),
        separators=rng.choice([(",", ":"), (", ", ": ")]),
    )
    if rng.random() < 0.3 and refs:
        text = text.replace('{"', f'{{"{rng.randrange(9)}":["s3://c",1,2],"', 1)  # perhaps a key twice
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        at = rng.randrange(len(data))
        data = (
            data[:at]
            + rng.choice([b"", b",", b'"', b"}", b"]", b"\xff", b"{", b" ", b"\\"])
            + data[at + rng.randrange(2) :]
        )
    return data.replace(b'"refs":', b'"ref\\u0073":', 1) if rng.random() < 0.05 else data


def read(data: bytes) -> tuple[Any, list[str]]:
    report = Report()
    found = wire.read(Source("t", data), report, DEFAULT)
    made = found and (*found[:3], list(found.refs.items()), found.noted, list(found.refs.list_named()))
    return made, [f"{each.code} {each.message} {each.primary.pointer}" for each in report.list_sorted()]


@pytest.mark.slow
def test_documents_in_pieces_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, pieces = random.Random(5), 0
    for number in range(3000):
        data = document(rng)
        wanted = read(data)
        with monkeypatch.context() as patch:
            patch.setattr(table, "LARGE", 0)
            patch.setattr(table, "PIECE", rng.choice([30, 100, 300]))
            pieces += table.read(data) is not None
            assert read(data) == wanted, (number, data)
    assert pieces > 500


@pytest.mark.parametrize(
    "text",
    ['{"a":["u",1,2],}', '{"a":["u",1,2],,"b":1}', '{,"a":["u",1,2]}', '{"a":["u",1,2]}}', '{"a":["u",1,2]', "[]"],
)
def test_what_is_no_json_is_none_in_pieces(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "LARGE", 0)
    for size in range(1, 20):
        monkeypatch.setattr(table, "PIECE", size)
        assert read(text.encode())[0] is None


def test_values_come_back_as_they_were() -> None:
    members = {
        "a": ["u", 0, 0],
        "b": ["u", 2**62 - 1, 2**62 - 1],
        "c": ["v", 2**62, 1],
        "d": 5,
        "e": True,
        "f": ["u"],
        "g": [None, 1, 2],
    }
    found = ReferenceTable(members)
    assert dict(found) == members
    assert [type(each) for each in found.values()] == [type(each) for each in members.values()]
    assert list(found.list_named()) == [("u", "a"), ("v", "c"), (None, "g")]
    assert [key for key, _ in found.odd()] == list("cdefg")
    found.put({"a": "x"})
    found.discard("b")
    assert list(found.items())[:2] == [("a", "x"), ("c", ["v", 2**62, 1])]


@pytest.mark.slow
@pytest.mark.parametrize("version", [0, 1])
def test_a_million_references_take_little_memory(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    lines = ",\n".join(
        f'"x/{n // 1000}.{n % 1000}":["s3://bucket/folder/file.nc",{n * 4096},4096]' for n in range(10**6)
    )
    path.write_text(f"{{{lines}}}" if not version else f'{{"version":1,"refs":{{{lines}}}}}')
    code = (
        "import sys; from nczarr.diagnostics.report import Report\n"
        "from nczarr.formats.reference.lookup import open_document\n"
    )
    code += "from nczarr.stores.open import open_source; found = open_document(open_source(sys.argv[1]), Report())\n"
    code += "assert found.find('x/7.9')[1:] == (7009 * 4096, 4096)\n"
    code += "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 280e6  # some 215 MB; json.loads alone takes 440 MB
