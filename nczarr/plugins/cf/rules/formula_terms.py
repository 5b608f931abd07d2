"""4.3.3 Parametric vertical coordinates, and Appendix D."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nczarr.diagnostics.report import suggest
from nczarr.plugins.cf.coordinates import has_values, read_numbers
from nczarr.plugins.cf.references import parse_pairs
from nczarr.plugins.cf.rule import Breach, find_missing, load_table
from nczarr.plugins.cf.view import CFDataset, CFVariable


class Formula(NamedTuple):
    """Definition of a parametric vertical coordinate."""

    units: Mapping[str, str]
    """Units of the terms; empty where the definition does not say them."""
    names: Mapping[str, list[str]]
    """Standard names of the terms that have one."""
    computed: list[str]
    """Standard names of the computed coordinate."""


_TABLE = load_table("formula_terms")
OCEAN = _TABLE["names"]["ocean"]
FORMULAS = {
    name: Formula(entry["units"], _TABLE["names"][entry["names"]], _TABLE["computed"][entry["names"]])
    for name, entry in _TABLE["formulas"].items()
}
"""Definitions of Appendix D by standard name."""


def check_formula_terms(dataset: CFDataset) -> Iterator[Breach]:
    """Find terms that do not suit the coordinate."""
    for variable in dataset.variables.values():
        if "computed_standard_name" in variable.attributes and "formula_terms" not in variable.attributes:
            what = f"`{variable.path}` has `computed_standard_name` without `formula_terms`"
            if not dataset.is_boundary(variable):
                yield Breach("computed-place", what, variable.attributes["computed_standard_name"])
        node = variable.attributes.get("formula_terms")
        if node is None:
            continue
        pairs = parse_pairs(variable.text("formula_terms"))
        if pairs is None:
            yield Breach("form", f"`formula_terms` of `{variable.path}` has no form `term: variable`", node)
            continue
        yield from find_missing(dataset, variable, "formula_terms", [name for _, name in pairs])
        if dataset.is_boundary(variable):
            continue
        if not dataset.holds_coordinates(variable):
            yield Breach("place", f"`{variable.path}` has `formula_terms`, and is not a coordinate variable", node)
        formula = FORMULAS.get(variable.standard_name)
        if formula is None:
            what = f"`{variable.path}` has `formula_terms`, and no standard name of Appendix D"
            yield Breach("name", what, node, "", tuple(suggest(variable.standard_name, FORMULAS)))
        else:
            yield from _find_terms(dataset, variable, formula, pairs)


def _find_terms(
    dataset: CFDataset, variable: CFVariable, formula: Formula, pairs: list[tuple[str, str]]
) -> Iterator[Breach]:
    node = variable.attributes["formula_terms"]
    by_term = {term.lower(): term for term in formula.units}
    terms: dict[str, CFVariable] = {}
    for word, name in pairs:
        term = by_term.get(word.lower())
        if term is None:
            what = f"`{variable.path}` is `{variable.standard_name}`, which has no term `{word}`"
            yield Breach("term", what, node, word, tuple(suggest(word, formula.units)))
            continue
        other = dataset.resolve(name, variable.group)
        if other is not None:
            terms[term] = other
    if variable.standard_name == "ocean_sigma_z_coordinate":
        yield Breach("defective", f"`{variable.path}` is an `ocean_sigma_z_coordinate`", node)
    if "nsigma" in terms:
        yield Breach("nsigma", f"`{variable.path}` has the term `nsigma`", node, "nsigma")
    yield from _find_names(variable, formula, terms)
    for term, other in terms.items():
        units = other.text("units")
        if dataset.units is not None and units and not dataset.units.is_equivalent(units, formula.units[term]):
            what = f"the term `{term}` of `{variable.path}` is `{other.path}`, whose units are `{units}`"
            helps = (f"write units that are equivalent to `{formula.units[term]}`",)
            yield Breach("units", what, node, other.name, helps)
    if variable.standard_name == "ocean_sigma_z_coordinate" and {"sigma", "zlev"} <= terms.keys():
        yield from _check_sigma_and_z_levels(dataset, variable, terms)


def _find_names(variable: CFVariable, formula: Formula, terms: dict[str, CFVariable]) -> Iterator[Breach]:
    """Find standard names that are not those of the formula, or of different datums."""
    node = variable.attributes["formula_terms"]
    computed, datums = variable.text("computed_standard_name"), set(range(len(OCEAN["zlev"])))
    if computed and computed not in formula.computed:
        what = f"`computed_standard_name` of `{variable.path}` is `{computed}`"
        helps = (f"write {' or '.join(f'`{name}`' for name in formula.computed)}",)
        yield Breach("computed", what, variable.attributes["computed_standard_name"], "", helps)
    elif computed and formula.names is OCEAN:
        datums = {formula.computed.index(computed)}
    for term, other in terms.items():
        name, allowed = other.standard_name, formula.names.get(term, [])
        if not name or not allowed or other is variable:
            continue
        if name not in allowed:
            what = f"the term `{term}` of `{variable.path}` is `{other.path}`, a `{name}`"
            helps = (f"its standard name is {' or '.join(f'`{one}`' for one in allowed)}",)
            yield Breach("term-name", what, node, other.name, helps)
        elif formula.names is OCEAN:
            datums &= {allowed.index(name)}
            if not datums:
                what = f"the standard names of the terms of `{variable.path}` have different datums"
                yield Breach("term-name", what, node, other.name)
                return


def _check_sigma_and_z_levels(
    dataset: CFDataset, variable: CFVariable, terms: dict[str, CFVariable]
) -> Iterator[Breach]:
    """Check that at each level either `sigma` or `zlev` is missing, and that `nsigma` counts the missing `zlev`."""
    sigma, level = terms["sigma"], terms["zlev"]
    if sigma.shape != level.shape or not (has_values(dataset, sigma) and has_values(dataset, level)):
        return
    both = read_numbers(dataset, sigma)[1] == (absent := read_numbers(dataset, level)[1])
    count = terms.get("nsigma")
    if count is not None and has_values(dataset, count) and read_numbers(dataset, count)[0].item(0) != absent.sum():
        what = f"the term `nsigma` of `{variable.path}` is not the number of missing values of `{level.name}`"
        yield Breach("sigma-z", what, variable.attributes["formula_terms"], count.name)
    if both.any():
        place = int(both.argmax())
        what = (
            f"at index {place} of `{variable.path}` both `{sigma.name}` and `{level.name}` are missing, or neither is"
        )
        yield Breach("sigma-z", what, variable.attributes["formula_terms"])
