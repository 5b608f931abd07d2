"""Rules of the house, read from the source: layers, laziness, words, sizes, and pages that the code generates."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import io
import itertools
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "nczarr"

ROOMS = (
    "__main__",
    "cli",
    "serve",
    "testing",
    "awkward0",
    "dap2",
    "dap4",
    "ncstream",
    "refs",
    "virtualizarr",
    "zarr3_2019",
    "zarr_python",
    "xarray",
    "api",
    "peers",
    "verify",
    "extend",
    "combine",
    "pipeline",
    "endpoints",
    "compare",
    "link",
    "formats",
    "awkward",
    "json",
    "opendap",
    "plan",
    "select",
    "check",
    "syntax",
    "arrays",
    "registry",
    "stores",
    "capabilities",
    "options",
    "ast",
    "diagnostics",
    "names",
    "source",
    "secrets",
)
"""Modules and folders directly under `nczarr`, from the top floor down: each imports only what stands below it."""

BOTTOM = ("diagnostics", "names", "source", "secrets")
"""Rooms that need the standard library alone."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
"""For an interpreter that reads no `.pth` files, which may import anything."""

PROGRAMS = {"nczarr.compare.foreign_reader"}
"""Modules that run as a process of their own and are never imported."""

LONGEST = 400
DOORS = {
    "nczarr.awkward0": "nczarr.formats.awkward0",
    "nczarr.dap2": "nczarr.formats.dap2",
    "nczarr.dap4": "nczarr.formats.dap4",
    "nczarr.ncstream": "nczarr.formats.ncstream",
    "nczarr.refs": "nczarr.formats.reference",
    "nczarr.virtualizarr": "nczarr.formats.reference",
    "nczarr.zarr3_2019": "nczarr.formats.zarr",
}
"""Public doors to single formats: who may import which by name."""

LAZY = {
    "numpy",
    "awkward",
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
    "icechunk",
}
"""Packages that cost too much to be imported at the top of a module."""

MAY_IMPORT = {"nczarr.testing": LAZY, "nczarr.zarr_python": {"zarr"}, "nczarr.xarray": {"numpy", "xarray"}}
"""Rooms that are loaded only by who has these packages already."""

LAZY_MODULES = {
    "nczarr": "public names load their modules when they are used",
    "nczarr.api": "a public door loads what one call needs",
    "nczarr.arrays": "chunks, parts and codecs: not needed for metadata alone",
    "nczarr.ast": "the tree, and the schemas of its nodes, which need pydantic",
    "nczarr.awkward": "lists of variable length are rare",
    "nczarr.check": "kinds of netCDF files, outlines and duplicate names: only where they occur",
    "nczarr.cli": "one command loads its own module",
    "nczarr.combine": "joins of several datasets",
    "nczarr.compare": "`diff`, `digest` and `--verify`",
    "nczarr.diagnostics": "diagnostics are rendered and explained only if there are any",
    "nczarr.extend": "`append`",
    "nczarr.endpoints": "opened when a path is known to be valid",
    "nczarr.formats.awkward0": "parts of the format that few archives need",
    "nczarr.formats.cdl": "numbers in bulk and dates: only where the text has them",
    "nczarr.formats.dap2": "servers: only where a URL names one",
    "nczarr.formats.dap4": "servers: only where a URL names one",
    "nczarr.formats.ncstream": "protobuf, and points and servers: only where the stream has them",
    "nczarr.formats.netcdf4": "libnetcdf and h5py, loaded with the first value",
    "nczarr.formats.reference": "generators, templates and Parquet: only where the document has them",
    "nczarr.formats.zarr": "layouts and readers that few stores need",
    "nczarr.link": "the linker, loaded when a plan is ready; clusters only with `--dask`",
    "nczarr.names": "in the start of the process, before the package is needed",
    "nczarr.options": "the tree",
    "nczarr.peers": "`check --for`",
    "nczarr.pipeline": "everything that converts; not needed for `--help`",
    "nczarr.plan": "one of three planners, and what few plans need",
    "nczarr.refs": "a public door",
    "nczarr.registry": "formats, loaded by their rows",
    "nczarr.secrets": "options of URLs",
    "nczarr.select": "sections and subsets: only where they are asked for",
    "nczarr.serve": "the server",
    "nczarr.stores": "zip, memory and remote stores: only where a path leads to one",
    "nczarr.verify": "`refs verify`",
    "nczarr.zarr_python": "zarr-python, which the package does without",
}
"""Modules that functions import, by room or format, and why they are not imported at the top."""


