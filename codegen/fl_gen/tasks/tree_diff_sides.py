"""One side of a tree diff: what a request renders, what it was made from, and what its model says."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_gen.output.manifest import MANIFEST_NAME
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import shown
from fl_gen.sdk.identity import text_digest
from fl_gen.tasks.sdk_targets import interrupts_held
from fl_gen.workflow.generate import prepare, template_roots
from fl_gen.workflow.request import Request, is_simulated

if TYPE_CHECKING:
    from fl_gen.render.source_map import SourceMap
    from fl_gen.render.torch_view import TorchView
    from fl_gen.resolve.model import Backend

Fact = tuple[str, str]  # (sort, name), such as ("kernel", "AddForward")

_USES = re.compile(r"{%-?\s*(?:extends|include|import|from)\s+[\"']([^\"']+)[\"']")


@dataclass(frozen=True)
class Side:
    """`schemas` and `templates` map paths below their folders to contents; `sources` are (template, nodes) by file.

    `vendor` is what its folder is called. `facts` says what the model has under a name: a kernel's or method's exact
    signature, the call of an operation. `wheel` is the release of PyTorch that the tree is for, with a digest of its
    operators, None for another framework.
    """

    vendor: str
    files: Mapping[str, str]
    sources: Mapping[str, tuple[str, tuple[str, ...]]]
    facts: Mapping[Fact, str]
    schemas: Mapping[str, bytes]
    templates: Mapping[str, bytes]
    sdk: str
    sdk_digest: str
    formatter: Mapping[str, str]
    licence: str | None
    native: tuple[tuple[str, str], ...]  # hand-written kernels: op and file
    record: str  # the text of the manifest
    wheel: tuple[str, str] | None = None
    places: Mapping[str, str] = field(default_factory=dict)  # where a schema or template is, if that is below here

    @property
    def about(self) -> str:
        """What it was made for, in words."""
        return self.sdk if self.wheel is None else f"{self.sdk}, PyTorch {self.wheel[0]}"


@dataclass(frozen=True)
class Job:
    """A request, and the folder with the shipped schemas and templates to use; None is fl-gen's own.

    With `texts` (path -> text) source maps of these files are asked for, not a side.
    """

    request: Request
    data: Path | None = None
    texts: Mapping[str, str] | None = None


def make_side(request: Request) -> Side:
    """Render one vendor in this process, with fl-gen's own data. Raises FlGenError."""
    prepared = prepare(request)
    backend = prepared.resolved.backend
    torch = prepared.torch.view if prepared.torch is not None else None
    schemas, templates = _schemas(request), _templates(request)
    return Side(
        vendor=request.tree,
        files={path: text for path, text in prepared.files.items() if path != MANIFEST_NAME},
        sources={path: (record.template, record.nodes) for path, record in prepared.manifest.files.items()},
        facts=facts_of(backend) if torch is None else torch_facts(backend, torch),
        schemas={name: _content(path) for name, path in schemas.items()},
        templates={name: _content(path) for name, path in templates.items()},
        sdk=prepared.resolved.sdk.title,
        sdk_digest=backend.sdk.digest,
        formatter=formatters(prepared.manifest.inputs),
        licence=request.licence,
        native=_native(backend) if torch is None else tuple((o.name, o.kernel.source) for o in torch.ops if o.kernel),
        record=prepared.files[MANIFEST_NAME],
        wheel=None if torch is None else (torch.version, wheel_digest(torch)),
        places={name: place for name, path in {**schemas, **templates}.items() if (place := _below_here(path))},
    )


def _native(backend: Backend) -> tuple[tuple[str, str], ...]:
    return tuple((one.name, one.native.file) for one in backend.ops if one.native is not None)


def formatters(inputs: Mapping[str, str]) -> dict[str, str]:
    """What formatted a tree, with its version, from the inputs that its manifest records."""
    return {
        name: inputs.get(name, "none") for name in ("clang-format", "black") if name == "clang-format" or name in inputs
    }


def _content(path: Path) -> bytes:
    return path.read_bytes().replace(b"\r\n", b"\n")


def _below_here(path: Path) -> str | None:
    """A path that can be opened from here as it is written; None for one elsewhere, as of fl-gen's own files."""
    place = Path(shown(path))
    return None if place.is_absolute() or os.pardir in place.parts else place.as_posix()


def facts_of(backend: Backend) -> dict[Fact, str]:
    """What the binary interface of a backend, and its calls into the SDK, consist of."""
    facts: dict[Fact, str] = {}
    for item in backend.ops:
        facts["kernel", item.name] = f"{item.op.returns} {item.name}({', '.join(one.type for one in item.op.params)})"
        facts["order", item.name] = f"{item.name}({', '.join(one.name for one in item.op.params)})"
        facts["strategy", item.name] = item.strategy
        facts["dtypes", item.name] = ", ".join(item.op.dtypes)
        facts["result", item.name] = f"result {', '.join(map(str, item.op.output_dtype))}"
    for cls in backend.framework.interface.classes:
        for method in cls.methods:
            inside = ", ".join(one.type for one in method.params)
            tail = " const" if method.const else ""
            subject = f"{cls.name}.{method.name.snake}"
            facts["method", subject] = f"{method.returns} {method.cpp}({inside}){tail}"
            facts["order", subject] = f"{method.cpp}({', '.join(one.name for one in method.params)})"
    return {**facts, **_sdk_facts(backend)}


