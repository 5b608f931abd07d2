"""Goldens: one input shows its face in every format.

Inputs are samples/ and tests/golden/*.in.cdl; `<input>.<face>` is what we make of it. `pytest --accept GLOB`
rewrites the faces whose file name matches, and still fails. They are believed because peers read them (tests/peers).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path

import pytest

from nczarr.cli.compile import text as tree_text
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.semantics.checked import Checked
from tests.support.plugins import skip_without

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
INPUTS = sorted([*(ROOT / "samples").glob("*.cdl"), *(ROOT / "samples").glob("*.ncz"), *GOLDEN.glob("*.in.cdl")])


def blocks(name: str) -> Callable[[Checked], bytes]:
    """The face in one format: the text, or the keys of the store with every chunk's size."""

    def made(checked: Checked) -> bytes:
        report = Report()
        options = Options.of(allow_loss=frozenset({"all"}), special=True)
        form = endpoints.target_format("", name, report)
        assert form is not None
        pieces = phases.blocks(checked, form, report, options)
        assert pieces is not None, [found.message for found in report.list_sorted()]
        return b"".join(pieces)

    return made


def ncml(checked: Checked) -> bytes:
    from nczarr.plugins.common import ncml_writer as protocol

    return protocol.text(checked, None).encode("utf-8")


FACES: dict[str, Callable[[Checked], bytes]] = {
    "tree.txt": lambda checked: tree_text(checked.dataset).encode("utf-8", "surrogateescape"),
    "cdl": blocks("cdl"),
    "ncz": blocks("notation"),
    "zarr2.txt": blocks("zarr2"),
    "zarr3.txt": blocks("zarr3"),
    "nczarr3.txt": blocks("nczarr3"),
    "zarr3-2019.txt": blocks("zarr3-2019"),
    "nczarr.txt": blocks("nczarr"),
    "dmrpp": blocks("dmrpp"),
    "ncml": ncml,
}


OF_PLUGINS = {"dmrpp": "opendap", "zarr3-2019.txt": "zarr_drafts"}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("source", INPUTS, ids=lambda path: path.name)
def test_face(source: Path, face: str, request: pytest.FixtureRequest) -> None:
    skip_without(OF_PLUGINS.get(face, ""))
    report = Report()
    checked = phases.read(Source(source.name, source.read_bytes()), report, Options())
    assert checked is not None
    made = FACES[face](checked)
    golden = GOLDEN / f"{source.name}.{face}"
    wanted = golden.read_bytes() if golden.exists() else b""
    accept = request.config.getoption("--accept")
    if made != wanted and accept and fnmatch.fnmatch(golden.name, accept):
        golden.write_bytes(made)
    assert made.decode("utf-8", "replace") == wanted.decode("utf-8", "replace")