@cache
def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "_generated" not in path.parts]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def floor(name: str) -> int:
    """Return how far down a module's room stands."""
    room = name.split(".")[1]
    assert room in ROOMS, f"`{room}` is not in the list of rooms"
    return ROOMS.index(room)


@cache
def imports(path: Path, *, top: bool = False, types: bool = False) -> tuple[str, ...]:
    """Return the modules that a file imports.

    `top`: only those that loading the file imports. `types`: also those for the type checker.
    """
    return tuple(_imports(ast.parse(path.read_text(encoding="utf-8")), name_of(path), top=top, types=types))


def _imports(node: ast.AST, module: str, *, top: bool, types: bool) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test) and not types:
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            assert not child.level, f"{module} has a relative import"
            for alias in child.names:
                below = PACKAGE.parent.joinpath(*child.module.split("."), alias.name)
                is_module = below.with_suffix(".py").exists() or (below / "__init__.py").exists()
                yield f"{child.module}.{alias.name}" if is_module else child.module
        elif not (top and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)):
            yield from _imports(child, module, top=top, types=types)


def folder_of_format(name: str) -> str | None:
    parts = name.split(".")
    return ".".join(parts[:3]) if parts[:2] == ["nczarr", "formats"] and len(parts) > 2 else None


def test_imports_point_down() -> None:
    wrong = []
    for path in modules():
        name = name_of(path)
        if name == "nczarr":
            continue  # the public names, loaded lazily from every room
        ours = {used for used in imports(path) if used.startswith("nczarr.")}
        wrong += [f"{name} imports {used}" for used in sorted(ours) if floor(used) < floor(name)]
    assert not wrong


def test_no_circle_even_through_functions_and_types() -> None:
    graph = {
        name_of(path): {each for each in imports(path, types=True) if each.startswith("nczarr.")} for path in modules()
    }
    del graph["nczarr"]
    TopologicalSorter({name: used - {name} for name, used in graph.items()}).prepare()


def test_lazy_imports_have_a_reason() -> None:
    lazy = set()
    for path in modules():
        if name_of(path) == "nczarr":
            continue
        own = set(imports(path)) - set(imports(path, top=True))
        lazy |= {each for each in own if each.split(".")[0] == "nczarr"}
    rooms = {folder_of_format(each) or ".".join(each.split(".")[:2]) for each in lazy}
    assert rooms == set(LAZY_MODULES)


def test_every_room_is_there() -> None:
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there - {"__init__"} == set(ROOMS)


def test_formats_do_not_import_each_other() -> None:
    wrong = []
    for path in modules():
        name = name_of(path)
        home = folder_of_format(name)
        for used in imports(path):
            other = folder_of_format(used)
            if other is None or other == home or DOORS.get(name) == other:
                continue
            wrong.append(f"{name} imports {used}")
    assert not wrong, "formats are reached through the registry alone"


def test_syntax_and_passes_are_strangers() -> None:
    for path in modules():
        if name_of(path).startswith("nczarr.syntax"):
            assert not [used for used in imports(path) if used.startswith("nczarr.check")]
        if name_of(path).startswith("nczarr.check"):
            assert not [used for used in imports(path) if used.startswith("nczarr.syntax")]