def torch_facts(backend: Backend, torch: TorchView) -> dict[Fact, str]:
    """The same of a package for PyTorch: its operators, where each comes from, and the features of the wheel."""
    facts: dict[Fact, str] = {}
    for op in torch.ops:
        facts["operator", op.name] = op.op.schema
        by_name = ", registered by name" if op.boxed else ""
        facts["strategy", op.name] = f"{op.kind} ({op.operation})" if op.operation else f"{op.kind}{by_name}"
        facts["dtypes", op.name] = ", ".join(op.dtypes)
    for name, has in torch.features.items():
        facts["feature", name] = "there" if has else "lacking"
    return {**facts, **_sdk_facts(backend)}


def wheel_digest(torch: TorchView) -> str:
    """A digest of the operators of a wheel."""
    return text_digest(repr((torch.version, [op.op for op in torch.ops])))


def _sdk_facts(backend: Backend) -> dict[Fact, str]:
    facts: dict[Fact, str] = {}
    for name, choice in backend.choices.items():
        if choice.candidate is not None:
            facts["call", name] = " ".join(choice.candidate.code.value.split())
        elif choice.strategy is not None:
            facts["instead", name] = choice.strategy
    for name, text in backend.types.items():
        facts["type", name] = str(text)
    for kind, names in backend.constants.items():
        for name, value in names.items():
            if value is not None:
                facts["constant", f"{kind}.{name}"] = str(value)
    for domain, status in backend.statuses.items():
        facts["type", f"{domain}.type"] = status.type
        for name, codes in (("success", (status.success,)), ("not_ready", status.not_ready), ("oom", status.oom)):
            facts["constant", f"{domain}.{name}"] = ", ".join(codes) or "none"
    return facts


def uses(templates: Mapping[str, bytes], name: str) -> frozenset[str]:
    """The template and all that it extends, includes and imports."""
    found: set[str] = set()
    queue = [name]
    while queue:
        one = queue.pop()
        if one in found or one not in templates:
            continue
        found.add(one)
        queue += _USES.findall(templates[one].decode("utf-8", "replace"))
        queue += [f"shipped/{one}"] if f"shipped/{one}" in templates else []
    return frozenset(found)


def _schemas(request: Request) -> dict[str, Path]:
    catalog = Catalog(request.schema_dirs)
    paths = list(catalog.files(request.vendor, request.framework))
    if is_simulated(request.sdk):
        own = catalog.api_path(request.vendor)
        paths += [] if own is None else [own]
        # A base's prototypes come with its vendor file.
        paths += [path.with_name("api.yaml") for path in paths if path.parent.parent.name == "bases"]
    found: dict[str, Path] = {}
    for path in paths:
        for folder in catalog.folders:
            if path.is_file() and path.is_relative_to(folder):
                found.setdefault(path.relative_to(folder).as_posix(), path)
    return found


def _templates(request: Request) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for root in template_roots(request):
        tree = root / request.framework
        for path in sorted(tree.rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts or path.suffix == ".pyc":
                continue
            name = path.relative_to(tree).as_posix()
            found[f"shipped/{name}" if name in found else name] = path
    return found


def maps_of(request: Request, texts: Mapping[str, str]) -> dict[str, SourceMap]:
    """The source maps of generated files, by path; none where there is no telling."""
    from fl_gen.tasks.explain import mapper_of
    from fl_gen.workflow.generate import resolve_request

    try:
        mapper = mapper_of(request, resolve_request(request))
        known = set(mapper.paths)
        found = {path: mapper.map(path, text) for path, text in texts.items() if path in known}
    except FlGenError:
        return {}
    # The origins of single characters are many, and nobody asks for them here.
    return {
        path: replace(one, lines=tuple(replace(line, columns=()) for line in one.lines)) for path, one in found.items()
    }


# -- in a process of its own ------------------------------------------------------------------------------------------

# The path is that of this process, so that both have the same fl-gen.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);from fl_gen.tasks import tree_diff_sides as t; t.child()"
)


class Child:
    """A process that makes sides. It is needed for other shipped data, which a process has once, and saves time."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._count = len(jobs)
        with interrupts_held():  # Ctrl-C reaches the whole group, and this process alone answers it
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died at once, and its exit code says so
            self._process.stdin.write(pickle.dumps(tuple(jobs)))
            self._process.stdin.close()

    def result(self) -> list[Any]:
        """A side (maps, where texts were given), or the message that says why there is none, for each job."""
        assert self._process.stdout is not None
        answer = self._process.stdout.read()  # all of it, before the process is waited for
        code = self._process.wait()
        if code != 0:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            return [f"the process that rendered this {how}\n  = run it again"] * self._count
        results: list[Any] = pickle.loads(answer)
        return results

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError, AttributeError):
                stream.close()  # type: ignore[union-attr]


def child() -> None:
    """What the process does. Whatever else is written there goes to the error stream."""
    from fl_gen.schema.paths import use_data_dir

    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        jobs: tuple[Job, ...] = pickle.load(sys.stdin.buffer)
    except EOFError:
        sys.exit(1)  # who started this one was ended before it could ask
    results: list[Any] = []
    for job in jobs:
        use_data_dir(job.data)
        results.append(attempt(job.request) if job.texts is None else maps_of(job.request, job.texts))
    with contextlib.suppress(OSError), os.fdopen(answer, "wb") as stream:  # an error: nobody waits for it any more
        pickle.dump(results, stream)


def attempt(request: Request) -> Side | str:
    """`make_side`, with an error as its message."""
    try:
        return make_side(request)
    except FlGenError as error:
        return error.render()
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else request.vendor
        return f"{where}: {error.strerror or error}\n  = mend that and run again"
