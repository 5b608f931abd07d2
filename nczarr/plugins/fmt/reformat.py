"""Formatting of texts: the one style of a format, with the same tokens, comments and tree.

Each run proves that only blanks and line breaks change, and that a second run
would change nothing, before a file is replaced.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from nczarr import registry
from nczarr.ast.dataset import building
from nczarr.diagnostics.report import HEAD, Report, Source, Span
from nczarr.diagnostics.secrets import NO_OPTIONS, show
from nczarr.names import plugin_index
from nczarr.options import Options
from nczarr.stores import local_paths

if TYPE_CHECKING:
    from nczarr.plugins.fmt.text_layout import TextLayout
    from nczarr.registry import Format
    from nczarr.semantics.checked import Unchecked


def reformat(source: Source, report: Report) -> bytes | None:
    """Return a text in the style of its format; None after a reported error.

    The format is found by content, then by suffix. Reports unknown-format, faults of
    syntax, and internal-error if the result would not be the same dataset. Other
    errors of the dataset, such as undefined names, are no obstacle.
    """
    form = _find_format(source, report)
    if form is None:
        return None
    lay_out = registry.load(find_style(form) or "")
    with building():
        layout: TextLayout | None = lay_out(source, report)
        if layout is None:
            return None
        result = Source(source.name, layout.text)
        is_same = _is_equal(source, result, form) and lay_out(result, Report()) == layout
    if is_same:
        return layout.text
    message = f"the formatted text of `{show(source.name)}` would not be the same"
    notes = ["this is a fault of nczarr; please report it with the input", "nothing was written"]
    report.error("internal-error", message, Span(source, 0, 0), notes=notes)
    return None


def find_style(form: Format) -> str | None:
    """Return the place of the style of a format; None for one that is not formatted."""
    return plugin_index.find_place("style", form.name)


def _is_equal(one: Source, other: Source, form: Format) -> bool:
    """Return whether two texts have equal trees and errors. Values in lists are compared by their tokens."""
    assert form.read is not None
    read = registry.load(form.read)
    reports = Report(), Report()
    trees: list[Unchecked | None] = [
        read(text, report, Options()) for text, report in zip((one, other), reports, strict=True)
    ]
    codes = [[diagnostic.code for diagnostic in report.list_sorted()] for report in reports]
    before, after = trees
    if before is None or after is None or codes[0] != codes[1]:
        return False
    lists = [(tree.lists, tree.attribute_lists) for tree in (before, after)]
    return before.dataset == after.dataset and lists[0] == lists[1]


def _find_format(source: Source, report: Report) -> Format | None:
    """Return the format of a text that can be formatted; None after a reported error."""
    form = registry.detect(source.name, bytes(source.data[:HEAD]))
    if form is not None and find_style(form):
        return form
    what = "its format is unknown" if form is None else f"its format is {form.name}"
    texts = " and ".join(f"`{name}`" for name in plugin_index.list_own("style"))
    text = f"`{show(source.name)}` cannot be formatted: {what}"
    report.error("unknown-format", text, helps=[f"formatted are {texts}"])
    return None


def replace_text(path: str, text: bytes, report: Report) -> bool:
    """Replace the content of a file at once, of that which a link names; return False after a reported error.

    The file keeps its mode. Reports busy-target. Raises OSError.
    """
    from nczarr.stores.finish import lock_target
    from nczarr.stores.open import write_beside

    target = local_paths.real(path)
    with lock_target(target, report, NO_OPTIONS, replaces=True) as lock:
        if lock is None:
            return False
        mode = os.stat(target).st_mode & 0o7777
        with write_beside(target) as unfinished:
            with open(unfinished.path, "xb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            with suppress(OSError):
                os.chmod(unfinished.path, mode)
    return True
