"""Small valid files of each kind, for tests that break one thing at a time."""

RUNTIME = """\
schema: 1
types:
  stream: {group: runtime, doc: A queue of work.}
operations:
  device.count:
    group: runtime
    doc: The number of devices.
    params:
      - {name: count, type: "int *"}
    result: status
    required: true
  memory.alloc_async:
    group: runtime
    doc: Allocate in stream order.
    params:
      - {name: ptr, type: "void **"}
      - {name: size, type: size_t, unit: bytes}
      - {name: stream, type: $stream}
    result: status
    strategy: {name: sync, doc: allocate synchronously}
"""

VENDOR = """\
schema: 1
vendor: chip
title: Some Chip
autocast_dtype: bfloat16
sdk:
  name: ChipSDK
  environment: [CHIP_HOME]
  roots: [/opt/chip]
  include: [include]
  library: [lib]
  version: null
  source: a header
groups:
  runtime: {name: crt, title: CRT, headers: [crt.h], libraries: [crt], required: true}
types:
  stream: [crtStream_t]
statuses:
  runtime:
    type: [crtResult_t]
    success: [crtSuccess]
    not_ready: [crtNotReady]
    oom: []
    text: crtErrorText(status)
    macro: CHIP_CHECK
    source: a header
constants:
  memcpy_kind: {h2d: [crtToDevice], d2h: [crtToHost], d2d: [crtDevice]}
bindings:
  device.count:
    - body: |
        unsigned int value = 0;
        const crtResult_t result = crtCount(&value);
        *count = static_cast<int>(value);
        return result;
      source: a header
  memory.alloc_async:
    - {expr: "crtAllocAsync(ptr, size, stream)", source: a header}
"""

OPS = """\
schema: 1
category: elementwise
ops:
  - name: AddForward
    doc: a + b.
    returns: "std::shared_ptr<Tensor>"
    params:
      - {name: a, type: "const std::shared_ptr<Tensor> &"}
      - {name: b, type: "const std::shared_ptr<Tensor> &"}
    strategy: fallback
    cpu: framework
    dtypes: [float32, bfloat16]
    output_dtype: promote(a, b)
    source: a file
    cases:
      - {a: [2, 3], b: [3]}
"""

API = """\
schema: 1
vendor: chip
sdk: ChipSDK
versions:
  - {version: "2.0", libraries: {crt: "2.0"}, certainty: inferred, source: a header}
  - {version: "1.0", libraries: {crt: "1.0"}, certainty: certain, source: a header}
layout: {include: include, library: lib, version_file: version.txt}
profile: {vendor: chip, device_name: Chip, visible_devices: CHIP_DEVICES, least_priority: 0, greatest_priority: 0, default_priority: 0}
domains:
  runtime: {type: crtResult_t, source: a header, results: {success: [crtSuccess]}}
maps: []
libraries:
  - {name: crt, domain: runtime, headers: [crt.h]}
headers:
  - path: crt.h
    library: crt
    guard: CRT_H
    sections:
      - title: Devices
        source: a header
        certainty: certain
        items:
          - {enum: crtResult_t, enumerators: {crtSuccess: 0, crtOther: {value: 0x10, since: "2.0"}}}
          - {function: crtResult_t crtCount(int *count), sim: DeviceCount(count), nonnull: [count]}
"""

KERNELS = """\
schema: 1
kernels:
  - {op: AddForward, file: add.chip, dtypes: [float32]}
"""

# The same vendor and the same api as above, as a base and a file that extends it.
VENDOR_BASE = """\
schema: 1
base: crt_like
doc: SDKs with the shape of CRT.
parameters:
  runtime: {doc: prefix of the runtime}
  macro: {doc: first word of the check macro, default: CHIP}
  told: {doc: where it is known from, text: true}
  sure: {doc: how sure it is, choices: [certain, inferred], default: certain}
autocast_dtype: bfloat16
sdk:
  include: [include]
  library: [lib]
  version: null
groups:
  runtime: {name: "${runtime}", title: CRT, headers: ["${runtime}.h"], libraries: ["${runtime}"], required: true}
types:
  stream: ["${runtime}Stream_t"]
statuses:
  runtime:
    type: ["${runtime}Result_t"]
    success: ["${runtime}Success"]
    not_ready: ["${runtime}NotReady"]
    oom: []
    text: ${runtime}ErrorText(status)
    macro: ${macro}_CHECK
    source: ${told}
constants:
  memcpy_kind: {h2d: ["${runtime}ToDevice"], d2h: ["${runtime}ToHost"], d2d: ["${runtime}Copy"]}
bindings:
  device.count:
    - body: |
        unsigned int value = 0;
        const ${runtime}Result_t result = ${runtime}Count(&value);
        *count = static_cast<int>(value);
        return result;
      certainty: ${sure}
      source: ${told}
"""

