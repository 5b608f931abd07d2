"""Texts with expressions, also beyond the grammar (`--jinja`): rendered by jinja2's sandbox with all costs counted.

The syntax tree is checked first: unlisted nodes are rejected, and nodes that
can create large values call our functions. Values are scalars and lists of
scalars; attributes are `METHODS`, or those of loops and namespaces. So texts,
lists and numbers are bounded, loops counted, and Python is unreachable.
"""

from __future__ import annotations

import functools
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING

from nczarr.formats.reference import expressions
from nczarr.formats.reference.evaluation import NameScope
from nczarr.formats.reference.expressions import Beyond, Hole, Pieces
from nczarr.formats.reference.jinja_filters import Rendering
from nczarr.formats.reference.limits import Account, Limits, RefusedTextError, check_length, shortened

if TYPE_CHECKING:
    from jinja2 import Template, nodes

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
    return (Hole(text, _beyond(text, limits, account)),)


def _beyond(text: str, limits: Limits, account: Account) -> Beyond:
    """Compile a text by jinja2. Raises RefusedTextError."""
    if find_spec("jinja2") is None:
        text = "rendering it needs `jinja2`, which is not installed; `pip install 'nczarr[references]'` installs it"
        raise RefusedTextError("missing-library", text)
    account.compile(len(text), limits)
    from jinja2 import TemplateError, nodes

    from nczarr.formats.reference.sandbox import environment, guarded

    try:
        with _LOCK:
            tree = environment().parse(text)
            _check(tree, limits)
            names = frozenset(variable.name for variable in tree.find_all(nodes.Name) if variable.ctx == "load")
            template = environment().from_string(guarded(tree))
    except RefusedTextError:
        raise
    except (TemplateError, SyntaxError, ValueError, OverflowError) as error:
        raise RefusedTextError("bad-expression", f"jinja2 refuses it: {_said(error)}") from None
    except (RecursionError, MemoryError):
        raise RefusedTextError("bad-expression", "it is nested too deeply") from None
    return Beyond(text, names, functools.partial(_rendered, template))


def _check(tree: nodes.Template, limits: Limits) -> None:
    """Reject unlisted nodes and deep nesting, without recursion."""
    from jinja2 import nodes

    left: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while left:
        node, depth = left.pop()
        kind = type(node).__name__
        if kind not in NODES:
            raise RefusedTextError("bad-expression", f"`{kind}` of jinja2 is not allowed")
        if depth > limits.depth:
            raise RefusedTextError("bad-expression", f"it is nested more than {limits.depth} deep")
        if isinstance(node, nodes.For) and node.recursive:
            raise RefusedTextError("bad-expression", "recursive loops are not allowed")
        if isinstance(node, nodes.Name) and node.name in ("self", "super", "caller", "varargs", "kwargs"):
            raise RefusedTextError("bad-expression", f"`{node.name}` of jinja2 is not allowed")
        left += [(child, depth + 1) for child in node.iter_child_nodes()]


_LOCK = threading.RLock()
"""Serializes renderings: the environment holds the current run."""


def _rendered(template: Template, scope: NameScope) -> str:
    """Render a template. Raises RefusedTextError."""
    from jinja2 import TemplateError

    from nczarr.formats.reference.sandbox import environment, variables

    written, length = [], 0
    with _LOCK:
        outer, environment().run = environment().run, Rendering(scope.limits, scope.account, scope.missing)
        try:
            environment().run.step(START)
            for piece in template.root_render_func(template.new_context(variables(scope))):
                length += len(piece)
                check_length(length, scope.limits)
                written.append(piece)
        except RefusedTextError:
            raise
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise RefusedTextError("bad-expression", _said(error)) from None
        except (RecursionError, MemoryError):
            raise RefusedTextError("bad-expression", "it is nested too deeply") from None
        finally:
            environment().run = outer
    return "".join(written)


def _said(error: BaseException) -> str:
    """Return a library's message in one short line."""
    return shortened((str(error) or type(error).__name__).splitlines()[0], 100)
