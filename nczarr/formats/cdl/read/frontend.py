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
from nczarr.ast.walk import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.cdl.read import statements
from nczarr.formats.cdl.read.assembler import Assembler
from nczarr.formats.cdl.read.recovery import CdlRecovery
from nczarr.formats.cdl.read.scope import GroupScope
from nczarr.formats.cdl.read.syntax_errors import CdlExplainer
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.formats.cdl.values.read_lists import read_lists
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import ListStream, Token

if TYPE_CHECKING:
    from nczarr.options import Options


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
