"""Rules of the house, read from the source: layers, laziness, words, sizes, and pages that the code generates."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import zarr

from tests.conftest import ROOT
from tests.support.facts import PACKAGE, modules
from tests.support.plugins import EVERY

ROOMS = (
    "plugins",
    "sdk",
    "__main__",
    "cli",
    "api",
    "pipeline",
    "link",
    "formats",
    "plan",
    "semantics",
    "syntax",
    "arrays",
    "registry",
    "stores",
    "options",
    "ast",
    "diagnostics",
    "names",
)
"""Modules and folders directly under `nczarr`, from the top floor down: each imports only what stands below it."""

BOTTOM = ("diagnostics", "names")
"""Rooms that need the standard library alone."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
"""For an interpreter that reads no `.pth` files, which may import anything."""

PROGRAMS = {"nczarr.plugins.second_reader.foreign_reader"}
"""Modules that run as a process of their own and are never imported."""

LONGEST = 400
DOORS = {
    "nczarr.plugins.zarr_drafts.api": "nczarr.formats.zarr",
    "nczarr.plugins.virtualizarr.parser": "nczarr.formats.reference",
}
"""Public doors to single formats: who may import which by name."""

BUILT_ON = {
    "nczarr.plugins.zarr_drafts": "nczarr.formats.zarr",
    "nczarr.plugins.common.linked_files": "nczarr.formats.netcdf4",
    "nczarr.plugins.edit.netcdf3": "nczarr.formats.netcdf3",
    "nczarr.plugins.edit.netcdf4": "nczarr.formats.netcdf4",
    "nczarr.plugins.edit.patches.reference_text": "nczarr.formats.reference",
    "nczarr.plugins.edit.zarr": "nczarr.formats.zarr",
    **dict.fromkeys(("nczarr.plugins.fmt.cdl", "nczarr.plugins.fmt.cdl"), "nczarr.formats.cdl"),
    "nczarr.plugins.fmt.notation": "nczarr.formats.notation",
    "nczarr.plugins.matlab.objects": "nczarr.formats.netcdf4",
    "nczarr.plugins.languages.cdl": "nczarr.formats.cdl",
    "nczarr.plugins.languages.notation": "nczarr.formats.notation",
    "nczarr.plugins.refs": "nczarr.formats.reference",
}
"""Plugins, or parts of them, that are a variety of a format or change its files."""

SHARED = "nczarr.formats.common"
"""Room of what several families of formats share."""

LAZY = {
    "numpy",
    "awkward",
    "cf_units",
    "numcodecs",
    "rich",
    "netCDF4",
    "h5py",
    "zarr",
    "xarray",
    "tensorstore",
    "hypothesis",
    "fsspec",
    "distributed",
    "lark",
    "uvicorn",
    "starlette",
    "jinja2",
    "cachetools",
    "icechunk",
    "lsprotocol",
    "pygls",
    "pygments",
}
"""Packages that cost too much to be imported at the top of a module."""

MAY_IMPORT = {
    "nczarr.plugins.lsp": {"lsprotocol", "pygls"},
    "nczarr.plugins.refs.templates.jinja_evaluation": {"jinja2"},
    "nczarr.plugins.pygments": {"pygments"},
    "nczarr.plugins.testing": LAZY,
    "nczarr.plugins.zarr_python": {"zarr"},
    "nczarr.plugins.xarray": {"numpy", "xarray"},
}
"""Rooms and modules that are loaded only where these packages are needed."""

