"""Where diagnostics are too many to be shown or kept, those that matter are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nczarr.diagnostics.report import Report
from tests.conftest import Ran

LOSS, OTHER = "lost-nil", "zero-dimension"


def cdl(warnings: int, last: str) -> bytes:
    """A text with so many warnings, and something at its end."""
    many = "".join(f"  double v{number} ;\n  v{number}:CLASS = 1 ;\n" for number in range(warnings))
    return f"netcdf t {{\nvariables:\n{many}{last}}}\n".encode()


@pytest.mark.parametrize("warnings", [150, 1500])
def test_an_error_behind_many_warnings_comes_first(warnings: int, nczarr_command: Callable[..., Ran]) -> None:
    ran = nczarr_command("check", "-", stdin=cdl(warnings, "  float x(nowhere) ;\n"))
    assert ran.err.startswith("error[undefined-dimension]")
    assert "1 error" in ran.err
    assert ran.status == 1


@pytest.mark.slow
@pytest.mark.parametrize("warnings", [150, 1500])
def test_a_value_loss_behind_many_warnings_comes_first(warnings: int, nczarr_command: Callable[..., Ran]) -> None:
    text = cdl(warnings, "  string z ;\ndata:\n  z = NIL ;\n")
    ran = nczarr_command("compile", "--to", "zarr2", "--allow-loss", LOSS, "-", stdin=text)
    assert ran.status == 0
    assert ran.err.startswith(f"warning[{LOSS}]")
    assert "more; `--message-format json` prints all" in ran.err


def test_few_diagnostics_stay_in_the_order_of_the_text(nczarr_command: Callable[..., Ran]) -> None:
    ran = nczarr_command("check", "-", stdin=cdl(5, "  float x(nowhere) ;\n"))
    assert ran.err.startswith("warning[reserved-attribute]")


def test_a_full_report_keeps_what_matters() -> None:
    report = Report(limit=3)
    for number in range(5):
        report.warning(OTHER, f"other {number}")
    report.warning(LOSS, "loss")
    for number in range(2):
        report.error("bad-name", f"error {number}")
    report.warning(LOSS, "loss again")
    report.warning(OTHER, "other again")
    assert [each.message for each in report.list_sorted()] == ["error 0", "error 1", "loss"]
    assert (report.dropped, report.errors) == (7, 2)
    report.error("bad-name", "error 2")
    report.error("bad-name", "error 3")
    assert [each.message for each in report.list_sorted()] == ["error 0", "error 1", "error 2"]
    assert (report.dropped, report.errors) == (9, 4)
