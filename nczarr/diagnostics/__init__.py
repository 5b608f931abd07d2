"""Diagnostics: reports, rendering, and a page for each code.

Uses only names and source positions.
"""

from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity

__all__ = ["CompileError", "Diagnostic", "Label", "Report", "Severity"]
