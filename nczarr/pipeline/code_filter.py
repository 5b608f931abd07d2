"""Choice of the diagnostics of a check: by codes, by comments in the text, and by the settings of a project.

`nczarr.toml`, or the table `[tool.nczarr]` of
`pyproject.toml`, has the keys `select`, `ignore`, and those of conventions such as `cf`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.ignored import matches
from nczarr.diagnostics.report import Diagnostic, Severity, hint
from nczarr.names.plugin_index import list_offered


class CodeFilter(NamedTuple):
    """Codes, or their first words such as `cf`, that are shown or not."""

    select: tuple[str, ...] = ()
    """Only these are shown; empty: all."""
    ignore: tuple[str, ...] = ()
    """These are not shown."""

    def hides(self, diagnostic: Diagnostic) -> bool:
        """Return whether a diagnostic is not shown, for its code or for a comment at its place."""
        code = diagnostic.code
        if self.select and not matches(code, self.select):
            return True
        return matches(code, self.ignore) or diagnostic.primary.is_ignored(code)

    def hides_warning(self, diagnostic: Diagnostic) -> bool:
        """Return the same for a source that may be unreadable, whose errors are always shown."""
        return diagnostic.severity is not Severity.ERROR and self.hides(diagnostic)


def check_codes(words: Iterable[str]) -> tuple[str, ...]:
    """Return codes and first words of codes. Raises ValueError for others."""
    checked = tuple(words)
    for word in checked:
        if not any(matches(code, (word,)) for code in CODES):
            raise ValueError(f"`{word}` is not a code, or the first word of one{hint(word, CODES)}")
    return checked


class CheckSettings(NamedTuple):
    """Settings of a project for checks."""

    select: tuple[str, ...] = ()
    """Codes of `--select`."""
    ignore: tuple[str, ...] = ()
    """Codes of `--ignore`."""
    conventions: Mapping[str, str] = MappingProxyType({})
    """Versions of conventions that are checked, by name; empty: the version that each dataset declares."""


def find_settings(folder: Path) -> CheckSettings:
    """Return the settings of the nearest `nczarr.toml` or `[tool.nczarr]`, from a folder upwards.

    Raises ValueError for an invalid file, OSError for an unreadable one.
    """
    for parent in (folder, *folder.parents):
        for name in ("nczarr.toml", "pyproject.toml"):
            path = parent / name
            if path.is_file():
                settings = _read_settings(path)
                if settings is not None:
                    return settings
    return CheckSettings()


def _read_settings(path: Path) -> CheckSettings | None:
    """Return the settings of a file; None for a project file without our table."""
    import tomllib

    try:
        table: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        if path.name == "pyproject.toml":
            return None  # other tools report it
        raise ValueError(f"{path}: {error}") from None
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("nczarr")
        if table is None:
            return None
    return _parse_settings(table, path)


def _parse_settings(table: Mapping[str, Any], path: Path) -> CheckSettings:
    """Read the table of a project's settings; raise ValueError, with the path, for a wrong key or value."""
    conventions = list_offered("convention")
    keys = ("select", "ignore", *conventions)
    unknown = next((key for key in table if key not in keys), None)
    if unknown is not None:
        end = hint(unknown, keys, f"the keys are {', '.join(keys)}")
        raise ValueError(f"{path}: unknown key `{unknown}`{end}")
    codes: dict[str, tuple[str, ...]] = {}
    for key in ("select", "ignore"):
        words = table.get(key, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{path}: `{key}` is not a list of codes")
        try:
            codes[key] = check_codes(words)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    versions = {key: table.get(key, False) for key in conventions}
    wrong = next((key for key, version in versions.items() if not isinstance(version, bool | str)), None)
    if wrong is not None:
        raise ValueError(f'{path}: `{wrong}` is neither true nor a version such as "1.8"')
    asked = {key: "" if version is True else version for key, version in versions.items() if version is not False}
    return CheckSettings(**codes, conventions=asked)
