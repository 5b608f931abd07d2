"""The CF conventions as `check --cf` asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nczarr.diagnostics.report import Report
from nczarr.pipeline.check_request import Convention

if TYPE_CHECKING:
    from nczarr.pipeline.check_request import CheckRequest
    from nczarr.semantics.checked import Checked


def _parse(text: str) -> str:
    from nczarr.plugins.cf.rule import parse_version, show_version

    return show_version(parse_version(text))


def _check(checked: Checked, version: str, request: CheckRequest, report: Report) -> None:
    """Report the breaches of a version's rules; the source tells whether attributes have types."""
    from nczarr.pipeline import endpoints
    from nczarr.plugins.cf.check import check_cf
    from nczarr.plugins.cf.rule import parse_version
    from nczarr.plugins.cf.view import has_types

    asked, is_typed, name = parse_version(version) if version else None, has_types(checked), None
    is_stored = request.content is not None or bool(request.path)  # else there is a dataset in memory alone
    if is_stored and (not is_typed or checked.dataset.kind is not None):
        source = request.content or endpoints.open_source(request.path, Report(), request.options)
        form = endpoints.detect_format(source) if source is not None else None
        is_typed = is_typed or (form is not None and form.capabilities.typed_attributes)
        if form is not None and form.target.second_reader == "libnetcdf" and request.content is None:
            name = request.path.rpartition("/")[2]
    check_cf(checked, asked, report, name, is_typed=is_typed)


CF = Convention(
    "cf",
    r"(CF-)?[0-9.]+",
    "report what breaks the rules of the CF conventions, version 1.6 to 1.13 (default: the version that the "
    "dataset declares, else 1.13)",
    _parse,
    _check,
    once=("cf-unjudged",),
)
