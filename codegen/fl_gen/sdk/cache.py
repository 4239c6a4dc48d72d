"""Keeps outcomes of probes, by content, in the user's cache folder.

An entry is found by what was asked (items, headers, folders, flags, compiler headers, libclang) and holds only if
every header that was read still has the same content and every folder of the include path still lists the same names: a
new file there can shadow one that was read. Nothing that goes wrong with a cache stops a run; the probe is then made
again.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .identity import code_identity, default_folder, library_identity, listing_digest, text_digest
from .items import Finding, HeaderRead, Outcome, ProbeItem, Use
from .reads import digest
from .shims import Shims

FORMAT = 4  # raise when an entry's form or the judging changes
_MAX_ENTRY = 8 << 20  # bytes; a bigger file is not an entry of ours
_MAX_ENTRIES = 256


class Cache:
    """A folder of entries. `folder` None means the user's cache folder, or FL_GEN_CACHE_DIR when that is set."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else default_folder()

    def entry(
        self,
        items: Sequence[ProbeItem],
        headers: Sequence[str],
        folders: Sequence[str],
        memory: Mapping[str, str],
        shims: Sequence[Shims],
    ) -> Entry:
        """The place of the answer to one question."""
        # Locations are left out: an answer does not depend on where in the YAML the question stands.
        question = {
            "format": FORMAT,
            "code": code_identity(os.path.dirname(__file__)),
            "libclang": library_identity(),
            "headers": list(headers),
            "folders": list(folders),
            "memory": {path: text_digest(text) for path, text in sorted(memory.items())},
            "shims": [
                [one.name, list(one.dirs), {p: text_digest(t) for p, t in sorted(one.files.items())}] for one in shims
            ],
            "items": [
                [i.id, i.returns, i.params, i.code, i.form, i.helpers, i.choice, i.provides, i.strict_typedefs]
                for i in items
            ],
        }
        key = text_digest(json.dumps(question, sort_keys=True, ensure_ascii=True))
        path = self.folder / "probe" / f"{key}.json" if self.folder is not None else None
        files = {name: text for one in shims for name, text in one.files.items()} | dict(memory)
        return Entry(path, tuple(item.id for item in items), tuple(folders), tuple(shims), files)


class Entry:
    """One question's answer on disk."""

    def __init__(
        self,
        path: Path | None,
        ids: tuple[str, ...],
        folders: tuple[str, ...],
        shims: tuple[Shims, ...],
        memory: Mapping[str, str],
    ) -> None:
        self._path = path
        self._ids = ids
        self._folders = folders
        self._shims = shims
        self._memory = memory

    def load(self) -> Outcome | None:
        """The stored outcome if it still holds, else None."""
        if self._path is None:
            return None
        try:
            status = self._path.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_ENTRY:
                return None  # a device or a pipe would be read for ever
            stored = json.loads(self._path.read_bytes())
            body = stored["outcome"]
            if stored["check"] != text_digest(json.dumps(body, sort_keys=True)):
                return None
            outcome = _decode(body)
            if set(outcome.findings) != set(self._ids):
                return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None  # absent, unreadable, cut short, edited or of another version
        if any(digest(h.path, self._memory) != h.digest for h in outcome.headers):
            return None
        if stored["listings"] != self._listings(outcome.headers):
            return None
        return outcome

    def store(self, outcome: Outcome) -> None:
        """Keep an outcome. A cache that cannot be written (read-only, full, no home) is no error."""
        if self._path is None or any(not header.digest for header in outcome.headers):
            return
        body = json.loads(json.dumps(asdict(outcome)))
        stored = {
            "check": text_digest(json.dumps(body, sort_keys=True)),
            "listings": self._listings(outcome.headers),
            "outcome": body,
        }
        temporary = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".entry-", dir=self._path.parent)
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                json.dump(stored, stream)
            os.replace(temporary, self._path)
            temporary = None
            _prune(self._path.parent)
        except (OSError, ValueError):
            pass
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def _listings(self, headers: Iterable[HeaderRead]) -> dict[str, str]:
        """A digest of the names in every folder where an #include of these headers looks."""
        roots = {*self._folders, *(folder for one in self._shims for folder in one.dirs)}
        inner = {os.path.dirname(header.name) for header in headers} | {""}
        folders = {os.path.join(root, part) if part else root for root in roots for part in inner}
        folders |= {os.path.dirname(header.path) for header in headers}
        return {folder: listing_digest(folder) for folder in sorted(folders)}


def _prune(folder: Path) -> None:
    """Keep the newest entries only."""
    with os.scandir(folder) as scan:
        entries = sorted(((e.stat().st_mtime_ns, e.path) for e in scan if e.name.endswith(".json")), reverse=True)
    for _, path in entries[_MAX_ENTRIES:]:
        os.unlink(path)


def _decode(body: Mapping[str, Any]) -> Outcome:
    headers = tuple(HeaderRead(**header) for header in body["headers"])
    outcome = Outcome(
        findings={id_: tuple(Finding(**one) for one in found) for id_, found in body["findings"].items()},
        deprecated=dict(body["deprecated"]),
        uses={id_: tuple(Use(**one) for one in found) for id_, found in body["uses"].items()},
        chosen=dict(body["chosen"]),
        types=dict(body["types"]),
        headers=headers,
        libclang=str(body["libclang"]),
        resource_headers=str(body["resource_headers"]),
        parses=int(body["parses"]),
    )
    return replace(outcome, cached=True)
