"""`nczarr.reformat`: format CDL and NCZarr notation in one style."""

from __future__ import annotations


def reformat(text: str) -> str:
    r"""Format CDL or NCZarr notation in the form that ncdump and nczarr print.

    Comments, spellings of values, empty lines, and line breaks in lists of values
    stay; docs/how-to/schema.md describes the style. The result is the same dataset,
    and formatting it again changes nothing.

    Parameters
    ----------
    text : str
        Text in CDL or NCZarr notation.

    Returns
    -------
    str
        The formatted text, with one newline at its end.

    Raises
    ------
    CompileError
        If the text does not parse.

    Examples
    --------
    >>> import nczarr
    >>> print(nczarr.reformat("dataset d 2.0.0{variable v int{fill   -1}//counts\n}"), end="")
    dataset d 2.0.0 {
      variable v int {
        fill -1
      } //counts
    }
    """
    from nczarr.api.inputs import raise_errors
    from nczarr.diagnostics.report import CompileError, Report, Source
    from nczarr.plugins.fmt.reformat import reformat as run

    report = Report()
    result = run(Source("text", text.encode("utf-8", "surrogateescape")), report)
    raise_errors(report)
    if result is None:
        raise CompileError(report.list_sorted())
    return result.decode("utf-8", "surrogateescape")
