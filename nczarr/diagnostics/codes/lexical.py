"""Codes of characters, escapes and constants (cdl-language §1–§5)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "unterminated-string",
        ERROR,
        "A string constant has no closing quote before the end of the input. The place shown is where it opens.",
        'netcdf t {\n  :title = "ocean ;\n}\n',
        'Close the string with `"`; write a quote inside it as `\\"`.',
    ),
    Code(
        "unterminated-comment",
        ERROR,
        "A comment that `/*` opens has no `*/`. The place shown is where it opens.",
        "netcdf t {\n}\n/* to be continued\n",
        "Close the comment with `*/`, or write a comment of one line with `//`. Comments do not nest.",
    ),
    Code(
        "invalid-utf8",
        ERROR,
        "The text, or a name in a file, holds a byte that no UTF-8 text holds at this place.",
        'netcdf t {\n  :name = "S\udce3o" ;\n}\n',
        "Save the file as UTF-8. For a raw byte in char data write an octal escape, such as `\\343`.",
    ),
    Code(
        "nul-byte",
        ERROR,
        "The text holds a NUL byte. Other tools cut the text or the value there without a word.",
        "netcdf t {\n  dimensions:\x00 x = 1 ;\n}\n",
        "Remove the byte; inside a char value write `\\000`.",
    ),
    Code(
        "bad-character",
        ERROR,
        "A character that CDL knows nowhere outside strings and names: a control character, or white space that "
        "is none to CDL, as U+00A0.",
        "netcdf t {\n  dimensions:\x01 x = 1 ;\n}\n",
        "Remove the character. White space is blank, tab, carriage return, line feed and form feed.",
    ),
    Code(
        "bad-char-constant",
        ERROR,
        "A constant in single quotes does not hold exactly one byte.",
        "netcdf t {\nvariables:\n  char c ;\ndata:\n  c = 'ab' ;\n}\n",
        "Write several characters as a string in double quotes, and a byte outside ASCII as an escape (`'\\351'`).",
    ),
    Code(
        "bad-escape",
        ERROR,
        "A backslash in a constant or name starts no escape, or an escape that is cut short or too large for a byte.",
        'netcdf t {\n  :a = "\\400" ;\n}\n',
        "Octal escapes have three digits up to `\\377`, hexadecimal ones two (`\\xff`); "
        "others are `\\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\"`.",
    ),
    Code(
        "unknown-escape",
        WARNING,
        "A backslash stands before a character that needs none; the character alone is taken.",
        'netcdf t {\n  :a = "\\q" ;\n}\n',
        "Remove the backslash, or double it if a backslash is meant.",
    ),
    Code(
        "bad-number",
        ERROR,
        "Something that starts like a number is none: an unknown suffix, a digit 8 or 9 after a leading 0 (octal), "
        "an exponent without digits, a lone point, a sign before an unsigned constant.",
        "netcdf t {\n  :a = 08 ;\n}\n",
        "Suffixes are `b s l ll`, each with `u` before or after for unsigned, `f` and `d` after a point or exponent; "
        "a leading 0 makes a number octal.",
    ),
    Code(
        "integer-overflow",
        ERROR,
        "An integer constant fits no integer type of 64 bits.",
        "netcdf t {\n  :a = 18446744073709551616 ;\n}\n",
        "Integers run from -9223372036854775808 to 18446744073709551615; write a larger one as a double, `1.8e19`.",
    ),
    Code(
        "suffix-range",
        ERROR,
        "An integer does not fit the type that its suffix names.",
        "netcdf t {\n  :a = 300b ;\n}\n",
        "Use a wider suffix. A signed suffix also takes the unsigned spelling of a value, so `255b` is -1.",
    ),
    Code(
        "inexact",
        WARNING,
        "A constant loses its fraction on its way to an integer type.",
        "netcdf t {\nvariables:\n  int v ;\ndata:\n  v = 1.5 ;\n}\n",
        "Write the value that shall be stored, or give the target a type that holds it.",
    ),
    Code(
        "float-overflow",
        WARNING,
        "A finite floating-point constant is too large for its type and becomes infinity.",
        "netcdf t {\n  :a = 1e39f ;\n}\n",
        "Use a wider type, or write `Infinity` if it is meant.",
    ),
    Code(
        "raw-byte",
        WARNING,
        "A string holds a byte that is not UTF-8 and no letter of a common encoding: it is kept as raw data.",
        'netcdf t {\n  :a = "\udc80" ;\n}\n',
        "Write the byte as an octal escape, such as `\\200`, so that every tool reads it alike.",
    ),
)
