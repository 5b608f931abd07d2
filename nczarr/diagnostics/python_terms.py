"""Options of the command line in texts of diagnostics, as keyword arguments of the Python functions.

A diagnostic names options as the command line spells them: `--allow-loss lost-mask`.
A Python caller reads `allow_loss=["lost-mask"]`.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class KeywordForm(Enum):
    """Form in which a keyword argument takes the value of an option."""

    SWITCH = "{}=True"
    TEXT = '{}="{}"'
    LIST = '{}=["{}"]'
    NUMBER = "{}={}"
    MAPPING = '{}={{"{}": "{}"}}'


class Keyword(NamedTuple):
    """Keyword argument that has the meaning of an option."""

    name: str
    """Name of the argument, or of a field of `holder`."""
    form: KeywordForm = KeywordForm.TEXT
    """Form of its value."""
    holder: str = ""
    """Argument whose value has the field: `writing`, `following` or `limits`."""


KEYWORDS = {
    "aggregation": Keyword("aggregation"),
    "allow-loss": Keyword("allow_loss", KeywordForm.LIST),
    "along": Keyword("along"),
    "base": Keyword("base", holder="writing"),
    "chunks": Keyword("chunks", KeywordForm.NUMBER),
    "codec": Keyword("codecs"),
    "consolidated": Keyword("consolidated", KeywordForm.SWITCH),
    "dask": Keyword("dask"),
    "declare": Keyword("declare"),
    "decode-times": Keyword("decode_times", KeywordForm.SWITCH),
    "delete": Keyword("delete", KeywordForm.LIST),
    "dim": Keyword("dims"),
    "discard": Keyword("discard", KeywordForm.SWITCH),
    "duplicates": Keyword("duplicates"),
    "embed": Keyword("embed", KeywordForm.NUMBER, "writing"),
    "grid": Keyword("grid"),
    "group": Keyword("groups", KeywordForm.LIST),
    "header-pad": Keyword("header_pad"),
    "inline": Keyword("inline", KeywordForm.NUMBER, "writing"),
    "join": Keyword("join"),
    "kind": Keyword("kind"),
    "layout": Keyword("layout"),
    "mask-fill": Keyword("mask_fill", KeywordForm.SWITCH),
    "max-entries": Keyword("entries", KeywordForm.NUMBER, "limits"),
    "max-output": Keyword("output", KeywordForm.NUMBER, "limits"),
    "max-size": Keyword("max_size", KeywordForm.NUMBER),
    "memory": Keyword("memory", KeywordForm.NUMBER),
    "metadata": Keyword("metadata", holder="writing"),
    "new-dim": Keyword("new_dim"),
    "narrow": Keyword("narrow", KeywordForm.SWITCH),
    "overwrite": Keyword("overwrite", KeywordForm.SWITCH),
    "region": Keyword("region"),
    "repack": Keyword("repack", KeywordForm.SWITCH),
    "resume": Keyword("resume", KeywordForm.SWITCH),
    "section": Keyword("sections", KeywordForm.LIST),
    "shards": Keyword("shards"),
    "sort": Keyword("sort", KeywordForm.SWITCH),
    "source-jinja": Keyword("jinja", KeywordForm.SWITCH, "following"),
    "source-root": Keyword("roots", KeywordForm.LIST, "following"),
    "storage-option": Keyword("storage_options", KeywordForm.MAPPING),
    "to": Keyword("format"),
    "units": Keyword("units"),
    "var": Keyword("variables", KeywordForm.LIST),
    "verify": Keyword("verify", KeywordForm.SWITCH),
    "virtual": Keyword("virtual", KeywordForm.SWITCH),
    "zarr-names": Keyword("zarr_names"),
}
"""Keyword arguments by option."""

_COMMAND = re.compile(r"`nczarr [^`]*`")
_OPTION = re.compile(
    r"--(?P<name>[a-z][a-z-]*)"
    r"(?P<value>[ =](?!--|or\b|and\b|for\b|of\b|to\b)[\w/.:=-]*\w(?: or nc\d)?)?"
    r"(?P<next> (?=--))?"
)


def in_python(text: str) -> str:
    """Return a text with keyword arguments instead of options; whole command lines stay as they are.

    Examples
    --------
    >>> in_python("read the rest with `--allow-loss lost-mask`")
    'read the rest with `allow_loss=["lost-mask"]`'
    """
    parts, end = [], 0
    for command in _COMMAND.finditer(text):
        parts += [_OPTION.sub(_keyword, text[end : command.start()]), command[0]]
        end = command.end()
    return "".join([*parts, _OPTION.sub(_keyword, text[end:])])


def _keyword(option: re.Match[str]) -> str:
    """Return the keyword argument of an option, or the option itself if no function takes it."""
    keyword = KEYWORDS.get(option["name"])
    if keyword is None:
        return option[0]
    value, rest = (option["value"] or ""), ""
    if keyword.form is KeywordForm.SWITCH:
        value, rest = "", value
    argument = _argument(keyword, value[1:])
    return argument + rest + (", " if option["next"] else "")


def _argument(keyword: Keyword, value: str) -> str:
    """Return a keyword argument with a value; an upper-case value is a placeholder."""
    if keyword.form is KeywordForm.SWITCH:
        argument = KeywordForm.SWITCH.value.format(keyword.name)
    elif not value:
        argument = f"{keyword.name}="
    elif keyword.form is KeywordForm.MAPPING:
        argument = KeywordForm.MAPPING.value.format(keyword.name, *value.split("=", 1))
    else:
        first, *others = value.split(" or ")
        form = KeywordForm.NUMBER if value.isupper() and keyword.form is KeywordForm.TEXT else keyword.form
        argument = form.value.format(keyword.name, first) + "".join(f' or "{each}"' for each in others)
    if keyword.holder:
        return f"{keyword.holder}={keyword.holder.title()}({argument})"
    return argument
