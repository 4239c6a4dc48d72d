"""Files of a git revision in a temporary folder. Reads only: no checkout, no hook, no filter, no work tree."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fl_gen.output.manifest import safe_relative
from fl_gen.schema.errors import FlGenError, printable, quote
from fl_gen.schema.paths import shell_word, shown

_SECONDS = 60
_MOST = 256 << 20  # bytes of all files; schemas and templates are a few
_REGULAR = ("100644", "100755")
_MODULE = "160000"


class RevisionError(FlGenError):
    """A revision that cannot be read."""


@dataclass(frozen=True)
class Revision:
    """A commit of the repository whose work tree is `top`; `name` is as the user gave it."""

    top: Path
    name: str
    commit: str

    def within(self, path: Path) -> str | None:
        """`path` relative to the work tree, None if it is outside."""
        try:
            return Path(os.path.realpath(path)).relative_to(self.top).as_posix()
        except ValueError:
            return None

    def extract(self, paths: Sequence[str], into: Path) -> tuple[str, ...]:
        """Write the files at or below `paths` under `into`; the symbolic links among them, which are left out.

        A path that the revision does not have is nothing. Without a path it is the whole tree. Of a submodule, that
        commit of it counts which the revision names. Raises RevisionError when that is not at hand; a submodule below
        one of `paths` that is not checked out is left out as a link is.
        """
        wanted = sorted(set(paths))
        listing = _git(self.top, "ls-tree", "-r", "-l", "-z", "--full-tree", self.commit, "--", *wanted)
        found: list[tuple[str, str]] = []
        links: list[str] = []
        modules = self._modules_above(wanted)
        total = 0
        for entry in listing.split(b"\0"):
            head, _, raw = entry.partition(b"\t")
            if not raw:
                continue
            mode, _, number, size = head.decode("ascii").split()
            path = os.fsdecode(raw)
            if mode == _MODULE and safe_relative(path):
                modules[path] = number
                continue
            if mode not in _REGULAR or not safe_relative(path):
                links.append(path)
                continue
            total += int(size)
            found.append((number, path))
        if total > _MOST:
            raise RevisionError(f"{printable(self.name)}: {total >> 20} MiB of schemas and templates are too many")
        for path, data in zip((path for _, path in found), self._blobs([n for n, _ in found]), strict=True):
            place = into / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        for path, commit in sorted(modules.items()):
            links += self._extract_module(path, commit, wanted, into)
        return tuple(links)

    def _modules_above(self, paths: Sequence[str]) -> dict[str, str]:
        """Submodules that hold one of `paths`, with the commits that the revision names."""
        parents = sorted({parent.as_posix() for path in paths for parent in PurePosixPath(path).parents} - {"."})
        if not parents:
            return {}
        found = {}
        for entry in _git(self.top, "ls-tree", "-z", "--full-tree", self.commit, "--", *parents).split(b"\0"):
            head, _, raw = entry.partition(b"\t")
            if head.startswith(_MODULE.encode()):
                found[os.fsdecode(raw)] = head.decode("ascii").split()[2]
        return found

    def _extract_module(self, path: str, commit: str, paths: Sequence[str], into: Path) -> tuple[str, ...]:
        module = self.top / path
        try:
            there = module.is_dir() and not module.is_symlink() and top_of(module) == Path(os.path.realpath(module))
            if there:
                _git(module, "cat-file", "-e", f"{commit}^{{commit}}")
        except _Failed as error:
            raise RevisionError(
                f"--base {printable(self.name)}: the submodule {shown(module)} has no commit {commit[:10]}\n"
                f"  = git -C {shell_word(shown(module))} fetch, and run again"
            ) from error
        if not there and any(one == path or one.startswith(f"{path}/") for one in paths):
            raise RevisionError(
                f"--base {printable(self.name)}: the submodule {shown(module)} is not checked out\n"
                f"  = git submodule update --init {shell_word(shown(module))}, and run again"
            )
        if not there:
            return (path,)
        inside = [one.removeprefix(f"{path}/") for one in paths if one.startswith(f"{path}/")]
        links = Revision(module, self.name, commit).extract(inside, into / path)
        return tuple(f"{path}/{one}" for one in links)

    def _blobs(self, numbers: Sequence[str]) -> list[bytes]:
        if not numbers:
            return []
        answer = _git(self.top, "cat-file", "--batch", given="".join(f"{one}\n" for one in numbers).encode())
        blobs, at = [], 0
        for number in numbers:
            end = answer.index(b"\n", at)
            head = answer[at:end].split()
            if len(head) != 3:  # `<number> missing`: a partial clone
                raise RevisionError(
                    f"{printable(self.name)}: the clone has no content for {number}\n"
                    "  = it is a partial one: git fetch --refetch --no-filter, and run again"
                )
            size = int(head[2])
            blobs.append(answer[end + 1 : end + 1 + size])
            at = end + 1 + size + 1
        return blobs


def find_revision(folder: Path, name: str) -> Revision:
    """The commit that `name` means in the repository around `folder`. Raises RevisionError."""
    if not name.strip() or name.startswith("-") or any(not c.isprintable() for c in name) or len(name) > 1000:
        raise RevisionError(
            f"--base {quote(name)}: this is no name of a git revision\n"
            "  = give a branch, a tag or a commit, as origin/main or HEAD~1"
        )
    top = top_of(folder)
    if top is None:
        raise RevisionError(
            f"--base {printable(name)}: {shown(folder) or '.'} is in no git repository\n"
            "  = run it in one, or leave --base out to compare with the disk"
        )
    try:
        # In two steps: to `:/text` all that stands behind it would be text as well.
        named = _git(top, "rev-parse", "--verify", "--quiet", name).decode("ascii").strip()
        commit = _git(top, "rev-parse", "--verify", "--quiet", f"{named}^{{commit}}").decode("ascii").strip()
    except _Failed as error:
        raise _unknown(top, name, error) from error
    if not commit.isalnum():  # ^HEAD is all but that commit
        raise RevisionError(
            f"--base {quote(name)}: this is no single commit\n"
            "  = give a branch, a tag or a commit, as origin/main or HEAD~1"
        )
    return Revision(top, name, commit)


def top_of(folder: Path) -> Path | None:
    """The work tree around `folder`, None if there is none. Raises RevisionError when git is missing or refuses."""
    try:
        text = _git(folder, "rev-parse", "--show-toplevel")
    except _Failed as error:
        if "not a git repository" in error.words or "must be run in a work tree" in error.words:
            return None
        raise
    except NotADirectoryError:
        return None
    return Path(os.path.realpath(os.fsdecode(text.rstrip(b"\n"))))


def last_commit(top: Path, path: str) -> str | None:
    """The newest commit that changed `path`, None if none did."""
    try:
        return _git(top, "log", "-1", "--format=%H", "HEAD", "--", path).decode("ascii").strip() or None
    except _Failed:
        return None


def _unknown(top: Path, name: str, error: _Failed) -> RevisionError:
    shallow = _git(top, "rev-parse", "--is-shallow-repository").strip() == b"true"
    if shallow:
        hint = "the clone is shallow: git fetch --unshallow (in a workflow: fetch-depth: 0), and run again"
    elif name.startswith("origin/"):
        hint = "git fetch origin, and run again; git branch -a lists what there is"
    else:
        hint = "git branch -a and git tag list what there is"
    said = error.words and "expected commit type" not in error.words  # a blob or a tree, by its number
    more = f": {error.words}" if said else ""
    return RevisionError(f"--base {quote(name)}: {shown(top)} has no such revision{more}\n  = {hint}")


class _Failed(RevisionError):
    """git ended with an error, in these words."""

    def __init__(self, words: str) -> None:
        super().__init__(f"git: {words or 'stopped without a word'}\n  = mend that and run again")
        self.words = words


def _git(folder: Path, *arguments: str, given: bytes | None = None) -> bytes:
    # Whatever the repository's own configuration says, nothing of it is run.
    safe = ["-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "--literal-pathspecs", "--no-pager"]
    own = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # of a hook that this runs in
    environment = {
        **{key: value for key, value in os.environ.items() if key not in own},
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
    }
    try:
        done = subprocess.run(
            ["git", *safe, *arguments],
            cwd=folder,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=_SECONDS,
            env=environment,
            check=False,
        )
    except FileNotFoundError as error:
        if not folder.is_dir():
            raise RevisionError(f"{shown(folder)}: no such folder") from error
        raise RevisionError(
            "git is not installed, and --base reads a revision with it\n"
            "  = install git, or leave --base out to compare with the disk"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise RevisionError(f"git {arguments[0]} took more than {_SECONDS} s\n  = run it again") from error
    if done.returncode != 0:
        raise _Failed(" ".join(done.stderr.decode("utf-8", "replace").split())[:300].removeprefix("fatal: "))
    return done.stdout
