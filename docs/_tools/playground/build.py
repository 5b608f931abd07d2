"""Gather what the playground runs on: Pyodide from npm, and the packages as one archive.

`python docs/_tools/playground/build.py FOLDER` needs `npm` and `pip`; without npm it says so and leaves the folder
empty, and the page shows that it cannot run.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PYODIDE = "314.0.7"
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PURE = ("antlr4", "cachetools", "jinja2", "markupsafe", "rich")
"""Packages that are taken from the running environment: in Python alone, or with a part in C that they do without."""
DOWNLOADED = ("pydantic", "pydantic-core", "annotated-types", "typing-extensions", "typing-inspection")
"""Packages that are downloaded for WebAssembly, in the versions of the running environment."""
SKIPPED = ("__pycache__", "tests")
ARCHIVE = "packages.zip"
PUBLISHED = (*RUNTIME, ARCHIVE)


def main(folder: Path) -> int:
    """Fill the folder; return 0, also without npm."""
    folder.mkdir(parents=True, exist_ok=True)
    npm = shutil.which("npm")
    if npm is None:
        print("playground: npm is missing; the page says that it cannot run in this build", file=sys.stderr)
        return 0
    stamp = folder / "pyodide.version"
    if not stamp.exists() or stamp.read_text("utf-8") != PYODIDE:
        _fetch_runtime(npm, folder)
        stamp.write_text(PYODIDE, "utf-8")
    _write_archive(folder)
    return 0


def _fetch_runtime(npm: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = [npm, "pack", "--silent", f"pyodide@{PYODIDE}", "--pack-destination", scratch]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(scratch).glob("*.tgz")
        with tarfile.open(archive) as members:
            for name in RUNTIME:
                stream = members.extractfile(f"package/{name}")
                assert stream is not None
                (folder / name).write_bytes(stream.read())


def _write_archive(folder: Path) -> None:
    """Write the packages and nczarr into one archive, which the page unpacks into its Python."""
    wheels = folder / "wheels"
    _download(folder, wheels)
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as members:
                for name in members.namelist():
                    archive.writestr(name, members.read(name))
        for package in PURE:
            _add_package(archive, package)
        for path in _files(ROOT / "nczarr"):
            archive.write(path, path.relative_to(ROOT).as_posix())
        archive.write(HERE / "small_numpy.py", "numpy.py")
        archive.write(HERE / "compile_in_browser.py", "compile_in_browser.py")


def _download(folder: Path, wheels: Path) -> None:
    info = json.loads((folder / "pyodide-lock.json").read_text("utf-8"))["info"]
    python = ".".join(info["python"].split(".")[:2])
    wanted = [f"{name}=={importlib.metadata.version(name)}" for name in DOWNLOADED]
    stamp = wheels / "wanted"
    if stamp.exists() and stamp.read_text("utf-8") == " ".join(wanted):
        return
    shutil.rmtree(wheels, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    platform = ["--platform", f"pyemscripten_{info['abi_version']}_wasm32", "--platform", "any"]
    version = [
        "--python-version",
        python,
        "--implementation",
        "cp",
        "--abi",
        f"cp{python.replace('.', '')}",
        "--abi",
        "none",
    ]
    subprocess.run([*command, *platform, *version, "--dest", str(wheels), *wanted], check=True)
    stamp.write_text(" ".join(wanted), "utf-8")


def _add_package(archive: zipfile.ZipFile, package: str) -> None:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"playground: {package} is not installed: run `make site`")
    folder = Path(found.origin).parent
    for path in _files(folder):
        archive.write(path, f"{package}/{path.relative_to(folder).as_posix()}")


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and path.suffix not in (".so", ".pyd", ".pyc") and not set(parts) & set(SKIPPED):
            yield path


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
