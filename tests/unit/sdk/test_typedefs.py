"""SDKs whose handles are all `void *` and whose statuses are `int`: the typedef's name is compared too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fl_gen.sdk.items import Verdict

HEADERS = ("acl/acl_rt.h",)
STREAM, EVENT = ("aclrtStream", "stream"), ("aclrtEvent", "event")
MEMORY = (("void *", "dst"), ("size_t", "room"), ("const void *", "src"), ("size_t", "size"), STREAM)


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("aclrtRecordEvent(event, stream)", (EVENT, STREAM)),
        ("aclrtCreateStream(stream)", (("aclrtStream *", "stream"),)),
        ("aclrtSynchronizeStream(nullptr)", ()),
        ("aclrtMemcpyAsync(dst, room, src, size, ACL_MEMCPY_HOST_TO_DEVICE, stream)", MEMORY),
        ("aclrtCreateEventWithFlag(event, ACL_EVENT_SYNC)", (("aclrtEvent *", "event"),)),
        ("aclrtSetDevice(device)", (("int", "device"),)),
        ("aclrtFree(dst)", (("void *", "dst"),)),
        ("aclGetText(code)", (("int", "code"),)),
        ("aclGetText(aclrtFree(dst))", (("void *", "dst"),)),
        ("aclrtSetDevice(status)", (("aclError", "status"),)),
        ("aclrtSynchronizeStream(static_cast<aclrtStream>(raw))", (("void *", "raw"),)),
    ],
)
def test_right_use_is_accepted(
    judge_one: Callable[..., Verdict], code: str, params: tuple[tuple[str, str], ...]
) -> None:
    verdict = judge_one(code, "expr", "aclError", params, headers=HEADERS, strict=True)
    assert verdict.ok, [d.message for d in verdict.diagnostics]


@pytest.mark.parametrize(
    ("code", "params", "says", "offset"),
    [
        (
            "aclrtRecordEvent(stream, event)",
            (STREAM, EVENT),
            "argument 1 of aclrtRecordEvent is aclrtEvent, and this is aclrtStream; both are void *",
            17,
        ),
        (
            "aclrtCreateStream(event)",
            (("aclrtEvent *", "event"),),
            "argument 1 of aclrtCreateStream is aclrtStream, and this is aclrtEvent",
            18,
        ),
        ("aclrtFree(stream)", (STREAM,), "argument 1 of aclrtFree is void *, and this is aclrtStream", 10),
        ("aclrtSynchronizeStream(raw)", (("void *", "raw"),), "is aclrtStream, and this is void *", 23),
        ("aclGetText(code)", (("HcclCode", "code"),), "argument 1 of aclGetText is aclError, and this is HcclCode", 11),
    ],
)
def test_mix_up_is_found(
    judge_one: Callable[..., Verdict], code: str, params: tuple[tuple[str, str], ...], says: str, offset: int
) -> None:
    assert judge_one(code, "expr", "aclError", params, headers=HEADERS).ok, "the compiler alone does not see it"
    verdict = judge_one(code, "expr", "aclError", params, headers=HEADERS, strict=True)
    assert not verdict.ok
    assert says in verdict.diagnostics[0].message
    assert verdict.diagnostics[0].location.column == 11 + offset
    assert verdict.diagnostics[0].rule == "sdk-typedef"


def test_result_of_another_kind(judge_one: Callable[..., Verdict]) -> None:
    body = "aclrtEvent event = nullptr;\nstatic_cast<void>(aclrtCreateEvent(&event));\nreturn event;"
    assert judge_one(body, "body", "aclrtStream", headers=HEADERS).ok
    verdict = judge_one(body, "body", "aclrtStream", headers=HEADERS, strict=True)
    assert "the result is aclrtEvent where aclrtStream is wanted" in verdict.diagnostics[0].message
    assert (verdict.diagnostics[0].location.line, verdict.diagnostics[0].location.column) == (3, 8)
