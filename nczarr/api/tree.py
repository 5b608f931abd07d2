"""`nczarr.parse`: texts as trees; and handles of trees, with the values of another handle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nczarr.ast import Dataset
from nczarr.diagnostics.report import NOWHERE, CompileError, Report, Source, Span
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked

if TYPE_CHECKING:
    from nczarr.arrays.sources.source import Parts
    from nczarr.ast import Variable
    from nczarr.registry import Format
    from nczarr.semantics.checked import Foreign


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
        checked = phases.read(Source(name, data), report, Options(special=True, aggregation="keep"), chosen)
    if checked is None or report.errors:
        raise CompileError(report.list_sorted())
    return checked.dataset


def _is_language(form: Format) -> bool:
    """Return whether a format is a text that declares datasets, and can be written as well."""
    return form.read is not None and form.write is not None and not form.binary


def check_tree(tree: Dataset, values: Checked | None = None, renamed: Mapping[str, str] | None = None) -> Checked:
    """Return a tree as a checked dataset, with the values of another one.

    `renamed`: new FQNs of variables by the FQN of their values. Raises CompileError.
    """
    report = Report()
    sources: dict[str, str] = {}
    parts: dict[str, Parts] = {}
    foreign: dict[str, Foreign] = {}
    if values is not None:
        bare = check(Unchecked(tree), report)
        if bare is None:
            raise CompileError(report.list_sorted())
        sources = _find_sources(bare, values, renamed or {}, report)
        parts = {new: values.parts[old] for new, old in sources.items() if old in values.parts}
        foreign = {new: values.foreign[old] for new, old in sources.items() if old in values.foreign}
        foreign |= {path: beyond for path, beyond in values.foreign.items() if path in bare.groups}
        report = Report()
    work = Unchecked(tree, parts=parts, foreign=foreign, omitted=list(values.omitted) if values is not None else [])
    checked = check(work, report)
    if checked is None or values is None:
        if checked is None:
            raise CompileError(report.list_sorted())
        return checked
    for new, old in sources.items():
        _check_fit(checked, new, values, old, report)
    if report.errors:
        raise CompileError(report.list_sorted())
    return checked


def _find_sources(bare: Checked, values: Checked, renamed: Mapping[str, str], report: Report) -> dict[str, str]:
    """Return the FQN of the values of each variable; raise CompileError where it is unknown.

    A variable has the values of the one with its path. One with a new path has
    those that `renamed` names, or those of the variable that has its span: renamed
    nodes keep it.
    """
    for old, new in renamed.items():
        for path, known, what in ((old, values.variables, "dataset"), (new, bare.variables, "tree")):
            if path not in known:
                report.error("undefined-variable", f"`renamed` names `{path}`, which the {what} does not have")
    given = {new: old for old, new in renamed.items()}
    sources = {path: given.get(path, path) for path in bare.variables}
    sources = {
        new: old for new, old in sources.items() if old in values.variables and (new in given or old not in renamed)
    }
    missing = [path for path in bare.variables if path not in sources]
    gone = [path for path in values.variables if path not in sources.values()]
    by_place = _by_unique_place({path: values.variables[path] for path in gone})
    for place, new in _by_unique_place({path: bare.variables[path] for path in missing}).items():
        if place in by_place:
            sources[new] = by_place[place]
    unknown = [path for path in missing if path not in sources]
    lost = [path for path in gone if path not in sources.values() and path in values.parts]
    if unknown and lost:
        text = f"it is unknown whether `{unknown[0]}` has the values of `{lost[0]}`"
        helps = ["give `renamed={old: new}`, or remove the old variable and add the new one in two steps"]
        report.error("undefined-variable", text, bare.variables[unknown[0]].span, helps=helps)
    if report.errors:
        raise CompileError(report.list_sorted())
    return sources


def _by_unique_place(variables: Mapping[str, Variable]) -> dict[tuple[int, int, int], str]:
    """Return FQNs by the span of the variable, of those whose span no other one has."""
    found: dict[tuple[int, int, int], list[str]] = {}
    for path, variable in variables.items():
        if variable.span is not NOWHERE and variable.span.source is not None:
            found.setdefault(_place(variable.span), []).append(path)
    return {place: paths[0] for place, paths in found.items() if len(paths) == 1}


def _place(span: Span) -> tuple[int, int, int]:
    return id(span.source), span.start, span.end


def _check_fit(checked: Checked, new: str, values: Checked, old: str, report: Report) -> None:
    """Report values whose type or shape the tree does not declare."""
    if old not in values.parts:
        return
    after, before = checked.variables[new], values.variables[old]
    if after.type != before.type or checked.types.get(after.type) != values.types.get(before.type):
        text = f"the values of `{new}` are of type {before.type}, not {after.type}"
        report.error("type-mismatch", text, after.span, helps=["remove the variable, and add one of the new type"])
    elif checked.shapes[new] != values.shapes[old]:
        text = f"the values of `{new}` have the shape {values.shapes[old]}, not {checked.shapes[new]}"
        report.error("shape-mismatch", text, after.span)
