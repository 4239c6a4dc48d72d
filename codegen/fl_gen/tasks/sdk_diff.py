"""`fl-gen sdk diff`: what an SDK upgrade means for a backend.

Each SDK is looked at by itself (its bindings checked, its headers read, the backend rendered), the two at the same time
in two processes; then the results are compared. A required binding that one of them lost is part of the result.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fl_gen import __version__
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import FlGenError, SchemaError, quote
from fl_gen.tasks.diff_bindings import compare_bindings, uses_of
from fl_gen.tasks.diff_files import compare_files, formatted, unified
from fl_gen.tasks.diff_sdk import compare
from fl_gen.tasks.diff_values import DiffSide, SdkDiff
from fl_gen.tasks.dump_values import SdkDump
from fl_gen.tasks.sdk_check import check_of, check_sdk
from fl_gen.tasks.sdk_targets import interrupts_held
from fl_gen.tasks.sdk_values import SdkCheck
from fl_gen.workflow.generate import resolve_request, template_roots
from fl_gen.workflow.request import Request, is_simulated
from fl_gen.workflow.sdks import find_sdk_of

if TYPE_CHECKING:
    from fl_gen.resolve.model import Backend

OLD, NEW = "--from", "--to"


class DiffError(FlGenError):
    """Two SDKs that cannot be compared."""


@dataclass(frozen=True)
class _Seen:
    """What there is to know about one SDK. `files` is None when there is no backend on it, and `problem` says why."""

    check: SdkCheck
    dump: SdkDump
    files: dict[str, str] | None
    problem: str | None


def diff_sdks(request: Request, old: Sequence[str], new: Sequence[str], patch: bool = False) -> SdkDiff:
    """Compare the SDKs at `old` and `new` (each as `--sdk` takes them) for the backend that `request` describes.

    Raises DiffError when there is no verdict on one of them, and says which.
    """
    sides = {OLD: tuple(old), NEW: tuple(new)}
    for option, given in sides.items():
        _require_distinct(option, given)
    failed = _not_found(request, sides)
    if failed:
        raise _no_verdict(failed, sides)
    seen = _both([replace(request, sdk=given, formatted=False, verify=False) for given in sides.values()])
    failed = {option: one for option, one in zip(sides, seen, strict=True) if isinstance(one, str)}
    if failed:
        raise _no_verdict(failed, sides)
    before, after = (one for one in seen if isinstance(one, _Seen))
    bindings = compare_bindings(before.check, after.check)
    lost = any(one.fate == "lost" for one in bindings)
    problem = _problem(before, after)
    files = compare_files(before.files or {}, after.files or {}) if problem is None else ()
    return SdkDiff(
        format=1,
        generator=f"fl-gen {__version__}",
        vendor=request.vendor,
        title=before.check.title,
        exit_code=1 if lost else 0,
        old=_side(sides[OLD], before.check),
        new=_side(sides[NEW], after.check),
        bindings=bindings,
        changes=compare(before.dump, after.dump, uses_of(before.check, after.check)),
        files=files,
        files_same=len((before.files or {}).keys() | (after.files or {}).keys()) - len(files) if not problem else 0,
        files_problem=problem,
        patch=_patch(request, before, after) if patch and problem is None else None,
    )


def _require_distinct(option: str, given: Sequence[str]) -> None:
    places = [one if is_simulated([one]) else os.path.realpath(os.path.expanduser(one)) for one in given]
    twice = [one for one, count in Counter(places).items() if count > 1]
    if twice:
        names = " and ".join(dict.fromkeys(one for one, place in zip(given, places, strict=True) if place == twice[0]))
        raise DiffError(
            f"{option} {names} is the same place twice\n"
            f"  = give each root of an SDK once; the other SDK goes to {NEW if option == OLD else OLD}"
        )


def _not_found(request: Request, sides: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """What is wrong with the paths, found out before anything is parsed."""
    catalog = Catalog(request.schema_dirs)
    vendor = catalog.vendor(request.vendor)
    failed = {}
    for option, given in sides.items():
        if not any(is_simulated([one]) for one in given):
            try:
                find_sdk_of(replace(request, sdk=given), vendor, catalog)
            except FlGenError as error:
                failed[option] = error.render()
    return failed


def _no_verdict(failed: dict[str, str], sides: dict[str, tuple[str, ...]]) -> DiffError:
    """One message for both sides; what is wrong with the schemas or the vendor's name is said once."""
    if len(failed) == 2 and len(set(failed.values())) == 1 and "--sdk" not in failed[OLD]:
        return DiffError(failed[OLD])
    parts = []
    for option, text in failed.items():
        which = "old" if option == OLD else "new"
        words = re.sub(r"--sdk( or [A-Z_0-9]+\b)?", option, text)  # no variable stands in for an option that is needed
        parts.append(f"no verdict on the {which} SDK ({option} {' '.join(map(_shown, sides[option]))}):\n{words}")
    return DiffError("\n".join(parts))


