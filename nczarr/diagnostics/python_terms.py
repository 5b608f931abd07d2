"""Options of the command line in texts of diagnostics, as keyword arguments of the Python functions.

A diagnostic names options as the command line spells them: `--allow-loss lost-mask`.
A Python caller reads `allow_loss=["lost-mask"]`, and a call instead of a command.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class KeywordForm(Enum):
    """Form in which a keyword argument takes the value of an option."""

    SWITCH, OFF = "True", "False"
    TEXT, LIST, MAPPING = "a text", "a list of texts", "texts by name"
    NUMBER = "a number, or lengths by name"
    SLICES = "slices by name; the command line includes the last index"
    VALUES = "values of coordinates by name"
    WORDS = "no argument: the option is named in words"


class Keyword(NamedTuple):
    """Keyword argument that has the meaning of an option."""

    name: str
    """Name of the argument, or of a field of `holder`."""
    form: KeywordForm
    """Form of its value."""
    holder: str = ""
    """Argument whose value has the field: `writing`, `following` or `limits`."""


def _list_keywords(form: KeywordForm, options: str) -> dict[str, Keyword]:
    """Return keyword arguments by option; `=` is before a name of another spelling, with its holder."""
    pairs = [option.partition("=")[::2] for option in options.split()]
    places = {option: (name or option.replace("-", "_")).rpartition(".") for option, name in pairs}
    return {option: Keyword(name, form, holder) for option, (holder, _, name) in places.items()}


KEYWORDS = {
    **_list_keywords(
        KeywordForm.SWITCH,
        "combine consolidated data decode-times discard dry-run mask-fill narrow overwrite relative=writing.relative "
        "rename-illegal repack resume sort source-jinja=following.jinja tables unsorted verify virtual",
    ),
    **_list_keywords(KeywordForm.OFF, "no-coordinates=coordinates"),
    **_list_keywords(
        KeywordForm.TEXT,
        "access aggregation along author base=writing.base codec=codecs dask declare duplicates for=readers "
        "from=from_format grid header join kind layout message metadata=writing.metadata new-dim order region schema "
        "scratch separator shards source-base=following.base source-target=following.target to=format undo undo-file "
        "units zarr-names",
    ),
    **_list_keywords(
        KeywordForm.NUMBER,
        "chunks embed=writing.embed header-pad inline=writing.inline max-entries=limits.entries "
        "max-output=limits.output max-size memory workers",
    ),
    **_list_keywords(
        KeywordForm.LIST,
        "allow-loss delete group=groups ignore keep pass=passes section=sections select source-root=following.roots "
        "var=variables",
    ),
    **_list_keywords(KeywordForm.MAPPING, "define=definitions rename set=attributes storage-option=storage_options"),
    **_list_keywords(KeywordForm.SLICES, "dim=dims"),
    **_list_keywords(KeywordForm.VALUES, "sel"),
}
"""Keyword arguments by option."""

CALLS = frozenset({"append", "check", "combine", "convert", "diff", "digest", "edit", "info", "migrate", "rechunk"})
"""Commands that are functions of the same name."""

_PROSE = r"(?!--|(?:or|and|for|of|to|says)\b)"
_VALUE = r"'[^'`]*'|(?!\()(?:[^\s`;',]|,(?=\S))*[^\s`;:.?!)',]"
_OPTION = re.compile(
    rf"(?<![\w-])--(?P<name>[a-z][a-z-]*)(?P<value>[ =]{_PROSE}(?:{_VALUE})(?: or nc\d)?)?(?P<next> (?=--))?"
)
_COMMAND = re.compile(r"`nczarr (?P<verb>(?:refs )?[a-z]+)(?P<rest>(?: [^`]*)?)`")
_SIZE = re.compile(r"(\d+)([KMG])iB")


def in_python(text: str) -> str:
    """Return a text with keyword arguments instead of options, and calls instead of commands.

    Examples
    --------
    >>> in_python("read the rest with `--allow-loss lost-mask`")
    'read the rest with `allow_loss=["lost-mask"]`'
    >>> in_python("convert it: `nczarr convert SRC DST --to zarr2`")
    'convert it: `nczarr.convert(SRC, DST, format="zarr2")`'
    """
    return _OPTION.sub(_keyword, _COMMAND.sub(_call, text)) if "--" in text or "`nczarr " in text else text


def _call(command: re.Match[str]) -> str:
    """Return a command as a call of the function of its name; a command that is none stays."""
    verb = command["verb"].replace(" ", ".")
    if verb.removeprefix("refs.") not in CALLS:
        return command[0]
    rest = command["rest"].replace(" --recover", "").replace(" -o ", " ")  # `edit` recovers what it opens
    paths, dashes, options = rest.partition(" --")
    words = [_text(word) for word in re.findall(r"'[^']*'|\S+", paths)]
    return f"`nczarr.{verb}({', '.join([*words, *filter(None, [_OPTION.sub(_keyword, dashes + options).strip()])])})`"


def _keyword(option: re.Match[str]) -> str:
    """Return the keyword argument of an option; an option that no function takes is named in words."""
    keyword = KEYWORDS.get(option["name"], Keyword(option["name"], KeywordForm.WORDS))
    value, rest = (option["value"] or ""), ""
    if keyword.form in (KeywordForm.SWITCH, KeywordForm.OFF, KeywordForm.WORDS):
        value, rest = "", value
    argument = _argument(keyword, value[1:].strip("'"))
    if keyword.holder:
        argument = f"{keyword.holder}={keyword.holder.title()}({argument})"
    return argument + rest + (", " if option["next"] else "")


def _argument(keyword: Keyword, value: str) -> str:
    """Return a keyword argument with a value; an upper-case value is a placeholder."""
    form, name = keyword.form, keyword.name
    if form is KeywordForm.WORDS:
        return f"option {name}"
    if form in (KeywordForm.SWITCH, KeywordForm.OFF) or not value:
        return f"{name}={form.value if form in (KeywordForm.SWITCH, KeywordForm.OFF) else ''}"
    first, *others = value.split(" or ")
    key, is_pair, item = first.partition("=")
    if name == "sel" and "~" in first:
        name, (key, is_pair, item) = "nearest", first.partition("~")
    elif name == "attributes" and "@" not in key and item.isupper():
        name = "templates"
    if form is KeywordForm.LIST:
        text = f"[{_text(first)}]"
    elif is_pair and form is not KeywordForm.TEXT:
        text = f'{{"{key}": {_item(item, form)}}}'
    else:
        text = _item(first, form) if form is KeywordForm.NUMBER else _text(first)
    return f"{name}={text}" + "".join(f" or {_text(each)}" for each in others)


def _item(value: str, form: KeywordForm) -> str:
    """Return the value of an option as Python's: a number, size, lengths, slice, or range of values."""
    if (size := _SIZE.fullmatch(value)) is not None:
        return f"{size[1]} << {10 * (1 + 'KMG'.index(size[2]))}"
    bounds = value.split(":")
    if form is KeywordForm.SLICES and len(bounds) > 1 and bounds[1].lstrip("-").isdigit():
        return f"slice({', '.join([bounds[0], str(int(bounds[1]) + 1 or None), *bounds[2:]])})"
    if form is KeywordForm.VALUES and len(bounds) == 2 and "T" not in value:
        return f"({_item(bounds[0], form)}, {_item(bounds[1], form)})"
    if form is KeywordForm.NUMBER and "," in value:
        return f"({value.replace(',', ', ')})"
    is_number = re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", value) is not None and form is not KeywordForm.MAPPING
    return value if is_number or value.startswith('"') else _text(value)


def _text(value: str) -> str:
    """Return a text as Python's literal; placeholders, upper-case words and an ellipsis, as they are."""
    value = value.strip("'")
    return value if not value.strip("…") or value.rstrip("…").isupper() else f'"{value}"'
