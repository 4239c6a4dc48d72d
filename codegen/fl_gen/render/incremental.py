"""Texts of earlier runs, each used again while nothing changed that its rendering read.

What a file's rendering read is recorded when it is rendered (`reads`): the templates, with all that they include,
import and extend, and what of the model they looked at. A later run measures the same things; when all are as they
were, the text is, too, and neither a template nor clang-format runs. An entry counts only for the fl-gen, the Jinja and
the formatter that made it. Whatever is wrong with an entry, its file is rendered.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_gen import __version__
from fl_gen.render.environment import FileRender, build, environment_for, render_file
from fl_gen.render.reads import Measure, Reads, Recorder, Unmeasurable, closure
from fl_gen.schema.errors import FlGenError
from fl_gen.sdk.identity import code_identity, text_digest

if TYPE_CHECKING:
    import jinja2

FORMAT = 2  # raise when an entry's form changes
_MOST_BYTES = 256 << 20
_MOST_FILES = 64  # vendors, each of one project, whose texts are kept
_ABSENT = "absent"
# As early as can be: code that is changed while it runs must not pass for what made the texts.
_CODE = code_identity(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclass(frozen=True)
class _Entry:
    """A text and what it depends on: templates by digest, and what was read of the model, with a digest of it.

    `found` is what the text said about other files before it was formatted.
    """

    template: str
    templates: Mapping[str, str]
    reads: Reads
    model: str
    text: str = ""
    found: tuple[str, ...] = ()

    def to_json(self) -> list[Any]:
        return [self.template, dict(self.templates), self.reads.to_json(), self.model, self.text, list(self.found)]


class KeptTexts:
    """The texts of one vendor's last run: `open` first, `text` or else `render` for each file, `keep` for each that was
    rendered, `store` at the end.

    `slot` says whose texts these are, `identity` what beside templates and model decides about them.
    """

    def __init__(self, folder: Path, slot: Sequence[str], identity: Sequence[str]) -> None:
        self._path = folder / f"{text_digest(json.dumps(list(slot)))}.json"
        self._identity = [str(FORMAT), __version__, sys.version, *identity]
        self._old: dict[str, _Entry] = {}
        self._new: dict[str, _Entry] = {}
        self._measure = Measure()
        self._now: dict[str, str | None] = {}

    def open(self, trees: tuple[Path, ...], compiled: Path | None) -> None:
        """Read what is kept. `trees` are the folders of templates, `compiled` is that of their compiled forms."""
        import jinja2

        self._usual = environment_for(trees, compiled)
        self._environment = _recording(trees, compiled)
        self._identity += [jinja2.__version__, str(self._environment.sandboxed), _CODE]
        self._old = _load(self._path, self._identity)

    def text(self, key: str, file: FileRender) -> str | None:
        """The kept text of a file, whose context is all that its template sees; None when it must be rendered."""
        entry = self._old.get(key)
        if entry is None or entry.template != file.template:
            return None
        if any(self._digest_now(name) != digest for name, digest in entry.templates.items()):
            return None
        try:
            if self._measure.digest(entry.reads, file.context) != entry.model:
                return None
        except (Unmeasurable, RecursionError):
            return None
        self._new[key] = entry
        return entry.text

    def render(self, key: str, file: FileRender) -> str:
        """The text of a file, rendered anew, as `render_file` gives it; what that reads is recorded."""
        recorder = Recorder(file.context)
        self._environment.fl_recorder = recorder
        text: str | None = None
        try:
            text = render_file(self._environment, file)
        except FlGenError:
            if recorder.fault is None and not recorder.by_identity:
                raise
            # The usual way to render may not meet it.
        finally:
            self._environment.fl_recorder = None
        if text is None or recorder.by_identity:
            return render_file(self._usual, file)
        sources = self._environment.loader.sources
        # Of several names of which the first that exists is taken, those behind it were not looked for.
        names = [name for name in closure([file.template], self._environment.fl_edges) if name in sources]
        if recorder.fault is None:
            with contextlib.suppress(Unmeasurable, RecursionError):
                model = self._measure.digest(recorder.reads, file.context)
                templates = {name: _digest(sources[name]) for name in names}
                self._new[key] = _Entry(file.template, templates, recorder.reads, model)
        return text

    def found(self, key: str) -> tuple[str, ...]:
        """What the kept text of a file, which `text` gave, says about other files."""
        return self._new[key].found

    def keep(self, key: str, text: str, found: Sequence[str] = ()) -> None:
        """`text` is what became of a file that was rendered, `found` what it says about other files."""
        if key in self._new:
            self._new[key] = replace(self._new[key], text=text, found=tuple(found))

    def store(self) -> None:
        """Write what is kept for the next run. A folder that cannot be written is no error."""
        if any(self._new.get(key) is not entry for key, entry in self._old.items()) or len(self._new) > len(self._old):
            _store(self._path, self._identity, self._new)

    def _digest_now(self, name: str) -> str | None:
        """A digest of a template as it is on the disk; None when it cannot be read."""
        if name not in self._now:
            try:
                self._now[name] = _digest(self._environment.loader.read(self._environment, name))
            except (FlGenError, OSError, UnicodeDecodeError):
                self._now[name] = None
        return self._now[name]


def _digest(source: str | None) -> str:
    return _ABSENT if source is None else text_digest(source)


@functools.lru_cache(maxsize=8)
def _recording(trees: tuple[Path, ...], compiled: Path | None) -> Any:
    """An environment that runs the same code as that of `environment_for`, and tells its recorder what is asked for."""
    import jinja2
    from jinja2.runtime import Context

    class Loader(jinja2.BaseLoader):
        """Notes the sources of what is loaded: what runs is that, whatever the disk holds meanwhile."""

        def __init__(self, inner: jinja2.BaseLoader) -> None:
            self._inner = inner
            self.sources: dict[str, str | None] = {}

        def read(self, environment: jinja2.Environment, template: str) -> str | None:
            try:
                return self._inner.get_source(environment, template)[0]
            except jinja2.TemplateNotFound:
                return None

        def get_source(self, environment: jinja2.Environment, template: str) -> Any:
            try:
                found = self._inner.get_source(environment, template)
            except jinja2.TemplateNotFound:
                self.sources[template] = None
                raise
            self.sources[template] = found[0]
            return found

    class RecordingContext(Context):
        def resolve_or_missing(self, key: str) -> Any:
            value = super().resolve_or_missing(key)
            recorder = self.environment.fl_recorder  # type: ignore[attr-defined]
            return value if recorder is None else recorder.root(key, value)

    def adapted(base: type[jinja2.Environment]) -> type[jinja2.Environment]:
        class Recording(base):  # type: ignore[misc, valid-type]
            context_class = RecordingContext
            fl_recorder: Recorder | None = None

            def get_template(self, name: Any, parent: str | None = None, globals: Any = None) -> jinja2.Template:
                self._used([name], parent)
                found: jinja2.Template = super().get_template(name, parent, globals)
                return found

            def select_template(self, names: Any, parent: str | None = None, globals: Any = None) -> jinja2.Template:
                names = names if isinstance(names, (str, jinja2.Undefined)) else list(names)
                self._used([names] if isinstance(names, str) else names, parent)
                found: jinja2.Template = super().select_template(names, parent, globals)
                return found

            def _used(self, names: Any, parent: str | None) -> None:
                used = {name.name if isinstance(name, jinja2.Template) else name for name in names}
                if parent is not None:
                    self.fl_edges.setdefault(parent, set()).update(name for name in used if isinstance(name, str))

        return Recording

    environment: Any = build(trees, compiled, adapted)
    environment.fl_edges = {}
    same: Callable[[Any, Any], bool] = environment.tests["sameas"]

    def sameas(value: Any, other: Any) -> bool:
        """Two stand-ins of one record are not the same, so what this says is not used."""
        if environment.fl_recorder is not None:
            environment.fl_recorder.by_identity = True
        return same(value, other)

    environment.tests["sameas"] = sameas
    environment.loader = Loader(environment.loader)
    return environment


# -- the file ---------------------------------------------------------------------------------------------------------


def _load(path: Path, identity: Sequence[str]) -> dict[str, _Entry]:
    """The entries of a file; none if it is not there, not whole, not one's own or of another fl-gen."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES or not _mine(path.parent):
            return {}
        check, _, body = path.read_text(encoding="utf-8", errors="surrogatepass").partition("\n")
        if text_digest(body) != check:
            return {}
        value = json.loads(body)
        if value["identity"] != list(identity):
            return {}
        return {key: _entry(*one) for key, one in value["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _entry(template: str, templates: dict[str, str], reads: Any, model: str, text: str, found: list[str]) -> _Entry:
    return _Entry(template, templates, Reads.from_json(reads), model, text, tuple(map(str, found)))


def _mine(folder: Path) -> bool:
    """Whether only this user can have written into `folder`: what stands there becomes source code."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _store(path: Path, identity: Sequence[str], entries: Mapping[str, _Entry]) -> None:
    files = {key: entry.to_json() for key, entry in entries.items()}
    body = json.dumps({"identity": list(identity), "files": files})
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary.write_text(f"{text_digest(body)}\n{body}", encoding="utf-8", newline="\n")
        os.replace(temporary, path)
        with os.scandir(path.parent) as scan:
            stored = sorted((one.stat().st_mtime_ns, one.path) for one in scan if one.name.endswith(".json"))
        for _, old in stored[:-_MOST_FILES]:
            os.unlink(old)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
