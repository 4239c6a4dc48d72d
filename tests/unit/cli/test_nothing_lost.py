"""Random lives of a tree: edits, deletions, renames, foreign files, moved vendors, runs with other SDKs and policies.

After every step the test knows what a person has put where. A run may remove a person's byte only with `--overwrite`,
and then only from a file that fl-gen makes.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from fl_gen.output.manifest import MANIFEST_NAME, RECORD_FOLDER, load
from fl_gen.output.markers import MarkersError, marker_lines
from fl_gen.output.plan import PlanError
from fl_gen.output.policy import Policy
from fl_gen.workflow import generate as workflow
from fl_gen.workflow.generate import EditedError, Prepared, prepare
from fl_gen.workflow.request import Request
from unit.cli.conftest import snapshot

TORTURE = bool(os.environ.get("FL_GEN_TORTURE"))
VERSIONS = ("sim:6.14", "sim:6.0", "sim:4.3")
FILES = 14  # of each version that take part: those that differ between versions come first


def _part(prepared: Prepared, wanted: set[str]) -> Prepared:
    """`prepared` with the files `wanted` alone: a tree that is staged in no time."""
    records = {path: record for path, record in prepared.manifest.files.items() if path in wanted}
    manifest = replace(prepared.manifest, files=records)
    files = {path: prepared.files[path] for path in records} | {MANIFEST_NAME: manifest.to_text()}
    once = dict(sorted(prepared.once.items())[:3])
    return replace(prepared, files=files, manifest=manifest, once=once)


@pytest.fixture(scope="module")
def releases(cache: Path) -> dict[str, Prepared]:
    """Parts of one vendor's real output for three releases of its SDK; one has files that another has not."""
    whole = {version: prepare(Request("mlu", sdk=(version,), cache=cache)) for version in VERSIONS}
    paths = sorted({path for one in whole.values() for path in one.manifest.files})
    texts = {path: {one.files.get(path) for one in whole.values()} for path in paths}
    changing = sorted((path for path in paths if len(texts[path]) > 1), key=lambda path: len(texts[path]), reverse=True)
    wanted = {*changing[: FILES - 3], *[path for path in paths if path not in changing][:3]}
    parts = {version: _part(one, wanted) for version, one in whole.items()}
    # And one that is there in the newest alone, as when an op or a group goes: stale in the others.
    for version in VERSIONS[1:]:
        gone = sorted(parts[version].manifest.files)[0]
        parts[version] = _part(parts[version], set(parts[version].manifest.files) - {gone})
    return parts


