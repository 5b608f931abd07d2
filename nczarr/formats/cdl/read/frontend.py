"""CDL → tree: `read(source, report) -> Unchecked`.

The parser (grammar/CDL.g4) finds statements, `statements.py` interprets them,
the assembler collects. Value lists of `data:` and of attributes with
user-defined types remain spans until `read_lists`, when types are known.
Invalid input never raises: faults are reported, the rest becomes the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.ast.dataset import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Label, Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.cdl.read import statements
from nczarr.formats.cdl.read.assembler import Assembler
from nczarr.formats.cdl.read.recovery import CdlRecovery
from nczarr.formats.cdl.read.scope import GroupScope
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.formats.cdl.values.read_lists import read_lists
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.recovery import FaultAnswer, SyntaxFault
from nczarr.syntax.tokens import ListStream, Token

if TYPE_CHECKING:
    from nczarr.options import Options


_SPELLED = {
    P.LBRACE: "`{`", P.RBRACE: "`}`", P.LPAREN: "`(`", P.RPAREN: "`)`", P.COLON: "`:`", P.SEMICOLON: "`;`",
    P.COMMA: "`,`", P.EQUALS: "`=`", P.STAR: "`*`", P.NAME: "a name", P.PATH: "a path", P.PRIMITIVE: "a type",
    P.INT: "a number", P.FLOAT: "a number", P.STRING: "a string", P.CHAR: "a character", P.HEX: "a number",
    P.ENUM: "`enum`", P.OPAQUE: "`opaque`", P.COMPOUND: "`compound`", P.UNLIMITED: "`UNLIMITED`",
    P.TYPES: "`types:`", P.DIMENSIONS: "`dimensions:`", P.VARIABLES: "`variables:`", P.DATA: "`data:`",
    P.GROUP: "`group:`", P.VALUES: "values", P.SIMPLE: "a statement", P.DATASET_NAME: "a name",
    -1: "the end of the file",
}  # fmt: skip
_STATEMENT = {
    "dimstatement": "the dimension",
    "dimdef": "the dimension",
    "varstatement": "the variable",
    "varspec": "the variable",
    "shape": "the variable",
    "attstatement": "the attribute",
    "attdecl": "the attribute",
    "datastatement": "the values",
    "datalist": "the values",
    "field": "the field",
    "fieldspec": "the field",
    "typestatement": "the type",
}
_SECTION_TOKENS = frozenset({P.TYPES, P.DIMENSIONS, P.VARIABLES, P.DATA, P.GROUP})


class CdlExplainer:
    """Explainer of one source's faults; `opened`: offset of the dataset's brace."""

    def __init__(self, source: Source, opened: int) -> None:
        self.source = source
        self.opened = opened

    def __call__(self, fault: SyntaxFault) -> FaultAnswer:
        """Return the best explanation of a fault."""
        culprit, expected = fault.found, fault.expected
        if culprit.type == -1 and P.RBRACE in expected:
            return self._unclosed()
        slash = next((token for token in (culprit, fault.previous) if token is not None and self._joined(token)), None)
        if slash is not None:
            message = 'a netCDF name cannot contain "/"'
            here = Span(self.source, slash.start, slash.end)
            return FaultAnswer("slash-in-name", message, helps=("use another character",), place=here)
        if P.SEMICOLON in expected and self._ends_statement(fault):
            after = _STATEMENT.get(fault.rule, "the statement")
            if fault.previous is not None and fault.previous.type == P.VALUES and fault.rule != "datastatement":
                after = "the attribute"
            return FaultAnswer("expected-token", f"expected `;` after {after}", after=True)
        special = self._by_rule(fault)
        if special is not None:
            return special
        if culprit.type == P.INT and P.NAME in expected and P.INT not in expected:
            text = self._shown(fault)
            help_ = "write a backslash before a name that begins with a digit, as in `\\1st`"
            return FaultAnswer("expected-token", f"expected {_list(expected)}, found the number {text}", helps=(help_,))
        return FaultAnswer("expected-token", f"expected {_list(expected)}, found {self._shown(fault)}")

    def _joined(self, token: Token) -> bool:
        """Return whether a path directly follows a name, as in `a/b`."""
        before = bytes(self.source.data[max(token.start - 1, 0) : token.start])
        return token.type == P.PATH and (before.isalnum() or before == b"_" or before >= b"\x80")

    def _unclosed(self) -> FaultAnswer:
        line, column = self.source.position(self.opened)
        message = f"expected `}}` at the end of the file; the dataset opened at {line}:{column} is not closed"
        here = Label(Span(self.source, self.opened, self.opened + 1), "opened here")
        return FaultAnswer("expected-token", message, others=(here,))

    def _ends_statement(self, fault: SyntaxFault) -> bool:
        """Return whether the statement seems complete: the next token is on another line or begins something new."""
        if fault.previous is None or fault.previous.type in (P.COMMA, P.LPAREN, P.EQUALS, P.COLON):
            return False
        if fault.found.type in _SECTION_TOKENS or fault.found.type in (-1, P.RBRACE):
            return True
        between = bytes(self.source.data[fault.previous.end : fault.found.start])
        return b"\n" in between or b"\r" in between

    def _by_rule(self, fault: SyntaxFault) -> FaultAnswer | None:
        culprit, previous = fault.found, fault.previous
        match fault.rule:
            case "enumconst" if P.EQUALS in fault.expected and previous is not None:
                name = self.source.text(previous.start, previous.end)
                return FaultAnswer("expected-token", f"expected `= value` after the enum constant `{name}`")
            case "enumdef" | "enumconst" | "name" if (
                previous is not None and previous.type == P.COMMA and self._in(fault, P.EnumdefContext)
            ):
                return FaultAnswer("expected-token", "expected an enum constant after `,`")
            case "name":
                return FaultAnswer("expected-token", f"expected a name, found {self._shown(fault)}")
            case "attdecl" if P.EQUALS in fault.expected:
                return FaultAnswer("expected-token", "expected `=` after the attribute name")
            case "shape" | "dimref" if culprit.type == P.EQUALS:
                help_ = (
                    "declare it in `dimensions:`, and write only its name here (`dim=3` is how netCDF-Java prints it)"
                )
                return FaultAnswer(
                    "expected-token", "a variable names its dimensions, without their sizes", helps=(help_,)
                )
            case "vlendef":
                help_ = "for a fixed number of values, use a dimension, or an array field of a compound"
                return FaultAnswer("expected-token", "a vlen type is written `int(*) t`", helps=(help_,))
            case _:
                pass
        if culprit.type == P.SEMICOLON and previous is not None and previous.type == P.SEMICOLON:
            return FaultAnswer(
                "expected-token", "empty statement: one `;` ends a statement", helps=("remove this `;`",)
            )
        if culprit.type == P.NETCDF:
            return FaultAnswer("expected-token", f"expected {_list(fault.expected)}, found `netcdf`")
        return None

    def _in(self, fault: SyntaxFault, kind: type[object]) -> bool:
        context = fault.context
        for _ in range(3):
            if isinstance(context, kind):
                return True
            context = context.parentCtx if context is not None else None
        return False

    def _shown(self, fault: SyntaxFault) -> str:
        if fault.found.type == -1:
            return "the end of the file"
        if fault.found.type in (P.VALUES, P.SIMPLE):
            words = self.source.text(fault.found.start, min(fault.found.start + 40, fault.found.end)).split()
            return f"`{words[0]}`" if words else "nothing"
        text = self.source.text(fault.found.start, fault.found.end)
        return f"`{text if len(text) <= 30 else text[:30] + '…'}`"


def _list(expected: frozenset[int]) -> str:
    """Return the expected tokens in words, each once, in a fixed order."""
    words = list(dict.fromkeys(_SPELLED[kind] for kind in sorted(expected) if kind in _SPELLED and kind != P.SIMPLE))
    if len(words) > 6:
        words = [*words[:5], "…"]
    if len(words) < 2:
        return words[0] if words else "nothing more"
    return ", ".join(words[:-1]) + " or " + words[-1]


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Parse a CDL text. Returns None only if nothing is usable; all faults are in the report."""
    scanner = FastTokens(source, report)
    tokens = scanner.scan()
    return parse(source, tokens, report, scanner.sound, scanner.refused)


