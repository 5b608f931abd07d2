"""Environment of jinja2 for texts beyond the grammar, which counts every new value.

Imported only for such texts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MethodType
from typing import Any

from jinja2 import Undefined, nodes
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from nczarr.formats.reference.evaluation import NameScope, called
from nczarr.formats.reference.jinja_filters import FILTERS, METHODS, TESTS, Rendering, fits, is_scalar
from nczarr.formats.reference.limits import Account, Limits, RefusedTextError
from nczarr.formats.reference.operators import computed, formatted

LOOP = frozenset(
    "index index0 revindex revindex0 first last length depth depth0 previtem nextitem cycle changed".split()
)
"""Permitted attributes of loops."""

OPERATORS = frozenset(["+", "-", "*", "/", "//", "%", "**"])

LONGEST = 100_000
"""Maximum length of lists and ranges."""

COUNTED, CHARGED, COMPARED, JOINED, SCALAR = "counted!", "charged!", "compared!", "joined!", "scalar!"
"""Internal filters, with names impossible in texts."""


class _Guard(NodeTransformer):
    """Inserts our filters around nodes whose values can grow."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802
        self.generic_visit(node)
        node.iter = _led(node.iter, COUNTED)  # type: ignore[arg-type]
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        self.generic_visit(node)
        node.expr = _led(node.expr, COMPARED)
        for operand in node.ops:
            operand.expr = _led(operand.expr, COMPARED)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        self.generic_visit(node)
        return _led(nodes.List(node.nodes, lineno=node.lineno), JOINED)

    def visit_List(self, node: nodes.List | nodes.Tuple) -> nodes.List | nodes.Tuple:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node, nodes.List) or node.ctx == "load":
            node.items = [_led(item, SCALAR) for item in node.items]
        return node

    visit_Tuple = visit_List  # noqa: N815

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        return _led(node, CHARGED) if isinstance(node.arg, nodes.Slice) else node


def _led(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def guarded(tree: nodes.Template) -> nodes.Template:
    """Return the tree with our filters around nodes whose values can grow."""
    led: nodes.Template = _Guard().visit(tree)
    return led


def variables(scope: NameScope) -> dict[str, Any]:
    """Return the values of names."""
    templates: dict[str, Any] = {}
    for name, template in scope.templates.items():
        templates[name] = template if isinstance(template, str) else _Called(name, scope)
    return {**templates, **scope.values}


@dataclass(slots=True, eq=False)
class _Called:
    """A template with arguments."""

    name: str
    """Name of the template."""
    scope: NameScope
    """Meaning of names."""


@dataclass(slots=True, eq=False)
class _Method:
    """A method of a text."""

    name: str
    """Name of the method."""
    text: str
    """The text."""


class Environment(ImmutableSandboxedEnvironment):
    """Environment of all texts; `run` is the current rendering."""

    intercepted_binops = OPERATORS
    run: Rendering

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return the value of an operator."""
        return self.run.spend(_operated(operator, left, right, self.run.limits))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a permitted attribute. Raises RefusedTextError for others."""
        if isinstance(obj, str) and attribute in METHODS:
            return _Method(attribute, obj)
        if isinstance(obj, LoopContext) and attribute in LOOP:
            return getattr(obj, attribute)
        if isinstance(obj, Namespace) and not attribute.startswith("_"):
            return getattr(obj, attribute)
        raise RefusedTextError("bad-expression", f"attribute access is not allowed: `{attribute[:40]}`")

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return an element of a text or list. Raises RefusedTextError for other objects."""
        if isinstance(obj, str | list | tuple | range) and isinstance(argument, int):
            return self.run.spend(obj[argument])
        raise RefusedTextError("bad-expression", "index access is allowed only for strings and lists, by integers")

    def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a template, method, range or namespace. Raises RefusedTextError for other objects."""
        run = self.run
        for name in ("_loop_vars", "_block_vars"):  # what jinja2 hands on inside of loops
            kwargs.pop(name, None)
        run.step(1 + len(args))
        if isinstance(obj, _Called):
            if args:
                raise RefusedTextError("bad-expression", "positional arguments are not allowed")
            arguments = {name: run.scalar(value) for name, value in kwargs.items()}
            return run.spend(called(obj.name, arguments, obj.scope))
        if isinstance(obj, _Method):
            return run.spend(METHODS[obj.name](run, obj.text, *args, **kwargs))
        if obj is range:
            numbers = range(*args, **kwargs)
            fits(len(numbers) if numbers.stop - numbers.start < 2**62 else 2**62, LONGEST, "values")
            return numbers
        if obj is Namespace and not args:
            return Namespace(**kwargs)
        if isinstance(obj, MethodType) and isinstance(obj.__self__, LoopContext):
            return obj(*args, **kwargs)
        raise RefusedTextError("bad-expression", "only templates, filters and methods of strings can be called")


class _Missing(Undefined):
    """Undefined name: renders as an empty text, with a warning."""

    def __str__(self) -> str:
        if self._undefined_name is not None:
            environment().run.missing[self._undefined_name] = None
        return ""


@functools.cache
def environment() -> Environment:
    """Return the environment."""
    created = Environment(undefined=_Missing, finalize=_finished, optimized=False)
    created.run = Rendering(Limits(), Account(), {})
    created.globals = {"range": range, "namespace": Namespace}
    created.tests = {name: _test(function) for name, function in TESTS.items()}
    internal: dict[str, Callable[..., Any]] = {
        COUNTED: _counted,
        CHARGED: lambda value: created.run.spend(value),
        COMPARED: _compared,
        JOINED: lambda values: created.run.spend(created.run.joined(values)),
        SCALAR: lambda value: created.run.scalar(value),
    }
    created.filters = {**{name: _filter(function) for name, function in FILTERS.items()}, **internal}
    return created


def _finished(value: Any) -> str:
    return str(environment().run.scalar(value))


def _counted(value: Iterable[Any]) -> Iterator[Any]:
    run = environment().run
    for item in value:
        run.step(1)
        yield item


def _compared(value: Any) -> Any:
    environment().run.look(value)
    return value


def _test(function: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *args: function(*map(_compared, args))


def _filter(function: Callable[..., Any]) -> Callable[..., Any]:
    def through(*args: Any, **kwargs: Any) -> Any:
        run = environment().run
        return run.spend(function(run, *args, **kwargs), len(args))

    return through


def _operated(operator: str, left: Any, right: Any, limits: Limits) -> Any:
    """Return the value of a binary operator. Raises RefusedTextError."""
    if isinstance(left, str) and isinstance(right, tuple) and operator == "%":
        return formatted(left, right, limits)
    if isinstance(left, list) and isinstance(right, list) and operator == "+":
        fits(len(left) + len(right), LONGEST, "values")
        return left + right
    if is_scalar(left) and is_scalar(right) and left is not None and right is not None:
        return computed(operator, [left, right], limits)
    raise RefusedTextError("bad-expression", f"`{operator}` does not suit its operands")
