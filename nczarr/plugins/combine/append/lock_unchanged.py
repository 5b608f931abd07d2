"""Lock of a target that is replaced as a whole."""

from nczarr.stores.lock import Lock
from nczarr.stores.stat import identity


class Unchanged(Lock):
    """Lock of a local target that is replaced as a whole: lost also if a program without locks changes it."""

    def __init__(self, lock: Lock, path: str, identity: str) -> None:
        self._lock = lock
        self._path = path
        self._identity = identity

    def is_held(self) -> bool:
        """Return whether the lock is held and the target is as it was. Raises OSError."""
        return self._lock.is_held() and identity(self._path) == self._identity

    def release(self) -> None:
        """Release the lock. Raises OSError."""
        self._lock.release()
