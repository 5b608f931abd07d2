"""Datasets in groups with attributes that name nodes, for the flattener."""

from __future__ import annotations

from hypothesis import strategies as st

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset, Dimension, EnumConstant, EnumType, Group, Variable

GROUPED = """netcdf grouped {
types: int enum level {LOW = 0, HIGH = 1} ;
dimensions: lat = 2 ; t = UNLIMITED ;
variables: double lat(lat) ; lat:bounds = "/lat_bnds" ; double lat_bnds(lat) ; int crs ; :title = "root" ;
  :a__title = "of the root" ;
data: lat = 1, 2 ; lat_bnds = 3, 4 ; crs = 5 ;
group: a {
  types: compound pair { int one ; level two ; } ; int(*) row ;
  dimensions: x = 2 ; u = UNLIMITED ;
  variables: float temp(t, lat, x) ; temp:coordinates = "lat aux ../crs" ; temp:grid_mapping = "crs: lat" ;
    float aux(x, u) ; pair p(x) ; row r(x) ; level l ; string s(x) ; pair p:like = {1, LOW} ;
    :title = "of a" ; pair :pairs = {1, HIGH}, {2, LOW} ;
  data: temp = 1, 2, 3, 4, 5, 6, 7, 8 ; aux = {1, 2}, {3, 4} ; p = {1, LOW}, {2, HIGH} ; r = {1}, {2, 3} ; l = HIGH ;
    s = "one", "two" ;
  group: b { dimensions: x = 3 ; variables: int x(x) ; int near(x) ; near:ancillary_variables = "x aux" ; int p__q ;
    data: x = 7, 8, 9 ; near = 1, 2, 3 ; p__q = 4 ; }
  group: empty { }
}
group: a__b { dimensions: x = 4 ; variables: int x(x) ; int lat(lat) ; :title = "beside" ; data: x = 1, 2, 3, 4 ; }
group: void { group: inner { } }
}"""
"""Types and unlimited dimensions in groups, equal flat names, empty groups, names with `__`."""

NAMES = ("a", "b", "a__b", "b__a", "g", "x")
WORDS = (
    *NAMES,
    "/a",
    "/g/a",
    "/a/b/x",
    "../a",
    "./b",
    "g/x",
    "a:",
    "b:",
    "(a",
    "a)",
    "area:",
    "REF_NOT_FOUND_a",
    "/",
    "",
)
ROOT = ("_nczarr_groups", "__flattener_name_mapping_variables", "_flattener_variable_map")


@st.composite
def grouped_trees(draw: st.DrawFn, attributes: tuple[str, ...]) -> Dataset:
    """A tree of a few names in groups, some attributes of whose variables have the given names."""

    def draw_several(choices: tuple[str, ...], most: int) -> list[str]:
        return draw(st.lists(st.sampled_from(choices), unique=True, max_size=most))

    def draw_attribute(name: str) -> Attribute:
        text = " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=4))).encode()
        return Attribute(name=name, value=draw(st.sampled_from([Constant.text(text), Constant.strings([text, text])])))

    def draw_members(path: str, around: tuple[str, ...], depth: int) -> dict[str, object]:
        dimensions = draw_several(NAMES, 3)
        axes = (*around, *(names.join(path, name) for name in dimensions))
        named = draw_several(NAMES, 3)
        variables = [
            Variable(
                name=name,
                type="int",
                dimensions=tuple(draw(st.lists(st.sampled_from(axes), max_size=2)) if axes else ()),
                attributes=tuple(map(draw_attribute, draw_several(attributes, 3))),
            )
            for name in named
        ]
        inner = [name for name in draw_several(NAMES, 3 if depth < 3 else 0) if name not in named]
        types = draw_several(("t", "a__t"), 2)
        return {
            "types": tuple(
                EnumType(name=one, base="int", constants=(EnumConstant(name="K", value=0),)) for one in types
            ),
            "dimensions": tuple(Dimension(name=name, size=2, unlimited=draw(st.booleans())) for name in dimensions),
            "variables": tuple(variables),
            "attributes": tuple(
                Attribute(name=name, value=Constant.text(b"q")) for name in draw_several((*NAMES, *ROOT), 2)
            ),
            "groups": tuple(
                Group(name=name, **draw_members(names.join(path, name), axes, depth + 1)) for name in inner
            ),
        }

    return Dataset(name="drawn", **draw_members("/", (), 0))
