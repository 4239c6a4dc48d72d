"""`--update`: what can be written mechanically is written, the schema stays sound, and a second check finds it done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.location import Location
from fl_gen.schema.paths import data_dir
from fl_gen.tasks import framework_update
from fl_gen.tasks.framework_update import apply_updates
from fl_gen.tasks.framework_values import Edit, Finding, FrameworkCheck

from .conftest import Files, call, needs_headers
from .test_check import BACKEND, CCL, GEMM, GUARD, REDUCE, RUNTIME, with_kernel_faults

SHIPPED = data_dir() / "schemas" / "frameworks" / "infinitrain"


def with_header_faults(files: Files) -> None:
    """Changes of the interface, mechanical ones and others."""
    files.change(GUARD, "    virtual int DeviceCount() const;", "    virtual int DeviceCount();")
    files.change(GUARD, "void MallocAsync(void **dev_ptr, size_t size, Stream *stream)",
                 "void MallocAsync(void **dev_ptr, uint32_t size, Stream *, int pool)")  # fmt: skip
    files.change(GUARD, "virtual void Free(void *dev_ptr) = 0;", "virtual void Free(void *dev_ptr) {}")
    files.change(GUARD, "CreateStreamWithPriority(Device device, int priority)",
                 "CreateStreamWithPriority(Device device, int priority = 3)")  # fmt: skip
    files.change(CCL, "    virtual void GroupEnd() const;",
                 "    virtual void GroupEnd() const;\n    virtual int Ranks(const CclComm *) const = 0;\n"
                 "    virtual void Flush() {}")  # fmt: skip
    files.change(RUNTIME, "    kInternal = -8,", "    kInternal = -8,\n    kBusy = -9,\n    kIdle = -10,")
    files.change(REDUCE, "    kAvg = 4,", "    kAvg = 9,")
    files.change(GEMM, "    int k = 0;", "    int64_t k = 0;")
    files.change(BACKEND, "bool HasPrivateUse1Backend();", "int HasPrivateUse1Backend(bool quiet);")
    files.change(REDUCE, "    kProd = 1, // not used by the framework\n", "")


@needs_headers
def test_round_trip(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    with_header_faults(files)
    with_kernel_faults(files)
    tree = tmp_path / "tree"
    files.write(tree)
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in SHIPPED.rglob("*.yaml")}

    first = call("framework", "check", "infinitrain", "--source", tree, "--update", "--format", "json")
    assert (first.code, first.err) == (1, "")
    value: dict[str, Any] = json.loads(first.out)
    own = "schemas/frameworks/infinitrain"
    assert set(value["updated"]) == {f"{own}/interface.yaml", f"{own}/ops/elementwise.yaml", f"{own}/ops/gelu.yaml"}
    assert {path: path.read_bytes() for path in SHIPPED.rglob("*.yaml")} == before  # the shipped files are not touched
    left = {(one["kind"], one["subject"]) for one in value["left"]}
    assert left == {
        ("enumerator-gone", "ReduceOpType::kProd"),
        ("kernel-unregistered", "TopKForward"),
        ("kernel-twice", "CosForward"),
        ("kernel-new", "FlashForward"),  # the CPU has none: somebody has to write the host's side
        ("kernel-devices", "SinForward"),
        ("call-mismatch", "ExpBackward"),
        ("call-mismatch", "AccumulateGrad"),
        ("call-mismatch", "SigmoidForward"),
        ("call-unknown", "Nowhere"),
    }
    assert not any(one["mechanical"] for one in value["left"])
    assert all(one["by_hand"] for one in value["left"])

    interface = Catalog([tmp_path / "schemas"]).framework("infinitrain").interface
    guard, ccl = interface.class_named("DeviceGuardImpl"), interface.class_named("CclImpl")
    malloc = guard.method("malloc_async")
    assert [(param.name, param.type) for param in malloc.params] == [
        ("dev_ptr", "void **"), ("size", "uint32_t"), ("stream", "Stream *"), ("pool", "int"),
    ]  # fmt: skip
    assert (guard.method("free").pure, guard.method("free").default) == (False, "nothing")
    assert guard.method("create_stream_with_priority").params[1].default == "3"
    names = [method.name.snake for method in ccl.methods]
    assert names[names.index("group_end") :][:3] == ["group_end", "ranks", "flush"]
    assert (ccl.method("ranks").pure, ccl.method("flush").default) == (True, "nothing")
    assert [value.name for value in interface.enum("RuntimeStatus").values][-3:] == ["kBusy", "kIdle", "kUnknown"]
    gelu = Catalog([tmp_path / "schemas"]).framework("infinitrain").op("GeluForward")
    assert (gelu.strategy, gelu.cpu, str(gelu.output_dtype[0])) == ("fallback", "framework", "same(input)")
    text = (tmp_path / own / "ops" / "gelu.yaml").read_text(encoding="utf-8")
    assert "# to check: written by framework check --update; strategy," in text
    comments = [line for line in (tmp_path / own / "interface.yaml").read_text().splitlines() if line.startswith("#")]
    assert comments == [line for line in (SHIPPED / "interface.yaml").read_text().splitlines() if line.startswith("#")]

    written = {path: path.read_bytes() for path in (tmp_path / "schemas").rglob("*.yaml")}
    arguments = ("framework", "check", "infinitrain", "--source", tree, "--schemas", "schemas", "--update")
    second = call(*arguments, "--format", "json")
    again: dict[str, Any] = json.loads(second.out)
    assert {(one["kind"], one["subject"]) for one in again["findings"]} == left
    assert again["updated"] == {}
    assert {path: path.read_bytes() for path in (tmp_path / "schemas").rglob("*.yaml")} == written


def test_where_changes_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    (checkout / "schemas").mkdir(parents=True)
    elsewhere.mkdir()
    target = framework_update._target
    monkeypatch.setattr(framework_update, "data_dir", lambda: checkout)
    monkeypatch.chdir(checkout)
    assert target(()) == framework_update._Target(checkout / "schemas", True)
    assert target((elsewhere,)) == framework_update._Target(elsewhere, False)
    monkeypatch.chdir(elsewhere)
    assert target(()) == framework_update._Target(elsewhere / "schemas", False)
    # An installed package is never changed, even from inside of it.
    (checkout / "_data" / "schemas").mkdir(parents=True)
    monkeypatch.setattr(framework_update, "data_dir", lambda: checkout / "_data")
    monkeypatch.chdir(checkout / "_data")
    assert target(()) == framework_update._Target(checkout / "_data" / "schemas", False)


def check_of(*findings: Finding) -> FrameworkCheck:
    """A check that found these."""
    return FrameworkCheck("infinitrain", "tree", findings, (), (), 1, {}, 0, (), "clang")


def changed(subject: str, *edits: Edit) -> Finding:
    place = Location("tree/a.h", 1, 1)
    return Finding("kind", "error", subject, "message", "meaning", place, place, edits)


def test_an_overlay_that_was_not_read_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "schemas" / "frameworks" / "infinitrain" / "interface.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")
    monkeypatch.chdir(tmp_path)
    edit = Edit("set", "interface.yaml", ("display_name",), "Other")
    with pytest.raises(FlGenError) as stopped:
        apply_updates(check_of(changed("a", edit)), ())
    assert str(stopped.value) == (
        "schemas/frameworks/infinitrain/interface.yaml: is there, and was not read: it would be lost\n"
        "  = run again with --schemas schemas"
    )
    assert own.read_text() == "mine\n"


def test_a_file_of_the_users_own_is_changed_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "own"
    own = folder / "frameworks" / "infinitrain" / "ops" / "sigmoid.yaml"
    own.parent.mkdir(parents=True)
    text = (SHIPPED / "ops" / "sigmoid.yaml").read_text(encoding="utf-8").replace("\n", "\r\n") + "# mine\r\n"
    own.write_text(text, newline="")
    monkeypatch.chdir(tmp_path)
    updated = apply_updates(check_of(changed("a", Edit("set", "ops/sigmoid.yaml", ("ops", 0, "doc"), "new"))), [folder])
    assert (updated.files, updated.left, updated.note) == ({"own/frameworks/infinitrain/ops/sigmoid.yaml": 1}, (), "")
    after = own.read_bytes().decode()
    assert len(after.split("\r\n")) == len(text.split("\r\n"))
    assert after.endswith("# mine\r\n")
    assert "doc: new\r\n" in after
    assert [path.name for path in own.parent.iterdir()] == ["sigmoid.yaml"]


def test_what_would_make_the_schema_unsound_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    params = [
        {"name": "input", "type": "const std::shared_ptr<Tensor> &"},
        {"name": "exact", "type": "bool"},
    ]
    more = changed("Sigmoid", Edit("params", "ops/sigmoid.yaml", ("ops", 0, "params"), params))
    good = changed("Interface", Edit("set", "interface.yaml", ("display_name",), "Other"))
    nowhere = changed("Nowhere", Edit("set", "interface.yaml", ("no", "such", "key"), "x"))
    updated = apply_updates(check_of(more, good, nowhere), ())
    assert list(updated.files) == ["schemas/frameworks/infinitrain/interface.yaml"]
    assert [(one.subject, one.edits) for one in updated.left] == [("Sigmoid", ()), ("Nowhere", ())]
    assert updated.left[0].by_hand == (
        "the rest of the schema must change too: sigmoid.yaml: a case gives every argument once; these differ: exact"
    )
    assert updated.left[1].by_hand == "find no.such.key, which is written in another way"
    assert updated.note == "use it with --schemas schemas"
    assert not (tmp_path / "schemas" / "frameworks" / "infinitrain" / "ops").exists()
