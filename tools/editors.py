"""Write the syntax files in `editors/` from the words of the package, or prove with --check that they are current."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from nczarr import registry  # noqa: E402
from nczarr.plugins.languages.language import find_language  # noqa: E402

EDITORS = ROOT / "editors"
NAME = r"(?:[A-Za-z_]|[^\x00-\x7f]|\\[ -~])(?:[A-Za-z0-9_.@+%-]|[^\x00-\x7f]|\\.)*"
WORD = r"(?:[!#-*,:-?A-\[\]-z|~]|[^\x00-\x7f]|\\[ -~])(?:[!#-.0-\[\]-z|~]|[^\x00-\x7f]|\\[ -~])*"
CDL_END = r"(?![A-Za-z0-9_.@+%\\-]|[^\x00-\x7f])"
WORD_END = r"(?![!#-.0-\[\]-z|~\\]|[^\x00-\x7f])"

Words = Mapping[str, tuple[str, ...]]


def list_words(suffix: str) -> Words:
    """Return the words of the text format of a suffix."""
    form = registry.for_target(f"a{suffix}")
    assert form is not None
    language = find_language(form.name)
    assert language is not None
    table: Words = language.words
    return table


def any_of(words: tuple[str, ...]) -> str:
    """Return a pattern of any word, the longest first."""
    return "(?:" + "|".join(sorted(words, key=lambda word: (-len(word), word))) + ")"


def _rule(name: str, match: str, **captures: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"name": name, "match": match} if name else {"match": match}
    if captures:
        rule["captures"] = {number.lstrip("_"): {"name": scope} for number, scope in captures.items()}
    return rule


def textmate_cdl(words: Words) -> dict[str, Any]:
    """Return the TextMate grammar of CDL."""
    sections = rf"\b{any_of(words['sections'])}:(?!{NAME}[ \t]*=(?!=))"
    colon = "punctuation.separator.cdl"
    patterns: list[dict[str, Any]] = [
        {"name": "comment.line.double-slash.cdl", "match": "//.*$"},
        {"name": "comment.block.cdl", "begin": r"/\*", "end": r"\*/"},
        {
            "name": "string.quoted.double.cdl",
            "begin": '"',
            "end": '"',
            "patterns": [_rule("constant.character.escape.cdl", r"\\(?:x[0-9A-Fa-f]{2}|[0-7]{1,3}|.|$)")],
        },
        _rule("string.quoted.single.cdl", r"'(?:[^'\\]|\\.)*'"),
        _rule("", r"^\s*(netcdf|NETCDF|netCDF)\s+([^{]*)", _1="keyword.other.cdl", _2="entity.name.namespace.cdl"),
        _rule("keyword.control.section.cdl", sections),
        _rule("", rf"(:)\s*({any_of(words['attributes'])}){CDL_END}", _1=colon, _2="support.variable.special.cdl"),
        _rule("", rf"(:)\s*({NAME})", _1=colon, _2="variable.other.property.cdl"),
        _rule("storage.modifier.cdl", rf"(?<![\w\\]){any_of(words['declarations'])}{CDL_END}"),
        _rule("storage.type.cdl", rf"(?<![\w\\]){any_of(words['types'])}{CDL_END}"),
        _rule("constant.language.cdl", rf"(?<![\w\\])(?:-?{any_of(words['constants'])}){CDL_END}"),
        _rule("entity.name.type.cdl", rf"{NAME}(?=[ \t]+{NAME})"),
        _rule("variable.other.cdl", rf"(?:/{NAME})+|{NAME}"),
        _rule("constant.numeric.cdl", r"0[xX][0-9a-fA-F]+[sSlL]*"),
        _rule("constant.numeric.cdl", r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[A-Za-z]*"),
        _rule("keyword.operator.cdl", "="),
        _rule("punctuation.cdl", r"[{}();:,*]"),
    ]
    return {"name": "CDL", "scopeName": "source.cdl", "fileTypes": ["cdl"], "patterns": patterns}


def textmate_notation(words: Words) -> dict[str, Any]:
    """Return the TextMate grammar of the notation."""
    start = r"(?<![^\s{}])"
    patterns: list[dict[str, Any]] = [
        {"name": "comment.line.double-slash.ncz", "match": "//.*$"},
        {
            "name": "string.quoted.double.ncz",
            "begin": '"',
            "end": '"|$',
            "patterns": [_rule("constant.character.escape.ncz", r"\\(?:x[0-9A-Fa-f]{2}|.)")],
        },
        _rule(
            "",
            rf"{start}({any_of(words['declarations'])})[ \t]+({WORD})",
            _1="storage.modifier.ncz",
            _2="variable.other.ncz",
        ),
        _rule("storage.modifier.ncz", rf"{start}{any_of(words['declarations'])}{WORD_END}"),
        _rule("keyword.other.property.ncz", rf"{start}{any_of(words['properties'])}{WORD_END}"),
        _rule("storage.type.ncz", rf"{start}{any_of(words['types'])}{WORD_END}"),
        _rule("constant.language.ncz", rf"{start}-?{any_of(words['constants'])}{WORD_END}"),
        _rule("entity.name.type.ncz", r"(?:/(?:[!#-.0-\[\]-z|~]|[^\x00-\x7f]|\\[ -~])+)+|/"),
        _rule("constant.numeric.ncz", rf"{start}(?:0[xX][0-9a-fA-F]+|[0-9]+\.[0-9]+\.[0-9]+|@[0-9]+){WORD_END}"),
        _rule(
            "constant.numeric.ncz",
            rf"{start}[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?{WORD_END}",
        ),
        _rule("variable.other.ncz", WORD),
        _rule("punctuation.ncz", r"[{}]"),
    ]
    return {"name": "NCZarr notation", "scopeName": "source.ncz", "fileTypes": ["ncz"], "patterns": patterns}


def _vim(words: tuple[str, ...]) -> str:
    return r"\%(" + r"\|".join(sorted(words, key=lambda word: (-len(word), word))) + r"\)"


VIM_HEAD = """\" Vim syntax file of {title}. Made by tools/editors.py; do not change it by hand.
if exists("b:current_syntax")
  finish