def test_the_bottom_needs_the_standard_library_alone() -> None:
    for path in modules():
        name = name_of(path)
        if name != "nczarr" and name.split(".")[1] in BOTTOM:
            foreign = {used.split(".")[0] for used in imports(path)} - {"nczarr"} - set(sys.stdlib_module_names)
            assert not foreign, name


def test_heavy_packages_are_imported_inside_functions() -> None:
    wrong = []
    for path in modules():
        if name_of(path) in PROGRAMS:
            continue
        room = ".".join(name_of(path).split(".")[:2])
        heavy = LAZY & {used.split(".")[0] for used in imports(path, top=True)} - MAY_IMPORT.get(room, set())
        wrong += [f"{name_of(path)} imports {each} at its top" for each in sorted(heavy)]
    assert not wrong


def test_a_schema_without_data_loads_no_numpy_and_no_pydantic(tmp_path: Path) -> None:
    schema = tmp_path / "s.cdl"
    schema.write_text("netcdf s {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\n}\n")
    code = "import sys; from nczarr.__main__ import main; status = main(sys.argv[1:]); "
    code += "print(sorted({'numpy', 'numcodecs', 'pydantic', 'rich', 'zarr'} & set(sys.modules))); sys.exit(status)"
    call = [sys.executable, "-c", code, "compile", str(schema), "-o", str(tmp_path / "s.zarr")]
    done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_versions_and_help_import_next_to_nothing() -> None:
    code = "import sys; from nczarr.__main__ import main; main(['--version']); "
    code += "print(sorted(name for name in sys.modules if name.startswith('nczarr')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[1] == "['nczarr', 'nczarr.__main__']"


def test_no_group_has_a_possessive_quantifier() -> None:
    """Python before 3.11.5 matches `(?:…)*+` wrongly where the group can backtrack; `[…]*+` is right everywhere."""
    wrong = []
    for path in modules():
        lines = path.read_text(encoding="utf-8").split("\n")
        wrong += [
            f"{name_of(path)}:{n}" for n, line in enumerate(lines, 1) if re.search(r"\brb?['\"].*\)[*+?]\+", line)
        ]
    assert not wrong


def _lines_of_docstrings(node: ast.AST) -> int:
    """The lines of all docstrings in a node, those of fields included."""
    texts = [
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
    ]
    return sum((text.end_lineno or 0) - text.lineno + 1 for text in texts)


def test_files_and_functions_stay_small() -> None:
    """Docstrings do not count."""
    for path in modules():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        length = text.count("\n") - _lines_of_docstrings(tree)
        assert length <= LONGEST, f"{name_of(path)} has two subjects: look for the second"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - node.lineno - _lines_of_docstrings(node)
                assert length < 80, f"{name_of(path)}.{node.name} is longer than a screen"


def test_fields_have_docstrings() -> None:
    """Each public field of a NamedTuple, TypedDict, node or dataclass has a docstring below it."""
    missing = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            if not bases & {"NamedTuple", "TypedDict", "BaseModel", "Node"} and not any(
                "dataclass" in ast.unparse(each) for each in node.decorator_list
            ):
                continue
            for field, below in itertools.zip_longest(node.body, node.body[1:]):
                if isinstance(field, ast.AnnAssign) and not ast.unparse(field.target).startswith("_"):
                    has_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
                    if not has_text:
                        missing.append(f"{name_of(path)}.{node.name}.{ast.unparse(field.target)}")
    assert not missing


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
    wrong = []
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    for name in listed:
        path = ROOT / name
        if not name or not path.is_file() or name.startswith("tests/") or "_generated" in name:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            if re.search(pattern, line):
                wrong.append(f"{name}:{number}: {line.strip()[:80]}")
    assert not wrong


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
    for path in modules():
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{name_of(path)}:{node.lineno}", node.value
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield f"{name_of(path)}:{token.start[0]}", token.string
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted(PACKAGE.rglob("*.md"))]:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_prose_has_no_riddles() -> None:
    """Names of functions are no prose: their words are joined by underscores."""
    found = [(place, BANNED.search(" ".join(text.split()))) for place, text in _prose()]
    assert [f"{place}: {match[0]}" for place, match in found if match] == []


