"""`nczarr.edit`: change the header of a dataset in its place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nczarr.api.hints import add_hints

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.plugins.edit.edit_header import EditResult, Instruction


@add_hints
def edit(
    target: str | os.PathLike[str],
    header: str | None = None,
    *,
    attributes: Mapping[str, Any] = MappingProxyType({}),
    delete: Iterable[str] = (),
    rename: Mapping[str, str] = MappingProxyType({}),
    dry_run: bool = False,
    undo_file: str | os.PathLike[str] | None = None,
    undo: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> EditResult:
    r"""Change the header of a dataset where it lies. Values are neither read nor written.

    docs/how-to/edit.md describes what can be changed in which format.

    Parameters
    ----------
    target : str or os.PathLike
        Path or URL of the dataset.
    header : str, optional
        CDL of the new header. Only its differences from the present header are
        written.
    attributes : Mapping
        Values by path of an attribute: `{"/temp@units": "K", "@title": "Ocean"}`. Types
        are those of the values, as in `DatasetBuilder`.
    delete : Iterable of str
        Paths of what is removed: `/temp@comment`, `/temp`, `dim:/x`.
    rename : Mapping
        New names by path: `{"/temp": "temperature", "/temp@unit": "units"}`. A coordinate
        variable is renamed with its dimension; `var:/x` and `dim:/x` rename one of them.
    dry_run : bool
        Only return the changes.
    undo_file : str or os.PathLike, optional
        Place of the undo file. None: a new file beside the target.
    undo : str or os.PathLike, optional
        Undo file of an edit that is reversed.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    EditResult
        The changes, and the path of the undo file.

    Raises
    ------
    CompileError
        If the new header has errors, or needs values written again. Nothing is written
        then.
    OSError
        If the target is unreachable or cannot be written: it is as it was. A
        `nczarr.stores.commitment.CommittedError` says that it is changed, but not all of
        a store is in its place; its notes say what completes and what reverses it.

    Examples
    --------
    >>> import nczarr
    >>> text = 'netcdf d { dimensions: x = 2 ; variables: int v(x) ; v:units = "C" ; data: v = 1, 2 ; }'
    >>> _ = nczarr.write(nczarr.from_cdl(text), "edited.nc", kind="nc3")
    >>> done = nczarr.edit("edited.nc", attributes={"/v@units": "K"})
    >>> print(done.lines[0])
    ~ /v@units: "C" → "K"
    >>> _ = nczarr.edit("edited.nc", undo=done.undo_file)
    >>> nczarr.open("edited.nc")["v"].attributes["units"]
    'C'
    """
    from nczarr.api.inputs import raise_errors
    from nczarr.api.options import options_from
    from nczarr.diagnostics.report import CompileError, Report, Source
    from nczarr.plugins.edit.edit_header import EditRequest
    from nczarr.plugins.edit.edit_header import edit as run

    _check_types(header, attributes, delete, rename)
    report = Report()
    instructions = _instructions(attributes, delete, rename, report)
    raise_errors(report)
    request = EditRequest(
        os.fspath(target),
        instructions,
        None if header is None else Source("header", header.encode("utf-8", "surrogateescape")),
        undo=None if undo is None else Path(undo).read_bytes(),
        undo_file=None if undo_file is None else os.fspath(undo_file),
        rehearsal=dry_run,
        options=options_from(storage_options=storage_options, aggregation="keep"),
    )
    done = run(request, report)
    raise_errors(report)
    if done is None:
        raise CompileError(report.list_sorted())
    return done


def _check_types(header: object, attributes: object, delete: object, rename: object) -> None:
    """Raise TypeError for a value of another type, with an example of the right one."""
    if not isinstance(header, str | None):
        raise TypeError(f"header={header!r}: the text of a header is expected; `attributes=` names single changes")
    examples = {"attributes": {"/temp@units": "K"}, "rename": {"/temp": "temperature"}}
    for name, changes in (("attributes", attributes), ("rename", rename)):
        if not isinstance(changes, Mapping):
            raise TypeError(f"{name}={changes!r}: a mapping is expected, such as {examples[name]!r}")
    if isinstance(delete, str) or not isinstance(delete, Iterable):
        raise TypeError(f"delete={delete!r}: a list of paths is expected, such as ['/temp@comment']")


def _instructions(
    attributes: Mapping[str, Any], delete: Iterable[str], rename: Mapping[str, str], report: Report
) -> tuple[Instruction, ...]:
    """Return the instructions of a call. Reports bad-edit. Raises UnsuitedValueError's code as a diagnostic."""
    from nczarr.api.builder.pieces import UnsuitedValueError
    from nczarr.api.builder.values import constant, infer
    from nczarr.plugins.edit.instructions import parse_instruction

    instructions = [parse_instruction("--delete", path, report) for path in delete]
    instructions += [parse_instruction("--rename", f"{path}={new}", report) for path, new in rename.items()]
    for path, value in attributes.items():
        if "@" not in path:
            found = re.search(r"[.:](\w+)$", path)
            helps = [] if found is None else [f"did you mean `{path[: found.start()]}@{found[1]}`?"]
            helps += ["the path of an attribute has an `@`: `/temp@units`, or `@title` for the root"]
            report.error("bad-edit", f"`attributes` has the key {path!r}, which is not an attribute", helps=helps)
            continue
        place = parse_instruction("--set", f"{path}=", report)
        if place is None:
            continue
        try:
            typed = constant(value, infer(value), {})
        except UnsuitedValueError as fault:
            report.error(fault.code, f"`{path}`: {fault}")
            continue
        instructions.append(place._replace(value=typed))  # type: ignore[call-arg]
    return tuple(instruction for instruction in instructions if instruction is not None)
