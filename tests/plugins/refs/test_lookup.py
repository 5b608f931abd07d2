"""References of documents, found by key: always those of the expansion."""

from __future__ import annotations

import base64
import json
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr import refs
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Source
from nczarr.formats.reference import wire
from nczarr.formats.reference.limits import DEFAULT, Limits
from nczarr.formats.reference.lookup import CheckedReferences, open_document
from nczarr.plugins.refs.templates import expansion
from nczarr.stores.base import Reference, next_segments
from nczarr.stores.open import open_source
from tests.conftest import ROOT, shared_folder
from tests.support.work import counted

FOLDER = shared_folder()
VECTORS = [] if FOLDER is None else json.loads((FOLDER / "data/references/index.json").read_text())["vectors"]


def looked_up(
    document: Any, overrides: dict[str, str] | None = None, limits: Limits = DEFAULT
) -> tuple[CheckedReferences | None, list[Diagnostic]]:
    report = Report()
    source = Source("t.json", document if isinstance(document, bytes) else json.dumps(document).encode())
    return open_document(source, report, limits, overrides), report.list_sorted()


def expanded(
    document: Any, overrides: dict[str, str] | None = None, limits: Limits = DEFAULT
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    report = Report()
    source = Source("t.json", document if isinstance(document, bytes) else json.dumps(document).encode())
    read = wire.read(source, report, limits, overrides)
    try:
        found = None if read is None else dict(expansion.mapping(read, source, report, limits))
    except CompileError:
        found = None
    return found, report.list_sorted()


def meant(value: Any) -> bytes | Reference | None:
    """What a value of version 0 means; None of base64 that is broken."""
    if isinstance(value, list):
        return Reference(value[0]) if len(value) == 1 else Reference(*value)
    if not value.startswith("base64:"):
        return bytes(value.encode())
    try:
        return base64.b64decode(value[7:])
    except ValueError:
        return None


def same(document: Any, overrides: dict[str, str] | None = None) -> None:
    """The references of a document are the entries of its expansion; it is refused for the same reasons."""
    found, why = looked_up(document, overrides)
    wanted, because = expanded(document, overrides)
    assert [(each.code, each.message, each.primary.pointer) for each in why] == [
        (each.code, each.message, each.primary.pointer) for each in because
    ]
    assert (found is None) == (wanted is None)
    if found is None or wanted is None:
        return
    for key, value in wanted.items():
        if meant(value) is None:
            with pytest.raises(CompileError, match=f"bad-reference: `{key}`"):
                found.find(key)
        else:
            assert found.find(key) == meant(value), key
    assert found.find("no such key") is None
    if all(meant(value) is not None for value in wanted.values()):
        assert dict(found.entries()) == {key: meant(value) for key, value in wanted.items()}
    for prefix in {"", *(key[: at + 1] for key in wanted for at in range(len(key)))}:
        assert list(found.keys(prefix)) == sorted(key for key in wanted if key.startswith(prefix))
        if not prefix or prefix[-1] == "/":
            assert found.children(prefix) == next_segments((key for key in wanted if key.startswith(prefix)), prefix)
    named = list(found.list_named())
    assert len({url for url, _ in named}) == len(named)
    assert {value[0] for value in wanted.values() if isinstance(value, list)} <= {url for url, _ in named}
    assert {key for _, key in named} <= wanted.keys()


@pytest.mark.parametrize("name", [vector["id"] for vector in VECTORS])
def test_vector(name: str, shared: Path) -> None:
    vector = json.loads((shared / f"data/references/{name}.json").read_text())
    same(vector["spec"], vector.get("template_overrides"))


def test_random_generators_and_refs() -> None:
    rng = random.Random(6)
    keys = ["{{i}}", "a/{{i}}.{{j}}", "a/{{i//2}}", "b/{{'%02d'|format(j)}}/{{i}}", 'é"{{j}}', "{{i}}/", "/{{j}}", "k"]
    urls = ["u", "{{u}}", "{{u}}{{j}}", "x{{i%2}}", "{{f(c=i)}}"]
    for _ in range(60):
        items: list[dict[str, Any]] = [
            {
                "key": rng.choice(keys),
                "url": rng.choice(urls),
                **({"offset": "{{i+j}}", "length": "{{j*2}}"} if rng.random() < 0.7 else {}),
                "dimensions": {"i": {"stop": rng.randrange(5)}, "j": rng.sample(range(9), rng.randrange(1, 4))},
            }
            for _ in range(rng.randrange(4))
        ]
        refs = {
            "a/1.2": ["{{u}}-", 1, 2],
            "2": "x",
            "k": {"m": [1]},
            "a": "b",
            "b/": "base64:AA==",
            "a/1": [None, 0, 3],
        }
        same({"version": 1, "templates": {"u": "s3://b", "f": "f{{c}}"}, "gen": items, "refs": refs})


@pytest.mark.long
@pytest.mark.parametrize("item", [
    {"offset": "{{1-i}}", "length": "1"}, {"url": "{{1//(1500-i)}}"}, {"key": "{{'version' if i == 1700 else i}}"},
    {"url": "{{'x'*i*40}}"}, {"offset": "{{i/2}}", "length": "1"}, {"url": "{{nope}}"},
])  # fmt: skip
def test_late_faults_of_generators_are_found_when_a_document_is_opened(item: dict[str, Any]) -> None:
    document = {"version": 1, "gen": [{"key": "k{{i}}", "url": "u", "dimensions": {"i": {"stop": 2000}}, **item}]}
    found, why = looked_up(document)
    assert why
    assert [each.message for each in why] == [each.message for each in expanded(document)[1]]
    assert (found is None) == (why[0].severity == "error")


def test_the_limit_of_the_output_holds() -> None:
    document = {"version": 1, "templates": {"u": "x" * 500}, "refs": {f"k{n}": ["{{u}}"] for n in range(100)}}
    for limit in (40_000, 60_000):
        limits = DEFAULT._replace(output=limit)
        assert (looked_up(document, limits=limits)[0] is None) == (expanded(document, limits=limits)[0] is None)


@pytest.mark.slow
def test_another_process_sees_the_same(tmp_path: Path) -> None:
    document = {
        "version": 1,
        "templates": {"u": "x"},
        "gen": [{"key": "g{{i}}", "url": "{{u}}", "dimensions": {"i": {"stop": 9}}}],
        "refs": {"a": "base64:AAEC"},
    }
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    code = "import pickle, sys; found = pickle.load(sys.stdin.buffer); "
    code += "assert found is not None; print(list(found.keys()), found.find('g8'), found.find('a'))"
    for source in (open_source(str(path)), Source("t.json", path.read_bytes())):
        found = open_document(source, Report(), overrides={"u": "y"})
        done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(found), cwd=ROOT, capture_output=True)
        assert found is not None
        assert done.stdout.decode().strip() == f"{list(found.keys())} {found.find('g8')} {found.find('a')!r}", (
            done.stderr
        )
    found = open_document(open_source(str(path)), Report())
    sent = pickle.dumps(found)
    path.write_text(json.dumps({**document, "gen": []}))
    with pytest.raises(OSError, match="has changed"):
        pickle.loads(sent)


