"""`nczarr revisions STORE`: branches and tags of a repository, and the removal of old commits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.cli import misuse, write_product
from nczarr.cli.options import options_of
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import suggest
from nczarr.diagnostics.secrets import show
from nczarr.options import ARGUMENTS, REPORTING, TARGET

if TYPE_CHECKING:
    from datetime import datetime

    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.stores.url import Repository

COMMAND = "revisions"

EXAMPLES = (
    ("list branches, tags and commits", "revisions icechunk:repo"),
    ("make a branch at a tag", "revisions 'icechunk:repo#tag=v0' --branch fix"),
)

SHARED = frozenset({"storage", "dry_run"})
"""Options that other commands have as well."""

LISTED = 20
"""Commits that are listed."""


class RevisionsResult(NamedTuple):
    """Result of the command."""

    place: str
    """Path or URL of the repository."""
    branches: dict[str, str]
    """Snapshots of the branches by name."""
    tags: dict[str, str]
    """Snapshots of the tags by name."""
    removed: dict[str, int] | None = None
    """Numbers by what was removed; None without `--expire`."""

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        named = {"branches": self.branches, "tags": self.tags}
        removed = {} if self.removed is None else {"removed": self.removed}
        return {"result": COMMAND, "target": show(self.place), **named, **removed}


def parser() -> Command:
    """Return the parser of `revisions`."""
    subparser = Command(
        COMMAND,
        "[OPTION]… STORE",
        "List the branches and tags of an icechunk repository, and the commits of a revision. Options make and delete "
        "branches and tags, and move branches; no commit is changed. --expire removes what no branch and tag needs.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS,
        "repository",
        metavar="STORE",
        help="repository, with #branch=NAME, #tag=NAME or #snapshot=ID for a revision (default: #branch=main)",
    )
    subparser.option(TARGET, "--branch", metavar="NAME", help="make a branch at the revision")
    subparser.option(TARGET, "--tag", metavar="NAME", help="make a tag at the revision")
    subparser.option(TARGET, "--reset", metavar="NAME", help="move an existing branch to the revision")
    subparser.option(TARGET, "--delete-branch", metavar="NAME", help="delete a branch")
    subparser.option(TARGET, "--delete-tag", metavar="NAME", help="delete a tag")
    subparser.option(
        TARGET,
        "--expire",
        metavar="TIME",
        help="forget the commits before this time, such as 2026-01-31, but those that branches and tags name, and "
        "remove the objects that only they need; a write that began before it must not run",
    )
    return subparser.complete(REPORTING, SHARED)


def run(arguments: argparse.Namespace) -> int:
    """List or change the revisions; return the status."""
    names = ("branch", "tag", "reset", "delete_branch", "delete_tag", "expire")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name) is not None]
    if len(given) > 1:
        return misuse(COMMAND, " and ".join(given) + " are done one by one")
    if arguments.delete_branch == "main":
        return misuse(COMMAND, "the branch `main` of a repository cannot be deleted")
    before = None
    if arguments.expire is not None:
        before = _read_time(arguments.expire)
        if before is None:
            return misuse(COMMAND, f"--expire takes a time such as 2026-01-31T12:00Z, not `{arguments.expire}`")
    messages = Messages(arguments)
    done: list[tuple[str, RevisionsResult]] = []
    status = messages.guard(lambda: _run(arguments, messages, before, done))
    for text, result in done:
        messages.result(text, result)
    return status


def _read_time(text: str) -> datetime | None:
    """Return the time of a text in ISO 8601, in UTC unless it says otherwise; None for other texts."""
    from datetime import UTC, datetime

    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _run(
    arguments: argparse.Namespace,
    messages: Messages,
    before: datetime | None,
    done: list[tuple[str, RevisionsResult]],
) -> None:
    """List or change the revisions. Raises OSError."""
    from nczarr.pipeline.endpoints import report_unusable_url
    from nczarr.plugins.icechunk.location import FORMAT
    from nczarr.plugins.icechunk.repositories import UnknownRevisionError, configuration, open_repository
    from nczarr.stores.url import BadURLError, MissingProtocolError, location

    storage = options_of(arguments).run.storage.of("target")
    text: str = arguments.repository
    try:
        place = location(text if text.startswith(f"{FORMAT}:") else f"{FORMAT}:{text}").repository
        assert place is not None
        repository = place.absolute
        opened = open_repository(repository, storage, configuration(repository, storage), {})
        done.append(_perform(arguments, opened, repository, storage, before))
    except (BadURLError, MissingProtocolError) as error:
        report_unusable_url(text, error, messages.report)
    except UnknownRevisionError as error:
        messages.report.error("bad-url", f"`{show(text)}`: {error}", helps=error.helps)
    except TakenNameError as error:
        messages.report.error("target-exists", f"`{show(text)}`: {error}", helps=[error.remedy])


class TakenNameError(ValueError):
    """A branch or tag that exists, or a tag that existed: icechunk never gives its name to another commit."""

    def __init__(self, kind: str, name: str, has: str = "has") -> None:
        super().__init__(f"the repository {has} a {kind} `{name}`")
        self.remedy = "move it with `--reset`" if kind == "branch" else "tags are for ever: choose another name"


def _perform(
    arguments: argparse.Namespace, opened: Any, repository: Repository, storage: StorageOptions, before: datetime | None
) -> tuple[str, RevisionsResult]:
    """Do what the options ask for; return the line on it and the result.

    Raises OSError, UnknownRevisionError, TakenNameError.
    """
    from nczarr.plugins.icechunk.library import failing
    from nczarr.plugins.icechunk.repositories import session_of

    snapshot = str(session_of(opened, repository, storage).snapshot_id)
    removed, said = None, ""
    with failing(repository.place, storage):
        named = {kind: _list_named(opened, kind) for kind in ("branch", "tag")}
        made = {"branch": arguments.branch, "tag": arguments.tag}
        for kind, name in made.items():
            if name is not None:
                if name in named[kind]:
                    raise TakenNameError(kind, name)
                if not arguments.dry_run:
                    _make(opened, kind, name, snapshot)
                said = f"{kind} `{name}` at {snapshot}"
        for kind, name in (("branch", arguments.delete_branch), ("tag", arguments.delete_tag)):
            if name is not None:
                said = f"{kind} `{name}` deleted; it was at {_find(named, kind, name)}"
                if not arguments.dry_run:
                    (opened.delete_branch if kind == "branch" else opened.delete_tag)(name)
        if arguments.reset is not None:
            old = _find(named, "branch", arguments.reset)
            if not arguments.dry_run:
                opened.reset_branch(arguments.reset, snapshot, from_snapshot_id=old)
            said = f"branch `{arguments.reset}` at {snapshot}; it was at {old}"
        elif before is not None:
            removed = _remove_old(opened, before, dry_run=arguments.dry_run)
            said = ", ".join(f"{count} {what}" for what, count in removed.items() if count) or "nothing to remove"
        elif not said:
            write_product(_list_revisions(opened, named, snapshot))
        result = RevisionsResult(
            repository.place,
            _list_named(opened, "branch"),
            _list_named(opened, "tag"),
            removed,
        )
    said = said or ", ".join(
        f"{len(revisions)} {kind}{ending * (len(revisions) != 1)}"
        for kind, revisions, ending in (("branch", result.branches, "es"), ("tag", result.tags, "s"))
    )
    return f"`{show(repository.place)}`: {said}" + "; nothing was written" * arguments.dry_run, result


def _make(opened: Any, kind: str, name: str, snapshot: str) -> None:
    """Make a branch or tag. Raises TakenNameError, and what icechunk raises."""
    from nczarr.plugins.icechunk.library import explain, is_foreign

    try:
        (opened.create_branch if kind == "branch" else opened.create_tag)(name, snapshot)
    except BaseException as error:
        if is_foreign(error) and kind == "tag" and "already" in explain(error):
            raise TakenNameError(kind, name, "had") from None
        raise


def _list_named(opened: Any, kind: str) -> dict[str, str]:
    """Return the snapshots of branches or tags by name. Raises what icechunk raises."""
    names, look_up = (
        (opened.list_branches(), opened.lookup_branch) if kind == "branch" else (opened.list_tags(), opened.lookup_tag)
    )
    return {name: str(look_up(name)) for name in sorted(names)}


def _find(named: dict[str, dict[str, str]], kind: str, name: str) -> str:
    """Return the snapshot of a branch or tag. Raises UnknownRevisionError."""
    from nczarr.plugins.icechunk.repositories import UnknownRevisionError

    if name not in named[kind]:
        raise UnknownRevisionError(f"the repository has no {kind} `{name}`", tuple(suggest(name, named[kind])))
    return named[kind][name]


def _remove_old(opened: Any, before: datetime, *, dry_run: bool) -> dict[str, int]:
    """Forget old commits and remove what nothing refers to; return the numbers. Raises what icechunk raises."""
    forgotten = [] if dry_run else opened.expire_snapshots(before)
    summary = opened.garbage_collect(before, dry_run=dry_run)
    return {
        "commits forgotten": len(forgotten),
        "snapshots removed": summary.snapshots_deleted,
        "chunks removed": summary.chunks_deleted,
        "manifests removed": summary.manifests_deleted,
        "bytes": summary.bytes_deleted,
    }


def _list_revisions(opened: Any, named: dict[str, dict[str, str]], snapshot: str) -> Iterator[bytes]:
    """Yield lines about branches, tags and the newest commits of a snapshot. Raises what icechunk raises."""
    rows = [(kind, name, at) for kind, revisions in named.items() for name, at in revisions.items()]
    width = max(len(name) for _, name, _ in rows)
    for kind, name, at in rows:
        yield f"{kind:6}  {name:{width}}  {at}\n".encode("utf-8", "surrogateescape")
    yield b"\n"
    commits = list(islice(opened.ancestry(snapshot_id=snapshot), LISTED + 1))
    for commit in commits[:LISTED]:
        author = (commit.metadata or {}).get("author")
        by = f"  ({author})" if author else ""
        text = f"{commit.id}  {commit.written_at:%Y-%m-%d %H:%M:%SZ}  {' '.join(commit.message.split())}{by}\n"
        yield text.encode("utf-8", "surrogateescape")
    if len(commits) > LISTED:
        yield b"...\n"