endif
syntax case match
"""

VIM_NAME = r"\%(\h\|[^\x00-\x7f]\|\\[ -~]\)\%([A-Za-z0-9_.@+%-]\|[^\x00-\x7f]\|\\.\)*"
VIM_END = r"\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@!"
VIM_START = r"\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@1<!"


def vim_cdl(words: Words) -> str:
    """Return the syntax file of Vim for CDL. Of matches at one place, Vim takes the last rule."""
    lines = [
        VIM_HEAD.format(title="CDL, the text form of netCDF"),
        f"syntax match cdlName ~\\%(/\\?{VIM_NAME}\\)\\+~",
        f"syntax match cdlUserType ~{VIM_START}{VIM_NAME}\\ze\\s\\+{VIM_NAME}~",
        r"syntax match cdlNumber ~[+-]\?\%(\d\+\.\?\d*\|\.\d\+\)\%([eE][+-]\?\d\+\)\?\a*~",
        r"syntax match cdlNumber ~0[xX]\x\+[sSlL]*~",
        f"syntax match cdlType ~{VIM_START}{_vim(words['types'])}{VIM_END}~",
        f"syntax match cdlDeclaration ~{VIM_START}{_vim(words['declarations'])}{VIM_END}~",
        f"syntax match cdlConstant ~{VIM_START}-\\?{_vim(words['constants'])}{VIM_END}~",
        f"syntax match cdlAttribute ~:\\s*\\zs{VIM_NAME}~",
        f"syntax match cdlSpecial ~:\\s*\\zs{_vim(words['attributes'])}{VIM_END}~",
        f"syntax match cdlSection ~{VIM_START}{_vim(words['sections'])}:\\%({VIM_NAME}\\s*==\\@!\\)\\@!~",
        r"syntax match cdlHeader ~^\s*\%(netcdf\|NETCDF\|netCDF\)\s[^{]*~ contains=cdlNetcdf",
        r"syntax match cdlNetcdf ~\%(netcdf\|NETCDF\|netCDF\)~ contained",
        r"syntax match cdlEscape ~\\\%(x\x\x\|\o\{1,3}\|.\)~ contained",
        r"syntax region cdlString start=~\"~ skip=~\\.~ end=~\"~ contains=cdlEscape,@Spell",
        r"syntax match cdlCharacter ~'\%([^'\\]\|\\.\)*'~ contains=cdlEscape",
        r"syntax match cdlComment +//.*$+ contains=@Spell",
        r"syntax region cdlComment start=+/\*+ end=+\*/+ contains=@Spell",
        "",
        *_links(
            "cdl",
            {
                "UserType": "Type",
                "Number": "Number",
                "Type": "Type",
                "Declaration": "StorageClass",
                "Constant": "Constant",
                "Attribute": "Identifier",
                "Special": "PreProc",
                "Section": "Statement",
                "Header": "Title",
                "Netcdf": "Statement",
                "Escape": "SpecialChar",
                "String": "String",
                "Character": "Character",
                "Comment": "Comment",
            },
        ),
        'let b:current_syntax = "cdl"',
    ]
    return "\n".join(lines) + "\n"


def vim_notation(words: Words) -> str:
    """Return the syntax file of Vim for the notation."""
    start, end = r"\%([^ \t{}]\)\@1<!", r"\%([^ \t{}/]\)\@!"
    lines = [
        VIM_HEAD.format(title="the NCZarr notation"),
        f"syntax match nczNumber ~{start}[-+.@0-9][^ \\t{{}}/]*~",
        r"syntax match nczPath ~/\%(\\.\|[^ \t{}/\"\\]\)*~",
        *(
            f"syntax match ncz{group} ~{start}-\\?{_vim(words[key])}{end}~"
            for group, key in (
                ("Type", "types"),
                ("Constant", "constants"),
                ("Property", "properties"),
                ("Declaration", "declarations"),
            )
        ),
        f"syntax match nczDeclared ~{start}{_vim(words['declarations'])}\\s\\+[^ \\t{{}}]\\+~ contains=nczDeclaration",
        r"syntax match nczEscape ~\\\%(x\x\x\|.\)~ contained",
        r"syntax region nczString start=~\"~ skip=~\\.~ end=~\"~ oneline contains=nczEscape,@Spell",
        r"syntax match nczComment +//.*$+ contains=@Spell",
        "",
        *_links(
            "ncz",
            {
                "Number": "Number",
                "Path": "Type",
                "Type": "Type",
                "Constant": "Constant",
                "Property": "PreProc",
                "Declaration": "Statement",
                "Declared": "Identifier",
                "Escape": "SpecialChar",
                "String": "String",
                "Comment": "Comment",
            },
        ),
        'let b:current_syntax = "ncz"',
    ]
    return "\n".join(lines) + "\n"


def _links(prefix: str, groups: dict[str, str]) -> Iterator[str]:
    for group, linked in groups.items():
        yield f"highlight default link {prefix}{group} {linked}"


def tree_sitter(words: Words) -> str:
    """Return the highlights of tree-sitter for the nodes of the grammar tree-sitter-cdl."""
    listed = " ".join(json.dumps(word) for word in words["attributes"])
    sections = " ".join(json.dumps(f"{word}:") for word in words["sections"])
    return f"""; Highlights for the grammar https://github.com/jatkinson1000/tree-sitter-cdl.
