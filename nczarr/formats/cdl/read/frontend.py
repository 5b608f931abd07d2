"""CDL → tree: `read(source, report) -> Unchecked`.

The parser (syntax/grammars/CDLParser.g4) finds statements, `statements.py` interprets them,
the assembler collects. Value lists of `data:` and of attributes with
user-defined types remain spans until `read_lists`, when types are known.
Invalid input never raises: faults are reported, the rest becomes the tree.

After an error the parser continues after the faulty statement. The runtime
would continue at any token that can begin a statement, and almost every word
can. Here a word counts only on a new line, outside braces opened by the faulty
statement. Faults after a refused character are consequences. Misordered but
clear tokens are reordered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.ast.dataset import building
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.formats.cdl.read import statements
from nczarr.formats.cdl.read.assembler import Assembler
from nczarr.formats.cdl.read.scope import GroupScope
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.formats.cdl.values.read_lists import read_lists
from nczarr.semantics.checked import Unchecked
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import FaultAnswer, ListStream, Recovery, SyntaxFault, Token

if TYPE_CHECKING:
    from nczarr.options import Options


_WORDS = frozenset({P.NAME, P.PATH, P.PRIMITIVE, P.UNLIMITED, P.NETCDF, P.OPAQUE, P.COMPOUND, P.COLON, P.SIMPLE})
_SECTIONS = frozenset({P.TYPES, P.DIMENSIONS, P.VARIABLES, P.DATA, P.GROUP})
_STRUCTURE = _SECTIONS | {P.LBRACE, P.RBRACE, P.SEMICOLON}
_STATEMENTS = (
    P.AttstatementContext, P.TypestatementContext, P.DimstatementContext, P.VarstatementContext, P.DatastatementContext,
)  # fmt: skip


class CdlRecovery(Recovery):
    """Shared recovery strategy, extended to skip whole statements with their braced blocks.

    `refused`: ascending offsets of characters that the token source dropped.
    """

    UNITS = (*_STATEMENTS, P.FieldContext)
    NAME = P.NAME

    def __init__(
        self,
        source: Source,
        report: Report,
        explain: Callable[[SyntaxFault], FaultAnswer],
        sound: int | None = None,
        refused: Sequence[int] = (),
    ) -> None:
        """Take from the lexer `sound`, the offset up to which tokens make sense, and the characters it refused."""
        super().__init__(source, report, explain, sound)
        self._unsure: list[Span] = []  # names of types that lack a field
        self._refused = refused

    def goes_on(self, context: Any, before: Token, first: Token, found: Token) -> bool:
        """Return whether the fault only continues a faulty statement, or follows a refused character."""
        if bisect_left(self._refused, before.end) < bisect_left(self._refused, found.start):
            return True
        if not self.faulty or self.faulty[-1][1] != first.tokenIndex:
            return False
        if isinstance(context, P.FieldContext):
            return True
        between = bytes(self.source.data[before.end : first.start])
        return before.type not in (P.SEMICOLON, P.RBRACE, P.SIMPLE) and b"\n" not in between and b"\r" not in between

    def handle_damage(self, context: Any) -> None:
        """Remember types that lack a field."""
        if isinstance(context, P.FieldContext):
            name = context.parentCtx.children[1].start
            self._unsure.append(Span(self.source, name.start, name.end))

    def recoverInline(self, recognizer: Any) -> Token:  # noqa: N802
        """Reorder clear but misordered tokens with one report; leave other faults to the runtime."""
        finding = None if self.inErrorRecoveryMode(recognizer) else self._disorder(recognizer)
        if finding is None:
            token: Token = super().recoverInline(recognizer)
            return token
        assert finding.place is not None
        self.report.error(finding.code, finding.message, finding.place, helps=finding.helps)
        self.count += 1
        moved: Token = recognizer.getCurrentToken()
        recognizer.consume()
        return moved

    def _disorder(self, recognizer: Any) -> FaultAnswer | None:
        """Reorder tokens (name after its definition, parentheses for braces). None: another fault."""
        stream = recognizer.getTokenStream()
        tokens, at = stream.tokens, stream.index
        kinds = [token.type for token in tokens[at : at + 4]]
        opening: Token = tokens[at - 1]
        if isinstance(recognizer._ctx, P.NameContext) and kinds[0] == P.LBRACE and opening.type in (P.COMPOUND, P.ENUM):
            end = _block_end(tokens, at, P.LBRACE, P.RBRACE) + 1
            if [token.type for token in tokens[end : end + 2]] != [P.NAME, P.SEMICOLON]:
                return None
            stream.move(end, at)
            word = self.source.text(opening.start, opening.end)
            return self._finding(tokens[at], f"write the name of a type before the braces: `{word} name {{ … }}`")
        if opening.type == P.OPAQUE and kinds[:2] == [P.NAME, P.LPAREN] and kinds[3:] == [P.RPAREN]:
            stream.move(at, at + 3)
            return self._finding(tokens[at + 3], "write the size of an opaque type before its name: `opaque(3) name`")
        if kinds[0] == P.LPAREN and P.LBRACE in recognizer.getExpectedTokens():
            end = _block_end(tokens, at, P.LPAREN, P.RPAREN)
            if tokens[end].type != P.RPAREN:
                return None
            tokens[at].type, tokens[end].type = P.LBRACE, P.RBRACE
            return self._finding(tokens[at], "expected `{`, found `(`", "write the content in braces")
        return None

    def _finding(self, token: Token, message: str, *helps: str) -> FaultAnswer:
        return FaultAnswer("expected-token", message, helps=helps, place=Span(self.source, token.start, token.end))

    def finish(self, stream: ListStream) -> set[str]:
        """Hush the content of faulty statements and types that lack a field; return the names in the former."""
        for span in self._unsure:
            self.report.hush(span)
        return {names.normal(names.unescape_cdl(name)) for name in super().finish(stream)}

    def singleTokenDeletion(self, recognizer: Any) -> Token | None:  # noqa: N802
        """Drop a superfluous token, but never one that structures statements and blocks."""
        if recognizer.getTokenStream().LA(1) in _STRUCTURE:
            return None
        token: Token | None = super().singleTokenDeletion(recognizer)
        return token

    def recover(self, recognizer: Any, e: Any) -> None:
        """Leave a faulty rule after the block that it opened."""
        context, stream = recognizer._ctx, recognizer.getTokenStream()
        opened = [child for child in context.children or () if getattr(child, "symbol", None) is not None]
        depth = sum((child.symbol.type == P.LBRACE) - (child.symbol.type == P.RBRACE) for child in opened)
        if isinstance(context, P.NcdescContext):
            depth = 0
        while depth > 0 and (kind := stream.LA(1)) != P.EOF and kind not in _SECTIONS:
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            recognizer.consume()
        super().recover(recognizer, e)

    def consumeUntil(self, recognizer: Any, set_: Iterable[int]) -> None:  # noqa: N802
        """Skip to a token of the set that can end the faulty statement or begin the next."""
        stream = recognizer.getTokenStream()
        inside = self._open_braces(recognizer)
        depth = 0
        while (kind := stream.LA(1)) != P.EOF:
            if depth == 0 and kind != P.LBRACE and kind in set_ and not self._continues(stream, kind, inside):
                return
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            if depth < 0:
                return
            recognizer.consume()

    def _continues(self, stream: Any, kind: int, inside: int) -> bool:
        """Return whether a token belongs to the skipped statement."""
        if kind not in _WORDS:
            return False
        before: Token = stream.LT(-1)
        if before is None or before.type in (P.SEMICOLON, P.COMMA):
            return False
        between = bytes(self.source.data[before.end : stream.LT(1).start])
        return inside > 0 or (b"\n" not in between and b"\r" not in between)

    def _open_braces(self, recognizer: Any) -> int:
        """Return the number of open braces of the faulty statement."""
        context = recognizer._ctx
        while context is not None and not isinstance(context, _STATEMENTS):
            context = context.parentCtx
        if context is None:
            return 0
        stream = recognizer.getTokenStream()
        kinds = [stream.get(index).type for index in range(context.start.tokenIndex, stream.index)]
        return kinds.count(P.LBRACE) - kinds.count(P.RBRACE)


def _block_end(tokens: Sequence[Token], at: int, opening: int, closing: int) -> int:
    """Return the index of the token that closes the block at `at`, the last one if none does."""
    depth = 0
    for number in range(at, len(tokens)):
        depth += (tokens[number].type == opening) - (tokens[number].type == closing)
        if not depth:
            return number
    return len(tokens) - 1


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
        tree, broken = _parse_tokens(source, tokens, report, sound, refused)
        return _gather(tree, source, tokens, report, broken)


def _parse_tokens(
    source: Source, tokens: list[Token], report: Report, sound: int | None, refused: Sequence[int]
) -> tuple[Any, set[str]]:
    """Return the parse tree, and the names in faulty statements."""

    def explain(fault: SyntaxFault) -> FaultAnswer:
        from nczarr.formats.cdl.read.explainer import CdlExplainer  # few texts have faults

        return CdlExplainer(source, opened)(fault)

    stream, opened = ListStream(tokens), tokens[2].start
    parser = P(stream)
    parser.removeErrorListeners()
    parser._errHandler = strategy = CdlRecovery(source, report, explain, sound, refused)
    return parser.ncdesc(), strategy.finish(stream)


def check_syntax(source: Source, report: Report) -> bool:
    """Return whether a text has no faults of syntax; report them."""
    scanner = FastTokens(source, report)
    tokens = scanner.scan()
    if tokens[0].type == P.NETCDF:
        with building():
            _parse_tokens(source, tokens, report, scanner.sound, scanner.refused)
    return not report.errors


def _gather(context: Any, source: Source, tokens: list[Token], report: Report, broken: set[str]) -> Unchecked:
    """Collect the declarations of a parse tree; `broken`: names in faulty statements."""
    assembler = Assembler(source, report, broken)
    assembler.root = GroupScope(_dataset_name(source, tokens[1]), "/", Span(source, tokens[0].start, tokens[2].end))
    for child in context.children or ():
        if isinstance(child, P.BodyContext):
            statements.read_body(assembler, assembler.root, child)
    for scope in assembler.root.walk():
        for variable in scope.variables:
            if variable.specials:
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
