"""`nczarr.generate`: programs and documents from a dataset or tree."""

from __future__ import annotations

from collections.abc import Mapping

from nczarr.api.hints import add_hints
from nczarr.plugins.generate.languages import LANGUAGES, load
from nczarr.sdk import CompileError, Dataset, DatasetHandle, Report, Unchecked, check, hint


@add_hints
def generate(language: str, schema: DatasetHandle | Dataset, *, name: str | None = None) -> Mapping[str, str]:
    """Return a program or a document of a schema.

    Parameters
    ----------
    language : str
        Name that `nczarr generate --help` lists: `c`, `python-zarr`, `json-schema`, `html` and others.
    schema : DatasetHandle or nczarr.ast.Dataset
        An open dataset, or a tree, which has no values.
    name : str, optional
        Name of the program or document. None: that of the dataset.

    Returns
    -------
    Mapping of str to str
        Texts by file name.

    Raises
    ------
    CompileError
        If the language cannot express the schema; each node is named.
    ValueError
        If there is no such language.
    ImportError
        If Jinja2 is missing.

    Examples
    --------
    >>> import nczarr
    >>> files = nczarr.generate("c", nczarr.from_cdl("netcdf ocean { variables: int v ; data: v = 3 ; }"))
    >>> sorted(files)
    ['ocean.c', 'ocean.h', 'ocean_main.c']
    """
    if language not in LANGUAGES:
        raise ValueError(f"{language!r} is not a language of `generate`{hint(language, LANGUAGES)}")
    report = Report()
    checked = schema.checked if isinstance(schema, DatasetHandle) else check(Unchecked(schema), report)
    files = {} if checked is None else load(language)(checked, name or checked.dataset.name, report)
    if checked is None or report.errors:
        raise CompileError(report.list_sorted())
    return files