LAZY_MODULES = {
    "nczarr": "public names load their modules when they are used",
    "nczarr.api": "a public door loads what one call needs",
    "nczarr.arrays": "chunks, parts and codecs: not needed for metadata alone",
    "nczarr.ast": "the tree, and the schemas of its nodes, which need pydantic",
    "nczarr.semantics": "kinds of netCDF files, outlines and duplicate names: only where they occur",
    "nczarr.cli": "one command loads its own module",
    "nczarr.diagnostics": "diagnostics are rendered and explained only if there are any; options of URLs",
    "nczarr.formats.cdl": "numbers in bulk and dates: only where the text has them",
    "nczarr.formats.common": "lists of variable length are rare",
    "nczarr.formats.netcdf4": "libnetcdf and h5py, loaded with the first value",
    "nczarr.formats.reference": "generators, templates and Parquet: only where the document has them",
    "nczarr.formats.zarr": "layouts and readers that few stores need",
    "nczarr.names": "commands of the compiler itself need no plugin",
    "nczarr.plugins": "interfaces: each is loaded by the command or library that asks for it",
    "nczarr.link": "the linker, loaded when a plan is ready; clusters only with `--dask`",
    "nczarr.pipeline": "everything that converts, appends and compares; not needed for `--help`",
    "nczarr.options": "the tree",
    "nczarr.plan": "one of three planners, and what few plans need",
    "nczarr.registry": "formats, loaded by their rows",
    "nczarr.syntax": "JSON, where a store may be a folder of references",
    "nczarr.stores": "zip, memory and remote stores: only where a path leads to one",
}
"""Modules that functions import, by room or format, and why they are not imported at the top."""


def floor(name: str) -> int:
    """Return how far down a module's room stands."""
    room = name.split(".")[1]
    assert room in ROOMS, f"`{room}` is not in the list of rooms"
    return ROOMS.index(room)


def folder_of_format(name: str) -> str | None:
    parts = name.split(".")
    return ".".join(parts[:3]) if parts[:2] == ["nczarr", "formats"] and len(parts) > 2 else None


def test_imports_point_down() -> None:
    wrong = []
    for module in modules():
        name = module.name
        if name == "nczarr":
            continue  # the public names, loaded lazily from every room
        ours = {used for used in module.imported() if used.startswith("nczarr.")}
        wrong += [f"{name} imports {used}" for used in sorted(ours) if floor(used) < floor(name)]
    assert not wrong


def test_no_circle_even_through_functions_and_types() -> None:
    graph = {
        module.name: {name for name in module.imported(types=True) if name.startswith("nczarr.")}
        for module in modules()
    }
    del graph["nczarr"]
    TopologicalSorter({name: used - {name} for name, used in graph.items()}).prepare()


@EVERY
def test_lazy_imports_have_a_reason() -> None:
    lazy = set()
    for module in modules():
        if module.name == "nczarr":
            continue
        own = set(module.imported()) - set(module.imported(top=True))
        lazy |= {each for each in own if each.split(".")[0] == "nczarr"}
    rooms = {folder_of_format(each) or ".".join(each.split(".")[:2]) for each in lazy}
    assert rooms == set(LAZY_MODULES)


def test_modules_that_are_asked_for_by_name_exist() -> None:
    """A module that has moved would be taken for one that is not loaded."""
    asked = [
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r'sys\.modules\.get\(\s*"(nczarr[\w.]*)"', path.read_text())
    ]
    assert len(asked) > 5
    assert [name for name in asked if find_spec(name) is None] == []


def test_every_room_is_there() -> None:
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there - {"__init__"} == set(ROOMS)


def test_formats_do_not_import_each_other() -> None:
    wrong = []
    for module in modules():
        name = module.name
        home = folder_of_format(name)
        base = next((form for part, form in BUILT_ON.items() if f"{name}.".startswith(f"{part}.")), None)
        for used in module.imported():
            other = folder_of_format(used)
            if other is None or other in {home, SHARED, DOORS.get(name), base}:
                continue
            wrong.append(f"{name} imports {used}")
    assert not wrong, "formats are reached through the registry alone"


def test_syntax_and_passes_are_strangers() -> None:
    for module in modules():
        if module.name.startswith("nczarr.syntax"):
            assert not [used for used in module.imported() if used.startswith("nczarr.semantics")]
        if module.name.startswith("nczarr.semantics"):
            assert not [used for used in module.imported() if used.startswith("nczarr.syntax")]


def test_the_bottom_needs_the_standard_library_alone() -> None:
    for module in modules():
        name = module.name
        if name != "nczarr" and name.split(".")[1] in BOTTOM:
            foreign = {used.split(".")[0] for used in module.imported()} - {"nczarr", "annotationlib"}  # Python 3.14
            foreign -= set(sys.stdlib_module_names)
            assert not foreign, name


