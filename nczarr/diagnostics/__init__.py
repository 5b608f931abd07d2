"""Diagnostics: what the compiler reports, how it is rendered, and a page for each code.

Uses names and positions of sources alone.
"""

from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity

__all__ = ["CompileError", "Diagnostic", "Label", "Report", "Severity"]