class Life(RuleBasedStateMachine):
    """One tree. `mine` maps a token to the file that it was written into; a token is a line of its own."""

    releases: dict[str, Prepared]

    def __init__(self) -> None:
        super().__init__()
        self.place = TemporaryDirectory()
        self.root = Path(self.place.name)
        self.count = 0
        self.tokens: dict[bytes, bool] = {}  # whether it is in a file that fl-gen makes, where --overwrite may drop it
        self.run("sim:6.14", Policy.REFUSE)

    def teardown(self) -> None:
        self.place.cleanup()

    @property
    def generated(self) -> Path:
        return self.root / "generated" / "mlu"

    def files(self) -> list[Path]:
        """What a person may change: everything but fl-gen's own records."""
        found = [p for p in self.generated.rglob("*") if p.is_file() and RECORD_FOLDER not in p.parts]
        return sorted(p for p in found if p.name != MANIFEST_NAME)

    def pick(self, number: int) -> Path | None:
        files = self.files()
        return files[number % len(files)] if files else None

    def token(self) -> bytes:
        self.count += 1
        return b"// person %d.\n" % self.count  # none is the beginning of another

    def forget(self) -> None:
        """A person's own action may remove what they wrote: what is gone now is theirs to lose."""
        there = self.lines()
        self.tokens = {token: where for token, where in self.tokens.items() if token.strip() in there}

    def lines(self) -> set[bytes]:
        """Every line of every file."""
        files = [path.read_bytes() for path in self.root.rglob("*") if path.is_file()]
        return {line.strip() for data in files for line in data.split(b"\n")}

    @rule(number=st.integers(0, 99), line=st.integers(0, 400))
    def insert_a_line(self, number: int, line: int) -> None:
        path = self.pick(number)
        if path is not None:
            lines = path.read_bytes().splitlines(keepends=True)
            at = line % (len(lines) + 1)
            if at and not lines[at - 1].endswith(b"\n"):
                lines[at - 1] += b"\n"
            token = self.token()
            path.write_bytes(b"".join([*lines[:at], token, *lines[at:]]))
            self.tokens[token] = True

    @rule(number=st.integers(0, 99), line=st.integers(0, 400), count=st.integers(1, 30))
    def replace_lines(self, number: int, line: int, count: int) -> None:
        path = self.pick(number)
        if path is not None:
            lines = path.read_bytes().splitlines(keepends=True)
            at = line % (len(lines) + 1)
            token = self.token()
            path.write_bytes(b"".join([*lines[:at], token, *lines[at + count :]]))
            self.tokens[token] = True
            self.forget()

    @rule(number=st.integers(0, 99), kind=st.sampled_from(["crlf", "no newline", "latin-1", "empty", "mode"]))
    def change_otherwise(self, number: int, kind: str) -> None:
        path = self.pick(number)
        if path is None:
            return
        data = path.read_bytes()
        if kind == "crlf":
            path.write_bytes(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
            return  # the tokens are there, with another line end
        if kind == "mode":
            path.chmod(0o640)
        elif kind == "latin-1":
            path.write_bytes(data + b"// \xe4\xff\n")
            self.forget()  # of the last line, if it had no end
        else:
            path.write_bytes(data.rstrip(b"\n") if kind == "no newline" else b"")
            self.forget()

    @rule(number=st.integers(0, 99))
    def delete(self, number: int) -> None:
        path = self.pick(number)
        if path is not None:
            path.unlink()
            self.forget()

    @rule(number=st.integers(0, 99), name=st.sampled_from(["renamed.cc", "src/renamed.h", "new/deep/renamed.cc"]))
    def rename(self, number: int, name: str) -> None:
        path = self.pick(number)
        if path is not None:
            (self.generated / name).parent.mkdir(parents=True, exist_ok=True)
            path.rename(self.generated / name)
            self.forget()
            data = (self.generated / name).read_bytes()
            self.tokens.update({token: False for token in self.tokens if token.strip() in data})

    @rule(name=st.sampled_from(["notes.txt", "src/notes.txt", "mine/a.h", ".hidden"]), kind=st.sampled_from("fffle"))
    def foreign(self, name: str, kind: str) -> None:
        path = self.generated / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "f":
            token = self.token()
            with path.open("ab") as file:
                file.write(b"\n" + token)
            self.tokens[token] = False
        elif kind == "l" and not os.path.lexists(path.with_name("link")):
            path.with_name("link").symlink_to("/nowhere")
        elif kind == "e":
            path.with_name("empty").mkdir(exist_ok=True)

    @rule(version=st.sampled_from(VERSIONS), number=st.integers(0, 99))
    def write_where_fl_gen_will(self, version: str, number: int) -> None:
        paths = sorted(self.releases[version].manifest.files)
        path = self.generated / paths[number % len(paths)]
        path.parent.mkdir(parents=True, exist_ok=True)
        token = self.token()
        path.write_bytes(b"mine\n" + token)
        self.tokens[token] = True
        self.forget()

    @rule(number=st.integers(0, 9))
    def own_file(self, number: int) -> None:
        """In backends/: also those that fl-gen made once."""
        files = sorted(p for p in (self.root / "backends" / "mlu").rglob("*") if p.is_file())
        path = files[number % len(files)] if files and number % 3 else self.root / "backends" / "mlu" / "own.cc"
        token = self.token()
        with path.open("ab") as file:
            file.write(b"\n" + token)
        self.tokens[token] = False

    @rule(name=st.sampled_from(["old", "mlu2"]))
    def move_the_vendor(self, name: str) -> None:
        """As when a vendor is renamed: what stands under the old name is nobody's but the person's."""
        if self.generated.exists() and not (self.root / "generated" / name).exists():
            self.generated.rename(self.root / "generated" / name)
            there = b"".join(p.read_bytes() for p in (self.root / "generated" / name).rglob("*") if p.is_file())
            self.tokens.update({token: False for token in self.tokens if token.strip() in there})

    @rule()
    def resolve(self) -> None:
        """The markers of conflicts go, both sides stay."""
        for path in self.files():
            marked = set(marker_lines(path.read_bytes()))
            lines = path.read_bytes().split(b"\n")
            if marked:
                path.write_bytes(b"\n".join(line for number, line in enumerate(lines, 1) if number not in marked))

    @rule(version=st.sampled_from(VERSIONS), policy=st.sampled_from(Policy))
    def run(self, version: str, policy: Policy) -> None:
        ready = self.releases[version]
        before = snapshot(self.root)
        texts = {path: path.read_bytes() for path in self.files()} if self.generated.exists() else {}
        foreign = {p: t for p, t in texts.items() if p.relative_to(self.generated).as_posix() not in self.owned(ready)}
        backends = {path: text for path, text in before.items() if path.startswith("backends/")}
        original = workflow.prepare
        workflow.prepare = lambda request: ready
        try:
            outcome = workflow.generate(Request("mlu", sdk=(version,), output=self.root), policy)
        except PlanError:
            assert snapshot(self.root) == before
            return
        except (EditedError, MarkersError):
            assert snapshot(self.root) == before
            assert policy is not Policy.OVERWRITE
            return
        finally:
            workflow.prepare = original
        after = snapshot(self.root)
        assert {path: after.get(path) for path in backends} == backends
        assert {path: path.read_bytes() for path in foreign} == foreign
        if policy is Policy.OVERWRITE:
            dropped = {token for token, owned in self.tokens.items() if owned}
            self.tokens = {token: owned for token, owned in self.tokens.items() if token not in dropped}
        if policy is Policy.KEEP:
            kept = {path: text for path, text in texts.items() if self.edited(path, text, before)}
            assert {path: path.read_bytes() for path in kept} == kept
        manifest = load(self.generated)
        assert manifest is not None
        for path, text in ready.files.items():
            on_disk = (self.generated / path).read_bytes().replace(b"\r\n", b"\n")
            if path != MANIFEST_NAME and manifest.files[path].edit is None:
                assert on_disk == text.encode(), path
        stamps = {p: p.lstat().st_mtime_ns for p in self.generated.rglob("*")}
        if not outcome.plan.conflicts:  # again: nothing to do, nothing to ask, nothing moves
            workflow.prepare = lambda request: ready
            try:
                assert not workflow.generate(Request("mlu", sdk=(version,), output=self.root)).plan.changes
            except MarkersError:
                pass  # left in a file that was kept
            finally:
                workflow.prepare = original
            assert {p: p.lstat().st_mtime_ns for p in self.generated.rglob("*")} == stamps

    @rule(version=st.sampled_from(VERSIONS), policy=st.sampled_from([Policy.KEEP, Policy.MERGE, Policy.MERGE]))
    def resolve_and_run(self, version: str, policy: Policy) -> None:
        """A run that nothing stops: without it most runs of a random life are refused."""
        self.resolve()
        self.run(version, policy)

    def owned(self, ready: Prepared) -> set[str]:
        manifest = load(self.generated)
        return {*ready.files, *(manifest.files if manifest is not None else ())}

    def edited(self, path: Path, text: bytes, before: dict[str, Any]) -> bool:
        """Whether a text is none of those that fl-gen makes in any release: then a person had a hand in it."""
        name = path.relative_to(self.generated).as_posix()
        plain = text.replace(b"\r\n", b"\n")
        return all(plain != one.files.get(name, "\0").encode() for one in self.releases.values())

    @invariant()
    def nothing_of_a_person_is_lost(self) -> None:
        lines = self.lines()
        assert [token for token in self.tokens if token.strip() not in lines] == []

    @invariant()
    def no_temporary_file_is_left(self) -> None:
        assert [path for path in self.root.rglob("*") if "fl-gen-" in path.name] == []


@pytest.fixture
def life(releases: dict[str, Prepared], monkeypatch: pytest.MonkeyPatch) -> type[Life]:
    """The disk's log costs most of the time and is no part of what is tried here."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    return type("LifeOfReleases", (Life,), {"releases": releases})


def test_random_lives(life: type[Life]) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        life,
        settings=settings(
            max_examples=500 if TORTURE else 40,
            stateful_step_count=40 if TORTURE else 16,
            deadline=None,
            derandomize=not TORTURE,
            suppress_health_check=list(HealthCheck),
        ),
    )