def test_heavy_packages_are_imported_inside_functions() -> None:
    wrong = []
    for module in modules():
        if module.name in PROGRAMS:
            continue
        heavy = LAZY.intersection(used.split(".")[0] for used in module.imported(top=True))
        rooms = {".".join(module.name.split(".")[:length]) for length in (2, 3, None)}
        forbidden = sorted(heavy.difference(*(MAY_IMPORT.get(room, set()) for room in rooms)))
        wrong += [f"{module.name} imports {name} at its top" for name in forbidden]
    assert not wrong


@pytest.mark.sampled(3)
@pytest.mark.parametrize("data", ["", 'data:\n  v = 5, _, 3 ;\n  w = 1, 2, 3 ;\n  s = "a", "bé" ;\n'])
@pytest.mark.parametrize("target", ["nczarr", "zarr2", "zarr3", "nczarr3"])
def test_a_schema_with_few_values_loads_no_numpy_and_no_pydantic(tmp_path: Path, data: str, target: str) -> None:
    schema = tmp_path / "s.cdl"
    variables = "int v(x) ;\n  v:_FillValue = 7 ;\n  double w(y, x) ;\n  char c ;\n  string s(x) ;\n"
    schema.write_text(f"netcdf s {{\ndimensions:\n  x = 4 ;\n  y = UNLIMITED ;\nvariables:\n  {variables}{data}}}\n")
    code = "import sys; from nczarr.__main__ import main; status = main(sys.argv[1:]); "
    code += "print(sorted({'numpy', 'numcodecs', 'pydantic', 'rich', 'zarr'} & set(sys.modules))); sys.exit(status)"
    call = [sys.executable, "-c", code, "compile", str(schema), "-o", str(tmp_path / "s.zarr"), "--to", target]
    done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    found = zarr.open_group(tmp_path / "s.zarr", mode="r")
    if data:
        assert [found[name][...].tolist() for name in ("v", "w")] == [[5, 7, 3, 7], [[1, 2, 3, 9.969209968386869e36]]]
        texts = [text if isinstance(text, str) else text.decode() for text in found["s"][...].tolist()]
        assert texts == ["a", "bé", "", ""]


def test_versions_and_help_import_next_to_nothing() -> None:
    code = "import sys; from nczarr.__main__ import main; main(['--version']); "
    code += "print(sorted(name for name in sys.modules if name.startswith('nczarr')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[1] == "['nczarr', 'nczarr.__main__']"


def test_no_group_has_a_possessive_quantifier() -> None:
    """Python before 3.11.5 matches `(?:…)*+` wrongly where the group can backtrack; `[…]*+` is right everywhere."""
    wrong = []
    for module in modules():
        text = module.path.read_text(encoding="utf-8")
        wrong += [f"{module.name}: {match[0]}" for match in re.finditer(r"\brb?['\"].*\)[*+?]\+", text)]
    assert not wrong


def test_files_and_functions_stay_small() -> None:
    """Docstrings do not count."""
    for module in modules():
        assert module.lines <= LONGEST, f"{module.name} has two subjects: look for the second"
        for function in module.functions:
            assert function.lines < 80, f"{module.name}.{function.name} is longer than a screen"


TOLD_FIELDS = (
    "nczarr.api", "nczarr.ast", "nczarr.options", "nczarr.registry", "nczarr.plugins.pygments",
    "nczarr.plugins.testing", "nczarr.plugins.virtualizarr", "nczarr.plugins.xarray", "nczarr.plugins.zarr_python",
)  # fmt: skip
"""Rooms whose records are a user's or an author's of a format: each of their fields has a docstring."""


def test_fields_have_docstrings() -> None:
    """Public fields of records have a docstring below them; one that repeats name and type goes."""
    plain = {"NamedTuple", "TypedDict", "BaseModel", "Node"}
    assert not [
        f"{module.name}.{one.name}.{field}"
        for module in modules()
        if module.name.startswith(TOLD_FIELDS)
        for one in module.classes
        if one.is_dataclass or plain.intersection(one.bases)
        for field in one.bare_fields
    ]
    assert not [
        f"{module.name}.{one.name}.{field}"
        for module in modules()
        if not module.name.startswith(TOLD_FIELDS)
        for one in module.classes
        for field in one.echoes
    ]


