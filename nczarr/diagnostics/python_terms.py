"""Options of the command line in texts of diagnostics, as keyword arguments of the Python functions.

A diagnostic names options as the command line spells them: `--allow-loss lost-mask`.
A Python caller reads `allow_loss=["lost-mask"]`, and a call instead of a command.
"""

import re

from nczarr.names.records import NamedTuple


class Keyword(NamedTuple):
    """Keyword argument that has the meaning of an option."""

    name: str
    """Name of the argument, or of a field of `holder`."""
    form: str
    """Form of its value: a key of `_OPTIONS`."""
    holder: str
    """Argument whose value has the field: `writing`, `following` or `limits`; empty for most."""


_OPTIONS = {
    "True": "combine consolidated data decode-times discard dry-run mask-fill narrow overwrite rename-illegal repack "
    "relative=writing.relative resume sort source-jinja=following.jinja tables unpack unsorted update verify virtual",
    "False": "no-coordinates=coordinates",
    "text": "access aggregation along author base=writing.base boundary codec=codecs convention dask declare "
    "duplicates for=readers from=from_format grid header join kind layout message metadata=writing.metadata new-dim "
    "order region schema scratch separator shards source-base=following.base source-target=following.target to=format "
    "undo undo-file units zarr-names",
    "number": "chunks embed=writing.embed header-pad inline=writing.inline max-entries=limits.entries "
    "levels max-output=limits.output max-size memory workers",
    "list": "allow-loss delete exclude fixed unlimited group=groups ignore keep pass=passes section=sections select "
    "source-root=following.roots var=variables",
    "mapping": "define=definitions method rename set=attributes storage-option=storage_options",
    "slices": "dim=dims",
    "values": "sel",
}
"""Options by the form of their arguments; behind `=`, the name of an argument that is spelled otherwise."""

KEYWORDS = {
    option: Keyword(place.rpartition(".")[2] or option.replace("-", "_"), form, place.rpartition(".")[0])
    for form, options in _OPTIONS.items()
    for option, _, place in (pair.partition("=") for pair in options.split())
}
"""Keyword arguments by option."""

CALLS = frozenset(
    {"append", "check", "combine", "convert", "diff", "digest", "edit", "info", "migrate", "pyramid", "rechunk"}
)
"""Commands that are functions of the same name."""

_VALUE = r"(?!--|\(|(?:or|and|for|of|to|says)\b)(?:'[^'`]*'|(?:[^\s`;',]|,(?=\S))*[^\s`;:.?!)',])(?: or nc\d)?"
_OPTION = rf"(?<![\w-])--(?P<name>[a-z][a-z-]*)(?P<value>[ =]{_VALUE})?(?P<next> (?=--))?"
_COMMAND = r"`nczarr (?P<verb>(?:refs )?[a-z]+)(?P<rest> [^`]+)`"


def in_python(text: str) -> str:
    """Return a text with keyword arguments instead of options, and calls instead of commands.

    Examples
    --------
    >>> in_python("read the rest with `--allow-loss lost-mask`")
    'read the rest with `allow_loss=["lost-mask"]`'
    """
    return re.sub(_OPTION, _keyword, re.sub(_COMMAND, _call, text))


def _call(command: re.Match[str]) -> str:
    """Return a command as a call of the function of its name, or as it is without one."""
    verb = command["verb"].replace(" ", ".")
    if verb.removeprefix("refs.") not in CALLS:
        return command[0]
    rest = command["rest"].replace(" --recover", "").replace(" -o ", " ")  # `edit` recovers what it opens
    paths, dashes, options = rest.partition(" --")
    words = [*map(_quote, re.findall(r"'[^']*'|\S+", paths)), re.sub(_OPTION, _keyword, (dashes + options).strip())]
    return f"`nczarr.{verb}({', '.join(filter(None, words))})`"


def _keyword(option: re.Match[str]) -> str:
    """Return the keyword argument of an option; an option without one is named in words."""
    keyword, value = KEYWORDS.get(option["name"]), option["value"] or ""
    end = ", " if option["next"] else ""
    if keyword is None:
        return f"option {option['name']}{value}{end}"
    if keyword.form in ("True", "False"):
        argument, end = f"{keyword.name}={keyword.form}", value + end
    else:
        first, *others = value[1:].strip("'").split(" or ")
        argument = _argument(keyword, first) + "".join(f" or {_quote(each)}" for each in others)
    return (f"{keyword.holder}={keyword.holder.title()}({argument})" if keyword.holder else argument) + end


def _argument(keyword: Keyword, value: str) -> str:
    """Return a keyword argument with a value, which may be empty."""
    name, form, _ = keyword
    key, is_pair, item = value.partition("=")
    if name == "sel" and "~" in value:
        name, (key, is_pair, item) = "nearest", value.partition("~")
    elif name == "attributes" and "@" not in key and item.isupper():
        name = "templates"
    if is_pair and form != "text":
        return f'{name}={{"{key}": {_write_item(item, form)}}}'
    text = _write_item(value, form) if form == "number" else _quote(value)
    return f"{name}=[{text}]" if form == "list" and value else f"{name}={text}"


def _write_item(value: str, form: str) -> str:
    """Return the value of an option as Python's: a number, size, lengths, slice, or range of values."""
    if (size := re.fullmatch(r"(\d+)([KMG])iB", value)) is not None:
        return f"{size[1]} << {10 * (1 + 'KMG'.index(size[2]))}"
    bounds = value.split(":")
    if form == "slices" and len(bounds) > 1 and bounds[1].lstrip("-").isdigit():  # the command line includes the last
        return f"slice({', '.join([bounds[0], str(int(bounds[1]) + 1 or None), *bounds[2:]])})"
    if form == "values" and len(bounds) == 2 and "T" not in value:
        return f"({_write_item(bounds[0], form)}, {_write_item(bounds[1], form)})"
    if form == "number" and "," in value:
        return f"({value.replace(',', ', ')})"
    is_number = re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", value) is not None and form != "mapping"
    return value if is_number or value.startswith('"') else _quote(value)


def _quote(value: str) -> str:
    """Return a text as Python's literal; placeholders, upper-case words and an ellipsis, as they are."""
    word = value.strip("'…")
    return value if not word or (word.isupper() and word.isidentifier()) else f'"{word}"'
