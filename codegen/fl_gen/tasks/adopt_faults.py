"""The faults of a hand-written backend that can be seen in its sources."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from fl_gen.resolve.model import Backend
from fl_gen.schema.location import Location
from fl_gen.sdk import lex
from fl_gen.tasks.adopt_files import Files, launches
from fl_gen.tasks.adopt_values import Body, Facts, Fault, SdkCall
from fl_gen.tasks.framework_values import Place

Locate = Callable[[Place], Location]

# What stands third in a launch where the stream is fourth: bytes of shared memory.
_BYTES = re.compile(r"\d|sizeof|sh?mem|shared|bytes", re.IGNORECASE)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# What makes a linker keep objects that nobody refers to, as build files write it.
_KEEPS = re.compile(
    r"whole[-_]archive|force_load|link_infini_train_exe|add_library\s*\([^)]{0,4000}\b(?:OBJECT|SHARED|MODULE)\b|TARGET_OBJECTS",
    re.IGNORECASE,
)
# The other build file that one reads, and what names the folder of the file itself.
_GOES_ON = re.compile(r"\b(?:include|add_subdirectory)\s*\(\s*(\"[^\"\n]*\"|[^\s()]+)", re.IGNORECASE)
_HERE = re.compile(r"\$\{CMAKE_CURRENT_(?:SOURCE|LIST)_DIR\}")


def functions_of(backend: Backend, operation: str) -> frozenset[str]:
    """The SDK functions by which any candidate of the vendor does an operation."""
    candidates = backend.vendor.bindings.get(operation, ())
    return frozenset(name for candidate in candidates for name in called_names(candidate.code.value))


def find_faults(facts: Sequence[Facts], files: Files, backend: Backend, locate: Locate) -> tuple[Fault, ...]:
    """Every fault, each once."""
    return tuple(dict.fromkeys(_Rules(facts, files, backend, locate).all()))


class _Rules:
    def __init__(self, facts: Sequence[Facts], files: Files, backend: Backend, locate: Locate) -> None:
        self._facts = facts
        self._files = files
        self._backend = backend
        self._vendor = backend.vendor
        self._locate = locate
        bodies: dict[tuple[str, Place], Body] = {}
        for one in facts:
            for body in one.bodies:
                bodies.setdefault((body.usr, body.place), body)
        self._bodies = list(bodies.values())
        self._called = {call.name for body in self._bodies for call in body.calls}

    def all(self) -> Iterator[Fault]:
        yield from self._complaints()
        yield from self._statuses()
        yield from self._allocations()
        yield from self._dtypes()
        yield from self._events()
        yield from self._streams()
        yield from self._registered_twice()
        yield from self._archive()

    def _fault(self, rule: str, place: Place, message: str, why: str, remedy: str, warning: bool = False) -> Fault:
        return Fault(rule, "warning" if warning else "error", self._locate(place), message, why, remedy)

    # -- calls of the SDK -----------------------------------------------------------------------------------------

    def _complaints(self) -> Iterator[Fault]:
        sdk = self._backend.sdk
        title = f"{sdk.name} {sdk.version or ''}".strip()
        for one in self._facts:
            for complaint in one.complaints:
                if complaint.sdk:
                    yield self._fault(
                        "sdk-call",
                        complaint.place,
                        f"clang: {complaint.text}",
                        f"{title} does not have it so: the backend needs another release of the SDK, or a change",
                        f"fl-gen sdk check {self._vendor.name} says what this SDK has instead",
                    )

    def _statuses(self) -> Iterator[Fault]:
        checks = {status.macro for status in self._backend.statuses.values()}
        for call in self._calls():
            if call.dropped:
                yield self._fault(
                    "unchecked-status",
                    call.place,
                    f"the status of {call.name} is not looked at",
                    "a failure here goes on as if nothing had happened, and shows later somewhere else",
                    f"check it, as generated code does ({', '.join(sorted(checks))}); (void) says that it is meant",
                )

    def _calls(self) -> Iterator[SdkCall]:
        for body in self._bodies:
            yield from body.calls

    def _allocations(self) -> Iterator[Fault]:
        names = functions_of(self._backend, "memory.alloc_async")
        workaround = self._vendor.effect("sync_allocation")
        kernels = {one.file for one in self._facts if one.read.registered}
        for body in self._bodies:
            if body.place.file not in kernels:
                continue
            for call in body.calls:
                if call.name not in names:
                    continue
                why = "the guard does not know of this memory: its accounting and its handling of a full device miss it"
                if workaround is not None:
                    why = f"{self._vendor.title} needs the workaround {workaround.name}: {workaround.reason} "
                    why += f"This call goes around it, whatever {workaround.environment} says"
                yield self._fault(
                    "direct-allocation",
                    call.place,
                    f"{body.name.rpartition('::')[2]} allocates by {call.name}, past the guard",
                    why,
                    "allocate by the guard: GetDeviceGuardImpl(type)->MallocAsync(...), and free by its FreeAsync",
                    warning=workaround is None,
                )

    def _streams(self) -> Iterator[Fault]:
        why = "the framework orders work by the guard's stream: the null stream runs beside it, or waits for all"
        remedy = "pass the stream of the guard's GetStream(device)"
        for call in self._calls():
            if call.stream is not None:
                yield self._fault("null-stream", call.stream, f"{call.name} is given the null stream", why, remedy)
        for file, text in self._files.texts.items():
            if "<<<" not in text:
                continue
            plain = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
            for start, end in launches(plain):
                given = _split(plain[start + 3 : end - 3])
                # Some dialects have the stream third, others shared memory first.
                streamed = len(given) > 3 or (len(given) == 3 and not _BYTES.search(given[2]))
                if streamed and given[-1] not in ("0", "nullptr", "NULL"):
                    continue
                place = _at(file, plain, start)
                yield self._fault("null-stream", place, "a kernel is launched on the null stream", why, remedy)

    # -- events ---------------------------------------------------------------------------------------------------

    def _events(self) -> Iterator[Fault]:
        record, destroy = (functions_of(self._backend, f"event.{verb}") for verb in ("record", "destroy"))
        create = functions_of(self._backend, "event.create") | functions_of(self._backend, "event.create_with_flags")
        waits = frozenset[str]().union(
            *(functions_of(self._backend, f"event.{verb}") for verb in ("query", "synchronize", "elapsed_time")),
            functions_of(self._backend, "stream.wait_event"),
        )
        local: set[Place] = set()
        for body in self._bodies:
            for event in body.events:
                names = {name for name, _ in event.calls}
                # One that was not made here belongs to somebody else.
                if not names & create or not names & record or event.escapes:
                    continue
                place = next(place for name, place in event.calls if name in record)
                lacks = [word for word, ones in (("waited for", waits), ("destroyed", destroy)) if not names & ones]
                if lacks:
                    local.add(place)
                    yield self._event(place, f"the event {event.name} is recorded and never {' or '.join(lacks)}")
        lacks = [
            word for word, ones in (("waited for", waits), ("destroyed", destroy)) if ones and not self._called & ones
        ]
        for call in self._calls() if lacks else ():
            if call.name in record and call.place not in local:
                words = " or ".join(lacks)
                yield self._event(call.place, f"events are recorded here, and nowhere in the backend is one {words}")

    def _event(self, place: Place, message: str) -> Fault:
        why = "events are a limited resource of the driver, and a record that nothing looks at orders nothing"
        return self._fault(
            "event", place, message, why, "wait for it or query it, and destroy it, or leave the record out"
        )

    # -- dtypes of collectives ------------------------------------------------------------------------------------

    def _dtypes(self) -> Iterator[Fault]:
        interface = self._backend.framework.interface
        known = {dtype.enumerator: dtype for dtype in interface.dtypes}
        means = ccl_constants(self._backend)
        for one in self._facts:
            for pair in one.pairs:
                dtype, targets = known.get(pair.dtype), means.get(pair.constant, ())
                if dtype is None or not targets or dtype.name in targets:
                    continue
                other = interface.dtype(targets[0])
                if other.bytes < dtype.bytes:
                    why = f"{other.bytes} of {dtype.bytes} bytes of an element go over: the rest is lost without a word"
                elif other.bytes > dtype.bytes:
                    why = f"{other.bytes} bytes are moved for each element of {dtype.bytes}: memory behind the tensor"
                else:
                    why = "a reduction computes with the bits of another type; a mere copy is right"
                yield self._fault(
                    "ccl-dtype",
                    pair.place,
                    f"{dtype.name} is sent as {pair.constant}, which is {' or '.join(targets)}",
                    why,
                    self._ccl_remedy(dtype.name),
                    warning=dtype.name == "bool" and other.bytes == 1,
                )

    def _ccl_remedy(self, dtype: str) -> str:
        spelling = self._backend.constants.get("ccl_dtype", {}).get(dtype)
        return f"the SDK has {spelling}" if spelling else f"this SDK has no {dtype}: refuse it, as generated code does"

    # -- registrations --------------------------------------------------------------------------------------------

    def _registered_twice(self) -> Iterator[Fault]:
        first: dict[tuple[str, str], Place] = {}
        for one in self._facts:
            for kernel in one.read.registered:
                key = (kernel.kernel, kernel.device or "")
                before = first.setdefault(key, kernel.place)
                if before != kernel.place:
                    yield self._fault(
                        "registered-twice",
                        kernel.place,
                        f"{kernel.kernel} is registered a second time, first at {self._locate(before)}",
                        "registering a key twice ends the program at its start",
                        "remove one",
                    )

    def _archive(self) -> Iterator[Fault]:
        """Static registrations in an archive member that nothing that is linked refers to."""
        build = {file: _plain(text) for file, text in self._files.build.items()}
        if not build or any(_KEEPS.search(text) or builds_elsewhere(file, text) for file, text in build.items()):
            return
        kept = self._reachable()
        for one in self._facts:
            if one.registers and one.file not in kept:
                name, place = one.registers[0]
                more = f" and {len(one.registers) - 1} more" if len(one.registers) > 1 else ""
                yield self._fault(
                    "dropped-registration",
                    place,
                    f"{name}{more}: registered in a file to which nothing refers",
                    "the linker takes from a static archive only what is referred to: this file is left out, "
                    "and what it registers is not there when the program runs",
                    "link the archive whole (--whole-archive, link_infini_train_exe), or call a function of this file "
                    "from the entry point",
                )

    def _reachable(self) -> set[str]:
        """The files that a program gets which refers to the entry point, or to anything if there is none."""
        home = {usr: one.file for one in self._facts for usr in one.defines}
        signature = self._backend.framework.interface.registration.entry_point.signature
        entry = re.search(r"(\w+)\s*\(", signature)
        named = entry.group(1) if entry else ""
        roots = {
            one.file
            for one in self._facts
            for body in one.bodies
            if body.usr in one.defines and body.name.rpartition("::")[2] == named
        }
        if not roots:
            return {home[usr] for one in self._facts for usr in one.uses if home.get(usr, one.file) != one.file}
        reached, todo = set(roots), list(roots)
        by_file = {one.file: one for one in self._facts}
        while todo:
            for usr in by_file[todo.pop()].uses:
                file = home.get(usr)
                if file is not None and file not in reached:
                    reached.add(file)
                    todo.append(file)
        return reached


def ccl_constants(backend: Backend) -> Mapping[str, tuple[str, ...]]:
    """For each constant of the SDK's collectives the dtypes that the vendor's schema gives it to."""
    found: dict[str, list[str]] = {}
    for dtype, texts in backend.vendor.constants.get("ccl_dtype", {}).items():
        for text in texts:
            found.setdefault(text.value.rpartition("::")[2], []).append(dtype)
    return {constant: tuple(dtypes) for constant, dtypes in found.items()}


def sdk_names(backend: Backend) -> str:
    """A pattern of the names that an SDK of this vendor has: those that begin as its functions do."""
    starts: set[str] = set()
    for candidates in backend.vendor.bindings.values():
        for candidate in candidates:
            for name in called_names(candidate.code.value):
                found = re.match(r"[A-Za-z]?[a-z]+(?=[A-Z_])", name)
                if found and len(found.group()) > 1:
                    starts.add(found.group())
    starts -= {"std", "static_cast", "static", "reinterpret"}
    both = sorted(starts | {start.upper() for start in starts}, key=lambda one: (-len(one), one))
    return "(?:" + "|".join(map(re.escape, both)) + ")(?=[A-Z_])[A-Za-z0-9_]+$" if both else "(?!)"


def called_names(code: str) -> Iterator[str]:
    before = ""
    for token in lex.tokens(code):
        if token.text == "(" and before.isidentifier():
            yield before
        before = token.text


def builds_elsewhere(file: str, text: str) -> bool:
    """Whether a build file goes on in one that is not below its own folder, which may say how all of it is linked."""
    folder = os.path.dirname(file)
    for found in _GOES_ON.finditer(_plain(text)):
        path = _HERE.sub(lambda _: folder, found[1].strip("\"'"))
        if "/" not in path and not path.endswith(".cmake") and found[0].lower().startswith("include"):
            continue  # a module of CMake's own
        where = os.path.normpath(os.path.join(folder, path))
        if "$" in path or not where.startswith(folder + os.sep):
            return True
    return False


def _plain(text: str) -> str:
    return re.sub(r"#[^\n]*", "", text)


def _split(text: str) -> list[str]:
    """The arguments of a launch at its outermost commas."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += character in "([{"
        depth -= character in ")]}"
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def _at(file: str, text: str, offset: int) -> Place:
    line_start = text.rfind("\n", 0, offset) + 1
    return Place(file, text.count("\n", 0, offset) + 1, len(text[line_start:offset].encode()) + 1)
