"""Facts about the source of the package, for the rules of the house: every module is parsed once a process."""

from __future__ import annotations

import ast
import gc
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import ROOT

PACKAGE = ROOT / "nczarr"

SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
"""Nodes that bind names of their own."""

LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
"""Nodes that have no others inside, or none that matters."""

BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Fields that hold statements, exception handlers and cases."""

LITTLE_WORDS = frozenset("the a an of in to as its it is are for each by with and or that which this at if".split())

COMMENT = re.compile(r"(?:^|(?<=\s))#\s.*")


class Import(NamedTuple):
    """A module that a module imports."""

    name: str
    inside: bool
    """True if a function imports it, so that loading the module does not."""
    typing: bool
    """True if it is imported for the type checker alone."""


class Function(NamedTuple):
    """A function or method."""

    name: str
    lines: int
    """Lines without those of docstrings."""
    is_property: bool


class Class(NamedTuple):
    """A class."""

    name: str
    bases: tuple[str, ...]
    """Names of its bases that are no attributes of a module."""
    is_dataclass: bool
    methods: frozenset[str]
    bare_fields: tuple[str, ...]
    """Public annotated fields without a docstring below them."""
    echoes: tuple[str, ...]
    """Fields whose docstring has no word beyond their name, their type and the name of the class."""


class Text(NamedTuple):
    """A string, comment or docstring."""

    line: int
    text: str


class Call(NamedTuple):
    """A call whose first argument is a constant."""

    function: str
    first: object
    second: object
    """Second argument if it is a constant, else None."""
    count: int
    """Number of positional arguments."""


class Module(NamedTuple):
    """Facts about one module of the package."""

    path: Path
    name: str
    lines: int
    """Lines without those of docstrings."""
    imports: tuple[Import, ...]
    functions: tuple[Function, ...]
    classes: tuple[Class, ...]
    strings: tuple[Text, ...]
    """All strings, docstrings included."""
    docstrings: tuple[Text, ...]
    comments: tuple[Text, ...]
    messages: tuple[Text, ...]
    """Messages and remedies in calls of a report or an error."""
    calls: tuple[Call, ...]
    asked: frozenset[str]
    """Names of the classes that it asks a value for."""
    bound: tuple[str, ...]
    """Names that functions, comprehensions and lambdas bind, parameters included; each once a scope."""

    def imported(self, *, top: bool = False, types: bool = False) -> tuple[str, ...]:
        """Return the modules that it imports; `top`: only at loading; `types`: also those for the type checker."""
        return tuple(one.name for one in self.imports if (types or not one.typing) and not (top and one.inside))


@cache
def modules() -> tuple[Module, ...]:
    """Return the modules of the package without generated ones, sorted by path."""
    return tuple(_module(path) for path in sorted(PACKAGE.rglob("*.py")) if "_generated" not in path.parts)


def parse(text: str) -> ast.Module:
    """Parse Python source while no garbage is collected.

    The collector may find an asyncio task whose exception was never read. Its traceback is then logged, and logging
    parses source. CPython 3.11 cannot parse while it builds another tree, and raises `SystemError`.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        if was_enabled:
            gc.enable()


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = parse(text)
    nodes, bound = _walk(tree)
    kinds = defaultdict[type, list[Any]](list)
    for node in nodes:
        kinds[type(node)].append(node)
    docstrings = [node for node in kinds[ast.Expr] if _is_text(node.value)]
    spans = [(node.lineno, node.end_lineno or 0) for node in docstrings]
    calls: list[ast.Call] = kinds[ast.Call]
    return Module(
        path,
        name_of(path),
        text.count("\n") - _height(spans, 0, text.count("\n") + 1),
        tuple(_imports(tree, name_of(path))),
        tuple(_functions(kinds[ast.FunctionDef], spans)),
        tuple(map(_class, kinds[ast.ClassDef])),
        tuple(Text(node.lineno, node.value) for node in kinds[ast.Constant] if _is_text(node)),
        tuple(Text(node.lineno, node.value.value) for node in docstrings),
        tuple(_comments(text)),
        tuple(message for node in calls for message in _messages(node)),
        tuple(_call(node) for node in calls if node.args and isinstance(node.args[0], ast.Constant)),
        _asked([*calls, *kinds[ast.MatchClass], *kinds[ast.Compare]]),
        tuple(name for names in bound for name in names),
    )