def test_docstrings_begin_with_a_verb_or_a_thing() -> None:
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))) if NO_SENTENCE.match(text.strip()):
                    wrong.append(f"{name_of(path)}:{node.lineno}: {text[:60]}")
    assert not wrong


def test_messages_have_their_form() -> None:
    """Messages and remedies begin in lower case, or with something quoted, and have no full stop at their end."""
    wrong, count = [], 0
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for place, text in _messages(node):
                count += 1
                if re.match(r"[A-Z][a-z]+ [a-z]", text) and text.split()[0] not in PROPER_NAMES:
                    wrong.append(f"{name_of(path)}:{place}: {text[:60]}")
                if text.endswith(".") and not text.endswith(("..", "…")):
                    wrong.append(f"{name_of(path)}:{place}: …{text[-60:]}")
    assert not wrong
    assert count > 400


PROPER_NAMES = {"CDL", "Zarr", "HDF5", "Parquet", "DMR++", "Python", "NaN", "NIL", "Awkward"}


def _messages(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and texts of the messages and remedies in a call of a report or an error."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    texts = list(node.args[1:2]) if name in ("error", "warning", "lose") else []
    texts += node.args[2:3] if name == "Diagnostic" else []
    texts += node.args if name.endswith("Error") else []
    for keyword in node.keywords:
        if keyword.arg in ("helps", "notes"):
            texts += keyword.value.elts if isinstance(keyword.value, ast.List | ast.Tuple) else []
    for each in texts:
        if isinstance(each, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "`x`" for part in each.values]
            yield each.lineno, "".join(map(str, parts))
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.lineno, each.value


PROTOCOLS = {"ArraySource", "Store"}
"""The bases of array sources and stores. A module that asks for these asks for no class."""


def _classes_of_sources_and_stores() -> set[str]:
    """The names of the classes, wherever they are defined, that are array sources or stores."""
    bases: dict[str, set[str]] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {each.id for each in node.bases if isinstance(each, ast.Name)}

    def is_one(name: str) -> bool:
        return any(base in PROTOCOLS or is_one(base) for base in bases.get(name, ()))

    return set(filter(is_one, bases))


def test_nobody_decides_by_the_class_of_a_source_or_store() -> None:
    """What is to be known of one is a property of `ArraySource` or `Store`, which all that wrap others pass on."""
    classes = _classes_of_sources_and_stores()
    assert {"StoredArray", "ChunkedArray", "AffineArray", "Joined", "Sliced", "Runs", "DerivedSource"} <= classes
    assert {"ReferenceStore", "RemoteStore", "ZipStore", "DirectoryStore", "MemoryStore"} <= classes
    for path in modules():
        name = name_of(path)
        if not name.startswith(("nczarr.arrays.", "nczarr.stores.")):
            asked = _asked(path) & classes
            assert not asked, f"{name} asks for the class {', '.join(sorted(asked))}: ask for a property"


def _asked(path: Path) -> set[str]:
    """The names of the classes that a module asks for."""
    asked: list[ast.AST] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, wanted]):
                asked.append(wanted)
            case ast.MatchClass(cls=wanted):
                asked.append(wanted)
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=wanted):
                asked += wanted
    inner = [each for wanted in asked for each in ast.walk(wanted)]
    names = {each.id for each in inner if isinstance(each, ast.Name)}
    return names | {each.attr for each in inner if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)}


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
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(each) for each in node.decorator_list):
                names = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
                wrong += [f"{path.name}: {node.name}"] if "__getstate__" in names else []
    assert not wrong