@pytest.mark.slow
def test_a_million_entries_are_opened_in_little_time_and_memory() -> None:
    code = "import sys, time; from nczarr.formats.reference.lookup import open_document; "
    code += "from nczarr.diagnostics.report import Source; "
    code += "from nczarr.diagnostics.report import Report; import numpy; began = time.process_time(); "
    code += "found = open_document(Source('t', sys.stdin.buffer.read()), Report()); "
    code += "took = time.process_time() - began; "
    code += "lines = open('/proc/self/status').read().split('\\n'); assert found.find('x/7.9')[1] == 7009 * 8; "
    code += "print(took, next(line.split()[1] for line in lines if line.startswith('VmHWM')))"
    item = {"key": "x/{{i}}.{{j}}", "url": "u", "offset": "{{(i*1000+j)*8}}", "length": "8"}
    item["dimensions"] = {"i": {"stop": 1000}, "j": {"stop": 1000}}  # type: ignore[assignment]
    text = json.dumps({"version": 1, "gen": [item]}).encode()
    done = subprocess.run([sys.executable, "-c", code], input=text, cwd=ROOT, capture_output=True, check=True)
    seconds, memory = map(float, done.stdout.split())
    assert seconds < 5  # some 0.6 s on an idle machine
    assert memory * 1024 < 150e6


def test_an_entry_is_found_in_little_time() -> None:
    item = {"key": "x/{{x//64%9}}.{{x%64}}", "url": "u{{x}}", "dimensions": {"x": list(range(500))}}
    found, _ = looked_up({"version": 1, "gen": [item]})
    assert found is not None
    with counted(150_000):
        for number in range(1000):
            assert found.find(f"x/{number // 64 % 9}.{number % 64}") is not None or number >= 500


