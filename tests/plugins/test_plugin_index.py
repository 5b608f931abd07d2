"""Plugins are found by what they add; the compiler works without any of them."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import nczarr
from nczarr.cli import COMMANDS, list_commands
from nczarr.names import plugin_index
from nczarr.names.plugin_index import CommandRow, Found, LocationRow, Plugin
from nczarr.plugins import OFFERS
from nczarr.stores import url
from tests.conftest import ROOT, run_command
from tests.support.facts import modules

FOLDER = ROOT / "nczarr" / "plugins"
SHARED = "common"
"""Room below all plugins, for what several of them share; it is none itself."""

NAMES = sorted(path.parent.name for path in FOLDER.glob("*/plugin.py"))


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Found]]:
    """Plugins of other distributions."""
    found: list[Found] = []
    monkeypatch.setattr(plugin_index, "_list_others", lambda: tuple(found))
    yield found
    vars(nczarr).pop("answer", None)
    vars(nczarr.refs).pop("question", None)


def test_offers_are_what_the_rows_say() -> None:
    said = {found.name: plugin_index.load(found) for found in plugin_index.list_plugins() if found.offers is not None}
    assert sorted(said) == NAMES == sorted(OFFERS)
    for name, (plugin, fault) in said.items():
        assert plugin is not None, fault
        assert plugin.name == name
        assert not plugin.commands.keys() & COMMANDS.keys()
        kinds = {field[:-1]: value for field, value in plugin._asdict().items() if isinstance(value, Mapping)}
        offers = [f"{kind} {each}" for kind, value in kinds.items() if kind != "extra" for each in value]
        offers += [folder for folder in ("codes", "differences") if getattr(plugin, folder)]
        assert sorted(OFFERS[name]) == sorted(offers)


def test_the_compiler_imports_no_plugin_and_names_none() -> None:
    named = {
        f"{module.name}: {name}"
        for module in modules()
        if not module.name.startswith("nczarr.plugins") and module.name != "nczarr"
        for name in NAMES
        if f"plugins.{name}" in module.path.read_text(encoding="utf-8")
        or any(each.startswith("nczarr.plugins") for each in module.imported())
    }
    assert named == set()


def list_guests() -> dict[str, str]:
    """Return the modules of plugins that another plugin alone loads, with its name: they may import it."""
    rows = [row for row in plugin_index.load_all() if row.edits]
    places = (place for row in rows for edit in row.edits.values() for place in edit if place)
    return dict.fromkeys((place.partition(":")[0] for place in places), "edit")


def test_plugins_import_those_that_they_require_alone() -> None:
    rows = {found.name: plugin_index.load(found)[0] for found in plugin_index.list_plugins()}
    guests, wrong = list_guests(), []
    for module in modules():
        own, used = module.name.split(".")[2:3], set()
        if module.name.startswith("nczarr.plugins.") and own and own[0] in rows:
            used = {each.split(".")[2] for each in module.imported() if each.startswith("nczarr.plugins.")}
            row = rows[own[0]]
            assert row is not None
            allowed = {*own, *row.requires, SHARED, guests.get(module.name)}
            wrong += [f"{module.name} imports {other}" for other in used - allowed]
        if own == [SHARED]:
            used = {each.split(".")[2] for each in module.imported() if each.startswith("nczarr.plugins.")}
            wrong += [f"{module.name} imports {other}" for other in used - {SHARED}]
    assert wrong == []


def test_a_command_loads_its_own_plugin_alone() -> None:
    """Of the plugins that it requires, it loads the rows."""
    code = (
        "import sys; from nczarr.cli import parser_of; parser_of('lsp')\n"
        "names = {name for name in sys.modules if name.startswith('nczarr.plugins.') and 'lsp' not in name}\n"
        "required = {f'nczarr.plugins.{name}' for name in ('cf', 'fmt', 'languages')}\n"
        "print(sorted(names - required - {f'{name}.plugin' for name in required}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_a_plugin_of_another_distribution_adds_a_command_and_a_name(
    others: list[Found], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greeting.py").write_text(
        "from nczarr.cli.parser import Command\n"
        "ANSWER = 42\n"
        "def parser():\n"
        "    return Command('greet', '', 'Greet.', (('greet', 'greet'),)).complete()\n"
        "def run(arguments):\n"
        "    print('hello')\n"
        "    return 0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    row = Plugin(
        "greeting",
        "greets",
        commands={"greet": CommandRow("greeting:parser", "greet", "inspect datasets", "info", ("hail",))},
        names={"answer": "greeting:ANSWER", "refs.question": "greeting:ANSWER"},
    )
    others.append(Found("greeting", "1.5", lambda: row, None))
    assert run_command("greet").out.strip() == b"hello"
    assert list(list_commands()).index("greet") == list(list_commands()).index("info") + 1
    assert "did you mean `greet`?" in run_command("hail").err
    assert "greet" in run_command("help").out.decode()
    assert (nczarr.answer, nczarr.refs.question) == (42, 42)
    added = "(commands: greet; names: nczarr.answer, nczarr.refs.question)"
    assert f"greeting       1.5      greets {added}\n" in run_command("plugins").text


def test_a_plugin_of_another_distribution_adds_a_location_and_an_object(
    others: list[Found], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "boxes.py").write_text(
        "import nczarr\n"
        "from nczarr.sdk import PreparedObject\n"
        "from nczarr.sdk import Location, LocationKind, Source\n"
        "TEXT = b'netcdf box { dimensions: x = 2 ; }'\n"
        "class Box: pass\n"
        "def prepare(data, path, format, encoding, unlimited, group, options):\n"
        "    handle = nczarr.from_cdl(TEXT.decode())\n"
        "    return PreparedObject(handle, 'netcdf3', options, ()) if type(data) is Box else None\n"
        "KIND = LocationKind(lambda text, rest: Location(rest, remote=True),\n"
        "    lambda text, place, storage: Source(text, TEXT), lambda place, storage: None, 'a box')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    row = Plugin("boxes", "", locations={"box": LocationRow("boxes:KIND", "[0-9]")}, objects={"boxes": "boxes:prepare"})
    others.append(Found("boxes", "1", lambda: row, None))
    url._find_row.cache_clear()
    assert (url.location("Box:7").kind, url.location("box:x").kind) == ("box", "")
    assert b"x = 2" in run_command("dump", "-h", "box:7").out
    assert "a box is read-only" in run_command("convert", "box:7", "box:8", "--to", "zarr2").err
    box = importlib.import_module("boxes").Box()
    nczarr.write(box, tmp_path / "box.nc")
    assert "x" in nczarr.open(tmp_path / "box.nc").dimensions
    with pytest.raises(TypeError, match="not Found"):
        nczarr.write(others[0], tmp_path / "no.nc")  # type: ignore[arg-type]
    url._find_row.cache_clear()


def test_a_broken_plugin_is_named_and_breaks_nothing(others: list[Found]) -> None:
    def broken() -> Plugin:
        raise RuntimeError("no luck")

    others.append(Found("broken", "2.0", broken, None))
    others.append(Found("odd", "", lambda: "a text", None))  # type: ignore[arg-type, return-value]
    ran = run_command("plugins")
    assert ran.status == 1
    assert "plugin `broken` cannot be loaded: RuntimeError: no luck" in ran.err
    assert "its row is not a `Plugin` but a str" in ran.err
    assert all(name in ran.out.decode() for name in NAMES)
    assert run_command("help").status == 0
    unknown = run_command("foo").err
    assert "unknown command `foo`" in unknown
    assert "plugin `broken` cannot be loaded: RuntimeError: no luck" in unknown
    with pytest.raises(AttributeError):
        nczarr.foo  # noqa: B018


def test_a_plugin_without_one_that_it_requires_is_named(others: list[Found]) -> None:
    row = Plugin("eager", "wants more", requires=("serve", "nothing_of_that_name"))
    others.append(Found("eager", "1", lambda: row, None))
    assert plugin_index.load(others[0]) == (None, "it requires `nothing_of_that_name`, which is not installed")


def test_a_plugin_is_named_if_one_that_it_requires_cannot_be_loaded(others: list[Found]) -> None:
    rows = (Plugin("eager", "wants more", requires=("needy",)), Plugin("needy", "wants", requires=("absent",)))
    others.extend(Found(row.name, "1", lambda row=row: row, None) for row in rows)  # type: ignore[misc]
    assert plugin_index.load(others[0]) == (None, "it requires `needy`, which cannot be loaded")
    circle = (Plugin("one", "", requires=("other",)), Plugin("other", "", requires=("one",)))
    others.extend(Found(row.name, "1", lambda row=row: row, None) for row in circle)  # type: ignore[misc]
    assert plugin_index.load(others[2]) == (circle[0], "")


def _list_required(found: Found) -> set[str]:
    """Return the plugins without which one cannot be loaded."""
    plugin, _ = plugin_index.load(found)
    names = set() if plugin is None else set(plugin.requires)
    return names.union(*(_list_required(each) for each in plugin_index.list_plugins() if each.name in names))


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("removed", [*NAMES, "all"])
def test_a_plugin_can_be_removed(removed: str, tmp_path: Path) -> None:
    """Every other module can be imported, and the compiler does its work."""
    shutil.copytree(ROOT / "nczarr", tmp_path / "nczarr", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "nczarr" / "plugins"
    gone = {removed, *(found.name for found in plugin_index.list_plugins() if removed in _list_required(found))}
    for path in [folder] if removed == "all" else [folder / name for name in gone]:
        shutil.rmtree(path)
    guests = [module for module, host in list_guests().items() if host in gone or removed == "all"]
    (tmp_path / "a.cdl").write_text("netcdf a { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    code = """
import importlib, pkgutil, sys
import nczarr
from nczarr.__main__ import main
assert nczarr.__file__.startswith(sys.argv[1]), nczarr.__file__
for found in pkgutil.walk_packages(nczarr.__path__, "nczarr."):
    if "_generated" in found.name or found.name in sys.argv[2:]:
        continue
    if not found.name.endswith((".foreign_reader", ".__main__")):
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            assert not error.name.startswith("nczarr"), (found.name, error.name)
for line in (
    "compile a.cdl -o a.zarr", "convert a.zarr b.nc --to netcdf3", "dump -h b.nc", "diff a.zarr b.nc", "digest b.nc",
    "check b.nc", "info b.nc", "rechunk a.zarr c.zarr --chunks x=1", "formats", "help", "plugins",
    "explain bad-url", "help convert",
):
    assert main(line.split()) == 0, line
assert dir(nczarr) and nczarr.__all__
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), *guests],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    listed = {} if removed == "all" else set(NAMES) - gone
    lines = done.stdout.splitlines()
    assert all(any(line.startswith(f"{name} ") for line in lines) for name in listed)