def _walk(tree: ast.Module) -> tuple[list[ast.AST], list[set[str]]]:
    """Return all nodes, and the names that each scope binds, without those of scopes inside."""
    nodes, bound = list[ast.AST](), list[set[str]]()
    todo: list[tuple[ast.AST, set[str]]] = [(tree, set())]
    while todo:
        node, names = todo.pop()
        nodes.append(node)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)
            continue
        if isinstance(node, LEAVES):
            continue
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, (*SCOPES, ast.ClassDef)):
            names = set()
            bound += [names] * (not isinstance(node, ast.ClassDef))
        for field in node._fields:
            value = getattr(node, field)
            if isinstance(value, ast.AST):
                todo.append((value, names))
            elif isinstance(value, list):
                todo += [(child, names) for child in value if isinstance(child, ast.AST)]
    return nodes, bound


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _height(spans: list[tuple[int, int]], first: int, last: int) -> int:
    """Return the lines of the docstrings between two lines."""
    return sum(end - start + 1 for start, end in spans if first <= start <= last)


def _imports(node: ast.AST, module: str, *, inside: bool = False, typing: bool = False) -> Iterator[Import]:
    for child in (child for block in BLOCKS for child in getattr(node, block, ())):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, inside, typing) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            assert not child.level, f"{module} has a relative import"
            yield from (Import(_imported(child.module, alias.name), inside, typing) for alias in child.names)
        else:
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            is_typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _imports(child, module, inside=inside or is_function, typing=typing or is_typing)


@cache
def _imported(module: str, name: str) -> str:
    """Return what `from module import name` imports: a module below it, or the module itself."""
    below = ROOT.joinpath(*module.split("."), name)
    is_module = below.with_suffix(".py").exists() or (below / "__init__.py").exists()
    return f"{module}.{name}" if is_module else module


def _functions(nodes: list[ast.FunctionDef], spans: list[tuple[int, int]]) -> Iterator[Function]:
    for node in nodes:
        last = node.end_lineno or 0
        is_property = any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
        yield Function(node.name, last - node.lineno - _height(spans, node.lineno, last), is_property)


def _class(node: ast.ClassDef) -> Class:
    bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
    is_dataclass = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    methods = frozenset(member.name for member in node.body if isinstance(member, ast.FunctionDef))
    bare, echoes = list[str](), list[str]()
    for field, below in itertools.zip_longest(node.body, node.body[1:]):
        if isinstance(field, ast.AnnAssign):
            name = ast.unparse(field.target)
            if not (isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)):
                bare.append(name)
            elif _words(str(below.value.value)) <= _words(f"{name} {ast.unparse(field.annotation)} {node.name}"):
                echoes.append(name)
    public = tuple(name for name in bare if not name.startswith("_"))
    return Class(node.name, bases, is_dataclass, methods, public, tuple(echoes))


def _words(text: str) -> set[str]:
    """Return the stems of the words of a text or of names, without articles and prepositions."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    return {_stem(part.lower()) for part in parts if part.lower() not in LITTLE_WORDS}


def _stem(word: str) -> str:
    """Return the singular of a word, of which the first letters decide."""
    if word.endswith("ies"):
        return word[:-3] + "y"
    return (word.removesuffix("s").removesuffix("e") if len(word) > 4 and word.endswith("s") else word)[:6]


def _comments(text: str) -> Iterator[Text]:
    """Find comments by their form: a string with a `# ` in it counts as well."""
    for number, line in enumerate(text.split("\n"), 1):
        comment = COMMENT.search(line) if "#" in line else None
        if comment is not None:
            yield Text(number, comment[0])


def _function_name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _call(node: ast.Call) -> Call:
    first, second = node.args[0], node.args[1] if len(node.args) > 1 else None
    value = first.value if isinstance(first, ast.Constant) else None
    return Call(_function_name(node), value, second.value if isinstance(second, ast.Constant) else None, len(node.args))


def _messages(node: ast.Call) -> Iterator[Text]:
    """Lines and texts of the messages and remedies in a call of a report or an error."""
    name = _function_name(node)
    texts = list(node.args[1:2]) if name in ("error", "warning", "lose") else []
    texts += node.args[2:3] if name == "Diagnostic" else []
    texts += node.args if name.endswith("Error") else []
    for keyword in node.keywords:
        if keyword.arg in ("helps", "notes"):
            texts += keyword.value.elts if isinstance(keyword.value, ast.List | ast.Tuple) else []
    for text in texts:
        if isinstance(text, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "`x`" for part in text.values]
            yield Text(text.lineno, "".join(map(str, parts)))
        elif isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield Text(text.lineno, text.value)


def _asked(nodes: list[ast.AST]) -> frozenset[str]:
    """Return the names of the classes that a module asks for."""
    classes: list[ast.AST] = []
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, one]):
                classes.append(one)
            case ast.MatchClass(cls=one):
                classes.append(one)
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=several):
                classes += several
    inner = [part for one in classes for part in ast.walk(one)]
    names = {part.id for part in inner if isinstance(part, ast.Name)}
    return frozenset(
        names | {part.attr for part in inner if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)}
    )
