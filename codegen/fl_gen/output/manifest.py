"""`manifest.json`: what fl-gen wrote into a vendor's generated folder, and from what.

The manifest is the only authority on which files fl-gen owns: a file that it does not name is never removed or
replaced. It holds no date, host name, absolute path or command line, so that equal inputs give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from pathlib import Path, PurePosixPath
from typing import Any

from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import shell_word, shown

MANIFEST_NAME = "manifest.json"
RECORD_FOLDER = ".fl-gen"  # beside the manifest: what `base` keeps for merges
FORMAT = 1
_MAX_BYTES = 64 << 20  # some 300,000 files; a bigger file is not one of ours


class ManifestError(FlGenError):
    """The manifest on disk cannot be used."""


@dataclass(frozen=True)
class Edit:
    """What a person decided about a file that they changed: `decision` is `keep` or `merge`.

    `base` is the digest of fl-gen's text that the person's version descends from, None if fl-gen never wrote the file
    or nobody has the text. A kept file keeps its base, however often fl-gen's text changes: so a later merge brings in
    every change since. A merged file's base is the text that was merged in.
    """

    decision: str
    base: str | None


@dataclass(frozen=True)
class FileRecord:
    """One generated file: digest of the text that fl-gen made, the template and the schema nodes it came from.

    With `edit` the file on disk is a person's, and `sha256` is what would stand there without it.
    """

    sha256: str
    template: str
    nodes: tuple[str, ...] = ()
    edit: Edit | None = None


@dataclass(frozen=True)
class OverlayRecord:
    """A file of a user's own that lay over the shipped ones: `kind` is schema, template or block, `path` is relative to
    the overlay's folder (for a block with `#` and the block's name behind it)."""

    kind: str
    path: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What one run wrote.

    `inputs` maps what decided the output (schemas, templates, SDK, formatter, licence) to its digest or version.
    """

    generator: str
    vendor: str
    framework: str
    sdk: Mapping[str, Any]
    inputs: Mapping[str, str]
    files: Mapping[str, FileRecord] = field(default_factory=dict)
    overlays: tuple[OverlayRecord, ...] = ()

    def to_text(self) -> str:
        """The manifest as JSON with sorted keys and a final newline."""
        value: dict[str, Any] = {
            "format": FORMAT,
            "generator": self.generator,
            "vendor": self.vendor,
            "framework": self.framework,
            "sdk": dict(self.sdk),
            "inputs": dict(self.inputs),
            "files": {
                path: {"sha256": record.sha256, "template": record.template, "nodes": list(record.nodes)}
                for path, record in self.files.items()
            },
        }
        if self.overlays:
            value["overlays"] = [{"kind": one.kind, "path": one.path, "sha256": one.sha256} for one in self.overlays]
        edits = {path: record.edit for path, record in self.files.items() if record.edit is not None}
        return with_edits(_dumped(value), edits)


def _dumped(value: Mapping[str, Any]) -> str:
    return _json(value, "\n") + "\n"


def _json(value: Any, end: str) -> str:
    """What `json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)` gives, a third of its time: with an indent
    that is plain Python. `end` is the line end before the value's closing bracket."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, Mapping) and value:
        inner = end + " "
        items = [f"{encode_basestring(key)}: {_json(item, inner)}" for key, item in sorted(value.items())]
        return f"{{{inner}{f',{inner}'.join(items)}{end}}}"
    if isinstance(value, (list, tuple)) and value:
        inner = end + " "
        return f"[{inner}{f',{inner}'.join([_json(item, inner) for item in value])}{end}]"
    return json.dumps(value, ensure_ascii=False)


def with_edits(text: str, edits: Mapping[str, Edit]) -> str:
    """The manifest `text`, in canonical form, with `edits` (path -> decision) in the records of their files."""
    if not edits:
        return text
    value = json.loads(text)
    for path, edit in edits.items():
        value["files"][path]["edit"] = {"decision": edit.decision, "base": edit.base}
    return _dumped(value)


def digest(text: str) -> str:
    """SHA-256 of `text` in UTF-8, with CRLF read as LF so that a checkout's line ends do not count as edits."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode("utf-8", "surrogateescape")).hexdigest()


