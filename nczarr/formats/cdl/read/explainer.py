"""Explanations of faults of CDL syntax: the token that is missing, and how other notations are written here."""

import re

from nczarr.diagnostics.report import Fix, Label, Source, Span
from nczarr.formats.cdl.read.patterns import end_of_values
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import FaultAnswer, SyntaxFault, Token

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
    **dict.fromkeys(("dimstatement", "dimdef"), "the dimension"),
    **dict.fromkeys(("varstatement", "varspec", "shape"), "the variable"),
    **dict.fromkeys(("attstatement", "attdecl"), "the attribute"),
    **dict.fromkeys(("datastatement", "datalist"), "the values"),
    **dict.fromkeys(("field", "fieldspec"), "the field"),
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
            return self._explain_unclosed()
        slash = next((token for token in (culprit, fault.previous) if token is not None and self._join(token)), None)
        if slash is not None:
            message = 'a netCDF name cannot contain "/"'
            here = Span(self.source, slash.start, slash.end)
            return FaultAnswer("slash-in-name", message, helps=("use another character",), place=here)
        if P.SEMICOLON in expected and self._ends_statement(fault):
            after = _STATEMENT.get(fault.rule, "the statement")
            before, place = fault.previous, None
            if before is not None and before.type == P.VALUES:
                end = end_of_values(self.source.data, before.start, before.end)
                after, place = after if fault.rule == "datastatement" else "the attribute", Span(self.source, end, end)
            return FaultAnswer("expected-token", f"expected `;` after {after}", after=True, place=place, missing=";")
        special = self._explain_by_rule(fault)
        if special is not None:
            return special
        if culprit.type in (P.INT, P.FLOAT) and not {P.INT, P.FLOAT} & expected:
            text, shown = self.source.text(culprit.start, culprit.end), self._show(fault)
            if any(character.isalpha() or character == "_" for character in text):
                message = f"the name {shown} begins with a digit and needs a backslash"
                return FaultAnswer("expected-token", message, helps=(f"write `\\{text}`",))
            if P.EQUALS in expected and fault.previous is not None:
                start = self.source.text(fault.previous.start, fault.previous.end)
                return FaultAnswer(
                    "expected-token", f"expected `=`, found {shown}", helps=(f"write `{start} = {text}`",)
                )
            message = f"expected {_list_expected(expected)}, found the number {shown}"
            helps = ("write a backslash before a name that begins with a digit, as in `\\1st`",)
            return FaultAnswer("expected-token", message, helps=helps)
        return FaultAnswer("expected-token", f"expected {_list_expected(expected)}, found {self._show(fault)}")

    def _join(self, token: Token) -> bool:
        """Return whether a path directly follows a name, as in `a/b`."""
        before = bytes(self.source.data[max(token.start - 1, 0) : token.start])
        return token.type == P.PATH and (before.isalnum() or before == b"_" or before >= b"\x80")

    def _explain_unclosed(self) -> FaultAnswer:
        line, column = self.source.position(self.opened)
        message = f"expected `}}` at the end of the file; the dataset opened at {line}:{column} is not closed"
        here = Label(Span(self.source, self.opened, self.opened + 1), "opened here")
        return FaultAnswer("expected-token", message, others=(here,))

    def _ends_statement(self, fault: SyntaxFault) -> bool:
        """Return whether the statement seems complete: the next token is on another line or begins something new."""
        if fault.previous is None or fault.previous.type in (P.COMMA, P.LPAREN, P.EQUALS, P.COLON):
            return False
        if fault.found.type in _SECTION_TOKENS or fault.found.type in (-1, P.RBRACE, P.PRIMITIVE):  # -1: end of file
            return True
        between = bytes(self.source.data[fault.previous.end : fault.found.start])
        return b"\n" in between or b"\r" in between

    def _explain_by_rule(self, fault: SyntaxFault) -> FaultAnswer | None:
        """Explain a fault by the rule of the grammar that met it; None if the list of expected tokens must do."""
        culprit, previous = fault.found, fault.previous
        before = bytes(self.source.data[max(0, culprit.start - 300) : culprit.start])
        if culprit.type == P.LBRACE and (group := re.search(rb"\bgroup\s+([^\s:{}]+)\s*:?\s*$", before)):
            help_ = f"write `group: {group[1].decode('utf-8', 'replace')} {{`"
            return FaultAnswer("expected-token", "the colon stands between `group` and its name", helps=(help_,))
        match fault.rule:
            case "enumconst" if P.EQUALS in fault.expected and previous is not None:
                name = self.source.text(previous.start, previous.end)
                return FaultAnswer("expected-token", f"expected `= value` after the enum constant `{name}`")
            case "enumdef" | "enumconst" | "name" if (
                previous is not None and previous.type == P.COMMA and self._is_inside(fault, P.EnumdefContext)
            ):
                return FaultAnswer("expected-token", "expected an enum constant after `,`")
            case "name":
                return FaultAnswer("expected-token", f"expected a name, found {self._show(fault)}")
            case _ if culprit.type == P.EQUALS and previous is not None and self._is_dotted(previous):
                owner, _, attribute = self.source.text(previous.start, previous.end).rpartition(".")
                help_ = f"write `{owner}:{attribute}`"
                message, here = "an attribute is written with a colon after its variable", self._place(previous)
                return FaultAnswer("expected-token", message, helps=(help_,), place=here)
            case _ if culprit.type == P.EQUALS and previous is not None and P.COLON in fault.expected:
                name = self.source.text(previous.start, previous.end)
                help_ = f"values of a variable stand below `data:`; an attribute of the dataset is `:{name} = …`"
                message = f"expected {_list_expected(fault.expected)}, found `=`"
                return FaultAnswer("expected-token", message, helps=(help_,))
            case "field" | "fieldspec" | "arrayspec" if previous is not None and previous.type == P.PRIMITIVE:
                message = "fields of different types are separated by `;`"
                return FaultAnswer("expected-token", message, place=self._place(previous))
            case "attdecl" if P.EQUALS in fault.expected:
                return FaultAnswer("expected-token", "expected `=` after the attribute name")
            case "shape" | "dimref" if culprit.type == P.EQUALS:
                help_ = "declare it in `dimensions:`, and write its name here (netCDF-Java prints `dim=3`)"
                message = "a variable names its dimensions, without their sizes"
                return FaultAnswer("expected-token", message, helps=(help_,))
            case "vlendef":
                help_ = "for a fixed number of values, use a dimension, or an array field of a compound"
                return FaultAnswer("expected-token", "a vlen type is written `int(*) t`", helps=(help_,))
            case _:
                pass
        if culprit.type == P.SEMICOLON and previous is not None and previous.type in (P.SEMICOLON, P.SIMPLE):
            helps = (Fix("remove this `;`"),)
            return FaultAnswer("expected-token", "empty statement: one `;` ends a statement", helps=helps)
        if culprit.type == P.NETCDF:
            return FaultAnswer("expected-token", f"expected {_list_expected(fault.expected)}, found `netcdf`")
        return None

    def _place(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def _is_dotted(self, token: Token) -> bool:
        """Return whether a token is like `v.units`, as other languages write an attribute."""
        owner, dot, attribute = self.source.text(token.start, token.end).rpartition(".")
        return token.type == P.NAME and bool(dot and owner and attribute)

    def _is_inside(self, fault: SyntaxFault, kind: type[object]) -> bool:
        """Return whether the fault is in a context of this class, at most two levels up."""
        context = fault.context
        for _ in range(3):
            if isinstance(context, kind):
                return True
            context = context.parentCtx if context is not None else None
        return False

    def _show(self, fault: SyntaxFault) -> str:
        if fault.found.type == -1:
            return "the end of the file"
        if fault.found.type in (P.VALUES, P.SIMPLE):
            words = self.source.text(fault.found.start, min(fault.found.start + 40, fault.found.end)).split()
            return f"`{words[0]}`" if words else "nothing"
        text = self.source.text(fault.found.start, fault.found.end)
        return f"`{text if len(text) <= 30 else text[:30] + '…'}`"


def _list_expected(expected: frozenset[int]) -> str:
    """Return the expected tokens in words, each once, in a fixed order."""
    words = list(dict.fromkeys(_SPELLED[kind] for kind in sorted(expected) if kind in _SPELLED and kind != P.SIMPLE))
    if len(words) > 6:
        words = [*words[:5], "…"]
    if len(words) < 2:
        return words[0] if words else "nothing more"
    return ", ".join(words[:-1]) + " or " + words[-1]