PARTICIPLE = re.compile(r"_?(?!(?:need|feed|seed|embed)(?:_|$))[a-z]+ed(?:_|$)")
PART_OF_A_TREE = re.compile(r"_(?:variable|group|array|parts|types?|axes|members|dimensions|storage|references|node)$")
"""Names that do not say whether a function reads, writes or compares."""


def test_functions_have_verbs() -> None:
    """Parse, not parsed; write a group, not group: a function's name says what it does. Properties may be otherwise."""
    named = [
        f"{module.name}.{function.name}"
        for module in modules()
        for function in module.functions
        if (PARTICIPLE.match(function.name) or PART_OF_A_TREE.fullmatch(function.name)) and not function.is_property
    ]
    assert named == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"/(?:home|work|root|Users)/\w",  # paths of a machine
        r"https?://(?!www\.apache\.org|github\.com/zarr|docs\.unidata|zarr)\S*(?:pypi|index|simple)",  # package hosts
        r"\b(?:TODO|FIXME|XXX)\b",
        r"\b(?:DESIGN|STYLE|PERFORMANCE|ncstream|storage|language|persistence|draft|contract) §",
        r"(?<![-/])\bspecs/[a-z]",  # documents outside the repository
    ],
)
def test_words_that_stay_out(pattern: str) -> None:
    assert not [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for name, text in _committed_texts()
        for match in re.finditer(pattern, text)
    ]


