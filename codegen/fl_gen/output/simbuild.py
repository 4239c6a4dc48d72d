"""Building a simulated SDK: files on disk, libraries compiled, all or nothing.

The result is laid out as the vendor's SDK, so that the ordinary code path finds it (`--sdk DIR`). A build is staged
beside its target and renamed into place; a target that was made from the same inputs is left alone.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fl_gen.render.simapi import Api
from fl_gen.render.simsdk import render_sim_sdk
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import data_dir

RECORD = "fl-sim.json"
SANITIZERS = frozenset({"address", "undefined", "leak", "thread"})
_SHOWN = 30  # lines of compiler output that a message shows
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_PLAIN_FLAGS = ("-std=c++20", "-O1", "-fPIC", "-Wall", "-Wextra")
_SANITIZER_FLAGS = ("-fno-omit-frame-pointer", "-g1")  # names and lines in a sanitizer's reports
_QUIET_FLAGS = ("-Wno-unused-parameter", "-Wno-unused-function")


class SimBuildError(FlGenError):
    """A simulated SDK that could not be built; nothing was changed."""


@dataclass(frozen=True)
class SimBuild:
    """What was built where. `fresh` is False when the folder already held the same build."""

    root: Path
    version: str
    libraries: tuple[str, ...]
    fresh: bool


@dataclass(frozen=True)
class SimBuildOptions:
    """How to build.

    `sanitize`: names for -fsanitize=, comma separated. `tool`: cmake, compiler, or None for what there is. `cache`: a
    folder in which the compiled engine is kept for the next SDK that needs the same one; None: none.
    """

    sanitize: str = ""
    jobs: int = 2
    compiler: str | None = None
    tool: str | None = None
    keep_sources: bool = True
    cache: Path | None = None


def engine_dir() -> Path:
    """The engine's sources: `simulator/` beside the schemas."""
    return data_dir() / "simulator"


def check_sanitizers(text: str) -> str:
    """`text` in canonical form. Raises SimBuildError for an unknown name or for a pair that compilers refuse."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in SANITIZERS]
    if unknown:
        raise SimBuildError(f"unknown sanitizer {', '.join(unknown)}; known are {', '.join(sorted(SANITIZERS))}")
    if "thread" in names and ({"address", "leak"} & set(names)):
        raise SimBuildError("the thread sanitizer cannot be combined with address or leak")
    return ",".join(sorted(set(names)))


def build_sim_sdk(
    api: Api,
    wanted: str | None,
    out_dir: Path,
    options: SimBuildOptions | None = None,
    engine: Path | None = None,
) -> SimBuild:
    """Write and compile the simulated SDK of `api` into `out_dir`.

    `wanted` is a version or the start of one (None: the newest). `out_dir` may be missing, empty, or an earlier build;
    anything else is refused. Raises SimBuildError with what failed and what to do, and leaves `out_dir` as it was.
    """
    options = options or SimBuildOptions()
    sanitize = check_sanitizers(options.sanitize)
    version = api.find_version(wanted)
    files = render_sim_sdk(api, version.version)
    engine = engine or engine_dir()
    if not (engine / "include" / "fl_sim" / "engine.h").is_file():
        raise SimBuildError(f"{engine}: the sources of the simulator engine are missing; reinstall fl-gen")
    libraries = tuple(library.name for library in api.at(version).libraries)
    out_dir = Path(os.path.abspath(out_dir))
    compiler = _compiler(options.compiler)
    compiled = _engine_digest(engine, compiler, sanitize)
    record = {
        "what": "simulated SDK (a test double), built by fl-gen",
        "vendor": api.vendor,
        "version": version.version,
        "sanitize": sanitize,
        "inputs": _digest(files, compiled),
    }
    try:
        str(out_dir).encode()
        out_dir.parent.mkdir(parents=True, exist_ok=True)
    except UnicodeEncodeError as error:
        raise SimBuildError(f"{out_dir}: compilers need a path in UTF-8; name another folder") from error
    except OSError as error:
        raise _cannot_write(out_dir, error) from error
    with _lock(out_dir):
        earlier = _earlier(out_dir)
        wanted_files = [out_dir / api.layout["library"] / f"lib{name}.so" for name in libraries]
        if earlier == record and all(path.is_file() for path in wanted_files):
            return SimBuild(out_dir, version.version, libraries, fresh=False)
        _remove_leftovers(out_dir)
        try:
            stage = Path(tempfile.mkdtemp(prefix=f".{out_dir.name}.", dir=out_dir.parent))
        except OSError as error:
            raise _cannot_write(out_dir, error) from error
        try:
            _write(stage, files)
            job = _Job(stage, api.layout, libraries, engine, compiled, compiler, sanitize, options)
            job.compile()
            (stage / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            if not options.keep_sources:
                shutil.rmtree(stage / "src")
            stage.chmod(0o755)
            _swap(stage, out_dir)
        except OSError as error:
            raise _cannot_write(out_dir, error) from error
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    return SimBuild(out_dir, version.version, libraries, fresh=True)


def _cannot_write(out_dir: Path, error: OSError) -> SimBuildError:
    where = f" ({error.filename})" if error.filename is not None else ""
    reason = f"{error.strerror or error}{where}"
    return SimBuildError(f"{out_dir}: cannot be written: {reason}\n  = name another folder with --out, or make room")


def _compiler(wanted: str | None) -> str:
    named = wanted or os.environ.get("CXX")
    for name in (named,) if named else ("c++", "g++", "clang++"):
        if name and shutil.which(shlex.split(name)[0]):
            return name
    what = f"{named}: no such compiler" if named else "no C++ compiler was found"
    raise SimBuildError(f"{what}; install g++ or clang++, or name one with CXX")


def _digest(files: Mapping[str, str], engine: str) -> str:
    digest = hashlib.sha256(engine.encode())
    for path in sorted(files):
        digest.update(f"{path}\0{files[path]}\0".encode())
    return digest.hexdigest()


def _engine_digest(engine: Path, compiler: str, sanitize: str) -> str:
    """Of everything that the compiled engine depends on, the compiler's version included."""
    digest = hashlib.sha256()
    sources = (p for p in engine.rglob("*") if p.suffix in (".h", ".cc", ".txt"))
    for source in sorted(p for p in sources if "tests" not in p.relative_to(engine).parts):
        digest.update(str(source.relative_to(engine)).encode() + b"\0" + source.read_bytes() + b"\0")
    version = subprocess.run([*shlex.split(compiler), "--version"], capture_output=True, text=True, check=False).stdout
    flags = " ".join((*_PLAIN_FLAGS, *(_SANITIZER_FLAGS if sanitize else ())))
    digest.update(f"{compiler}\0{version}\0{flags}\0{sanitize}\0{os.environ.get('CXXFLAGS', '')}".encode())
    return digest.hexdigest()


