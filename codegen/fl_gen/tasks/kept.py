"""Keeps the printed answer to a question while nothing that it depends on has changed.

Asking again is the common case: a build, an editor, a person. Then the files are compared by content and the answer is
given without reading a schema or loading libclang. Whatever is wrong with an entry, the question is answered anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fl_gen import __version__
from fl_gen.sdk.identity import code_identity, file_digest, library_identity, listing_digest, text_digest

FORMAT = 1  # raise when an entry's form changes
_MOST_BYTES = 4 << 20
_MOST_ENTRIES = 256
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True)
class Inputs:
    """What an answer depends on: files by content, folders by the names in them, environment variables by value."""

    files: Mapping[str, str]
    folders: Mapping[str, str]
    variables: Mapping[str, str | None]

    @classmethod
    def of(cls, files: Sequence[str], folders: Sequence[str], variables: Sequence[str]) -> Inputs:
        """Their present state."""
        return cls(
            {path: file_digest(path) for path in sorted(set(files))},
            {folder: listing_digest(folder) for folder in sorted(set(folders))},
            {name: os.environ.get(name) for name in sorted(set(variables))},
        )

    def hold(self) -> bool:
        """Whether all is as it was."""
        return (
            all(os.environ.get(name) == value for name, value in self.variables.items())
            and all(listing_digest(folder) == names for folder, names in self.folders.items())
            and all(file_digest(path) == content != "" for path, content in self.files.items())
        )


class Kept:
    """The place of the answer to one question; `folder` None means that nothing is kept."""

    def __init__(self, folder: Path | None, question: Sequence[str]) -> None:
        self._path: Path | None = None
        if folder is None:
            return
        try:
            known = [str(FORMAT), __version__, sys.version, os.getcwd(), code_identity(_PACKAGE), library_identity()]
        except OSError:
            return  # the current folder is gone, or the package cannot be listed
        self._path = folder / "answers" / f"{text_digest(json.dumps([*known, *question]))}.json"

    def load(self) -> tuple[int, str] | None:
        """Exit code and text if they still hold."""
        if self._path is None:
            return None
        try:
            status = self._path.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
                return None  # a device or a pipe would be read for ever
            stored = json.loads(self._path.read_bytes())
            body = stored["answer"]
            if stored["check"] != text_digest(json.dumps(body, sort_keys=True)):
                return None
            inputs = Inputs(body["files"], body["folders"], body["variables"])
            return (int(body["code"]), str(body["text"])) if inputs.hold() else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None  # absent, unreadable, cut short, edited or of another version

    def store(self, code: int, text: str, inputs: Inputs) -> None:
        """Keep an answer. A cache that cannot be written (read-only, full, no home) is no error."""
        if self._path is None or not all(inputs.files.values()):
            return
        import tempfile  # an answer that is only read does not need it

        body = {
            "code": code,
            "text": text,
            "files": dict(inputs.files),
            "folders": dict(inputs.folders),
            "variables": dict(inputs.variables),
        }
        stored = json.dumps({"check": text_digest(json.dumps(body, sort_keys=True)), "answer": body})
        temporary = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".answer-", dir=self._path.parent)
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(stored)
            os.replace(temporary, self._path)
            temporary = None
            _prune(self._path.parent)
        except (OSError, ValueError):
            pass
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)


def _prune(folder: Path) -> None:
    """Keep the newest entries only."""
    with os.scandir(folder) as scan:
        entries = sorted(((e.stat().st_mtime_ns, e.path) for e in scan if e.name.endswith(".json")), reverse=True)
    for _, path in entries[_MOST_ENTRIES:]:
        os.unlink(path)