def digest_file(path: Path) -> str:
    """The digest of a file on disk, comparable with `digest`."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def load(folder: Path) -> Manifest | None:
    """The manifest of `folder`, None if it has none. Raises ManifestError if it is damaged."""
    path = folder / MANIFEST_NAME
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for
            raise _damaged(path, "it is not a regular file")
        if status.st_size > _MAX_BYTES:
            raise _damaged(path, f"it is larger than {_MAX_BYTES >> 20} MiB")
        return _parse(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ManifestError(
            f"{shown(path)}:1:1: the manifest cannot be read: {error.strerror or error}\n"
            "  = allow reading it and run again"
        ) from error
    except UnicodeDecodeError as error:
        raise _damaged(path, "it is not UTF-8") from error
    except json.JSONDecodeError as error:
        _refuse_markers(path)
        raise _damaged(path, error.msg, error.lineno, error.colno) from error
    except RecursionError as error:
        raise _damaged(path, "it is nested too deeply") from error
    except KeyError as error:
        raise _damaged(path, f"the key {error} is missing") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def _refuse_markers(path: Path) -> None:
    """Raises ManifestError for a merge of git's that stopped in the manifest, as when two branches regenerated."""
    from fl_gen.output.markers import marker_lines

    for line in marker_lines(path.read_bytes())[:1]:
        raise ManifestError(
            f"{shown(path)}:{line}:1: a conflict marker is left in fl-gen's record of what it wrote\n"
            f"  = take either side, as git checkout --ours {shell_word(shown(path))}, and run fl-gen again: "
            "what differs is found by the files themselves"
        )


def _damaged(path: Path, reason: str, line: int = 1, column: int = 1) -> ManifestError:
    return ManifestError(
        f"{shown(path)}:{line}:{column}: the manifest is damaged: {reason}\n"
        "  = restore it from version control, or move the folder away and generate again"
    )


def _parse(value: Any) -> Manifest:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    if value.get("format") != FORMAT:
        raise ValueError(f"format {value.get('format')!r}, this fl-gen reads {FORMAT}")
    for key, kind in (("generator", str), ("vendor", str), ("framework", str), ("sdk", dict), ("inputs", dict)):
        if not isinstance(value[key], kind):
            raise ValueError(f"{key} has the wrong type")
    if not isinstance(value["files"], dict):
        raise ValueError("files is not a map")
    files = {}
    for path, record in value["files"].items():
        if not safe_relative(path):
            raise ValueError(f"the path {path!r} leads out of the folder")
        if path.split("/")[0] == RECORD_FOLDER or not path.isprintable():
            raise ValueError(f"the path {path!r} is none that fl-gen writes")
        if not isinstance(record, dict) or not isinstance(record["nodes"], list):
            raise ValueError(f"the record of {path!r} has the wrong type")
        nodes = tuple(map(str, record["nodes"]))
        files[path] = FileRecord(str(record["sha256"]), str(record["template"]), nodes, _edit_of(path, record))
    return Manifest(
        generator=str(value["generator"]),
        vendor=str(value["vendor"]),
        framework=str(value["framework"]),
        sdk=dict(value["sdk"]),
        inputs={str(key): str(item) for key, item in value["inputs"].items()},
        files=files,
        overlays=tuple(
            OverlayRecord(str(one["kind"]), str(one["path"]), str(one["sha256"])) for one in value.get("overlays", ())
        ),
    )


def _edit_of(path: str, record: Mapping[str, Any]) -> Edit | None:
    value = record.get("edit")
    if value is None:
        return None
    if not isinstance(value, dict) or value["decision"] not in ("keep", "merge"):
        raise ValueError(f"the edit of {path!r} is neither keep nor merge")
    return Edit(value["decision"], None if value["base"] is None else str(value["base"]))


def safe_relative(path: str) -> bool:
    """Whether `path` is a relative POSIX path that stays inside its folder."""
    parts = PurePosixPath(path).parts
    return (
        bool(parts)
        and not path.startswith("/")
        and "\\" not in path
        and "\0" not in path
        and ".." not in parts
        and str(PurePosixPath(path)) == path
    )
