"""Pages of the grammars: each rule of `grammars/*.g4` as a railroad diagram and as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = "reference/grammars"
PACKAGE = Path(__file__).resolve().parents[3] / "nczarr"
CORE = PACKAGE / "syntax" / "grammars"
FILES = {
    "CDL": (CORE / "CDLParser.g4", CORE / "CDLLexer.g4"),
    "NCZarr": (CORE / "NCZarr.g4",),
    "DAP2": (PACKAGE / "plugins" / "opendap" / "grammars" / "DAP2.g4",),
}
"""Files of each grammar."""

_INTRODUCED = {
    "CDL": (
        "cdl",
        "CDL",
        "Look up the grammar of CDL, as nczarr reads it. The parser is lenient: it accepts some texts that are "
        "wrong, so that a later check can report them by name and place.\n\n"
        "`SIMPLE` and `VALUES` are whole statements and value lists that the scanner of nczarr reads at once, and that "
        "the lexer of the grammar never makes; the alternatives beside them define what they contain.",
    ),
    "NCZarr": (
        "notation",
        "NCZarr notation",
        "Look up the grammar of the NCZarr notation. [NCZarr notation](../formats/notation.md) explains the language.",
    ),
    "DAP2": (
        "dap2",
        "DDS and DAS",
        "Look up the grammar of DDS and DAS, the texts of DAP2. [DAP2](../formats/dap2.md) explains what is read of "
        "them.",
    ),
}
PAGES = {stem: page for stem, page in _INTRODUCED.items() if all(path.exists() for path in FILES[stem])}
"""Name, title and introduction of each page, but of plugins that were removed."""

TALL = 9
"""Alternatives of single words that stand below each other; more are arranged in columns."""


class Node(NamedTuple):
    """A part of a rule: `kind` is sequence, choice, optional, any, some, word, rule or set."""

    kind: str
    parts: tuple[Node, ...] = ()
    text: str = ""


class Rule(NamedTuple):
    """One rule: its name, definition, source text, and the comment before it."""

    name: str
    body: Node
    source: str
    comment: str = ""
    section: str = ""

    @property
    def is_token(self) -> bool:
        """True for a rule of the lexer."""
        return self.name[0].isupper()


_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<doc>/\*\*.*?\*/) | (?P<heading>//[ ]-+[ ].*?-*$) | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<literal>'(?:\\.|[^'\\])*') | (?P<set>\[(?:\\.|[^\]\\])*\])
      | (?P<name>[A-Za-z_]\w*) | (?P<arrow>->) | (?P<sign>[:;|()*+?~.{},=])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def rules(text: str) -> list[Rule]:
    """Return the rules of an ANTLR 4 grammar. Raises ValueError where it is not understood."""
    return list(_Reader(text).rules())


class _Reader:
    """Recursive-descent reader of the part of ANTLR's syntax that the grammars use."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise ValueError(f"the grammar is not understood at {text[place : place + 30]!r}")
            kind = match.lastgroup or ""
            if kind not in ("space", "comment"):
                self.tokens.append((kind, match[0], match.start()))
            place = match.end()
        self.tokens.append(("end", "", len(text)))
        self.at = 0

    def take(self, text: str | None = None) -> str:
        """Return the current token and step over it. Raises ValueError if it is not `text`."""
        kind, found, place = self.tokens[self.at]
        if kind == "end" or (text is not None and found != text):
            raise ValueError(f"expected {text!r}, found {self.text[place : place + 30]!r}")
        self.at += 1
        return found

    def rules(self) -> Iterator[Rule]:
        comment = section = ""
        while self.tokens[self.at][0] != "end":
            kind, text, place = self.tokens[self.at]
            if kind == "doc":
                comment = " ".join(line.strip(" *") for line in self.take()[3:-2].splitlines()).strip()
            elif kind == "heading":
                section = self.take().strip("/- ")
            elif text in ("grammar", "parser", "lexer", "options", "tokens", "mode"):
                comment = ""
                while self.take() != ("}" if text in ("options", "tokens") else ";"):
                    pass
            else:
                if text == "fragment":
                    self.take()
                name = self.take()
                self.take(":")
                body = self.choice()
                while self.tokens[self.at][1] != ";":
                    self.take()
                self.take(";")
                yield Rule(name, body, _aligned(self.text[place : self.tokens[self.at - 1][2] + 1]), comment, section)
                comment = ""

    def choice(self) -> Node:
        parts = [self.sequence()]
        while self.tokens[self.at][1] == "|":
            self.take()
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Node("choice", tuple(parts))

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.tokens[self.at][1] not in ("|", ")", ";", "->"):
            parts.append(self.element())
        return parts[0] if len(parts) == 1 else Node("sequence", tuple(parts))

    def element(self) -> Node:
        found = self.atom()
        while self.tokens[self.at][1] in ("*", "+", "?"):
            sign = self.take()
            if found.kind in ("any", "some"):  # `.*?`: not greedy
                continue
            found = Node({"*": "any", "+": "some", "?": "optional"}[sign], (found,))
        return found

    def atom(self) -> Node:
        kind, text, _ = self.tokens[self.at]
        self.take()
        if text == "(":
            inside = self.choice()
            self.take(")")
            return inside
        if text == "~":
            return Node("set", text=f"not {self.atom().text}")
        if text == ".":
            return Node("set", text="any character")
        if kind == "literal":
            return Node("word", text=re.sub(r"\\(['\\])", r"\1", text[1:-1]))
        if kind == "set":
            return Node("set", text=text)
        if kind == "name":
            return Node("rule", text=text)
        raise ValueError(f"a part of a rule cannot begin with {text!r}")


