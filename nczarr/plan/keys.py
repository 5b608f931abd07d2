"""Keys of nodes and names of dimensions in a store, and the check that each name can be a segment of a key.

Targets with portable names have escaped segments (`arrays/chunks/key_segments.py`).
Siblings are the variables and groups of a group, or the parts of a variable.
Earlier siblings retain their names.
"""

from collections.abc import Container, Iterator, Mapping

from nczarr import names
from nczarr.arrays.chunks.key_segments import LONGEST, is_own, paths, segments
from nczarr.arrays.values.parts import is_fixed, parts
from nczarr.ast import DimensionRef, Group
from nczarr.ast.dataset import groups
from nczarr.diagnostics.report import Report, Span
from nczarr.registry import Arrays, Capabilities
from nczarr.semantics.checked import Checked

ANONYMOUS = "_Anonymous_Dim_"
"""Prefix of anonymous dimensions, as in the netCDF library; the length follows."""

CONTENT, ELEMENTS = "_content", "_elements"
"""Names of the ragged dimension: of a vlen's own content, and of arrays that lie inside such content."""


def name_axes(checked: Checked, *, plain: bool = False) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return each variable's dimension names by FQN, and notes on renamed ones by FQN.

    `plain`: a store whose arrays have names of their own, so that anonymous dimensions keep those of their source.
    """
    named: dict[str, tuple[str, ...]] = {}
    renamed: dict[str, str] = {}
    for path, group in groups(checked.dataset):
        _name_group(path, group, checked, named, renamed, plain=plain)
    return named, renamed


def _name_group(
    path: str,
    group: Group,
    checked: Checked,
    named: dict[str, tuple[str, ...]],
    renamed: dict[str, str],
    *,
    plain: bool,
) -> None:
    """Name the axes of a group's variables in `named`; dimensions of other groups get a free name, in `renamed`."""
    lengths = {dimension.name: dimension.size for dimension in group.dimensions}
    aliases: dict[str, str] = {names.join(path, dimension.name): dimension.name for dimension in group.dimensions}
    notes: dict[str, str] = {}
    known: dict[tuple[DimensionRef, ...], tuple[str, ...]] = {}
    for variable in group.variables:
        fqn = names.join(path, variable.name)
        if variable.dimensions in known:
            named[fqn] = known[variable.dimensions]
            continue
        axis_names: list[str] = []
        for axis, reference in enumerate(variable.dimensions):
            if isinstance(reference, int):
                own = variable.axes[axis] if plain and variable.axes else None
                axis_names.append(_anonymous(reference, axis_names, lengths) if own is None else own)
                continue
            alias = aliases.get(reference)
            if alias is None:
                simple = names.last(reference)
                alias = _free(simple, checked.dimensions[reference].size, lengths)
                aliases[reference] = alias
                if alias != simple:
                    notes[reference] = f"`{reference}` is `{alias}` there"
            if reference in notes:
                renamed[fqn] = notes[reference]
            axis_names.append(alias)
        named[fqn] = tuple(axis_names)
        if all(isinstance(reference, str) and reference not in notes for reference in variable.dimensions):
            known[variable.dimensions] = named[fqn]


def _anonymous(size: int, taken: list[str], lengths: Mapping[str, int]) -> str:
    """Return an invented name: one per length, but never twice in a variable."""
    return names.free(f"{ANONYMOUS}{size}", lambda name: name in taken or lengths.get(name, size) != size)


def _free(name: str, size: int, lengths: dict[str, int]) -> str:
    """Return the name, or if another length has it in the group, the name with a free number."""
    alias = names.free(name, lambda alias: lengths.get(alias, size) != size)
    lengths[alias] = size
    return alias


def part_axes(variable_axes: tuple[str, ...], part: str, shape: tuple[int, ...], parts: Container[str]) -> list[str]:
    """Return a part's dimension names: `variable_axes` or the ragged one, then of array fields; `parts`: all paths."""
    axis_names = [CONTENT if part.rpartition("/")[2] == "content" else ELEMENTS]
    if not _inside_content(part, parts):
        axis_names = list(variable_axes)
    for length in shape[len(axis_names) :]:
        axis_names.append(names.free(f"_{length}", axis_names.__contains__))
    return axis_names


def _inside_content(part: str, parts: Container[str]) -> bool:
    """Return whether a part lies in ragged content, whose `counts` are a part too."""
    segments = part.split("/")
    return any(
        segment == "content" and "/".join([*segments[:depth], "counts"]) in parts
        for depth, segment in enumerate(segments)
    )


