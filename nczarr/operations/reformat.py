"""Formatting of texts: the one style of a format, with the same tokens, comments and tree.

Each run proves that only blanks and line breaks change, and that a second run
would change nothing, before a file is replaced.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from nczarr import registry
from nczarr.diagnostics.report import HEAD, Report, Source, Span
from nczarr.diagnostics.secrets import NO_OPTIONS, show
from nczarr.names import closest
from nczarr.options import Options

if TYPE_CHECKING:
    from nczarr.check.checked import Unchecked
    from nczarr.formats.common.text_layout import TextLayout
    from nczarr.registry import Format


def reformat(source: Source, report: Report, form: str | None = None) -> bytes | None:
    """Return a text in the style of its format; None after a reported error.

    `form`: name of the format; None: found by content, then by suffix. Reports
    unknown-format, the errors of a text that does not parse, and internal-error if
    the result would not be the same dataset.
    """
    found_format = _find_format(source, form, report)
    if found_format is None:
        return None
    assert found_format.read is not None and found_format.reformat is not None
    read, lay_out = registry.load(found_format.read), registry.load(found_format.reformat)
    before: Unchecked | None = read(source, report, Options())
    if before is None or report.errors:
        return None
    layout: TextLayout = lay_out(source)
    result = Source(source.name, layout.text)
    reread = Report()
    after: Unchecked | None = read(result, reread, Options())
    again: TextLayout | None = None if reread.errors else lay_out(result)
    if again is None or after is None or _differs(before, after) or again != layout:
        message = f"the formatted text of `{show(source.name)}` would not be the same"
        notes = ["this is a fault of nczarr; please report it with the input", "nothing was written"]
        report.error("internal-error", message, Span(source, 0, 0), notes=notes)
        return None
    return layout.text


def _differs(before: Unchecked, after: Unchecked) -> bool:
    """Return whether two trees differ. Values in lists are compared by their tokens."""
    lists = (before.lists, before.attribute_lists), (after.lists, after.attribute_lists)
    return before.dataset != after.dataset or lists[0] != lists[1]


def _find_format(source: Source, name: str | None, report: Report) -> Format | None:
    """Return the format of a text that can be formatted; None after a reported error."""
    form = registry.find_format(name) if name else registry.detect(source.name, bytes(source.data[:HEAD]))
    if form is not None and form.reformat:
        return form
    formatted = registry.having("reformat")
    words = " and ".join(formatted)
    if name and form is None:
        near = closest(name, formatted)
        helps = [f"did you mean `{near}`?"] if near else [f"the formats are {words}"]
        report.error("unknown-format", f"`{name}` is not a format", helps=helps)
    else:
        what = "not a text of a known format" if form is None else f"of format {form.name}"
        report.error("unknown-format", f"`{show(source.name)}` is {what}; formatted are {words}")
    return None


def replace_text(path: str, text: bytes, report: Report) -> bool:
    """Replace the content of a file at once, of that which a link names; return False after a reported error.

    The file keeps its mode. Reports busy-target. Raises OSError.
    """
    from nczarr.stores.finish import lock_target
    from nczarr.stores.open import beside

    target = os.path.realpath(path)
    with lock_target(target, report, NO_OPTIONS, replaces=True) as lock:
        if lock is None:
            return False
        mode = os.stat(target).st_mode & 0o7777
        with beside(target) as unfinished:
            with open(unfinished.path, "xb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            with suppress(OSError):
                os.chmod(unfinished.path, mode)
    return True
