"""Compiled templates, kept by content: compiling all of them takes longer than everything else together.

An entry is used only if its digest is right, so a truncated file is no entry, and its key holds everything that the
compiled code depends on: the template's text and place, the versions of Python and Jinja, whether it runs in a sandbox,
and the filters, whose results for constants are compiled in. Entries are code, so a folder that others may write is not
used.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from jinja2.bccache import BytecodeCache

from fl_gen import __version__

if TYPE_CHECKING:
    from jinja2.bccache import Bucket


class TemplateCache(BytecodeCache):
    """Jinja's interface to a folder of compiled templates."""

    def __init__(self, folder: Path, filters: Path, sandboxed: bool) -> None:
        """`filters` is the source file of the filters that templates may use; sandboxed code is never exchanged."""
        self._folder = folder
        told = f"{__version__}\0{jinja2.__version__}\0{sys.version}\0{sandboxed}\0".encode()
        self._base = hashlib.sha256(told + filters.read_bytes())

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        return f"{name}\0{filename}"

    def get_source_checksum(self, source: str) -> str:
        return hashlib.sha256(source.encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        path = self._path(bucket)
        try:
            if not _mine(path.parent):
                return
            content = path.read_bytes()
        except OSError:
            return
        digest, body = content[:32], content[32:]
        if hashlib.sha256(body).digest() == digest:
            bucket.code = marshal.loads(body)

    def dump_bytecode(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        path = self._path(bucket)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        body = marshal.dumps(bucket.code)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_bytes(hashlib.sha256(body).digest() + body)
            temporary.replace(path)
        except OSError:
            return  # a cache that cannot be written only costs time

    def _path(self, bucket: Bucket) -> Path:
        total = self._base.copy()
        total.update(f"{bucket.key}\0{bucket.checksum}".encode())
        key = total.hexdigest()
        return self._folder / key[:2] / key


def _mine(folder: Path) -> bool:
    """Whether only this user can have written into `folder`."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022
