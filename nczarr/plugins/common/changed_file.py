"""Files that change while they are read."""

import errno


class ChangedError(OSError):
    """A file that changed between two requests."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "the file has changed since it was opened")
