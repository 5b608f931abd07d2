"""Hints for Python callers: attributes, keyword arguments, types and values that were misspelled."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr

SOURCE = "samples/01-station.cdl"


@pytest.fixture(scope="module")
def handle() -> Any:
    return nczarr.open(SOURCE)


@pytest.mark.parametrize(
    ("find", "name", "meant"),
    [
        (lambda handle: handle, "dimension", "dimensions"),
        (lambda handle: handle, "atributes", "attributes"),
        (lambda handle: handle["time"], "atributes", "attributes"),
        (lambda handle: handle["time"], "shap", "shape"),
        (lambda handle: handle.dimensions["time"], "lenght", "length"),
        (lambda handle: nczarr.DatasetBuilder(), "varible", "variable"),
        (lambda handle: nczarr.DatasetBuilder().variable("v", "int"), "atribute", "attribute"),
    ],
)
def test_an_unknown_attribute_names_the_closest(find: Callable[..., Any], name: str, meant: str, handle: Any) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; did you mean `{meant}`"):
        getattr(find(handle), name)


def test_other_attributes_have_no_hint(handle: Any) -> None:
    for name in ("zzzzz", "_attributes", "__array_interface__"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
            getattr(handle, name)
    assert not hasattr(handle["time"], "__dask_graph__")
    assert copy.copy(handle.dimensions["time"]) == handle.dimensions["time"]
    assert pickle.loads(pickle.dumps(handle))["time"].shape == handle["time"].shape


def test_an_error_inside_a_property_keeps_its_message(handle: Any) -> None:
    class Faulty(type(handle)):  # type: ignore[misc]
        @property
        def wrong(self) -> Any:
            return [].missing  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="'list' object has no attribute 'missing'"):
        _ = Faulty(handle.checked).wrong


CALLS: list[tuple[str, Callable[..., Any], str, str]] = [
    ("open", lambda **named: nczarr.open(SOURCE, **named), "knd", "kind"),
    ("convert", lambda **named: nczarr.convert(SOURCE, "a.nc", **named), "codec", "codecs"),
    ("convert", lambda **named: nczarr.convert(SOURCE, "a.nc", **named), "to", "format"),
    ("convert", lambda **named: nczarr.convert(SOURCE, "a.nc", **named), "var", "variables"),
    ("write", lambda **named: nczarr.write(nczarr.open(SOURCE), "a.nc", **named), "encodng", "encoding"),
    ("diff", lambda **named: nczarr.diff(SOURCE, SOURCE, **named), "varables", "variables"),
    ("digest", lambda **named: nczarr.digest(SOURCE, **named), "worker", "workers"),
    ("check", lambda **named: nczarr.check(SOURCE, **named), "schem", "schema"),
    ("info", lambda **named: nczarr.info(SOURCE, **named), "from", "from_format"),
    ("parse", lambda **named: nczarr.parse("", **named), "langage", "language"),
    ("from_cdl", lambda **named: nczarr.from_cdl("", **named), "kid", "kind"),
    ("DatasetBuilder.__init__", lambda **named: nczarr.DatasetBuilder(**named), "knd", "kind"),
    ("DatasetBuilder.finish", lambda **named: nczarr.DatasetBuilder().finish(**named), "dat", "data"),
    (
        "GroupBuilder.dimension",
        lambda **named: nczarr.DatasetBuilder().dimension("x", **named),
        "unlimted",
        "unlimited",
    ),
    ("GroupBuilder.variable", lambda **named: nczarr.DatasetBuilder().variable("x", "int", **named), "chunk", "chunks"),
]


@pytest.mark.parametrize(("function", "call", "wrong", "meant"), CALLS, ids=[f"{row[0]}-{row[2]}" for row in CALLS])
def test_an_unknown_keyword_names_the_closest(
    function: str, call: Callable[..., Any], wrong: str, meant: str, tmp_path: Path
) -> None:
    name = {"open": "open_dataset"}.get(function, function)
    text = rf"^{name}\(\) got an unexpected keyword argument '{wrong}'; did you mean `{meant}`\?$"
    with pytest.raises(TypeError, match=text):
        call(**{wrong: 1})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nczarr.check(SOURCE, cf=1.8), r'cf=1\.8: True, False or a text is expected, such as cf="1\.8"'),
        (lambda: nczarr.check(SOURCE, cf=None), "cf=None: True, False or a text is expected$"),
        (lambda: nczarr.check(SOURCE, data="no"), "data='no': True or False is expected"),
        (lambda: nczarr.convert(SOURCE, "a.nc", verify="no"), "verify='no': True or False is expected"),
        (lambda: nczarr.write(nczarr.open(SOURCE), "a.nc", overwrite="no"), "overwrite='no': True or False"),
        (lambda: nczarr.convert(SOURCE, "a.zarr", consolidated="no"), "consolidated='no': True, False or None"),
        (lambda: nczarr.DatasetBuilder().dimension("x", unlimited="no"), "unlimited='no': True or False"),
    ],
)
def test_a_flag_is_no_other_value_that_counts_as_true(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(TypeError, match=f"^{text}"):
        call()


def test_truth_values_of_numpy_are_flags(tmp_path: Path) -> None:
    assert nczarr.diff(SOURCE, SOURCE, data=np.bool_(True)) == []
    nczarr.convert(SOURCE, tmp_path / "a.nc", verify=np.bool_(False), overwrite=np.True_)


@pytest.mark.parametrize(
    ("find", "name", "message"),
    [
        (lambda found: found, "tm2", "no variable or group 'tm2'; did you mean `/t2m`?"),
        (lambda found: found.variables, "tm2", "no variable 'tm2'; did you mean `t2m`?"),
        (lambda found: found.dimensions, "tim", "no dimension 'tim'; did you mean `time`?"),
        (lambda found: found.groups, "inn", "no group 'inn'; did you mean `inner`?"),
        (lambda found: found.attributes, "titel", "no attribute 'titel'; did you mean `title`?"),
        (lambda found: found["t2m"].attributes, "unit", "no attribute 'unit'; did you mean `units`?"),
        (lambda found: found["inner"].attributes, "zzz", "no attribute 'zzz'"),
        (lambda found: found.dimensions, 5, "no dimension 5"),
    ],
)
def test_an_unknown_name_of_a_mapping_names_the_closest(find: Callable[..., Any], name: Any, message: str) -> None:
    text = """netcdf d { dimensions: time = 1 ; variables: int t2m(time) ; t2m:units = "K" ; :title = "a" ;
group: inner { :a = 1 ; } }"""
    members = find(nczarr.from_cdl(text))
    for one in (members, pickle.loads(pickle.dumps(members)), copy.copy(members)):
        with pytest.raises(KeyError) as refused:
            one[name]
        assert refused.value.args == (message,)
        assert name not in one
        assert one.get(name, 3) == 3


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("flaot", "float"), ("flaot32", "float32"), ("strin", "string"), ("itn", "int"), ("dobule", "double")],
)
def test_an_unknown_type_of_a_builder_names_the_closest(wrong: str, meant: str) -> None:
    builder = nczarr.DatasetBuilder()
    calls: tuple[Callable[[], Any], ...] = (
        lambda: builder.variable("v", wrong),
        lambda: builder.vlen("list", wrong),
        lambda: builder.compound("pair", {"a": wrong}),
        lambda: builder.attribute("a", 1, type=wrong),
    )
    for call in calls:
        with pytest.raises(nczarr.CompileError, match=f"`{wrong}` is not declared(.*\\n)*.*did you mean `{meant}`"):
            call()
    with pytest.raises(nczarr.CompileError, match=r"not an integer type(.*\n)*.*did you mean `short`"):
        builder.enum("e", "shrot", {"a": 1})


def test_a_warning_is_at_the_line_of_the_caller(tmp_path: Path) -> None:
    text = "netcdf a { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "a.zarr", "zarr3")
    (tmp_path / "a.zarr" / "v" / "zarr.json").write_text("{}")
    with pytest.warns(nczarr.DataWarning) as caught:
        nczarr.open(tmp_path / "a.zarr")
    assert caught[0].filename == __file__
