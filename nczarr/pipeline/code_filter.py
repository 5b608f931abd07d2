"""Choice of the diagnostics of a check: by codes, by comments in the text, and by the settings of a project.

`nczarr.toml`, or the table `[tool.nczarr]` of
`pyproject.toml`, has the keys `select`, `ignore`, and those of conventions such as `cf`.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.ignored import matches
from nczarr.diagnostics.report import Diagnostic, Severity, hint
from nczarr.names.plugin_index import list_offered
from nczarr.registry import load_addition


class CodeFilter(NamedTuple):
    """Codes, or their first words such as `cf`, that are shown or not."""

    select: tuple[str, ...] = ()
    """Only these are shown; empty: all."""
    ignore: tuple[str, ...] = ()
    """These are not shown."""

    def hides(self, diagnostic: Diagnostic) -> bool:
        """Return whether a diagnostic is not shown, for its code or for a comment at its place."""
        code = diagnostic.code
        is_other = bool(self.select) and not matches(code, self.select)
        return is_other or matches(code, self.ignore) or diagnostic.primary.is_ignored(code)

    def hides_warning(self, diagnostic: Diagnostic) -> bool:
        """Return the same for a source that may be unreadable, whose errors are always shown."""
        return diagnostic.severity is not Severity.ERROR and self.hides(diagnostic)


def check_code(word: str) -> str:
    """Return a code, or the first words of codes. Raises ValueError for another word."""
    if not any(matches(code, (word,)) for code in CODES):
        raise ValueError(f"`{word}` is not a code, or the first word of one{hint(word, CODES)}")
    return word


class CheckSettings(NamedTuple):
    """Settings of a project for checks."""

    select: tuple[str, ...] = ()
    """Codes of `--select`."""
    ignore: tuple[str, ...] = ()
    """Codes of `--ignore`."""
    conventions: Mapping[str, str] = MappingProxyType({})
    """Versions of conventions that are checked, by name; empty: the version that each dataset declares."""


def find_settings(folder: Path | None = None) -> CheckSettings:
    """Return the settings of the nearest `nczarr.toml` or `[tool.nczarr]`, from a folder, or the working one, upwards.

    Raises ValueError for an invalid file, OSError for an unreadable one.
    """
    with suppress(FileNotFoundError):  # the working folder was removed
        folder = folder or Path.cwd()
    for parent in (folder, *folder.parents) if folder else ():
        for name in ("nczarr.toml", "pyproject.toml"):
            path = parent / name
            if path.is_file():
                settings = _read_settings(path)
                if settings is not None:
                    return settings
    return CheckSettings()


def _read_settings(path: Path) -> CheckSettings | None:
    """Return the settings of a file; None for a project file without our table. Raises ValueError, with the place."""
    import tomllib

    parents = () if path.name == "nczarr.toml" else ("tool", "nczarr")
    try:
        text = path.read_text(encoding="utf-8")
        table: Any = tomllib.loads(text)
    except ValueError as error:
        if parents:
            return None  # other tools report it
        raise ValueError(f"{path}: {error}") from None
    for key in parents:
        table = table.get(key) if isinstance(table, dict) else None
    if table is None:
        return None
    found: dict[str, Any] = {"conventions": {}}
    for key, value in table.items() if isinstance(table, dict) else [("", table)]:
        try:
            _read_setting(key, value, found)
        except ValueError as error:
            raise ValueError(f"{path}:{_find_line(text, (*parents[1:], key))}: {error}") from None
    return CheckSettings(**found)


def _read_setting(key: str, value: Any, found: dict[str, Any]) -> None:
    """Add a value of a project's settings to those that were found. Raises ValueError for a wrong key or value."""
    conventions = list_offered("convention")
    if key in ("select", "ignore"):
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise ValueError(f"`{key}` is not a list of codes")
        found[key] = tuple(map(check_code, value))
    elif key in conventions:
        if not isinstance(value, bool | str):
            raise ValueError(f'`{key}` is neither true nor a version such as "1.8"')
        found["conventions"] |= {key: find_version(key, value)} if value is not False else {}
    else:
        keys = ("select", "ignore", *conventions)
        end = hint(key, keys, f"the keys are {', '.join(keys)}")
        raise ValueError(f"unknown key `{key}`{end}" if key else "`tool.nczarr` is not a table")


def find_version(name: str, asked: bool | str) -> str:
    """Return the version of a convention; empty for True: the one of each dataset. Raises ValueError if unknown."""
    found: str = "" if asked is True else load_addition("convention", name).parse(asked)
    return found


def _find_line(text: str, keys: Iterable[str]) -> int:
    """Return the line of a key that follows others, 1 for the first; that of the last one found if it is not."""
    start = 0
    for key in keys:
        line = re.compile(rf"""^[^#"'\n]*\b{re.escape(key)}\s*[].=]""", re.MULTILINE).search(text, start)
        start = line.start() if line else start
    return text.count("\n", 0, start) + 1