def _earlier(out_dir: Path) -> object:
    """The record of the build in `out_dir`, None if there is nothing.

    Raises SimBuildError if the folder is somebody else's.
    """
    if not os.path.lexists(out_dir):
        return None
    if not out_dir.is_dir():
        raise SimBuildError(f"{out_dir}: is no folder; name a folder")
    try:
        return json.loads((out_dir / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if any(out_dir.iterdir()):
            raise SimBuildError(
                f"{out_dir}: is not empty and holds no simulated SDK; name another folder or remove it"
            ) from None
        return None
    except (OSError, ValueError):
        return "unreadable"  # an earlier build whose record is damaged: build again


def _remove_leftovers(out_dir: Path) -> None:
    """Remove what a killed build of this folder left beside it; the lock says that none is running."""
    for folder in out_dir.parent.glob(f".{out_dir.name}.*"):
        with contextlib.suppress(OSError):
            if (folder / "CMakeLists.txt").read_text(encoding="utf-8").startswith("# SIMULATED SDK"):
                shutil.rmtree(folder, ignore_errors=True)


def _write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class _Job:
    """One build in its staging folder."""

    stage: Path
    layout: Mapping[str, str]
    libraries: Sequence[str]
    engine: Path
    engine_digest: str
    compiler: str
    sanitize: str
    options: SimBuildOptions

    def compile(self) -> None:
        cmake = shutil.which("cmake") if self.options.tool in (None, "cmake") else None
        if self.options.tool == "cmake" and cmake is None:
            raise SimBuildError("cmake was not found; install it (pip install cmake) or build with the compiler alone")
        archive = self._cached_engine()
        if cmake is not None:
            self._with_cmake(cmake, archive)
        else:
            self._with_compiler(archive)

    def _cached_engine(self) -> Path | None:
        """The compiled engine in the cache, made now if it is not there; None without a cache that can be written."""
        cache = self.options.cache
        if cache is None:
            return None
        folder = cache / "engine" / self.engine_digest
        archive = folder / "libfl_sim_engine.a"
        if archive.is_file():
            return archive
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _lock(folder):
                if not archive.is_file():
                    self._make_archive(archive)
        except OSError:
            return None  # the engine is compiled into the SDK directly
        return archive

    def _make_archive(self, archive: Path) -> None:
        with tempfile.TemporaryDirectory(prefix=".make.", dir=archive.parent) as scratch:
            include = ["-I", str(self.engine / "include"), "-I", str(self.engine / "src")]
            commands, objects = [], []
            # Most of the time goes into the standard headers, so the sources are joined: one unit for each job.
            for index, sources in enumerate(_shares(sorted((self.engine / "src").glob("*.cc")), self.options.jobs)):
                unit = Path(scratch) / f"engine_{index}.cc"
                unit.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
                objects.append(str(unit.with_suffix(".o")))
                commands.append([*self._flags(), *include, "-c", str(unit), "-o", objects[-1]])
            with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, self.options.jobs)) as pool:
                for finished in [pool.submit(_run, command, {}) for command in commands]:
                    finished.result()
            part = Path(scratch) / archive.name
            _run(["ar", "crs", str(part), *objects], {})
            part.rename(archive)

    def _flags(self) -> list[str]:
        flags = [*shlex.split(self.compiler), *_PLAIN_FLAGS, *shlex.split(os.environ.get("CXXFLAGS", "")), "-pthread"]
        return [*flags, f"-fsanitize={self.sanitize}", *_SANITIZER_FLAGS] if self.sanitize else flags

    def _with_cmake(self, cmake: str, archive: Path | None) -> None:
        build = self.stage / "build"
        command = [
            cmake,
            *(["-G", "Ninja"] if shutil.which("ninja") else []),
            "-S",
            str(self.stage),
            "-B",
            str(build),
            f"-DFL_SIM_ENGINE_DIR={self.engine}",
            f"-DFL_SIM_ENGINE_ARCHIVE={archive or ''}",
            f"-DSANITIZE={self.sanitize}",
            "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
            "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1",
        ]
        _run(command, {"CXX": self.compiler})
        _run([cmake, "--build", str(build), "--parallel", str(self.options.jobs)], {})
        shutil.rmtree(build)

    def _with_compiler(self, archive: Path | None) -> None:
        """Without CMake: one command per library, the engine inside the first."""
        target = self.stage / self.layout["library"]
        target.mkdir(parents=True, exist_ok=True)
        roots = (self.stage / self.layout["include"], self.engine / "include", self.engine / "src")
        include = [part for root in roots for part in ("-I", str(root))]
        for index, name in enumerate(self.libraries):
            command = [*self._flags(), *_QUIET_FLAGS, "-shared", *include, str(self.stage / "src" / f"{name}.cc")]
            if index > 0:
                command += ["-L", str(target), f"-l{self.libraries[0]}"]
            elif archive is not None:
                command += ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]
            else:
                command += [str(path) for path in sorted((self.engine / "src").glob("*.cc"))]
            _run([*command, "-lrt", "-Wl,-rpath,$ORIGIN", "-o", str(target / f"lib{name}.so")], {})


