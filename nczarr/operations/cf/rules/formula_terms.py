"""4.3.3 Parametric vertical coordinates, and Appendix D."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nczarr.names import suggest
from nczarr.operations.cf.breaches import find_missing
from nczarr.operations.cf.references import parse_pairs
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.values import has_values, read_numbers
from nczarr.operations.cf.view import CFDataset, CFVariable


class Formula(NamedTuple):
    """Definition of a parametric vertical coordinate."""

    units: dict[str, str]
    """Units of the terms; empty where the definition does not say them."""
    names: Mapping[str, tuple[str, ...]]
    """Standard names of the terms that have one."""
    computed: tuple[str, ...]
    """Standard names of the computed coordinate."""


DATUMS = (
    ("altitude", "geoid"),
    ("height_above_geopotential_datum", "geopotential_datum"),
    ("height_above_reference_ellipsoid", "reference_ellipsoid"),
    ("height_above_mean_sea_level", "mean_sea_level"),
)
"""Standard names of computed heights, and the datum in the names of consistent terms (Table D.1)."""

OCEAN = {
    "zlev": tuple(name for name, _ in DATUMS),
    "eta": tuple(f"sea_surface_height_above_{datum}" for _, datum in DATUMS),
    "depth": tuple(f"sea_floor_depth_below_{datum}" for _, datum in DATUMS),
}

_HEIGHTS = ("altitude", "height_above_geopotential_datum")
_PRESSURE = {"ps": ("surface_air_pressure",), "p0": ("reference_air_pressure_for_atmosphere_vertical_coordinate",),
             "ptop": ("air_pressure_at_top_of_atmosphere_model",)}  # fmt: skip


def _ocean(**units: str) -> Formula:
    return Formula(units, OCEAN, OCEAN["zlev"])


FORMULAS = {
    "atmosphere_ln_pressure_coordinate": Formula({"p0": "Pa", "lev": "1"}, _PRESSURE, ("air_pressure",)),
    "atmosphere_sigma_coordinate": Formula({"sigma": "1", "ps": "Pa", "ptop": "Pa"}, _PRESSURE, ("air_pressure",)),
    "atmosphere_hybrid_sigma_pressure_coordinate": Formula(
        {"a": "1", "ap": "Pa", "b": "1", "ps": "Pa", "p0": "Pa"}, _PRESSURE, ("air_pressure",)
    ),
    "atmosphere_hybrid_height_coordinate": Formula(
        {"a": "m", "b": "1", "orog": "m"},
        {"orog": ("surface_altitude", "surface_height_above_geopotential_datum")},
        _HEIGHTS,
    ),
    "atmosphere_sleve_coordinate": Formula(
        {"a": "1", "b1": "1", "b2": "1", "ztop": "m", "zsurf1": "m", "zsurf2": "m"},
        {"ztop": ("altitude_at_top_of_atmosphere_model", "height_above_geopotential_datum_at_top_of_atmosphere_model")},
        _HEIGHTS,
    ),
    "ocean_sigma_coordinate": _ocean(sigma="1", eta="m", depth="m"),
    "ocean_s_coordinate": _ocean(s="1", eta="m", depth="m", a="1", b="1", depth_c="m"),
    "ocean_s_coordinate_g1": _ocean(s="1", C="1", eta="m", depth="m", depth_c="m"),
    "ocean_s_coordinate_g2": _ocean(s="1", C="1", eta="m", depth="m", depth_c="m"),
    "ocean_sigma_z_coordinate": _ocean(sigma="1", eta="m", depth="m", depth_c="m", nsigma="1", zlev="m"),
    "ocean_double_sigma_coordinate": _ocean(sigma="1", depth="m", z1="m", z2="m", a="m", href="m", k_c="1"),
}
"""Definitions of Appendix D by standard name."""

R = Rules("cf-formula-terms", "4.3.3")

_SIGMA = (
    'dimensions: z = 2 ; variables: float z(z) ; float ps ; ps:units = "Pa" ; float top ; top:units = "Pa" ; '
    'z:standard_name = "atmosphere_sigma_coordinate" ; '
)
_SIGMA_TERMS = 'z:formula_terms = "sigma: z ps: ps ptop: top" ; '

RULES = (
    R.must("place", "`formula_terms` stands at a coordinate variable.",
        'dimensions: z = 2 ; variables: float «s|z»(z) ; «s|z»:standard_name = "atmosphere_ln_pressure_coordinate" ; '
        'float p ; p:units = "Pa" ; «s|z»:formula_terms = "p0: p lev: «s|z»" ;',
        "give the variable the name of its dimension, or name it in `coordinates`"),
    R.must("name", "The coordinate with `formula_terms` has a standard name of Appendix D.",
        _SIGMA.replace("atmosphere_sigma_coordinate", "«model_level_number|atmosphere_sigma_coordinate»")
        + _SIGMA_TERMS, "write the standard name of the formula"),
    R.must("form", "`formula_terms` is a text of pairs `term: variable`.", _SIGMA
        + 'z:formula_terms = "sigma: z «ps|ps: ps»" ;', "write a colon and a blank behind each term"),
    R.must("term", "The terms are those of the formula.", _SIGMA + 'z:formula_terms = "sigma: z «p: ps|ps: ps»" ;',
        "write a term of the definition in Appendix D"),
    R.must("exists", "The variables of the terms exist.", _SIGMA + 'z:formula_terms = "sigma: z ps: «psurf|ps»" ;',
        "correct the name"),
    R.must("term-name", "The standard names of the terms are those of the formula, and agree with each other.", _SIGMA
        + _SIGMA_TERMS + 'ps:standard_name = "«air_pressure|surface_air_pressure»" ;',
        "correct the standard name of the variable", since=(1, 7)),
    R.must("computed-place", "`computed_standard_name` stands beside `formula_terms`.", _SIGMA
        + 'z:computed_standard_name = "air_pressure" ; «|' + _SIGMA_TERMS + "»",
        "write `formula_terms`, or remove the attribute", since=(1, 7)),
    R.must("computed", "`computed_standard_name` is that of the formula.", _SIGMA + _SIGMA_TERMS
        + 'z:computed_standard_name = "«altitude|air_pressure»" ;', "write the name that Appendix D has", since=(1, 7)),
    R.must("units", "The units of the terms are equivalent to those of the formula.",
        _SIGMA.replace('ps:units = "Pa"', 'ps:units = "«m|hPa»"') + _SIGMA_TERMS, "correct the units", since=(1, 10)),
    Rules("cf-formula-terms", "Appendix D").must("sigma-z",
        "At each level of `ocean_sigma_z_coordinate` either `sigma` or `zlev` is missing.",
        'dimensions: z = 2 ; variables: float z(z) ; z:standard_name = "ocean_sigma_z_coordinate" ; '
        "float s(z) ; s:_FillValue = -9.f ; float l(z) ; l:_FillValue = -9.f ; "
        'l:units = "m" ; z:formula_terms = "sigma: s zlev: l" ; data: s = -1, -9 ; l = -9, «-9|-20» ; z = -1, -20 ;',
        "write the fill value in one of them", since=(1, 9)),
    Rules("cf-formula-terms", "Appendix D").should("defective",
        "Versions before 1.9 are not used for `ocean_sigma_z_coordinate`, which they define incompletely.",
        'dimensions: z = 2 ; variables: float z(z) ; z:standard_name = "ocean_sigma«_z|»_coordinate" ; '
        'z:formula_terms = "sigma: z" ;', "conform to CF 1.9", until=(1, 8)),
    Rules("cf-formula-terms", "Appendix D").should("nsigma", "The term `nsigma` is omitted.",
        'dimensions: z = 2 ; variables: float z(z) ; z:standard_name = "ocean_sigma_z_coordinate" ; '
        'int n ; z:formula_terms = "sigma: z« nsigma: n|»" ;', "remove the term", since=(1, 9)),
)  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
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
        yield from _find_levels(dataset, variable, terms)


def _find_names(variable: CFVariable, formula: Formula, terms: dict[str, CFVariable]) -> Iterator[Breach]:
    """Find standard names that are not those of the formula, or of different datums."""
    node = variable.attributes["formula_terms"]
    computed, datums = variable.text("computed_standard_name"), set(range(len(DATUMS)))
    if computed and computed not in formula.computed:
        what = f"`computed_standard_name` of `{variable.path}` is `{computed}`"
        helps = (f"write {' or '.join(f'`{name}`' for name in formula.computed)}",)
        yield Breach("computed", what, variable.attributes["computed_standard_name"], "", helps)
    elif computed and formula.names is OCEAN:
        datums = {formula.computed.index(computed)}
    for term, other in terms.items():
        name, allowed = other.standard_name, formula.names.get(term, ())
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


def _find_levels(dataset: CFDataset, variable: CFVariable, terms: dict[str, CFVariable]) -> Iterator[Breach]:
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


TOPIC = Topic(RULES, find)