@cache
def _committed_texts() -> tuple[tuple[str, str], ...]:
    """The texts of all files of the repository but tests and generated ones, with their names."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    paths = [ROOT / name for name in listed.split("\n") if name and not name.startswith("tests/")]
    return tuple(
        (path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace"))
        for path in paths
        if path.is_file() and "_generated" not in path.relative_to(ROOT).as_posix()
    )


BANNED = re.compile(
    r"\b(?:(?:is|are) none|[Nn]obody|[Ww]hoever|(?:is|are) told"
    r"|[Ww]hat [^.:;]{0,80}?\b(?:has|have) not\b(?! [a-z]+e[dn]\b))"
    r"|\b(?:DESIGN|STYLE|PERFORMANCE)\b"
)
"""Riddles, and documents outside the repository."""

NO_SENTENCE = re.compile(r"(?:What|That|How|Whether)\b")
"""Beginnings of docstrings that neither define a thing nor say what a function does."""


def _prose() -> Iterator[tuple[str, str]]:
    """The strings, docstrings and comments of the package, and all pages, with their places."""
    for module in modules():
        for place, text in (*module.strings, *module.comments):
            yield f"{module.name}:{place}", text
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted(PACKAGE.rglob("*.md"))]:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_prose_has_no_riddles() -> None:
    """Names of functions are no prose: their words are joined by underscores."""
    found = [(place, BANNED.search(" ".join(text.split()))) for place, text in _prose()]
    assert [f"{place}: {match[0]}" for place, match in found if match] == []


def test_docstrings_begin_with_a_verb_or_a_thing() -> None:
    assert not [
        f"{module.name}:{line}: {text[:60]}"
        for module in modules()
        for line, text in module.docstrings
        if NO_SENTENCE.match(text.strip())
    ]


def test_messages_have_their_form() -> None:
    """Messages and remedies begin in lower case, or with something quoted, and have no full stop at their end."""
    messages = [(f"{module.name}:{line}", text) for module in modules() for line, text in module.messages]
    for place, text in messages:
        is_sentence = re.match(r"[A-Z][a-z]+ [a-z]", text) and text.split()[0] not in PROPER_NAMES
        assert not is_sentence, f"{place}: {text[:60]}"
        assert not text.endswith(".") or text.endswith(".."), f"{place}: …{text[-60:]}"
    assert len(messages) > 400


PROPER_NAMES = {"CDL", "Zarr", "HDF5", "Parquet", "DMR++", "Python", "NaN", "NIL", "Awkward"}


STORES_OF_PLUGINS = (
    "nczarr.plugins.icechunk",
    "nczarr.plugins.remote",
    "nczarr.plugins.zarr_drafts.keyvalue",
    "nczarr.plugins.common.store_changes",
)
"""Modules of plugins that hold stores, as `nczarr.stores` does: they join keys to paths, and know their own classes."""

PROTOCOLS = {"ArraySource", "Store"}
"""The bases of array sources and stores. A module that asks for these asks for no class."""


def _classes_of_sources_and_stores() -> set[str]:
    """The names of the classes, wherever they are defined, that are array sources or stores."""
    bases = {one.name: one.bases for module in modules() for one in module.classes}

    def is_one(name: str) -> bool:
        return any(base in PROTOCOLS or is_one(base) for base in bases.get(name, ()))

    return set(filter(is_one, bases))


def test_one_module_resolves_paths() -> None:
    """Paths made absolute, joined, compared or related elsewhere name other files where links and `..` meet."""
    resolving = re.compile(r"\bos\.path\.(abspath|realpath|normpath|relpath|commonpath)\b|\.(resolve|absolute)\(\)")
    joining = re.compile(r"\bos\.path\.(join|split|splitext|basename|dirname)\b")
    joined = {"nczarr.stores", "nczarr.names", *PROGRAMS, *STORES_OF_PLUGINS}
    silent = re.compile(r"\bos\.walk\((?!.*topdown=False)")  # it leaves out folders that it cannot list
    found = []
    for module in modules():
        if module.name == "nczarr.stores.local_paths":
            continue
        for line in module.path.read_text(encoding="utf-8").splitlines():
            is_joined = joining.search(line) is not None and not module.name.startswith(tuple(joined))
            if silent.search(line) or ((is_joined or resolving.search(line)) and "__file__" not in line):
                found.append(f"{module.name}: {line.strip()}")
    assert found == []


OWN_NUMPY = {
    "nczarr.arrays.lazy_numpy": "the gate",
    "nczarr.arrays.execution.processes": "loads it before a process is forked",
    "nczarr.ast.rectilinear": "columns of runs that are in memory as a list",
    "nczarr.plugins.xarray.data_store": "passes arrays on",
    "nczarr.plugins.xarray.engine": "passes arrays on",
    "nczarr.plugins.xarray.values": "passes arrays on",
    "nczarr.plugins.second_reader.foreign_reader": "a program of its own",
}
"""Modules that import NumPy beside the gate for allocations, and why they may."""

BUFFERS = {
    "nczarr.arrays.execution.thread_pool": "a constant",
    "nczarr.ast.values": "as long as bytes at hand",
    "nczarr.arrays.sources.memory": "a constant",
    "nczarr.plugins.ncstream.wire.framing": "bytes at hand",
    "nczarr.formats.netcdf3.backend": "a piece of records",
    "nczarr.plugins.edit.netcdf4.overlay_file": "within an open file, or a page",
    "nczarr.formats.netcdf4.object_headers": "bytes at hand",
    "nczarr.plugins.opendap.dmrpp.elements": "a record, whose size is limited",
    "nczarr.stores.local_file": "within an open file",
    "nczarr.stores.ranges": "asks the gate, or a constant",
    "nczarr.plugins.edit.patches.zip_patch": "bytes at hand",
}
"""Modules that make buffers without NumPy, and what bounds them."""


@EVERY
def test_memory_for_declared_sizes_is_taken_through_one_gate() -> None:
    """NumPy's arrays are made by `lazy_numpy`, which asks for room; other buffers have a bound that is named here."""
    of_numpy = re.compile(r"^\s*(?:import numpy|from numpy\b(?!\.typing))", re.MULTILINE)
    of_buffers = re.compile(r"\bbytearray\((?!\))")
    texts = {module.name: module.path.read_text(encoding="utf-8") for module in modules()}
    assert {name for name, text in texts.items() if of_numpy.search(text)} == set(OWN_NUMPY)
    assert {name for name, text in texts.items() if of_buffers.search(text)} == set(BUFFERS)