def _aligned(source: str) -> str:
    """Return the text of a rule without the blanks that align it with others."""
    return "\n".join(line.rstrip() for line in source.split("\n"))


def listed(node: Node) -> Node:
    """Return the node with `x ( SEPARATOR x )*` as a loop with a separator: kind `list`, parts x and separator."""
    parts = tuple(map(listed, node.parts))
    if node.kind == "sequence":
        made: list[Node] = []
        for part in parts:
            if part.kind == "any" and part.parts[0].kind == "sequence" and len(part.parts[0].parts) == 2:
                separator, item = part.parts[0].parts
                if made and made[-1] == item:
                    made[-1] = Node("list", (item, separator))
                    continue
            made.append(part)
        return made[0] if len(made) == 1 else node._replace(parts=tuple(made))
    return node._replace(parts=parts)


def grammar_text(stem: str) -> str:
    """Return the text of a grammar, that of its parser first."""
    return "\n".join(path.read_text(encoding="utf-8") for path in FILES[stem])


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and text of the page of each grammar."""
    for stem, (name, title, intro) in PAGES.items():
        yield f"{FOLDER}/{name}.md", _page(rules(grammar_text(stem)), title, intro)


def _page(found: list[Rule], title: str, intro: str) -> str:
    known = {rule.name: rule for rule in found}
    parts = [f"# Grammar: {title}\n\n{intro}\n\n"]
    parts.append(
        "In a diagram, follow the line from left to right. Round boxes are words and characters of the language. "
        "Square boxes are other rules; select one to go there. Every installation of nczarr has the grammar as a file: "
        "see [Use a grammar in another language](other-languages.md).\n\n"
    )
    users: dict[str, list[str]] = {}
    for rule in found:
        for name in dict.fromkeys(_names(rule.body)):
            users.setdefault(name, []).append(rule.name)
    for what, wanted in (("Rules", False), ("Tokens", True)):
        parts.append(f"## {what}\n\n")
        parts += [
            _section(rule, known, users.get(rule.name, []))
            for rule in found
            if rule.is_token is wanted and not _punctuation(rule)
        ]
    return "".join(parts)


def _names(node: Node) -> Iterator[str]:
    if node.kind == "rule":
        yield node.text
    for part in node.parts:
        yield from _names(part)


def _punctuation(rule: Rule) -> bool:
    """Return whether a token is one fixed text, which diagrams show in its place."""
    return rule.is_token and rule.body.kind == "word"


def _section(rule: Rule, known: dict[str, Rule], users: list[str]) -> str:
    text = f"### {rule.name} {{ #{_anchor(rule.name)} }}\n\n"
    text += f"{escape(rule.comment, quote=False)}\n\n" if rule.comment else ""
    text += f'<div class="railroad" markdown="0">{_svg(rule, known)}</div>\n\n'
    text += f"```antlr\n{rule.source}\n```\n\n"
    if users:
        text += "Used by " + ", ".join(f"[{name}](#{_anchor(name)})" for name in users) + ".\n\n"
    return text


def _anchor(name: str) -> str:
    """Return the anchor of a rule. Names of tokens and rules differ by case alone."""
    return f"token-{name.lower()}" if name[0].isupper() else f"rule-{name}"


def _svg(rule: Rule, known: dict[str, Rule]) -> str:
    """Return the railroad diagram, without a style of its own: the style sheet of the site colours it."""
    import railroad

    pieces: list[str] = []
    write: Callable[[str], Any] = pieces.append
    railroad.Diagram(_drawn(listed(rule.body), known, railroad), type="complex").writeSvg(write)
    title = f"<title>Railroad diagram of {escape(rule.name)}</title>"
    drawn = "".join(pieces)
    end = drawn.index(">") + 1
    return (drawn[: end - 1] + ' role="img">' + title + drawn[end:]).replace("\n", " ")


def _drawn(node: Node, known: dict[str, Rule], railroad: Any) -> Any:
    below = [_drawn(part, known, railroad) for part in node.parts]
    match node.kind:
        case "sequence":
            return railroad.Sequence(*below) if below else railroad.Skip()
        case "choice":
            simple = all(part.kind in ("rule", "word", "set") for part in node.parts)
            if simple and len(below) > TALL:
                columns = [railroad.Choice(0, *below[n : n + TALL]) for n in range(0, len(below), TALL)]
                return railroad.HorizontalChoice(*columns)
            return railroad.Choice(0, *below)
        case "optional":
            return railroad.Optional(below[0])
        case "any":
            return railroad.ZeroOrMore(below[0])
        case "some":
            return railroad.OneOrMore(below[0])
        case "list":
            return railroad.OneOrMore(below[0], below[1])
        case "word":
            return railroad.Terminal(node.text)
        case "set":
            return railroad.Terminal(node.text, cls="characters")
    rule = known.get(node.text)
    if rule is None:
        return railroad.Terminal("end of text" if node.text == "EOF" else node.text)
    if _punctuation(rule):
        return railroad.Terminal(rule.body.text)
    return railroad.NonTerminal(node.text, href=f"#{_anchor(node.text)}")