def parse(
    source: Source, tokens: list[Token], report: Report, sound: int | None = None, refused: Sequence[int] = ()
) -> Unchecked | None:
    """Return the tree of a token list from any token source; `sound` and `refused` as in `CdlRecovery`."""
    if not tokens or tokens[0].type != P.NETCDF:
        return None
    with building():
        stream = ListStream(tokens)
        parser = P(stream)
        parser.removeErrorListeners()
        parser._errHandler = strategy = CdlRecovery(
            source, report, CdlExplainer(source, tokens[2].start), sound, refused
        )
        tree = parser.ncdesc()
        return _gathered(tree, source, tokens, report, strategy.finish(stream))


def _gathered(context: Any, source: Source, tokens: list[Token], report: Report, broken: set[str]) -> Unchecked:
    """Collect the declarations of a parse tree; `broken`: names in faulty statements."""
    assembler = Assembler(source, report, broken)
    assembler.root = GroupScope(_dataset_name(source, tokens[1]), "/", Span(source, tokens[0].start, tokens[2].end))
    for child in context.children or ():
        if isinstance(child, P.BodyContext):
            statements.body(assembler, assembler.root, child)
    for scope in assembler.root.walk():
        for variable in scope.variables:
            variable.storage = assembler.specials.storage(variable)
    return Unchecked(
        assembler.root.freeze_dataset(assembler.kind, report),
        forward=False,
        lists=assembler.value_lists,
        attribute_lists=assembler.attribute_lists,
        read_values=read_lists,
        uses=assembler.uses,
        broken=frozenset(broken),
    )


def _dataset_name(source: Source, token: Token) -> str:
    """Return the text before the brace without blanks and control characters."""
    text = source.text(token.start, token.end).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return names.normal("".join(character for character in text if character > " "))