@pytest.mark.slow
def test_entries_that_are_asked_for_in_order_are_those_of_the_expansion() -> None:
    """They are made ahead; a later generator and its own repetitions still win."""
    gen = [
        {
            "key": "v/{{i}}",
            "url": "u{{i % 3}}",
            "offset": "{{i * 2}}",
            "length": "2",
            "dimensions": {"i": {"stop": 3000}},
        },
        {"key": "v/{{i * 7}}", "url": "w", "dimensions": {"i": {"stop": 400}}},
        {"key": "v/{{i // 2}}", "url": "x{{i}}", "dimensions": {"i": {"start": 2000, "stop": 2100}}},
    ]
    document = {"version": 1, "gen": gen, "refs": {"v/5": "text", "v/4000": "text"}}
    found = open_document(Source("t.json", json.dumps(document).encode()), Report())
    assert found is not None
    wanted = {key: [*value, 0, None][:3] for key, value in refs.expand(document).items() if isinstance(value, list)}
    for keys in (wanted, sorted(wanted), sorted(wanted, key=lambda key: int(key[2:]))):
        assert {key: list(found.find(key) or ()) for key in keys} == wanted


def scalars(*shapes: list[int]) -> dict[str, Any]:
    """A document whose chunks have keys as VirtualiZarr writes those of scalars."""
    array = {"zarr_format": 2, "dtype": "<i4", "fill_value": -1, "order": "C", "compressor": None, "filters": None}
    found: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
    for number, shape in enumerate(shapes):
        found[f"v{number}/.zarray"] = json.dumps({**array, "shape": shape, "chunks": shape})
        found[f"v{number}/"] = "base64:BQAAAA=="
    return {"version": 1, "refs": found}


def test_scalars_of_virtualizarr_are_read(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(scalars([], [])))
    found = nczarr.open(tmp_path / "r.json")
    assert found.diagnostics == ()
    assert (found["v0"][...], found["v1"][...]) == (5, 5)
    assert pickle.loads(pickle.dumps(found))["v0"][...] == 5


def test_a_key_without_a_name_is_no_chunk_of_another_array(tmp_path: Path) -> None:
    both = scalars([])
    both["refs"]["v0/0"] = "base64:BwAAAA=="
    for number, (document, wanted) in enumerate([(scalars([1]), [-1]), (both, 7)]):
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
        with pytest.warns(nczarr.DataWarning, match="unsafe-key"):
            found = nczarr.open(tmp_path / f"{number}.json")
        assert found["v0"][...].tolist() == wanted


@pytest.mark.parametrize("metadata", ["nothing", "[]", '{"shape": 0}', "base64:!", ["a.nc", 0, 4]])
def test_scalars_with_invalid_metadata(metadata: Any) -> None:
    document = scalars([])
    document["refs"]["v0/.zarray"] = metadata
    found, _ = looked_up(document)
    assert found is not None
    assert found.odd() == ["v0/"]


@pytest.mark.long
def test_the_keys_of_one_array_do_not_cost_all_generators() -> None:
    gen = [
        {
            "key": f"g/v{number}/{{{{i}}}}",
            "url": "u",
            "offset": "{{i}}",
            "length": "1",
            "dimensions": {"i": {"stop": 3}},
        }
        for number in range(3000)
    ]
    found, _ = looked_up({"version": 1, "gen": gen, "refs": {"g/v7/.zarray": "{}"}})
    assert found is not None
    with counted(1500):
        assert list(found.keys("g/v7/")) == ["g/v7/.zarray", "g/v7/0", "g/v7/1", "g/v7/2"]
        assert list(found.keys("g/v7/1")) == ["g/v7/1"]
        assert found.children("g/v7/") == [".zarray", "0", "1", "2"]
    assert found.children("") == ["g"]
    assert sorted(found.children("g/")) == sorted(f"v{number}" for number in range(3000))
    assert len(list(found.keys("g/v"))) == 9001
    assert list(found.keys("g/v2999/2")) == ["g/v2999/2"]


@pytest.mark.parametrize("key", ["w/{{i}}", "{{i}}/0", "w/{{i}}/0"])
def test_keys_of_generators_are_not_taken_for_groups(key: str, tmp_path: Path) -> None:
    """A few bytes make a million keys, each of which was looked up as an array and as a group."""
    nodes = {".zgroup": '{"zarr_format": 2}', "g/w/.zgroup": '{"zarr_format": 2}'}
    work = {}
    for stop in (1, 1, 5000):  # imports are not counted
        item = {"key": key, "url": "u", "dimensions": {"i": {"stop": stop}}}
        named = {"key": "n{{i}}/.zgroup", "url": "group.json", "dimensions": {"i": {"stop": 2}}}
        (tmp_path / "group.json").write_text(nodes[".zgroup"], encoding="utf-8")
        path = tmp_path / f"{stop}.json"
        path.write_text(json.dumps({"version": 1, "gen": [item, named], "refs": nodes}), encoding="utf-8")
        with counted(5_000_000) as found, nczarr.open(path) as dataset:
            assert list(dataset.groups) == ["g", "n0", "n1"]
        work[stop] = found.calls
    assert work[5000] - work[1] < 8 * 5000
