"""Lexers of CDL and the notation for Pygments: documentation, terminals, notebooks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from nczarr import registry
from nczarr.plugins.languages.language import find_language


def _load_words(suffix: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of the text format of a suffix."""
    form = registry.for_target(suffix)
    assert form is not None
    language = find_language(form.name)
    assert language is not None
    return language.words


_CDL = _load_words("a.cdl")
_NOTATION = _load_words("a.ncz")

NAME = r"(?:[A-Za-z_]|[^\x00-\x7f]|\\[ -~])(?:[A-Za-z0-9_.@+%-]|[^\x00-\x7f]|\\[^\r\n])*"
"""A name of CDL."""

_END = r"(?![A-Za-z0-9_.@+%\\-]|[^\x00-\x7f])"
_BLANKS: list[Any] = [
    (r"[ \t\r\n\f\ufeff]+", Whitespace),
    (r"//[^\r\n]*", Comment.Single),
]


class CdlLexer(RegexLexer):  # type: ignore[misc]
    """Lexer of CDL, the text form of netCDF."""

    name = "CDL"
    aliases: ClassVar[list[str]] = ["cdl", "netcdf"]
    filenames: ClassVar[list[str]] = ["*.cdl"]
    mimetypes: ClassVar[list[str]] = ["text/x-cdl"]
    url = "https://docs.unidata.ucar.edu/nug/current/_c_d_l.html"

    tokens: ClassVar[dict[str, list[Any]]] = {
        "blanks": [*_BLANKS, (r"/\*[\s\S]*?\*/", Comment.Multiline)],
        "root": [
            (r"(netcdf|NETCDF|netCDF)([^{]*)(\{)", bygroups(Keyword.Declaration, Name.Namespace, Punctuation), "body"),
            (r"", Whitespace, "body"),
        ],
        "body": [
            (words(_CDL["sections"], prefix=r"(", suffix=rf":)(?!{NAME}[ \t]*=(?!=))"), Keyword.Namespace),
            (r'"[^"\\]*(?:\\[\s\S][^"\\]*)*"', String.Double),
            (r"'[^'\\]*(?:\\[\s\S][^'\\]*)*'", String.Char),
            (
                rf"(:)([ \t\r\n]*)({'|'.join(_CDL['attributes'])}){_END}",
                bygroups(Punctuation, Whitespace, Name.Builtin),
            ),
            (rf"(:)([ \t\r\n]*)({NAME})", bygroups(Punctuation, Whitespace, Name.Attribute)),
            (words(_CDL["declarations"], suffix=_END), Keyword.Declaration),
            (words(_CDL["types"], suffix=_END), Keyword.Type),
            (words((*_CDL["constants"], "-Infinity", "-Infinityf", "-Inff"), suffix=_END), Keyword.Constant),
            (rf"{NAME}(?=[ \t]+{NAME})", Name.Class),
            (NAME, Name.Variable),
            (rf"(?:/{NAME})+", Name.Variable),
            (r"0[xX][0-9a-fA-F]+[sSlL]*", Number.Hex),
            (r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdDlL]?", Number.Float),
            (r"[+-]?[0-9]+[eE][+-]?[0-9]+[fFdDlL]?", Number.Float),
            (r"[+-]?0[0-7]+[A-Za-z]*", Number.Oct),
            (r"[+-]?[0-9]+[A-Za-z]*", Number.Integer),
            (r"=", Operator),
            (r"[{}();:,*]", Punctuation),
        ],
    }
    for _state in ("root", "body"):
        tokens[_state][:0] = tokens["blanks"]

    def analyse_text(text: str) -> float:  # noqa: N805  (Pygments makes it a static method)
        """Return 1 for a text that begins as CDL."""
        begins = r"(?:\s|//[^\n]*\n|/\*[\s\S]*?\*/|\ufeff)*(?:netcdf|NETCDF|netCDF)\s[^{]*\{"
        return 1.0 if re.match(begins, text) else 0.0


_WORD = r"(?:[!#-*,:-?A-\[\]-z|~]|[^\x00-\x7f]|\\[ -~])(?:[!#-.0-\[\]-z|~]|[^\x00-\x7f]|\\[ -~])*"
_AFTER = r"(?![!#-.0-\[\]-z|~\\]|[^\x00-\x7f])"


class NotationLexer(RegexLexer):  # type: ignore[misc]
    """Lexer of the NCZarr notation."""

    name = "NCZarr notation"
    aliases: ClassVar[list[str]] = ["notation", "ncz"]
    filenames: ClassVar[list[str]] = ["*.ncz"]
    mimetypes: ClassVar[list[str]] = ["text/x-nczarr-notation"]
    url = "https://docs.unidata.ucar.edu/nug/current/nczarr_head.html"

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            *_BLANKS,
            (
                rf"({'|'.join(_NOTATION['declarations'])})([ \t\r\n]+)({_WORD})",
                bygroups(Keyword.Declaration, Whitespace, Name.Variable),
            ),
            (words(_NOTATION["declarations"], suffix=_AFTER), Keyword.Declaration),
            (words(_NOTATION["properties"], suffix=_AFTER), Keyword),
            (words(_NOTATION["types"], suffix=_AFTER), Keyword.Type),
            (words((*_NOTATION["constants"], "-Infinity"), suffix=_AFTER), Keyword.Constant),
            (r'"(?:\\[^\r\n]|[^"\\\r\n])*"', String.Double),
            (r"[0-9]+\.[0-9]+\.[0-9]+" + _AFTER, Number),
            (r"0[xX][0-9a-fA-F]+" + _AFTER, Number.Hex),
            (r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?" + _AFTER, Number.Float),
            (r"[+-]?[0-9]+[eE][+-]?[0-9]+" + _AFTER, Number.Float),
            (r"[+-]?[0-9]+" + _AFTER, Number.Integer),
            (r"@[0-9]+" + _AFTER, Number.Integer),
            (r"(?:/(?:[!#-.0-\[\]-z|~]|[^\x00-\x7f]|\\[ -~])+)+|/", Name.Class),
            (_WORD, Name),
            (r"[{}]", Punctuation),
            (r".", Error),
        ],
    }

    def analyse_text(text: str) -> float:  # noqa: N805  (Pygments makes it a static method)
        """Return 1 for a text that begins as the notation."""
        return 1.0 if re.match(r"(?:\s|//[^\n]*\n|\ufeff)*dataset\s[^{]*[0-9]+\.[0-9]+\.[0-9]+", text) else 0.0
