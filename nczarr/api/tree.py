"""`nczarr.parse`: texts as trees; and trees as checked datasets."""

from __future__ import annotations

from collections.abc import Mapping

from nczarr.api.hints import add_hints
from nczarr.ast import Dataset
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.registry import Format
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked


@add_hints
def parse(text: str | bytes, *, language: str | None = None, name: str = "<text>") -> Dataset:
    """Return the tree of a text in CDL, the NCZarr notation or AST JSON.

    Parameters
    ----------
    text : str or bytes
        The text, as UTF-8 if it is bytes.
    language : str, optional
        `cdl`, `notation` or `ast`. None: found by the content.
    name : str
        Name of the text in diagnostics.

    Returns
    -------
    Dataset
        The tree, with resolved names. Its nodes have the spans of the text. It has no
        values of variables; `nczarr.from_cdl` returns a handle with them.

    Raises
    ------
    CompileError
        If the text has errors; `.diagnostics` has all of them.

    Examples
    --------
    >>> import nczarr
    >>> tree = nczarr.parse("netcdf d { dimensions: x = 2 ; variables: float v(x) ; }")
    >>> tree.variables[0].dimensions
    ('/x',)
    """
    from nczarr import registry
    from nczarr.options import Options
    from nczarr.pipeline import endpoints, phases

    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    report = Report()
    form = None if language is None else endpoints.target_format("", language, report)
    if form is not None and not _is_language(form):
        listed = ", ".join(name for name in registry.ROWS if _is_language(registry.load(registry.ROWS[name])))
        report.error("unknown-target", f"`{language}` is not a language of schemas", helps=[f"these are: {listed}"])
    checked = None
    if not report.errors:
        chosen = None if form is None else registry.find_format(form.name)
        checked = phases.read(Source(name, data), report, Options.of(special=True, aggregation="keep"), chosen)
    if checked is None or report.errors:
        raise CompileError(report.list_sorted())
    return checked.dataset


def _is_language(form: Format) -> bool:
    """Return whether a format is a text that declares datasets, and can be written as well."""
    return form.read is not None and form.write is not None and not form.display.binary


def check_tree(tree: Dataset, values: Checked | None = None, renamed: Mapping[str, str] | None = None) -> Checked:
    """Return a tree as a checked dataset, with the values of another one. Raises CompileError."""
    from nczarr.semantics.changed_tree import change_tree

    report = Report()
    checked = check(Unchecked(tree), report) if values is None else change_tree(values, tree, report, renamed)
    if checked is None:
        raise CompileError(report.list_sorted())
    return checked
