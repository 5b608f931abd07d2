"""New names of folders of a store: keys before and after, and the store as it reads with all of them.

Moves apply in order, each to the names that those before it have left. A reader
finds a key before, between and after them.
"""

from collections.abc import Iterable, Iterator, Sequence

from nczarr.stores.base import Reference, Store
from nczarr.stores.overlay import DerivedStore
from nczarr.stores.ranges import Range

Moves = Sequence[tuple[str, str]]
"""Old and new key prefixes of folders, without a final slash, in the order of the moves."""


def move_key(key: str, moves: Moves) -> str:
    """Return a key after the moves."""
    for old, new in moves:
        if key == old or key.startswith(old + "/"):
            key = new + key[len(old) :]
    return key


def list_places(key: str, moves: Moves) -> list[str]:
    """Return where a key may be: before all moves, between them, and after all."""
    places = [key]
    for old, new in reversed(moves):
        if places[-1] == new or places[-1].startswith(new + "/"):
            places.append(old + places[-1][len(new) :])
    return places[::-1]


class StoreWithMoves(DerivedStore):
    """A store in which folders have their new names, whether they are moved already or not."""

    def __init__(self, base: Store, moves: Moves) -> None:
        super().__init__(base)
        self.moves = tuple(moves)

    def _find(self, key: str) -> str | None:
        """Return the place of a key in the base; None if its folder has another name now."""
        places = list_places(key, self.moves)
        for place in places:
            if len(places) == 1 or not self.base.lacks(place):
                return place if move_key(place, self.moves) == key else None
        return None

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError."""
        place = self._find(key)
        return None if place is None else self.base.get(place)

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        """Return a range of a key, or None. Raises OSError."""
        place = self._find(key)
        return None if place is None else self.base.part(place, offset, length)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        places = list_places(prefix.rpartition("/")[0], self.moves) if prefix else [""]
        below = (key for place in places for key in self.base.keys(f"{place}/" if place else ""))
        moved = {move_key(key, self.moves) for key in below}
        return iter(sorted(key for key in moved if key.startswith(prefix)))

    def entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return the children, and the names of links."""
        names: set[str] = set()
        links: list[str] = []
        for place in list_places(prefix.rstrip("/"), self.moves) if prefix else [""]:
            start = f"{place}/" if place else ""
            below, links_here = self.base.entries(start)
            names |= {move_key(start + name, self.moves).rpartition("/")[2] for name in below}
            links += links_here
        return sorted(names), links

    def lacks(self, key: str) -> bool:
        """Return whether the name alone shows that the key is absent."""
        place = self._find(key)
        return place is None or self.base.lacks(place)

    def expect(self, keys: Iterable[str]) -> None:
        """Prepare to read these documents of the base."""
        self.base.expect(place for key in keys for place in list_places(key, self.moves))

    def locate(self, key: str) -> Range | None:
        """Return the file range of a key. Raises OSError."""
        place = self._find(key)
        return None if place is None else self.base.locate(place)

    def refer(self, key: str) -> Reference | None:
        """Return the public location of a key; None for one whose folder moves."""
        return self.base.refer(key) if len(list_places(key, self.moves)) == 1 else None

    def find_size(self, key: str) -> int | None:
        """Return a key's size from a listing of the base."""
        place = self._find(key)
        return None if place is None else self.base.find_size(place)
