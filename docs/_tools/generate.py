"""Write the pages and tables that the code itself knows, or prove with --check that they are current.

In docs/reference: types.md and ast.schema.json whole. In README.md, docs/reference/peers.md and others
what stands between `<!-- NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

sys.path.insert(0, str(ROOT / "docs" / "_tools"))

import info_page  # noqa: E402
import plugin_pages  # noqa: E402
import sdk_page  # noqa: E402
import types_page  # noqa: E402

import nczarr  # noqa: E402
from nczarr import registry  # noqa: E402
from nczarr.ast.json import schema  # noqa: E402
from nczarr.cli import formats  # noqa: E402
from tests.support.peers import ncgen  # noqa: E402


def table() -> str:
    """The table of formats."""
    return "".join(formats.markdown([formats.row(form) for form in registry.formats()]))


COMMON = {
    "cdl": ("CDL, the text that `ncdump` prints and `ncgen` reads", "dimensions without names"),
    "netcdf4": ("netCDF-4, which is HDF5 (`.nc` as well)", "dimensions without names"),
    "netcdf3": (
        "classic netCDF, 64-bit offset and CDF-5 (`.nc` as well)",
        "strings, groups, user-defined types, chunks",
    ),
    "nczarr": ("Zarr v2 that netCDF-C reads as well", "–"),
    "nczarr3": ("Zarr v3 with everything of netCDF", "–"),
    "zarr3": (
        "plain Zarr v3; `zarr2` is plain Zarr v2",
        "user-defined types, unlimited dimensions, types of attributes",
    ),
    "reference": ("kerchunk references: a Zarr store whose chunks are in other files", "–"),
    "icechunk": ("icechunk repositories: Zarr v3 with a history", "–"),
}
"""The formats of the README: what each is in plain words, and what it cannot hold."""


def common() -> str:
    """The table of the formats that most readers use."""
    lines = ["| format | what it is | suffixes | cannot hold |", "|---|---|---|---|"]
    for name, (words, lost) in COMMON.items():
        form = next(form for form in registry.formats() if form.name == name)
        if (lost == "–") != (formats.keeps(form.capabilities) == "all") or not (form.readable and form.writable):
            raise ValueError(f"the README says of {name} that it is read and written and cannot hold: {lost}")
        suffixes = " ".join(f"`{suffix}`" for suffix in form.suffixes)
        lines.append(f"| `{name}` | {words} | {suffixes} | {lost} |")
    return "\n".join(lines) + "\n"


def differences() -> str:
    """The table of files of the corpus that ncgen makes otherwise."""
    rows = ["| file | kinds | what differs | ncgen stores | we store | the fault |", "|---|---|---|---|---|---|"]
    for entry in ncgen.DIFFERENCES:
        names = ", ".join(dict.fromkeys(f"`{re.sub('^[-+] .', '', item).strip('/ :')}`" for item in entry.items))
        cells = (f"`{entry.file}`", entry.kind or "all", names, entry.theirs, entry.ours, entry.fault)
        rows.append("| " + " | ".join(cells) + " |")
    for (file, kind), fault in ncgen.REFUSED.items():
        rows.append(f"| `{file}` | {kind} | – | what is left | nothing: `format-conflict` | {fault} |")
    return "\n".join(rows) + "\n"


def options() -> str:
    """The options of `nczarr.convert`, with what the source says of each."""
    source = ast.parse((ROOT / "nczarr" / "api" / "options.py").read_text(encoding="utf-8"))
    shown = inspect.signature(nczarr.convert).parameters
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for group in (node for node in source.body if isinstance(node, ast.ClassDef)):
        for field, text in pairwise(group.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                name = field.target.id
                default = shown[name].default
                meaning = " ".join(ast.literal_eval(ast.unparse(text)).replace("|", "\\|").split())  # one row, one line
                written = dict(default) if isinstance(default, Mapping) else default
                value = "–" if isinstance(default, tuple) and default else f"`{written!r}`"
                lines.append(f"| `{name}` | {value} | {meaning} |")
    return "\n".join(lines) + "\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Each generated page with the text that it should have."""
    yield ROOT / "docs" / "reference" / "ast.schema.json", json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
    yield ROOT / "docs" / "reference" / "types.md", types_page.page()
    for name in sorted(path.stem for path in Path(plugin_pages.__file__).parent.glob("[a-z]*.py")):
        module = import_module(f"plugin_pages.{name}")
        yield inserted(module.PAGE, module.MARK, module.text())
    yield inserted(sdk_page.PAGE, "sdk", sdk_page.text())
    yield inserted(info_page.PAGE, "fields", info_page.text())
    yield inserted("docs/how-to/convert.md", "options", options())
    yield inserted("README.md", "formats", common())
    yield inserted("docs/reference/formats/index.md", "formats", table())
    yield inserted("docs/reference/ncgen-differences.md", "differences", differences())


def inserted(name: str, mark: str, text: str) -> tuple[Path, str]:
    """A page with a generated text between its marks."""
    path = ROOT / name
    pattern = rf"(<!-- {mark} -->\n).*?(<!-- end -->)"
    old = path.read_text(encoding="utf-8")
    return path, re.sub(pattern, lambda match: match[1] + text + match[2], old, flags=re.DOTALL)


def main() -> int:
    """Write, or with --check complain; the status says whether anything was stale."""
    stale = [(path, text) for path, text in pages() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        for path, _ in stale:
            print(f"{path.relative_to(ROOT)} is stale: run `make docs`")
        return int(bool(stale))
    for path, text in stale:
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
