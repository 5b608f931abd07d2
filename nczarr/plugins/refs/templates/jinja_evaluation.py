"""Evaluation of jinja2's syntax trees, node by node: only what is here can happen, and each step is counted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import nodes
from jinja2.runtime import LoopContext
from jinja2.utils import Namespace

from nczarr.plugins.refs.templates.evaluation import NameScope, Undefined, apply_format, call, compute
from nczarr.plugins.refs.templates.expressions import RefusedTextError, check_length
from nczarr.plugins.refs.templates.jinja_filters import FILTERS, METHODS, TESTS, Rendering, fits, is_scalar, same

LOOP = frozenset(
    "index index0 revindex revindex0 first last length depth depth0 previtem nextitem cycle changed".split()
)
"""Permitted attributes of loops."""

LONGEST = 100_000
"""Maximum length of lists and ranges."""

Names = dict[str, Any]

Function = functools.partial
"""Class of everything that a text may call."""


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    fits(len(numbers) if numbers.stop - numbers.start < 2**62 else 2**62, LONGEST, "values")
    return numbers


GLOBALS = {"range": Function(_range), "namespace": Function(lambda **values: Namespace(**values))}
"""Functions without a template of the same name."""


class Evaluator:
    """One rendering of a syntax tree. `names` are the variables set in a scope and those around it."""

    def __init__(self, scope: NameScope) -> None:
        self.scope = scope
        self.run = Rendering(scope.limits, scope.account, scope.missing)
        self.written: list[str] = []
        self._length = 0

    def body(self, statements: Iterable[Any], names: Names) -> None:
        """Run statements in a scope. Raises RefusedTextError, TypeError and the like."""
        for statement in statements:
            self.run.step(1)
            self._run_statement(statement, names)

    def _run_statement(self, node: Any, names: Names) -> None:
        """Execute a statement: append output to `written`, run bodies, or assign names."""
        match node:
            case nodes.Output():
                parts: list[Any] = node.nodes
                for part in parts:
                    is_plain = isinstance(part, nodes.TemplateData)
                    self.written.append(part.data if is_plain else self.run.text(self._evaluate(part, names)))
                    self._length += len(self.written[-1])
                    check_length(self._length, self.run.limits)
            case nodes.If():
                bodies = (branch.body for branch in (node, *node.elif_) if self._evaluate(branch.test, names))
                self.body(next(bodies, node.else_), names)
            case nodes.For():
                self._run_loop(node, names)
            case nodes.With():
                inner = dict(names)
                for target, expression in zip(node.targets, node.values, strict=True):
                    self._assign(target, self._evaluate(expression, names), inner)
                self.body(node.body, inner)
            case _:
                self._assign(node.target, self._evaluate(node.node, names), names)

    def _run_loop(self, node: nodes.For, names: Names) -> None:
        items = []
        for item in self._count(self._evaluate(node.iter, names)):
            inner = dict(names)
            self._assign(node.target, item, inner)
            if node.test is None or self._evaluate(node.test, inner):
                items.append(item)
        for item, loop in LoopContext(items, lambda *_: Undefined()):  # type: ignore[arg-type]
            inner = {**names, "loop": loop}
            self._assign(node.target, item, inner)
            self.body(node.body, inner)
        if not items:
            self.body(node.else_, dict(names))

    def _count(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.run.step(1)
            yield value

    def _assign(self, target: Any, value: Any, names: Names) -> None:
        match target:
            case nodes.Name():
                names[target.name] = value
            case nodes.NSRef():
                namespace = self._look_up(target.name, names)
                if not isinstance(namespace, Namespace):
                    raise RefusedTextError("bad-expression", f"`{target.name}` is not a namespace")
                namespace[target.attr] = value
            case _:
                for inner, item in zip(target.items, value, strict=True):
                    self._assign(inner, item, names)

    def _look_up(self, name: str, names: Names) -> Any:
        """Return the value of a name: a variable, a template, a global function, or `Undefined`."""
        for scope in (names, self.scope.values):
            if name in scope:
                return scope[name]
        template = self.scope.templates.get(name)
        if template is None:
            return GLOBALS.get(name) or Undefined(name)
        return template if isinstance(template, str) else Function(self._template, name)

    def _template(self, name: str, /, *positional: Any, **arguments: Any) -> str:
        """Return the text of a template with arguments."""
        if positional:
            raise RefusedTextError("bad-expression", "positional arguments are not allowed")
        return call(name, {key: self.run.scalar(value) for key, value in arguments.items()}, self.scope)

    def _evaluate(self, node: Any, names: Names) -> Any:
        if isinstance(node, nodes.Const):
            return node.value
        if isinstance(node, nodes.Name):
            return self._look_up(node.name, names)
        self.run.step(1)
        value = functools.partial(self._evaluate, names=names)
        match node:
            case nodes.CondExpr():
                branch = node.expr1 if value(node.test) else node.expr2
                return Undefined() if branch is None else value(branch)
            case nodes.Not():
                return not value(node.node)
            case nodes.And():
                return value(node.left) and value(node.right)
            case nodes.Or():
                return value(node.left) or value(node.right)
            case nodes.Compare():
                return self._compare(value(node.expr), node.ops, value)
            case nodes.Concat():
                return self.run.spend(self.run.join(map(value, node.nodes)))
            case nodes.List():
                return [self.run.scalar(value(item)) for item in node.items]
            case nodes.Tuple():
                return tuple(self.run.scalar(value(item)) for item in node.items)
            case nodes.Getattr():
                return self._get_attribute(value(node.node), node.attr)
            case nodes.Getitem():
                return self._get_item(value(node.node), node.arg, value)
            case nodes.Filter() | nodes.Test() | nodes.Call():
                return self._apply(node, value)
            case nodes.UnaryExpr():
                sign = "neg" if isinstance(node, nodes.Neg) else "pos"
                return self.run.spend(compute(sign, [self.run.scalar(value(node.node))], self.run.limits))
            case _:
                return self.run.spend(self._compute_binary(node.operator, value(node.left), value(node.right)))

    def _compare(self, left: Any, operands: list[nodes.Operand], value: Callable[[Any], Any]) -> bool:
        self.run.look(left)
        for operand in operands:
            right = value(operand.expr)
            self.run.look(right)
            if not same(operand.op, left, right):
                return False
            left = right
        return True

    def _get_attribute(self, owner: Any, name: str) -> Any:
        """Return a method of a text, or a public member of a namespace or of `loop`; all others are refused."""
        if isinstance(owner, str) and not isinstance(owner, Undefined) and name in METHODS:
            return Function(METHODS[name], self.run, owner)
        is_namespace = isinstance(owner, Namespace) and not name.startswith("_")
        if is_namespace or (isinstance(owner, LoopContext) and name in LOOP):
            value = getattr(owner, name)
            return Function(value) if callable(value) else value
        raise RefusedTextError("bad-expression", f"attribute access is not allowed: `{name[:40]}`")

    def _get_item(self, owner: Any, index: Any, value: Callable[[Any], Any]) -> Any:
        if isinstance(owner, str | list | tuple | range) and not isinstance(owner, Undefined):
            if isinstance(index, nodes.Slice):
                ends = (index.start, index.stop, index.step)
                return self.run.spend(owner[slice(*(None if end is None else value(end) for end in ends))])
            place = value(index)
            if isinstance(place, int):
                return self.run.spend(owner[place])
        raise RefusedTextError("bad-expression", "index access is allowed only for strings and lists, by integers")

    def _apply(self, node: Any, value: Callable[[Any], Any]) -> Any:
        """Return the result of a filter, a test or a call."""
        if node.dyn_kwargs is not None:
            raise RefusedTextError("bad-expression", "`**` is not allowed in a call")
        subject = value(node.node)
        arguments = [value(argument) for argument in node.args]
        if node.dyn_args is not None:
            arguments += value(node.dyn_args)
        keywords = {pair.key: value(pair.value) for pair in node.kwargs}
        self.run.step(1 + len(arguments))
        if isinstance(node, nodes.Filter):
            return self.run.spend(FILTERS[node.name](self.run, subject, *arguments, **keywords))
        if isinstance(node, nodes.Call):
            if not isinstance(subject, Function):
                text = "only templates, filters and methods of strings can be called"
                raise RefusedTextError("bad-expression", text)
            return self.run.spend(subject(*arguments, **keywords))
        for item in (subject, *arguments):
            self.run.look(item)
        return TESTS[node.name](subject, *arguments, **keywords)

    def _compute_binary(self, sign: str, left: Any, right: Any) -> Any:
        if isinstance(left, str) and isinstance(right, tuple) and sign == "%":
            return apply_format(left, right, self.run.limits)
        if isinstance(left, list) and isinstance(right, list) and sign == "+":
            fits(len(left) + len(right), LONGEST, "values")
            return left + right
        if is_scalar(left) and is_scalar(right) and left is not None and right is not None:
            return compute(sign, [left, right], self.run.limits)
        raise RefusedTextError("bad-expression", f"`{sign}` does not suit its operands")
