"""Renders several vendors, in processes of their own where that pays. Nothing is written."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.output.manifest import Manifest
from fl_gen.render.tree import Work
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError, printable
from fl_gen.tasks.build_inputs import inputs_of
from fl_gen.tasks.kept import Inputs
from fl_gen.workflow.generate import Prepared, prepare
from fl_gen.workflow.request import Request

if TYPE_CHECKING:
    from fl_gen.schema.catalog import Catalog

_LEAST = 2  # vendors that a process must have to be worth its start, a quarter of a second


@dataclass(frozen=True)
class Rendered:
    """What one vendor's tree is to hold, how much of it was made now, the name of its SDK, the state of all that it was
    made from, and what of that a build system should watch."""

    request: Request
    files: dict[str, str]
    once: dict[str, str]
    manifest: Manifest
    work: Work
    title: str
    inputs: Inputs
    watched: tuple[str, ...]


class RenderError(FlGenError):
    """What stopped one vendor or several: the texts of all, with colours and without."""

    def __init__(self, plain: Sequence[str], coloured: Sequence[str]) -> None:
        self._plain, self._coloured = tuple(dict.fromkeys(plain)), tuple(dict.fromkeys(coloured))
        super().__init__("\n".join(self._plain))

    def render(self, color: bool = False) -> str:
        return "\n".join(self._coloured if color else self._plain)


@dataclass(frozen=True)
class _Stopped:
    """An error as values: exceptions do not survive a pickle."""

    diagnostics: tuple[Diagnostic, ...]
    plain: str
    coloured: str


def render_many(requests: Sequence[Request], jobs: int = 1) -> tuple[Rendered, ...]:
    """Every tree, in the order of `requests`, by at most `jobs` processes.

    Raises SchemaError or RenderError with what stops any of them; one cause that stops several is told once.
    """
    jobs = min(jobs, len(requests) // _LEAST)
    results = _in_processes(requests, jobs) if jobs > 1 else _attempts(requests)
    stopped = [result for result in results if isinstance(result, _Stopped)]
    if stopped and all(one.diagnostics for one in stopped):
        raise SchemaError(diagnostic for one in stopped for diagnostic in one.diagnostics)
    if stopped:
        raise RenderError([one.plain for one in stopped], [one.coloured for one in stopped])
    return tuple(result for result in results if isinstance(result, Rendered))


def _attempts(requests: Sequence[Request]) -> list[Rendered | _Stopped]:
    """Each request. What several of them read in the same schema folders is read once."""
    from fl_gen.schema.catalog import Catalog

    catalogs: dict[tuple[Path, ...], Catalog] = {}
    results: list[Rendered | _Stopped] = []
    for request in requests:
        if request.schema_dirs not in catalogs:
            try:
                catalogs[request.schema_dirs] = Catalog(request.schema_dirs)
            except FlGenError as error:
                results.append(_stopped(error))
                continue
        results.append(_attempt(request, catalogs[request.schema_dirs]))
    return results


def _stopped(error: FlGenError) -> _Stopped:
    diagnostics = error.diagnostics if type(error) is SchemaError else ()
    return _Stopped(diagnostics, error.render(), error.render(color=True))


def _attempt(request: Request, catalog: Catalog) -> Rendered | _Stopped:
    try:
        prepared = prepare(request, catalog)
    except FlGenError as error:
        return _stopped(error)
    return Rendered(
        request,
        prepared.files,
        prepared.once,
        prepared.manifest,
        prepared.work,
        prepared.resolved.sdk.title,
        _inputs(request, prepared, catalog),
        inputs_of(request, prepared, catalog),
    )


def _inputs(request: Request, prepared: Prepared, catalog: Catalog) -> Inputs:
    """The state of all that decided about the tree: schemas, templates, the SDK, the list of native kernels."""
    from fl_gen.schema.paths import data_dir
    from fl_gen.tasks.sdk_inputs import inputs_of as sdk_inputs_of

    resolved = prepared.resolved
    sdk = sdk_inputs_of(request, resolved.schemas.vendor, catalog, resolved.sdk, resolved.report)
    files = {str(path) for path in catalog.files(request.vendor, request.framework)}
    folders: set[str] = set()
    trees = [root / request.framework for root in (*request.template_dirs, data_dir() / "templates")]
    for tree in (*trees, *request.schema_dirs):
        for folder, _, names in os.walk(tree):
            folders.add(folder)
            files |= {os.path.join(folder, name) for name in names if os.path.isfile(os.path.join(folder, name))}
    for root in catalog.folders:
        folders |= {str(root / "frameworks" / request.framework), str(root / "frameworks" / request.framework / "ops")}
    for folder, _, names in os.walk(request.backends):
        folders.add(folder)
        if folder == os.fspath(request.backends):
            files |= {os.path.join(folder, name) for name in names if name == "kernels.yaml"}
    variables: tuple[str, ...] = ()
    if prepared.torch is not None:
        from fl_gen.workflow.torch import VARIABLES

        files |= set(prepared.torch.files)
        variables = VARIABLES
    own = Inputs.of(sorted(files), sorted(folders), variables)
    return Inputs({**own.files, **sdk.files}, {**own.folders, **sdk.folders}, {**own.variables, **sdk.variables})


# -- processes ----------------------------------------------------------------------------------------------------

# What a child runs. The path is that of this process, so that both have the same fl-gen.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from fl_gen.tasks import render_many as r; r.child()"
)


def _in_processes(requests: Sequence[Request], jobs: int) -> list[Rendered | _Stopped]:
    """Each `jobs`-th request in one fresh interpreter: a forked one would share this process's libclang and locks."""
    from concurrent.futures import ThreadPoolExecutor

    parts = [requests[number::jobs] for number in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        answers = list(pool.map(_ask_child, parts))
    results: list[Rendered | _Stopped] = []
    for index in range(len(requests)):
        results.append(answers[index % jobs][index // jobs])
    return results


def _ask_child(requests: Sequence[Request]) -> list[Rendered | _Stopped]:
    command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)]
    done = subprocess.run(command, input=pickle.dumps(list(requests)), stdout=subprocess.PIPE, check=False)
    if done.returncode == 0:
        answer: list[Rendered | _Stopped] = pickle.loads(done.stdout)
        return answer
    names = ", ".join(request.vendor for request in requests)
    code = done.returncode
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    text = printable(f"the process that rendered {names} {how}\n  = run again with --jobs 1 to see more")
    return [_Stopped((), text, text)] * len(requests)


def child() -> None:
    """What a process of `render_many` does. Whatever else is written goes to the error stream."""
    import gc

    gc.disable()
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        requests: list[Request] = pickle.load(sys.stdin.buffer)
        results = _attempts(requests)
    except EOFError:
        sys.exit(1)  # who started this one was ended before it could ask
    except KeyboardInterrupt:
        sys.exit(3)
    except Exception as error:
        if os.environ.get("FL_GEN_TRACEBACK"):
            raise
        said = " ".join(str(error).split())[:200]
        text = printable(
            f"fl-gen: internal error: {type(error).__name__}: {said}\n"
            "  = this is a fault of fl-gen: please report it, with what FL_GEN_TRACEBACK=1 prints"
        )
        results = [_Stopped((), text, text)] * len(requests)
    with os.fdopen(answer, "wb") as stream:
        pickle.dump(results, stream)
