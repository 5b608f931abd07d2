"""DMR++ documents made of a few words, and targets for them."""

from __future__ import annotations

from pathlib import Path

from nczarr.diagnostics.report import Report, Source
from nczarr.options import Following, Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked

SIGNATURE = b"\x89HDF\r\n\x1a\n"

HEAD = (
    '<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" '
    'xmlns:nczarr="urn:nczarr:dmrpp" name="t.h5" dmrpp:version="3.21.1" dmrpp:href="t.h5">'
)


def document(body: str, head: str = HEAD) -> bytes:
    """Return a document with these elements."""
    return f"{head}{body}</Dataset>".encode()


def array(
    chunks: str, *, name: str = "v", shape: tuple[int, ...] = (4,), type_name: str = "Int32", given: str = ""
) -> str:
    """Return a variable; `chunks` stands inside its `dmrpp:chunks`, whose attributes are `given`."""
    dims = "".join(f'<Dim size="{length}"/>' for length in shape)
    return f'<{type_name} name="{name}">{dims}<dmrpp:chunks {given}>{chunks}</dmrpp:chunks></{type_name}>'


def target(folder: Path, data: bytes) -> int:
    """Write `t.h5` with some bytes behind a signature; return where they begin."""
    folder.joinpath("t.h5").write_bytes(SIGNATURE + data)
    return len(SIGNATURE)


def read(
    folder: Path, text: bytes, following: Following | None = None, *, accepts: tuple[str, ...] = ()
) -> tuple[Checked | None, Report]:
    """Read a document that lies in a folder."""
    path = folder / "t.h5.dmrpp"
    path.write_bytes(text)
    report = Report()
    options = Options.of(following=following or Following(), allow_loss=frozenset(accepts))
    return phases.read(Source(str(path), text), report, options), report


def codes(report: Report) -> list[str]:
    """Return the codes of all diagnostics."""
    return [each.code for each in report.list_sorted()]