def _shown(given: str) -> str:
    return given if given.isprintable() and " " not in given else quote(given)


def _side(given: tuple[str, ...], check: SdkCheck) -> DiffSide:
    return DiffSide(
        given=given,
        title=check.sdk.title,
        version=check.sdk.version,
        simulated=check.sdk.simulated,
        groups=tuple(group.key for group in check.groups if group.present),
        bound=check.coverage.bound,
        total=check.coverage.total,
        digest=check.sdk.digest,
        lost=check.lost,
    )


def _problem(before: _Seen, after: _Seen) -> str | None:
    parts = [f"{which} SDK: {one.problem}" for which, one in (("old", before), ("new", after)) if one.problem]
    return "; ".join(parts) or None


def _patch(request: Request, before: _Seen, after: _Seen) -> str:
    old, new = before.files or {}, after.files or {}
    paths = {path for path in {*old, *new} if old.get(path) != new.get(path)}
    styles = [root / request.framework / "clang-format.yaml" for root in template_roots(request)]
    style = next(path for path in styles if path.is_file())
    cache = request.cache / "format" if request.cache is not None else None
    pair = [
        formatted({path: files[path] for path in sorted(paths & files.keys())}, style, cache) for files in (old, new)
    ]
    return unified(pair[0], pair[1], f"generated/{request.vendor}")


# -- one SDK ----------------------------------------------------------------------------------------------------------


def _look(request: Request) -> _Seen:
    from fl_gen.tasks.sdk_dump import dump_vendor

    try:
        resolved = resolve_request(request)
    except SchemaError:
        check = check_sdk(request)
        if not check.lost:
            raise
        more = f" (and {len(check.lost) - 1} more)" if len(check.lost) > 1 else ""
        problem = f"there is no backend on it: {check.lost[0].message}{more}"
        return _Seen(check, dump_vendor(request), None, problem)
    return _Seen(check_of(request, resolved), dump_vendor(request), _render(request, resolved.backend), None)


def _render(request: Request, backend: Backend) -> dict[str, str]:
    """The generated files, without the formatter and without the manifest, which names the SDK and always changes."""
    from fl_gen.render.infinitrain import render_infinitrain

    compiled = request.cache / "templates" if request.cache is not None else None
    return render_infinitrain(backend, template_roots(request), compiled).generated


# What the second process runs. The path is that of this process, so that both have the same fl-gen.
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from fl_gen.tasks import sdk_diff as t; t.child()"
_PATIENCE = 5.0  # seconds that it is given to end once it has answered


def _both(requests: Sequence[Request]) -> list[_Seen | str]:
    """What is seen of each SDK, or the message that says why nothing is; the first one in a process of its own."""
    # A fresh interpreter, never a fork: that would share this process's libclang, its threads and locks.
    with interrupts_held():  # Ctrl-C reaches the whole group, and this process alone answers it
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with contextlib.suppress(BrokenPipeError):  # it died at once, and its exit code says so
            process.stdin.write(pickle.dumps(requests[0]))
            process.stdin.close()
        second = _seen(requests[1])
        answer = process.stdout.read()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it has answered, and that counts
            process.wait(_PATIENCE)
        code = process.returncode or 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
    if code != 0:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return [f"the process that looked at this SDK {how}\n  = check it alone, with sdk check, to see more", second]
    first: _Seen | str = pickle.loads(answer)
    return [first, second]


def _seen(request: Request) -> _Seen | str:
    try:
        return _look(request)
    except FlGenError as error:
        return error.render()
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else request.vendor
        return f"{where}: {error.strerror or error}\n  = mend that and run again"


def child() -> None:
    """What the second process does. Whatever else is written there goes to the error stream."""
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        request: Request = pickle.load(sys.stdin.buffer)
    except EOFError:
        sys.exit(1)  # who started this one was ended before it could ask
    try:
        outcome: _Seen | str = _seen(request)
    except Exception as error:
        if os.environ.get("FL_GEN_TRACEBACK"):
            raise
        said = " ".join(str(error).split())[:200]
        outcome = (
            f"internal error: {type(error).__name__}: {said}\n"
            "  = this is a fault of fl-gen: please report it, with what FL_GEN_TRACEBACK=1 prints"
        )
    with contextlib.suppress(OSError), os.fdopen(answer, "wb") as stream:  # an error: nobody waits for it any more
        pickle.dump(outcome, stream)
