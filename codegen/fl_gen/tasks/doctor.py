"""`fl-gen doctor`: what is installed and used on this machine, and a remedy for what is missing or broken.

Nothing here raises: a part that cannot be looked at is told as such. Programs are asked with a time limit, and libclang
in a process of its own.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fl_gen import __version__
from fl_gen.schema.errors import FlGenError
from fl_gen.tasks.doctor_sdks import overlays, sdks
from fl_gen.tasks.doctor_tools import TIMEOUT, Answer, Waiting, ask, ask_all, ask_libclang, ask_path, folder_size
from fl_gen.tasks.doctor_torch import torch_items
from fl_gen.tasks.doctor_values import Diagnosis, Item, Section, State, answered, told

LIBCLANG_PIN = "18.1.1"
_LIBCLANG_RANGE = (16, 22)  # major versions whose verdicts are tested to be the same
_PYTHON = (3, 10)
_PATIENCE = 2 * TIMEOUT  # seconds for a whole section
_COMPILERS = {"c++": (), "g++": (), "clang++": ()}
# Headers that generated code and the framework include: where a distribution has them.
_HEADERS = (
    ("glog", "glog/logging.h", "libgoogle-glog-dev", "--verify and framework check"),
    ("googletest", "gtest/gtest.h", "libgtest-dev", "generated tests"),
    ("Eigen", "Eigen/Dense", "libeigen3-dev", "a framework's CPU kernels"),
)
_VARIABLES = (
    "FL_GEN_CACHE_DIR",
    "FL_GEN_RESOURCE_HEADERS",
    "FL_GEN_TRACEBACK",
    "INFINITRAIN_SOURCE_DIR",
    "CMAKE_PREFIX_PATH",
    "PYTHONPATH",
)


def diagnose(
    schema_dirs: Sequence[Path] = (), template_dirs: Sequence[Path] = (), torch: Path | None = None
) -> Diagnosis:
    """Look at everything; `torch` is a project's PyTorch. The slow questions are asked at the same time."""
    parts: dict[str, Callable[[], list[Item]]] = {
        "fl-gen": lambda: [*_itself()],
        "libclang": lambda: [*_libclang()],
        "compilers and build tools": lambda: [*_tools()],
        "formatters": lambda: [*_formatters()],
        "PyTorch": lambda: [*torch_items(torch)],
        "headers of others": lambda: [*_headers()],
        "SDKs": lambda: [*sdks(schema_dirs)],
        "overlays": lambda: [*overlays(schema_dirs, template_dirs)],
        "caches": lambda: [*_caches()],
        "environment": lambda: [*_environment()],
    }
    asked = {title: Waiting(_safe(part)) for title, part in parts.items()}
    sections = []
    for title, one in asked.items():
        items = one.result(2 * _PATIENCE)
        if items is None:
            items = [Item(title, "warning", "gave no answer in time", "look for a disk or network that hangs")]
        if items:
            sections.append(Section(title, tuple(items)))
    return Diagnosis(tuple(sections))


def _safe(part: Callable[[], list[Item]]) -> Callable[[], list[Item]]:
    """A section that tells what went wrong in it instead of raising."""

    def run() -> list[Item]:
        try:
            return part()
        except FlGenError as error:
            return [Item("check", "warning", *told(error))]
        except Exception as error:
            text = f"cannot be looked at: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
            return [Item("check", "missing" if isinstance(error, ImportError) else "warning", text, _reinstall())]

    return run


def _reinstall() -> str:
    return "reinstall fl-gen: pip install --force-reinstall fl-gen"


# -- fl-gen itself ------------------------------------------------------------------------------------------------


def _itself() -> Iterator[Item]:
    from fl_gen.schema.paths import data_dir

    yield Item("fl-gen", "ok", f"{__version__} at {Path(__file__).resolve().parents[1]}")
    version = platform.python_version()
    if sys.version_info < _PYTHON:
        yield Item("Python", "missing", f"{version} at {sys.executable}", "use Python 3.10 or newer")
    else:
        yield Item("Python", "ok", f"{version} at {sys.executable}")
    try:
        where = data_dir()
        kind = "in the installed package" if where.name == "_data" else "a checkout"
        yield Item("data", "ok", f"schemas, templates and simulator in {where} ({kind})")
    except FlGenError as error:
        yield Item("data", "missing", str(error), _reinstall())
    yield from _dependencies()