FORMAT_NAMES = {
    "cdl", "notation", "netcdf3", "netcdf4", "zarr2", "zarr3", "nczarr3", "zarr3-2019", "awkward0", "ncstream",
    "dmrpp",
}  # fmt: skip
"""Names of formats that mean nothing else."""

TOLD = {
    "nczarr": "`nczarr.awkward0` and `nczarr.ncstream` are public modules",
    "nczarr.api.handle": "`from_cdl`, `to_cdl` and their like are methods for one format each",
    "nczarr.awkward.expressions": "`awkward0` is the library that documents name",
    "nczarr.serve.dap2": "`dap2` is the first segment of its URLs",
    "nczarr.serve.dap4": "`dap4` is the first segment of its URLs",
    "nczarr.serve.cdmremote": "`cdl` and `ncstream` are words of CDM Remote's queries",
    "nczarr.cli.missing": "`ncstream` is an extra of the package",
}
"""Modules that may have the name of a format, and why."""


def test_formats_are_known_by_their_rows_alone() -> None:
    """What the package must know of a format is a field of `Format`."""
    wrong = []
    for path in modules():
        name = name_of(path)
        if name == "nczarr.registry" or name in TOLD or name in DOORS or name.startswith("nczarr.formats."):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                if text in FORMAT_NAMES or re.match(r"nczarr\.formats\.\w", text):
                    wrong.append(f"{name}:{node.lineno}: {text}")
        wrong += [f"{name} imports {used}" for used in imports(path) if used.startswith("nczarr.formats.")]
    assert not wrong


def test_every_folder_is_a_package() -> None:
    """Folders without `__init__` are left out of the wheel."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    inner = {parent for folder in folders for parent in folder.parents if PACKAGE in parent.parents} | folders
    assert not [folder for folder in inner if not (folder / "__init__.py").exists()]


def test_the_wheel_holds_every_file() -> None:
    """Files that are not Python come into the wheel by `package-data` alone."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["nczarr"]
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    assert {path for path in files if path.suffix not in (".py", ".pyi")} == packed
    assert PACKAGE / "diagnostics" / "codes" / "lost-nil.md" in packed


PUBLIC = {
    "nczarr": ("open", "append", "convert", "write", "diff", "digest", "from_cdl", "from_notation", "DatasetBuilder"),
    "nczarr.awkward0": ("save", "load", "serialize", "deserialize", "columns", "items"),
    "nczarr.capabilities": ("Arrays", "Capabilities", "Format"),
    "nczarr.diagnostics": ("CompileError", "Diagnostic", "Label", "Report", "Severity"),
    "nczarr.ncstream": ("read_messages", "write_points"),
    "nczarr.refs": ("combine", "compact", "expand", "verify"),
    "nczarr.testing": (),
    "nczarr.testing.strategies": ("datasets_with_data",),
    "nczarr.zarr3_2019": ("read", "write"),
}
"""Names that programs import, wherever they are defined today."""


@pytest.mark.parametrize(("module", "names"), PUBLIC.items(), ids=PUBLIC)
def test_public_import_paths_stay(module: str, names: tuple[str, ...]) -> None:
    loaded = importlib.import_module(module)
    assert [name for name in names if not hasattr(loaded, name)] == []


def test_no_test_module_imports_another() -> None:
    """Helpers have one home, tests/support."""
    assert not [
        f"{path.relative_to(ROOT)} imports {node.module}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2].startswith("test_")
    ]


def test_no_helper_hides_a_library_from_the_scripts_beside_it() -> None:
    """A script that runs in another interpreter finds the modules of its own folder first."""
    own = {path.stem for path in (ROOT / "tests" / "support" / "peers").glob("*.py")}
    installed = {name for name in importlib.metadata.packages_distributions() if not name.startswith("_")}
    assert not own & {*installed, *sys.stdlib_module_names, "awkward0", "kerchunk", "virtualizarr"}
