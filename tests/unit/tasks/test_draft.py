"""Drafts of vendor files from headers that no schema describes: what is proposed, how it is written, what is left out."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import SchemaError
from fl_gen.schema.runtime import Runtime
from fl_gen.schema.vocabulary import Vocabulary, load_vocabulary
from fl_gen.sdk.items import SdkError
from fl_gen.tasks.draft import DraftRequest, draft, vocabulary_of
from fl_gen.tasks.draft_fit import assign
from fl_gen.tasks.draft_model import Draft, Proposal
from fl_gen.tasks.draft_words import Words, pieces
from fl_gen.tasks.draft_yaml import chosen, parts_of, vendor_yaml

CATALOG = Catalog()

# A runtime in nobody's style, that has each of the oddities that SDKs are known for.
HEADER = """
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ZZ_VERSION_MAJOR 3
#define ZZ_VERSION_MINOR 14
typedef enum { ZZ_OK = 0, ZZ_INVALID = 1, ZZ_ERROR_NOT_READY = 2, ZZ_OUT_OF_MEMORY = 3 } zzStatus;
typedef enum { ZZ_COPY_HOST_TO_DEVICE = 1, ZZ_COPY_DEVICE_TO_HOST = 2, ZZ_COPY_DEVICE_TO_DEVICE = 3 } zzCopyKind;
typedef enum { ZZ_ALLOC_SPECIAL = 7, ZZ_ALLOC_DEFAULT = 9 } zzAllocPolicy;
typedef enum { ZZ_EVENT_STATUS_COMPLETE = 1, ZZ_EVENT_STATUS_NOT_READY = 0 } zzEventStatus;
typedef struct zzQueueImpl *zzQueue_t;
typedef struct zzEventImpl *zzEvent_t;
typedef struct { int cores; char name[256]; char vendor_name[64]; } zzDeviceProps;
const char *zzErrorString(zzStatus status);
int zzGetDeviceCount(void);
zzStatus zzSetDevice(unsigned int device);
zzStatus zzGetDevice(int *device);
zzStatus zzDeviceSync(void);
zzStatus zzGetDeviceProps(zzDeviceProps *props, int device);
zzStatus zzCreateQueue(zzQueue_t *queue);
zzStatus zzCreateQueueWithPriority(zzQueue_t *queue, unsigned int flags, int priority);
zzStatus zzDestroyQueue(zzQueue_t *queue);
void zzSyncQueue(zzQueue_t queue, zzStatus *status);
zzStatus zzQueueWaitEvent(zzEvent_t event, zzQueue_t queue);
zzStatus zzEventCreate(zzEvent_t *event);
zzStatus zzEventDestroy(zzEvent_t event);
zzStatus zzEventRecord(zzEvent_t event, zzQueue_t queue);
zzStatus zzEventSynchronize(zzEvent_t event);
zzStatus zzEventQuery(zzEvent_t event, zzEventStatus *status);
zzStatus zzEventElapsedTime(zzEvent_t begin, zzEvent_t stop, double *ms);
zzStatus zzMalloc(void **ptr, size_t size, zzAllocPolicy policy);
void zzFree(void *ptr);
zzStatus zzMemcpy(void *dst, size_t dest_max, void *src, size_t count, zzCopyKind kind);
zzStatus zzMemcpyAsync(void *dst, const void *src, size_t size, zzQueue_t queue, zzCopyKind kind);
zzStatus zzMemcpy2D(void *dst, size_t pitch, const void *src, size_t width, size_t height, zzCopyKind kind);
zzStatus zzMemsetAsync(void *ptr, unsigned char value, size_t size, zzQueue_t queue);
zzStatus zzFreeAsync(void *ptr, zzQueue_t queue);
zzStatus zzMemGetInfo(uint64_t *free, uint64_t *total);
zzStatus zzGraphLaunch(void *graph, zzQueue_t queue);
#ifdef __cplusplus
}
#endif
"""


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return CATALOG.runtime()


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return vocabulary_of(CATALOG)


def drafted(root: Path, runtime: Runtime, vocabulary: Vocabulary, tradition: str | None = None, **files: str) -> Draft:
    """The draft of headers given as text by name, with __ for the dot."""
    (root / "include").mkdir(parents=True)
    for name, text in files.items():
        (root / "include" / name.replace("__", ".")).write_text(text)
    return draft(DraftRequest("newco", (str(root),), tradition), runtime, vocabulary)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory, runtime: Runtime, vocabulary: Vocabulary) -> Draft:
    return drafted(tmp_path_factory.mktemp("odd"), runtime, vocabulary, zz__h=HEADER)


CODES = {
    "device.count": "*count = static_cast<int>(zzGetDeviceCount());\nreturn ZZ_OK;",
    "device.set": "zzSetDevice(static_cast<unsigned int>(device))",
    "device.get": "zzGetDevice(device)",
    "device.synchronize": "zzDeviceSync()",
    "stream.create": "zzCreateQueue(stream)",
    "stream.create_with_priority": "zzCreateQueueWithPriority(stream, 0, priority)",
    "stream.destroy": "return zzDestroyQueue(&stream);",
    "stream.synchronize": "zzStatus state = ZZ_OK;\nzzSyncQueue(stream, &state);\nreturn state;",
    "stream.wait_event": "zzQueueWaitEvent(event, stream)",
    "event.query": (
        "zzEventStatus state = ZZ_EVENT_STATUS_NOT_READY;\n"
        "const zzStatus result = zzEventQuery(event, &state);\n"
        "if (result != ZZ_OK) {\n    return result;\n}\n"
        "return state == ZZ_EVENT_STATUS_COMPLETE ? ZZ_OK : ZZ_ERROR_NOT_READY;"
    ),
    "event.elapsed_time": (
        "double ms_value = 0;\n"
        "const zzStatus result = zzEventElapsedTime(start, end, &ms_value);\n"
        "*ms = static_cast<float>(ms_value);\n"
        "return result;"
    ),
    "memory.alloc": "zzMalloc(ptr, size, ZZ_ALLOC_DEFAULT)",
    "memory.free": "zzFree(ptr);\nreturn ZZ_OK;",
    "memory.copy": "zzMemcpy(dst, size, const_cast<void *>(src), size, kind)",
    "memory.copy_async": "zzMemcpyAsync(dst, src, size, stream, kind)",
    "memory.set_async": "zzMemsetAsync(ptr, static_cast<unsigned char>(value), size, stream)",
}


@pytest.mark.parametrize("operation", CODES)
def test_arguments_go_where_the_function_takes_them(odd: Draft, runtime: Runtime, operation: str) -> None:
    best = chosen(runtime.operations[operation], odd.proposals[operation])
    assert best is not None
    assert best.code == CODES[operation]
    assert best.verified


def test_types_codes_and_constants(odd: Draft) -> None:
    assert {name: type_.type for name, type_ in odd.types.items()} == {
        "stream": "zzQueue_t",
        "event": "zzEvent_t",
        "memcpy_kind": "zzCopyKind",
        "host_function": "void (*)(void *)",
    }
    status = odd.groups["runtime"].status
    assert (status.type, status.success, status.not_ready) == ("zzStatus", "ZZ_OK", ("ZZ_ERROR_NOT_READY",))
    assert status.oom == ("ZZ_OUT_OF_MEMORY",)
    assert status.text == "zzErrorString(status)"
    kinds = {value: one.name if one else None for value, one in odd.constants["memcpy_kind"].items()}
    assert kinds["h2d"] == "ZZ_COPY_HOST_TO_DEVICE"
    assert kinds["d2h"] == "ZZ_COPY_DEVICE_TO_HOST"
    assert kinds["h2h"] is None
    assert odd.version == ("zz.h", ("ZZ_VERSION_MAJOR", "ZZ_VERSION_MINOR"))
    assert odd.groups["runtime"].headers == ("zz.h",)


def test_a_name_is_copied_out_of_a_struct(odd: Draft, runtime: Runtime) -> None:
    best = chosen(runtime.operations["device.name"], odd.proposals["device.name"])
    assert best is not None
    assert best.functions == ("zzGetDeviceProps",)
    assert "zzDeviceProps properties{};" in best.code
    assert "name[length] = properties.name[length];" in best.code


def test_what_the_sdk_has_not_is_told_with_its_strategy(odd: Draft, runtime: Runtime) -> None:
    text = vendor_yaml(odd, runtime, parts_of(odd, runtime))
    assert "  stream.query:" not in text
    assert "strategy event: an event is recorded on the stream and queried" in " ".join(text.replace("#", "").split())
    # Freeing in stream order what was not allocated so would be wrong: the one is not bound without the other.
    assert "  memory.free_async:" not in text
    assert "zzFreeAsync" in text
    assert "does not go without memory.alloc_async" in " ".join(text.replace("#", "").split())


def test_the_same_headers_give_the_same_text(
    odd: Draft, runtime: Runtime, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    again = drafted(tmp_path, runtime, vocabulary, zz__h=HEADER)
    assert vendor_yaml(again, runtime, parts_of(again, runtime)) == vendor_yaml(odd, runtime, parts_of(odd, runtime))


def test_a_call_with_an_argument_that_nothing_gives_is_never_a_binding(
    runtime: Runtime, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    text = HEADER.replace("zzStatus zzGetDevice(int *device);", "zzStatus zzGetDevice(int *device, zzQueue_t where);")
    made = drafted(tmp_path, runtime, vocabulary, zz__h=text)
    first = made.proposals["device.get"][0]
    assert first.functions == ("zzGetDevice",)
    assert first.holes == ("zzQueue_t where",)
    assert chosen(runtime.operations["device.get"], made.proposals["device.get"]) is None
    text = " ".join(vendor_yaml(made, runtime, parts_of(made, runtime)).replace("#", "").split())
    assert "wants zzQueue_t where, which the operation does not give" in text


def test_a_deprecated_function_comes_after_its_successor(
    runtime: Runtime, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    text = HEADER.replace(
        "zzStatus zzDeviceSync(void);",
        "__attribute__((deprecated)) zzStatus zzDeviceSync(void);\nzzStatus zzDeviceSynchronizeAll(void);",
    )
    made = drafted(tmp_path, runtime, vocabulary, zz__h=text)
    scores = {one.functions: one.confidence for one in made.proposals["device.synchronize"]}
    assert scores[("zzDeviceSync",)] < 0.95


def test_codes_of_a_plain_integer_are_macros_or_variables(
    runtime: Runtime, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    enum = next(line for line in HEADER.splitlines() if "ZZ_OK" in line)
    plain = "typedef int zzStatus;\nstatic const int ZZ_OK = 0;\nstatic const int ZZ_ERROR_NOT_READY = 107;\n"
    made = drafted(tmp_path, runtime, vocabulary, zz__h=HEADER.replace(enum, plain))
    status = made.groups["runtime"].status
    assert (status.type, status.success, status.not_ready) == ("zzStatus", "ZZ_OK", ("ZZ_ERROR_NOT_READY",))


def test_a_type_may_be_a_macro(runtime: Runtime, vocabulary: Vocabulary, tmp_path: Path) -> None:
    text = HEADER.replace(
        "typedef struct zzQueueImpl *zzQueue_t;", "struct zzQueueImpl;\n#define zzQueue_t struct zzQueueImpl *"
    )
    made = drafted(tmp_path, runtime, vocabulary, zz__h=text)
    assert made.types["stream"].type == "zzQueue_t"
    best = made.proposals["memory.copy_async"][0]
    assert (best.code, best.verified) == ("zzMemcpyAsync(dst, src, size, stream, kind)", True)


def test_a_tradition_breaks_ties(runtime: Runtime, vocabulary: Vocabulary, tmp_path: Path) -> None:
    text = HEADER.replace(
        "zzStatus zzEventRecord(zzEvent_t event, zzQueue_t queue);",
        "zzStatus zzEventRecord(zzEvent_t event, zzQueue_t queue);\n"
        "zzStatus zzPlaceEvent(zzEvent_t event, zzQueue_t queue);",
    )
    for tradition, first in (("cnrt", "zzPlaceEvent"), ("cuda", "zzEventRecord")):
        made = drafted(tmp_path / tradition, runtime, vocabulary, tradition, zz__h=text)
        if tradition == "cuda":
            assert made.proposals["event.record"][0].functions == (first,)
        else:
            scores = {one.functions[0]: one.confidence for one in made.proposals["event.record"]}
            assert scores["zzPlaceEvent"] >= scores["zzEventRecord"]


def test_no_runtime_in_the_headers_is_an_error_that_says_what_is_there(
    runtime: Runtime, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    with pytest.raises(SdkError) as caught:
        drafted(tmp_path, runtime, vocabulary, math__h="int mySin(int);\nint myCos(int);\nint myTan(int);\n")
    assert caught.value.message == (
        f"{tmp_path}: nothing in math.h looks like a device runtime: found my* (3 functions)"
    )


def test_a_header_of_c_plus_plus_alone_is_read_too(runtime: Runtime, vocabulary: Vocabulary, tmp_path: Path) -> None:
    text = HEADER.replace('extern "C" {', "").replace("#ifdef __cplusplus\n}\n#endif", "")
    text += "template <typename T> T zzTwice(T value) { return value + value; }\nnamespace zz { class Stream; }\n"
    made = drafted(tmp_path, runtime, vocabulary, zz__h=text)
    assert made.proposals["memory.copy"][0].functions == ("zzMemcpy",)


# -- words ------------------------------------------------------------------------------------------------------------


def test_names_become_words_of_the_field(vocabulary: Vocabulary) -> None:
    words = Words(vocabulary)
    assert words.sequence(pieces("zzMemcpyAsync")[1:]) == ("mem", "copy", "async")
    assert words.sequence(pieces("ZZ_MEM_TRANS_DIR_HOST2DEV")[1:]) == ("mem", "copy", "kind", "host", "to", "device")
    assert words.sequence(pieces("zzGetCliqueId")[1:]) == words.sequence(pieces("zzGetRootInfo")[1:])
    assert words.sequence(pieces("zz_stream_create")[1:]) == words.sequence(pieces("zzQueueCreate")[1:])


def test_a_name_of_another_action_is_another_function(vocabulary: Vocabulary) -> None:
    words = Words(vocabulary)
    query = words.phrase("stream query")
    assert words.likeness_of_call(words.words(("stream", "query")), query) == 1.0
    assert words.likeness_of_call(words.words(("stream", "destroy")), query) < 0.35


def test_the_vocabulary_is_validated(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.yaml"
    path.write_text("schema: 1\nwords: {stream: [Queue]}\n")
    with pytest.raises(SchemaError) as caught:
        load_vocabulary(path, "vocabulary.yaml")
    told = {one.message for one in caught.value.diagnostics}
    assert "an item of 'stream' must be a word, not 'Queue'" in told
    assert "a vocabulary file needs the key 'operations'" in told


# -- the assignment ---------------------------------------------------------------------------------------------------


def test_the_assignment_is_the_cheapest_of_all() -> None:
    chance = random.Random(7)
    for _ in range(60):
        size = chance.randint(1, 5)
        table = [[chance.choice([0.0, 0.1, 0.5, 50.0, chance.random()]) for _ in range(size)] for _ in range(size)]
        found = assign(table)
        assert sorted(found) == list(range(size))
        best = min(
            sum(table[row][column] for row, column in enumerate(order)) for order in itertools.permutations(range(size))
        )
        assert sum(table[row][column] for row, column in enumerate(found)) == pytest.approx(best)


def test_a_required_operation_takes_the_best_there_is(runtime: Runtime) -> None:
    weak = Proposal("device.set", ("zzThing",), "zzThing(device)", "expr", 0.2, "zz.h:1")
    hollow = Proposal("device.set", ("zzOther",), "zzOther(device, nullptr)", "expr", 0.9, "zz.h:2", holes=("void *x",))
    assert chosen(runtime.operations["device.set"], (hollow, weak)) == weak
    assert chosen(runtime.operations["device.get"], (hollow, weak)) is None
