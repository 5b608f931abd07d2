"""Twelve datasets that keep a contract, each with five that break it in one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SCHEMA = """// nczarr: extra-allowed
netcdf product {
dimensions:
  time = UNLIMITED ;
  lat = LENGTH ;
  lon = 3 ; // nczarr: any-length
  chars = 4 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ; // nczarr: match (days|hours) since \\d{4}-\\d\\d-\\d\\d.*
  float lat(lat) ; // nczarr: range -90 90
    lat:units = "degrees_north" ;
  TYPE NAME(time, lat, lon) ; // nczarr: range LOW HIGH
    NAME:units = "UNITS" ;
    NAME:long_name = "x" ; // nczarr: any-value
    NAME:comment = "x" ; // nczarr: optional; any-value
  char site(chars) ; // nczarr: match [A-Z]{2,4}
:title = "x" ; // nczarr: any-value
:cadence = "day" ; // nczarr: one-of hour, day, month
:level = 1 ; // nczarr: range 0 4
}
"""

DATA = """netcdf data {
dimensions:
  time = UNLIMITED ;
  lat = LENGTH ;
  lon = 2 ;
  chars = 4 ;
variables:
  double time(time) ;
    time:units = "hours since 1990-01-01" ;
  float lat(lat) ;
    lat:units = "degrees_north" ;
  TYPE NAME(time, lat, lon) ;
    NAME:units = "UNITS" ;
    NAME:long_name = "of NAME" ;
  char site(chars) ;
:title = "Data of NAME" ;
:cadence = "hour" ;
:level = 3 ;
data:
  time = 1 ;
  lat = LATS ;
  NAME = VALUES ;
  site = "ABC" ;
}
"""

PRODUCTS = [
    ("temp", "float", "K", 2, 180, 340), ("salt", "double", "1e-3", 3, 0, 45), ("wind", "float", "m s-1", 2, 0, 120),
    ("rain", "short", "mm", 4, 0, 500), ("wave", "float", "m", 2, 0, 40), ("snow", "int", "mm", 3, 0, 9000),
    ("ice", "double", "1", 2, 0, 1), ("cloud", "byte", "percent", 3, 0, 100), ("soil", "float", "m3 m-3", 2, 0, 1),
    ("ozone", "double", "mol m-2", 4, 0, 1), ("flow", "int64", "m3 s-1", 2, 0, 400000),
    ("height", "short", "m", 3, -430, 8900),
]  # fmt: skip

FAULTS = {
    "missing variable": ("  char site(chars) ;\n", "", '  site = "ABC" ;\n', ""),
    "other name": ("NAME", "NAMED"),
    "other type": ("  TYPE NAME", "  OTHER NAME"),
    "other order of dimensions": ("NAME(time, lat, lon)", "NAME(time, lon, lat)"),
    "fewer dimensions": ("NAME(time, lat, lon)", "NAME(lat, lon)"),
    "other length": ("  chars = 4", "  chars = 5"),
    "fixed dimension": ("time = UNLIMITED", "time = 1"),
    "missing attribute": ('    NAME:long_name = "of NAME" ;\n', ""),
    "other units": ('NAME:units = "UNITS"', 'NAME:units = "furlong"'),
    "number for a text": ('NAME:long_name = "of NAME"', "NAME:long_name = 7"),
    "text that does not match": ("hours since 1990-01-01", "weeks since 1990-01-01"),
    "text of no list": (':cadence = "hour"', ':cadence = "year"'),
    "attribute out of range": (":level = 3", ":level = 5"),
    "missing global attribute": (':title = "Data of NAME" ;\n', ""),
    "value out of range": ("  lat = LATS", "  lat = FAR"),
    "character that does not match": ('site = "ABC"', 'site = "ab"'),
    "value of the product out of range": ("VALUES", "TOO_HIGH"),
}
"""Replacements in a dataset by the name of the fault."""


class Planted(NamedTuple):
    """A dataset with one fault."""

    product: str
    fault: str
    schema: str
    good: str
    bad: str


def list_planted() -> Iterator[Planted]:
    """Yield sixty datasets with a fault: five of each product, every fault about four times."""
    names = list(FAULTS)
    for number, (name, kind, units, length, low, high) in enumerate(PRODUCTS):
        words = {"TYPE": kind, "UNITS": units, "LENGTH": str(length), "LOW": str(low), "HIGH": str(high)}
        words |= {"OTHER": "int" if kind != "int" else "short", "LATS": ", ".join(map(str, range(length)))}
        words["FAR"] = ", ".join(map(str, range(91, 91 + length)))
        words |= {"VALUES": ", ".join([str(low)] * 2 * length), "TOO_HIGH": str(high + 1)}
        words["NAMED"] = f"{name}2"
        if kind == "byte":
            words["TOO_HIGH"] = "101"
        for step in range(5):
            fault = names[(5 * number + step) % len(names)]
            bad = DATA
            pairs = FAULTS[fault]
            for old, new in zip(pairs[::2], pairs[1::2], strict=True):
                assert old in bad, (fault, old)
                bad = bad.replace(old, new)
            yield Planted(name, fault, *(_fill(text, name, words) for text in (SCHEMA, DATA, bad)))


def _fill(text: str, name: str, words: dict[str, str]) -> str:
    for word in ("NAMED", "FAR", "TOO_HIGH", "VALUES", "LATS", "LENGTH", "OTHER", "TYPE", "UNITS", "LOW", "HIGH"):
        text = text.replace(word, words[word])
    return text.replace("NAME", name)
