"""Edits of netCDF-4 files: HDF5 changes a copy of the changed pages in memory, and the file gets the bytes that differ.

The file keeps its version: no feature is used that its readers may lack.
"""

from __future__ import annotations

from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import show, word
from nczarr.plugins.edit.header_changes import HeaderEdit
from nczarr.plugins.edit.netcdf4.editor import HeaderEditor
from nczarr.plugins.edit.netcdf4.objects import RefusedEditError
from nczarr.plugins.edit.netcdf4.overlay_file import OverlayFile
from nczarr.plugins.edit.patches.file_patch import FilePatch, PreparedFilePatch
from nczarr.stores.url import is_remote


def edit(work: HeaderEdit, report: Report) -> PreparedFilePatch | None:
    """Return the changes of a file's bytes; None after an error. Reports data-edit, uneditable-target.

    Raises OSError if the file cannot be read.
    """
    assert isinstance(work.source, Source)
    if is_remote(work.target):
        text = f"`{show(work.target)}` is a remote file, which cannot be edited"
        report.error("uneditable-target", text, helps=["edit a local copy"])
        return None
    helps = [f"`nczarr convert {word(work.target)} NEW` writes a new file"]
    try:
        return PreparedFilePatch(work.source.path, _make_patch(work))
    except RefusedEditError as refusal:
        report.error("data-edit", f"`{show(work.target)}` cannot be edited in its place: {refusal}", helps=helps)
    except (RuntimeError, ValueError, KeyError, TypeError, OverflowError, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # the file cannot be read; HDF5's own errors have no number
            raise
        report.error("uneditable-target", f"`{show(work.target)}`: HDF5 refuses the edit: {error}", helps=helps)
    return None


def _make_patch(work: HeaderEdit) -> FilePatch:
    """Return the changes of the file. Raises RefusedEditError, and the exceptions of h5py."""
    import h5py

    assert isinstance(work.source, Source)
    overlay = OverlayFile(work.source.data)
    with h5py.File(overlay, "r+", libver=("earliest", "v108")) as file:
        HeaderEditor(work, h5py.h5g.open(file.id, b"/")).apply()
    return overlay.patch()
