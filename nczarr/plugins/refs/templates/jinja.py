"""Texts with expressions, also beyond the grammar (`--jinja`): parsed by jinja2, evaluated here.

The syntax tree is checked first: unlisted nodes are rejected. Then it is
evaluated node by node with the operators of the grammar (`evaluation.py`), and
all costs are counted. Values are scalars and lists of scalars; attributes are
`METHODS`, or those of loops and namespaces. So texts, lists and numbers are
bounded, loops counted, and Python is unreachable: no code is made of a text.
"""

from __future__ import annotations

import functools
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from nczarr.formats.reference.limits import Limits, shorten
from nczarr.plugins.refs.templates import expressions
from nczarr.plugins.refs.templates.evaluation import NameScope
from nczarr.plugins.refs.templates.expressions import Account, Beyond, Hole, Pieces, RefusedTextError
from nczarr.plugins.refs.templates.jinja_filters import FILTERS, TESTS

if TYPE_CHECKING:
    from jinja2 import nodes

NODES = frozenset(
    "Template Output TemplateData Name Const Add Sub Mul Div FloorDiv Mod Pow Neg Pos Not And Or Compare Operand "
    "CondExpr Filter Test Call Keyword Getattr Getitem Slice Concat List Tuple If For Assign With NSRef".split()
)
"""Permitted node kinds."""

START = 20
"""Base cost of a rendering, in steps."""


def pieces(text: str, limits: Limits, account: Account) -> Pieces:
    """Split a text into pieces; a jinja2 text is one piece. Raises RefusedTextError."""
    try:
        return expressions.pieces(text, limits)
    except RefusedTextError as error:
        if not limits.jinja or error.code != "bad-expression":
            raise
    return (Hole(text, _parse_with_jinja(text, limits, account)),)


def _parse_with_jinja(text: str, limits: Limits, account: Account) -> Beyond:
    """Parse a text by jinja2. Raises RefusedTextError."""
    if find_spec("jinja2") is None:
        text = "rendering it needs `jinja2`, which is not installed; `pip install 'nczarr[references]'` installs it"
        raise RefusedTextError("missing-library", text)
    account.compile(len(text), limits)
    from jinja2 import Environment, TemplateError, nodes

    try:
        tree = Environment().parse(text)
        _check(tree, limits)
    except RefusedTextError:
        raise
    except (TemplateError, SyntaxError, ValueError, OverflowError) as error:
        raise RefusedTextError("bad-expression", f"jinja2 refuses it: {_say(error)}") from None
    except (RecursionError, MemoryError):
        raise RefusedTextError("bad-expression", "it is nested too deeply") from None
    names = frozenset(variable.name for variable in tree.find_all(nodes.Name) if variable.ctx == "load")
    return Beyond(text, names, functools.partial(_render, tree))


def _check(tree: nodes.Template, limits: Limits) -> None:
    """Reject unlisted nodes and deep nesting, without recursion."""
    left: list[tuple[Any, int]] = [(tree, 0)]
    while left:
        node, depth = left.pop()
        kind = type(node).__name__
        known = {"Filter": FILTERS, "Test": TESTS}.get(kind)
        if kind not in NODES:
            raise RefusedTextError("bad-expression", f"`{kind}` of jinja2 is not allowed")
        if depth > limits.depth:
            raise RefusedTextError("bad-expression", f"it is nested more than {limits.depth} deep")
        if kind == "For" and node.recursive:
            raise RefusedTextError("bad-expression", "recursive loops are not allowed")
        if kind == "Name" and node.name in ("self", "super", "caller", "varargs", "kwargs"):
            raise RefusedTextError("bad-expression", f"`{node.name}` of jinja2 is not allowed")
        if known is not None and node.name not in known:
            raise RefusedTextError("bad-expression", f"there is no {kind.lower()} `{node.name}`")
        left += [(child, depth + 1) for child in node.iter_child_nodes()]


def _render(tree: nodes.Template, scope: NameScope) -> str:
    """Render a template. Raises RefusedTextError."""
    from nczarr.plugins.refs.templates.jinja_evaluation import Evaluator

    try:
        evaluator = Evaluator(scope)
        evaluator.run.step(START)
        evaluator.body(tree.body, {})
        return "".join(evaluator.written)
    except RefusedTextError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise RefusedTextError("bad-expression", _say(error)) from None
    except (RecursionError, MemoryError):
        raise RefusedTextError("bad-expression", "it is nested too deeply") from None


def _say(error: BaseException) -> str:
    """Return a message in one short line."""
    return shorten((str(error) or type(error).__name__).splitlines()[0], 100)
