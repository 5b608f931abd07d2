"""Frozen records: members, defaults, order, changes, copies and pickles are those of frozen dataclasses."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import ClassVar

import pytest

from nczarr.names.records import freeze, fresh, frozen, record, replace


@frozen
class Place:
    """A place."""

    kind: ClassVar[str] = "place"
    path: str
    sizes: list[int] = field(default_factory=list)
    hidden: int = field(default=3, repr=False)


@frozen
class Longer(Place):
    """A place with one more member."""

    end: int = 0

    def __post_init__(self) -> None:
        if self.end < 0:
            raise ValueError("end")


def test_members_are_given_by_place_or_name_and_have_defaults() -> None:
    place = Longer("a", [1], end=4)
    assert (place.path, place.sizes, place.hidden, place.end) == ("a", [1], 3, 4)
    assert Place("a").sizes is not Place("a").sizes
    with pytest.raises(TypeError, match=r"Place\.__init__"):
        Place()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="end"):
        Longer("a", end=-1)


def test_records_cannot_be_changed() -> None:
    place = Place("a")
    with pytest.raises(FrozenInstanceError, match="cannot change `path` of a Place"):
        place.path = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del place.path
    with pytest.raises(FrozenInstanceError):
        place.other = 1  # type: ignore[attr-defined]
    assert not hasattr(place, "__dict__")


def test_changed_records_are_other_records() -> None:
    place = Longer("a", [1])
    assert replace(place, path="b").path == "b"
    assert replace(place, path="b").sizes is place.sizes
    changed = dataclasses.replace(place, end=7)
    assert (changed.path, changed.sizes, changed.end) == ("a", [1], 7)


def test_functions_of_dataclasses_take_records_for_their_own() -> None:
    assert dataclasses.is_dataclass(Longer)
    members = {member.name: (member.type, member.default) for member in dataclasses.fields(Longer)}
    assert list(members) == ["path", "sizes", "hidden", "end"]
    assert members["end"] == ("int", 0)
    assert members["path"][1] is dataclasses.MISSING
    assert dataclasses.asdict(Longer("a", [1])) == {"path": "a", "sizes": [1], "hidden": 3, "end": 0}
    match Place("b", [2]):
        case Place(path, sizes):
            assert (path, sizes) == ("b", [2])


@record
class Scope:
    """A scope."""

    name: str
    members: list[str] = fresh(factory=list)
    above: Scope | None = None


def test_members_of_records_may_change() -> None:
    scope = Scope("a")
    scope.members.append("b")
    scope.name = "c"
    assert Scope("a").members == []
    assert repr(scope) == "Scope(name='c', members=['b'], above=None)"
    assert pickle.loads(pickle.dumps(scope)).members == ["b"]
    with pytest.raises(AttributeError):
        scope.other = 1  # type: ignore[attr-defined]
    assert [member.name for member in dataclasses.fields(scope)] == ["name", "members", "above"]  # type: ignore[arg-type]


def test_small_runs_do_not_import_dataclasses(tmp_path: Path) -> None:
    (tmp_path / "a.cdl").write_text("netcdf a { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    for words in (["compile", "a.cdl", "-o", "a.nc"], ["compile", "a.cdl", "-o", "a.zarr"], ["dump", "-h", "a.nc"]):
        script = f"import sys; from nczarr.__main__ import main; main({words}); print('dataclasses' in sys.modules)"
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
        assert ran.stdout.splitlines()[-1] == "False", words


def test_records_compare_by_identity_and_are_pickled_and_shown() -> None:
    place = Longer("a", [1], 5, 2)
    copied = pickle.loads(pickle.dumps(place))
    assert copied != place
    assert place == place
    assert (copied.path, copied.sizes, copied.hidden, copied.end) == ("a", [1], 5, 2)
    assert repr(place) == "Longer(path='a', sizes=[1], end=2)"


def test_members_may_be_given_by_name_alone() -> None:
    class Named:
        first: int
        second: int = 2

    made = freeze(Named, keywords=True)
    assert made(first=1).second == 2  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        made(1)  # type: ignore[call-arg]