def _dependencies() -> Iterator[Item]:
    """The packages that fl-gen names as its own, as they are installed."""
    from importlib import metadata

    try:
        wanted = metadata.requires("fl-gen") or []
    except metadata.PackageNotFoundError:
        yield Item("packages", "note", "fl-gen is not installed as a package: its dependencies are not known")
        return
    good = []
    for text in wanted:
        if ";" in text:
            continue  # of an extra
        name = text.replace("(", " ").split(" ")[0]
        for sign in "<>=!~":
            name = name.partition(sign)[0]
        pin = text.partition("==")[2].strip(" )")
        try:
            have = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Item(name, "missing", "not installed", f"pip install '{text}'")
            continue
        if pin and have != pin and name not in ("libclang", "clang-format"):  # these two are judged below
            yield Item(name, "warning", f"{have}, pinned to {pin}", f"pip install {name}=={pin}")
        else:
            good.append(f"{name} {have}")
    if good:
        yield Item("packages", "ok", ", ".join(good))


def _libclang() -> Iterator[Item]:
    from fl_gen.sdk.shims import OVERRIDE, tiers

    found = ask_libclang()
    details = {"version": found.version or None, "library": found.library or None}
    remedy = f"pip install --force-reinstall libclang=={LIBCLANG_PIN}"
    major = _major(found.version)
    if found.fault:
        text = f"{found.version}: {found.fault}" if found.version else found.fault
        yield Item("libclang", "missing", text, remedy, details)
    elif LIBCLANG_PIN in found.version:
        yield Item("libclang", "ok", f"{found.version}, {found.library}", "", details)
    elif major is not None and _LIBCLANG_RANGE[0] <= major <= _LIBCLANG_RANGE[1]:
        text = f"{found.version}, {found.library}: verdicts are the same as with {LIBCLANG_PIN}, messages may differ"
        yield Item("libclang", "note", text, "", details)
    else:
        text = f"{found.version}, {found.library}: not tested, {LIBCLANG_PIN} is"
        yield Item("libclang", "warning", text, remedy, details)
    shims = tiers()
    for number, one in enumerate(shims, 1):
        order = "first choice" if number == 1 else f"choice {number}"
        yield Item("builtin headers", "ok", f"{order}: {one}")
    override = os.environ.get(OVERRIDE)
    if override and override != "minimal" and not os.path.isfile(os.path.join(shims[0].where, "stddef.h")):
        yield Item(
            "builtin headers",
            "warning",
            f"{OVERRIDE}={override}: there is no stddef.h in it",
            f"unset {OVERRIDE}, or name a compiler's folder of resource headers",
        )
    elif len(shims) == 1 and override != "minimal":
        yield Item(
            "builtin headers",
            "note",
            "no compiler's headers were found: SDKs whose headers include the C++ library cannot be checked",
            "install g++ or clang",
        )


def _major(version: str) -> int | None:
    words = [word for word in version.replace("-", " ").split() if word[:1].isdigit()]
    number = words[0].partition(".")[0] if words else ""
    return int(number) if number.isdigit() else None


# -- other programs -----------------------------------------------------------------------------------------------


def _tools() -> Iterator[Item]:
    names = [*_COMPILERS, "cmake", "ninja"]
    answers = ask_all({name: _asking(name) for name in names}, _PATIENCE)
    cxx = [name for name in _COMPILERS if _usable(answers.get(name))]
    for name in _COMPILERS:
        answer = answers.get(name)
        if answer is not None:
            yield answered(name, answer, "compiling generated backends")
    if not cxx:
        yield Item("C++ compiler", "warning", "none found: generated code cannot be compiled here", "install g++ 12")
    yield _newer("cmake", answers.get("cmake"), _cmake_minimum(), "pip install cmake, or your distribution's cmake")
    ninja = answers.get("ninja")
    if ninja is None:
        yield Item("ninja", "note", "not found: CMake takes make", "pip install ninja")
    else:
        yield answered("ninja", ninja, "building")


def _asking(name: str) -> Callable[[], Answer | None]:
    return lambda: ask(name)


def _usable(answer: Answer | None) -> bool:
    return answer is not None and not answer.fault


def _newer(name: str, answer: Answer | None, least: str, remedy: str) -> Item:
    if answer is None:
        return Item(name, "warning", f"not found; builds need it{least and f', {least} or newer'}", remedy)
    item = answered(name, answer, "building")
    if item.state == "ok" and _numbers(answer.version) < _numbers(least):
        return Item(name, "warning", f"{answer.version}, {answer.path}: builds need {least}", remedy, item.details)
    return item


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _cmake_minimum() -> str:
    try:
        from fl_gen.schema.catalog import Catalog

        return Catalog().framework("infinitrain").interface.cmake.minimum
    except (ImportError, FlGenError):  # told elsewhere
        return ""


