"""Errors about compressed files and archives, each with its code."""

from __future__ import annotations

from nczarr.sdk import CompileError, Diagnostic, Severity, show

AGAIN = "fetch the file again, and compare its size with that which the service states"


def fault(code: str, name: str, text: str, *helps: str) -> CompileError:
    """Return the error about a file or archive with this name."""
    return CompileError([Diagnostic(code, Severity.ERROR, f"`{show(name)}` {text}", helps=helps)])


def damage(name: str, error: BaseException) -> CompileError:
    """Return the error about bytes that cannot be unpacked: they are cut off, or fail a checksum."""
    if isinstance(error, EOFError):
        return fault("damaged-archive", name, "ends before its compressed content does", AGAIN)
    return fault("damaged-archive", name, f"cannot be unpacked: {error or type(error).__name__}", AGAIN)
