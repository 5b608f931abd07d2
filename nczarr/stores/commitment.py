"""The commit of a target: the step behind which it is changed, whatever fails or ends the run afterwards.

Code that commits calls `note_commit`; what fails then is not reported as a failure
that leaves the target as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from nczarr.diagnostics.secrets import show

_committed: list[str] = []
"""The target that was committed last since `forget_commits`, if there is one."""


class CommittedError(OSError):
    """A failure behind the commit: the target is changed, but not all of it is in its place."""


class OldTargetStaysError(CommittedError):
    """A failure to remove what a target was: the target itself is in its place."""


def note_commit(target: str) -> None:
    """Note that the target at a path or URL is changed, or exists now."""
    _committed[:] = [show(target)]


def forget_commits() -> None:
    """Begin with a task that has committed nothing."""
    _committed.clear()


def name_committed() -> str | None:
    """Return the target that was committed last since `forget_commits`; None without any."""
    return _committed[0] if _committed else None


@contextmanager
def after_commit(target: str) -> Iterator[None]:
    """Note the commit of a target, and raise what fails in the block as CommittedError."""
    note_commit(target)
    try:
        yield
    except CommittedError:
        raise
    except OSError as error:
        raise CommittedError(error.errno, error.strerror or str(error), error.filename) from error