def _formatters() -> Iterator[Item]:
    from fl_gen.render.formatter import PINNED_VERSION, binary

    remedy = f"pip install clang-format=={PINNED_VERSION}, or run with --no-format"
    try:
        answer = ask_path(str(binary()))
        if answer.fault:
            yield Item("clang-format", "missing", f"{answer.path} {answer.fault}", remedy)
        elif answer.version != PINNED_VERSION:
            text = f"{answer.version}, {answer.path}: generated bytes need {PINNED_VERSION}"
            yield Item("clang-format", "missing", text, remedy)
        else:
            yield Item("clang-format", "ok", f"{answer.version}, {answer.path}")
    except FlGenError as error:
        yield Item("clang-format", "missing", str(error).partition(":")[0], remedy)


def _headers() -> Iterator[Item]:
    from fl_gen.sdk.shims import tiers

    entries = os.environ.get("CMAKE_PREFIX_PATH", "").replace(";", ":").split(":")
    folders = [folder for shims in tiers() for folder in shims.dirs if os.path.isdir(folder)]
    folders += [os.path.join(entry, "include") for entry in entries if entry]
    for name, header, package, purpose in _HEADERS:
        places = (os.path.join(folder, *below) for folder in folders for below in ((), ("eigen3",)))
        found = next((place for place in places if os.path.isfile(os.path.join(place, header))), None)
        if found is not None:
            yield Item(name, "ok", f"{header} in {found}")
        else:
            yield Item(name, "note", f"no {header}; {purpose} need it",
                       f"install {package}, or name its prefix in CMAKE_PREFIX_PATH")  # fmt: skip


# -- caches and environment ---------------------------------------------------------------------------------------


def _caches() -> Iterator[Item]:
    from fl_gen.sdk.identity import default_folder

    folder = default_folder()
    if folder is None:
        yield Item("cache", "warning", "there is no place for one", "set FL_GEN_CACHE_DIR to a folder of yours")
        return
    remedy = "make it writable, or set FL_GEN_CACHE_DIR to another folder; --no-cache works without"
    if not os.path.lexists(folder):
        above = next((parent for parent in folder.parents if parent.exists()), Path("/"))
        if os.access(above, os.W_OK | os.X_OK) and above.is_dir():
            yield Item("cache", "ok", f"{folder}, empty until the first run")
        else:
            yield Item("cache", "warning", f"{folder} cannot be made: {above} is not writable", remedy)
        return
    if not folder.is_dir():
        yield Item("cache", "warning", f"{folder} is no folder", remedy)
        return
    state: State = "ok" if os.access(folder, os.W_OK | os.X_OK) else "warning"
    whole = 0
    try:
        parts = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except OSError as error:
        yield Item("cache", "warning", f"{folder} cannot be read: {error.strerror}", remedy)
        return
    details: dict[str, str | None] = {"folder": str(folder)}
    words = []
    for part in parts:
        files, size, complete = folder_size(os.path.join(folder, part))
        whole += size
        details[part] = str(size)
        words.append(f"{part} {files}{'' if complete else '+'} files")
    text = f"{folder}, {whole / (1 << 20):.1f} MiB" + (f": {', '.join(words)}" if words else "")
    yield Item(
        "cache", state, text if state == "ok" else f"{text}; not writable", "" if state == "ok" else remedy, details
    )


def _environment() -> Iterator[Item]:
    import locale

    from fl_gen.sdk.clang import ENVIRONMENT

    encoding = (getattr(sys.stdout, "encoding", None) or "none").lower()
    system = sys.getfilesystemencoding().lower()
    language = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "not set"
    text = f"{language}; output in {encoding}, file names in {system}, preferred {locale.getpreferredencoding(False)}"
    if "utf" in encoding.replace("-", "") and "utf" in system.replace("-", ""):
        yield Item("locale", "ok", text)
    else:
        yield Item("locale", "warning", text, "set LANG=C.UTF-8 or PYTHONUTF8=1: messages show names and code in UTF-8")
    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size((0, 0)).columns
    colours = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    what = (
        f"{width} columns, {'colours' if colours else 'no colours'}"
        if terminal
        else "output is no terminal: no colours"
    )
    yield Item("terminal", "ok", what)
    for name in _VARIABLES:
        if os.environ.get(name):
            yield Item(name, "note", os.environ[name])
    cleared = [name for name in ENVIRONMENT if os.environ.get(name)]
    if cleared:
        yield Item(
            "compiler variables", "note", f"{', '.join(cleared)}: not obeyed, so that verdicts do not depend on them"
        )