@EVERY
def test_nobody_decides_by_the_class_of_a_source_or_store() -> None:
    """What is to be known of one is a property of `ArraySource` or `Store`, which all that wrap others pass on."""
    classes = _classes_of_sources_and_stores()
    assert {"KeyChunkArray", "IndexChunkArray", "AffineArray", "Joined", "Sliced", "Runs", "DerivedSource"} <= classes
    assert {"ReferenceStore", "RemoteStore", "ZipStore", "DirectoryStore", "MemoryStore"} <= classes
    for module in modules():
        name = module.name
        own = ("nczarr.arrays.", "nczarr.stores.", "nczarr.plugins.combine.arrays.", *STORES_OF_PLUGINS)
        if not name.startswith(own):
            asked = module.asked & classes
            assert not asked, f"{name} asks for the class {', '.join(sorted(asked))}: ask for a property"


@EVERY
def test_generated_pages_are_current(peer: Callable[[str], ModuleType]) -> None:
    """docs/reference/types.md shows HDF5 files, so it takes the library that writes them and one that reads them."""
    peer("netCDF4")
    peer("h5py")
    done = subprocess.run(
        [sys.executable, "docs/_tools/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_dataclasses_pickle_by_reduce() -> None:
    """Python before 3.11.4 puts a `__getstate__` of its own into frozen dataclasses with slots."""
    assert not [
        f"{module.name}.{one.name}"
        for module in modules()
        for one in module.classes
        if one.is_dataclass and "__getstate__" in one.methods
    ]


FORMAT_NAMES = {
    "cdl", "notation", "netcdf3", "netcdf4", "zarr2", "zarr3", "nczarr3", "zarr3-2019", "awkward0", "ncstream",
    "dmrpp",
}  # fmt: skip
"""Names of formats that mean nothing else."""

TOLD = {
    "nczarr": "`nczarr.awkward0` and `nczarr.ncstream` are public modules",
    "nczarr.api.handle": "`from_cdl`, `to_cdl` and their like are methods for one format each",
    "nczarr.formats.common.awkward.expressions": "`awkward0` is the library that documents name",
    "nczarr.plugins.pygments.lexers": "`cdl` and `notation` are names of lexers",
    "nczarr.plugins.serve.protocols.cdmremote": "`cdl` and `ncstream` are words of CDM Remote's queries",
    "nczarr.cli.shared": "`ncstream` is an extra of the package",
}
"""Modules that may have the name of a format, and why."""


def test_formats_are_known_by_their_rows_alone() -> None:
    """What the package must know of a format is a field of `Format`."""
    wrong = []
    for module in modules():
        name = module.name
        if (
            name == "nczarr.registry"
            or name in TOLD
            or name in DOORS
            or name.startswith(("nczarr.formats.", "nczarr.plugins"))
        ):
            continue
        wrong += [
            f"{name}:{line}: {text}"
            for line, text in module.strings
            if text in FORMAT_NAMES or re.match(r"nczarr\.formats\.\w", text)
        ]
        formats = [used for used in module.imported() if used.startswith("nczarr.formats.")]
        wrong += [f"{name} imports {used}" for used in formats if not used.startswith(f"{SHARED}.")]
    assert not wrong


def test_every_folder_is_a_package() -> None:
    """Folders without `__init__` are left out of the wheel."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    inner = {parent for folder in folders for parent in folder.parents if PACKAGE in parent.parents} | folders
    inner -= {folder for folder in inner if folder.name == "public"}  # their files are modules of `nczarr`
    assert not [folder for folder in inner if not (folder / "__init__.py").exists()]


def test_the_wheel_holds_every_file() -> None:
    """Files that are not Python come into the wheel by `package-data` alone."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["nczarr"]
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    assert {path for path in files if path.suffix not in (".py", ".pyi") or path.parent.name == "public"} == packed
    assert PACKAGE / "diagnostics" / "codes" / "lost-nil.md" in packed


PUBLIC = {
    "nczarr": ("open", "append", "convert", "write", "diff", "digest", "from_cdl", "from_notation", "DatasetBuilder"),
    "nczarr.awkward0": ("save", "load", "serialize", "deserialize", "columns", "items"),
    "nczarr.registry": ("Arrays", "Capabilities", "Format"),
    "nczarr.diagnostics": ("CompileError", "Diagnostic", "Label", "Report", "Severity"),
    "nczarr.ncstream": ("read_messages", "write_points"),
    "nczarr.refs": ("combine", "compact", "expand", "verify"),
    "nczarr.testing": (),
    "nczarr.testing.strategies": ("datasets_with_data",),
    "nczarr.zarr3_2019": ("read", "write"),
}
"""Names that programs import, wherever they are defined today."""


@EVERY
@pytest.mark.parametrize(("module", "names"), PUBLIC.items(), ids=PUBLIC)
def test_public_import_paths_stay(module: str, names: tuple[str, ...]) -> None:
    loaded = importlib.import_module(module)
    assert [name for name in names if not hasattr(loaded, name)] == []


def test_no_test_module_imports_another() -> None:
    """Helpers have one home, tests/support."""
    own = re.compile(r"^ *(?:from|import) (?P<module>tests[\w.]*test_\w+)", re.MULTILINE)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        imported = {line["module"] for line in own.finditer(path.read_text(encoding="utf-8"))}
        assert imported <= {name}, f"{name} imports {', '.join(sorted(imported))}"


def test_no_helper_hides_a_library_from_the_scripts_beside_it() -> None:
    """A script that runs in another interpreter finds the modules of its own folder first."""
    own = {path.stem for path in (ROOT / "tests" / "support" / "peers").glob("*.py")}
    installed = {name for name in importlib.metadata.packages_distributions() if not name.startswith("_")}
    assert not own & {*installed, *sys.stdlib_module_names, "awkward0", "kerchunk", "virtualizarr"}


ONE_CONCEPT = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
"""Rows of the last table of the glossary: names of one concept in several formats."""

GLOSSARY = ROOT / "docs" / "explanation" / "glossary.md"

EMPTY_WORDS = frozenset("found each made known given own wanted told held kept said".split())
"""Names that say nothing about what they hold."""


@EVERY
def test_no_class_name_stands_twice() -> None:
    """One name, one concept; the glossary lists those that several formats share."""
    text = GLOSSARY.read_text(encoding="utf-8")
    shared = set(ONE_CONCEPT.findall(text[text.index("## One concept in several formats") :]))
    homes: dict[str, list[str]] = {}
    for module in modules():
        for one in module.classes:
            homes.setdefault(one.name, []).append(module.name)
    several = {name: places for name, places in homes.items() if len(places) > 1}
    assert {name: places for name, places in several.items() if name not in shared} == {}
    assert shared == set(several), "the glossary lists a name that stands once"


@EVERY
def test_modules_that_prose_names_exist() -> None:
    """Each `….py` in comments, docstrings, READMEs and explanations is the end of a file's path."""
    prose = [item for item in _committed_texts() if item[0].startswith(("nczarr/", "docs/explanation/"))]
    tests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")]
    paths = ["/" + name for name in (*tests, *(name for name, _ in _committed_texts()))]
    named = [
        (name, module)
        for name, text in prose
        for module in re.findall(r"(?<![\w./*{}-])((?:\w+/)*\w+\.py)\b(?!\.j2)", text)
    ]
    assert len(named) > 100
    assert not [(name, module) for name, module in named if not any(path.endswith("/" + module) for path in paths)]


@EVERY
def test_types_of_the_glossary_exist() -> None:
    """Each `nczarr.…` of the glossary is a module, or a name in one."""
    names = set(re.findall(r"`(nczarr\.[\w.]+)`", GLOSSARY.read_text(encoding="utf-8")))
    assert len(names) > 30
    for name in sorted(names):
        module, _, attribute = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), attribute), name


def test_names_say_what_they_hold() -> None:
    """Of all names that functions bind, at most four in a hundred are empty words."""
    bound = [name for module in modules() for name in module.bound]
    empty = [name for name in bound if name in EMPTY_WORDS]
    assert len(empty) <= len(bound) * 0.04, Counter(empty).most_common()