VENDOR_EXTENDS = """\
schema: 1
extends: crt_like
with: {runtime: crt, told: a header}
vendor: chip
title: Some Chip
sdk: {name: ChipSDK, environment: [CHIP_HOME], roots: [/opt/chip], source: a header}
constants:
  memcpy_kind: {d2d: [crtDevice]}
bindings:
  memory.alloc_async:
    - {expr: "crtAllocAsync(ptr, size, stream)", source: a header}
"""

API_BASE = """\
schema: 1
base: crt_like
doc: SDKs with the shape of CRT.
parameters:
  runtime: {doc: prefix of the runtime}
layout: {include: include, library: lib, version_file: version.txt}
profile: {least_priority: 0, greatest_priority: 0, default_priority: 7}
domains:
  runtime: {type: "${runtime}Result_t", source: a header, results: {success: ["${runtime}Success"]}}
maps: []
libraries:
  - {name: "${runtime}", domain: runtime, headers: ["${runtime}.h"]}
headers:
  - path: ${runtime}.h
    library: ${runtime}
    guard: ${RUNTIME}_H
    sections:
      - title: Devices
        source: a header
        certainty: certain
        items:
          - {enum: "${runtime}Result_t", enumerators: {"${runtime}Success": 0, "${runtime}Other": {value: 0x10, since: "2.0"}, "${runtime}Old": 3}}
          - {function: "void ${runtime}Old(int a)", sim: "Old(a)"}
          - {typedef: "void (*${runtime}Callback_t)(void *)"}
"""

API_EXTENDS = """\
schema: 1
extends: crt_like
with: {runtime: crt}
without: [crtOld, crtCallback_t]
vendor: chip
sdk: ChipSDK
versions:
  - {version: "2.0", libraries: {crt: "2.0"}, certainty: inferred, source: a header}
  - {version: "1.0", libraries: {crt: "1.0"}, certainty: certain, source: a header}
profile: {vendor: chip, device_name: Chip, visible_devices: CHIP_DEVICES, default_priority: 0}
headers:
  - path: crt.h
    sections:
      - title: Devices
        source: a header
        certainty: certain
        items:
          - {function: crtResult_t crtCount(int *count), sim: DeviceCount(count), nonnull: [count]}
"""

PROJECT = """\
schema: 1
generator: 0.1.0
framework: infinitrain
output: .
formatter: clang-format
licence: LICENCE.header
schemas: [schemas]
templates: [templates, more/templates]
vendors:
  mlu: {sdk: sim:6.14, require: [ccl]}
  maca: {sdk: /opt/maca}
  ascend:
"""

TORCH_FEATURES = """\
schema: 1
features:
  device_allocator:
    headers: [c10/core/CachingDeviceAllocator.h]
    probe: using Probe = c10::DeviceAllocator;
    doc: The interface behind torch.accelerator's memory functions.
  float4:
    headers: [c10/core/ScalarType.h, c10/core/Stream.h]
    probe: constexpr auto probe = c10::ScalarType::Float4_e2m1fn_x2;
    doc: A dtype of four bits.
"""

TORCH_OPS = """\
schema: 1
device: chip_two
categories:
  random:
    doc: Operators that draw random numbers.
    match: ["tag:nondeterministic_seeded", "aten::bernoulli*"]
    note: the numbers are those of the CPU
  foreach:
    doc: Operators on lists.
    match: ["aten::_foreach_*"]
    strategy: fallback
ops:
  aten::mm:
    strategy: library
    operation: library.gemm
    dtypes: [float32, bfloat16]
    tolerance:
      float32: {rtol: 1.0e-5, atol: 1.0e-6}
    optional: true
    note: sums in another order
  aten::add.Tensor: {strategy: composite}
"""

TORCH_KERNELS = """\
schema: 1
kernels:
  - {op: aten::relu, file: relu.cc, function: relu, dtypes: [float32, float16]}
  - {op: aten::add.Tensor, python: "adding:add", priority: 2}
"""