def _shares(sources: Sequence[Path], count: int) -> list[list[Path]]:
    """`sources` in at most `count` lists of about the same size in bytes, each in the given order."""
    shares: list[list[Path]] = [[] for _ in range(max(1, count))]
    sizes = [0] * len(shares)
    for source in sorted(sources, key=lambda path: -path.stat().st_size):
        least = sizes.index(min(sizes))
        shares[least].append(source)
        sizes[least] += source.stat().st_size
    return [sorted(share) for share in shares if share]


def _run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    result = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode != 0:
        raise SimBuildError(
            f"the simulated SDK does not build: `{Path(command[0]).name}` failed with exit code {result.returncode}:\n"
            f"{_cause(result.stdout)}"
        )


def _cause(output: str) -> str:
    """What to show of a failed command: from its first error on, since compilers name the cause first."""
    lines = output.rstrip().split("\n")
    first = next((index for index, line in enumerate(lines) if _ERROR.search(line)), max(0, len(lines) - _SHOWN))
    shown = lines[first : first + _SHOWN]
    return "\n".join([*shown, "..."] if first + _SHOWN < len(lines) else shown)


@contextlib.contextmanager
def _lock(out_dir: Path) -> Iterator[None]:
    """One build of a folder at a time, also between processes; the lock goes with the process."""
    name = hashlib.sha256(str(out_dir).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"fl-sim-{os.getuid()}-{name}.lock"
    try:
        # The name can be guessed: what another user puts there is neither followed nor emptied.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SimBuildError(
            f"{path}: cannot be locked: {error.strerror or error}\n  = remove it, or set TMPDIR to a folder of your own"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _swap(stage: Path, out_dir: Path) -> None:
    """Put `stage` where `out_dir` is. An earlier build is moved away first and comes back if that fails."""
    if not out_dir.exists():
        stage.rename(out_dir)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out_dir.name}.old.", dir=out_dir.parent)) / "sdk"
    out_dir.rename(old)
    try:
        stage.rename(out_dir)
    except OSError:
        old.rename(out_dir)
        raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)