; Made by tools/editors.py; do not change it by hand.

(identifier) @variable
(dataset_id) @module
"netcdf" @keyword
[{sections}] @keyword
["enum" "opaque" "compound"] @keyword.type
(type) @type.builtin
(derived_type) @type
(enum_type name: (identifier) @type.definition)
(opaque_type name: (identifier) @type.definition)
(vlen_type name: (identifier) @type.definition)
(compound_type name: (identifier) @type.definition)
(fieldspec name: (identifier) @variable.member)
(enum_pair identity: (identifier) @constant)
(attribute name: (identifier) @property)
((attribute name: (identifier) @attribute.builtin)
  (#any-of? @attribute.builtin {listed}))
(nc_unlimited) @constant.builtin
(fill_value) @constant.builtin
[(integer) (byte) (const_int) (const_positive_int)] @number
(float) @number.float
(char) @character
(string) @string
(comment) @comment @spell
["(" ")" "{{" "}}"] @punctuation.bracket
[":" "," ";"] @punctuation.delimiter
["=" "*"] @operator
"""


def files() -> dict[Path, str]:
    """Return the content of every generated file."""
    cdl, notation = list_words(".cdl"), list_words(".ncz")
    grammars = {"cdl": textmate_cdl(cdl), "ncz": textmate_notation(notation)}
    return {
        **{
            EDITORS / "vscode" / "syntaxes" / f"{name}.tmLanguage.json": json.dumps(grammar, indent=2) + "\n"
            for name, grammar in grammars.items()
        },
        EDITORS / "vim" / "syntax" / "cdl.vim": vim_cdl(cdl),
        EDITORS / "vim" / "syntax" / "ncz.vim": vim_notation(notation),
        EDITORS / "tree-sitter" / "queries" / "highlights.scm": tree_sitter(cdl),
    }


def main() -> int:
    """Write the files, or name those that are not current."""
    stale = [path for path, text in files().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not current: make editors")
        return min(len(stale), 1)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files()[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