LONGEST_IN_FILES = 255 - len(".array.json")
"""Maximum length of a segment whose document is a file: file names have at most 255 bytes."""

Places = dict[tuple[str, str], str]
"""Key prefixes of nodes, by FQN of the variable or group, and path of the part or of a group within it."""


def place_nodes(checked: Checked) -> Places:
    """Return the key prefixes of all nodes; names with a slash are refused elsewhere."""
    places: Places = {("/", ""): ""}
    for path, group in groups(checked.dataset):
        above = places[path, ""]
        children = [*(variable.name for variable in group.variables), *(child.name for child in group.groups)]
        for name, segment in segments(children).items():
            places[names.join(path, name), ""] = f"{above}{segment}/"
        for variable in group.variables:
            if variable.type == "string" or is_fixed(variable.type, checked.types):
                continue
            fqn = names.join(path, variable.name)
            variable_parts = parts(variable.type, checked.shapes[fqn], checked.types)
            for part, place in paths(part_of_variable.path for part_of_variable in variable_parts).items():
                places[fqn, part] = f"{places[fqn, '']}{place}/"
    return places


def long_segments(
    checked: Checked, places: Mapping[tuple[str, str], str], longest: int = LONGEST
) -> Iterator[tuple[str, int, Span]]:
    """Yield what nodes have too long segments, the lengths of these, and the places of the nodes."""
    for (path, part), place in places.items():
        length = len(place[:-1].rpartition("/")[2])
        if length > longest:
            owner = checked.variables.get(path) or checked.groups[path]
            yield f"the part `{part}` of `{path}`" if part else f"the name of `{path}`", length, owner.span


LONGEST_KEY = 255
"""Maximum bytes of one key segment: the limit of file systems, one less than that of netCDF names."""


def check_keys(
    checked: Checked, capabilities: Capabilities, places: Mapping[tuple[str, str], str], report: Report
) -> None:
    """Report unusable key segments, and names that two children of a group share.

    A store without the paths of dimensions may have slashes in their names.

    Reports unsafe-name and, for names that the target's specification reserves,
    reserved-name.
    """
    arrays = capabilities.arrays
    assert arrays is not None
    for subject, length, span in long_segments(checked, places):
        helps = ["other bytes than letters and digits of ASCII, `-`, `_` and `.` need four characters each; rename it"]
        text = f"{subject} needs {length} characters in keys; the limit is {LONGEST}"
        report.error("unsafe-name", text, span, helps=helps)
    for path, group in groups(checked.dataset):
        taken: dict[str, str] = {}
        children = [(variable.name, "variable", variable.span) for variable in group.variables]
        children += [(child.name, "group", child.span) for child in group.groups]
        for name, what, span in children:
            problem = _no_segment(name) if arrays.portable_names else _key_problem(name, arrays)
            if problem is None and name in taken:
                problem = f"is also the name of a {taken[name]}"
            taken[name] = what
            if problem is None and arrays.reserved and name.startswith(arrays.reserved):
                text = f"the name of {what} `{names.join(path, name)}` begins with `{arrays.reserved}`"
                report.warning("reserved-name", text, span, helps=["Zarr v3 reserves such names"])
            if problem is not None:
                helps = ["rename it, or write `cdl`, `notation` or `ast`"]
                report.error(
                    "unsafe-name", f"the name of {what} `{names.join(path, name)}` {problem}", span, helps=helps
                )
        for dimension in group.dimensions:
            if "/" in dimension.name and capabilities.names:
                text = f"the name of dimension `{names.join(path, dimension.name)}` contains a slash"
                report.error("unsafe-name", text, dimension.span, helps=["rename it, or write `zarr2` or `zarr3`"])


def _no_segment(name: str) -> str | None:
    """Return why no escaping makes a name a key segment, or None."""
    return "has a character that is not allowed in keys" if "/" in name or "\0" in name else None


def _key_problem(name: str, arrays: Arrays) -> str | None:
    """Return why a name cannot be a key segment, or None."""
    problem = _no_segment(name)
    if problem is not None:
        return problem
    if name in arrays.documents or is_own(name):
        return "is the name of a document of the store"
    length = len(name.encode("utf-8", "surrogatepass"))
    return f"has {length} bytes; the limit between slashes of a key is {LONGEST_KEY}" if length > LONGEST_KEY else None
