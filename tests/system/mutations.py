"""The faults of test_mutations.py: what is broken in which template or schema, and the generated test that must notice."""

from __future__ import annotations

from .mutating import Mutation

_SRC = "templates/infinitrain/src"
_GUARD = f"{_SRC}/runtime/{{vendor}}_guard_impl.cc.j2"
_RUNTIME = f"{_SRC}/runtime/{{vendor}}_runtime_common.cc.j2"
_DEFERRED = f"{_SRC}/runtime/{{vendor}}_deferred_release.cc.j2"
_CCL = f"{_SRC}/ccl/{{ccl}}_impl.cc.j2"
_AVERAGE = f"{_SRC}/ccl/{{ccl}}_average.cc.j2"
_SUPPORT = f"{_SRC}/kernels/fallback/support.cc.j2"
_CATEGORY = f"{_SRC}/kernels/fallback/category.cc.j2"
_ROUTER = f"{_SRC}/kernels/router.cc.j2"
_HOST = f"{_SRC}/kernels/host"
_VENDOR = "schemas/vendors/mlu/vendor.yaml"
_OPS = "schemas/frameworks/infinitrain/ops"
# With the simulator's streams far behind the host a missing wait cannot go unnoticed.
_DELAYED = (("FL_SIM_DELAY_US", "2000"),)

MUTATIONS = (
    # --- kernels ------------------------------------------------------------------------------------------------------
    Mutation(
        "cos_for_sin",
        f"{_SRC}/kernels/register_kernels.cc.j2",
        "{{ op.name }}, {{ op.registered }})",
        "{{ op.name }}, {{ op.registered | replace('SinForward', 'CosForward') }})",
        "test_ops",
        "ElementwiseOpsTest.SinForward",
    ),
    Mutation(
        "swapped_arguments_of_a_cpu_kernel",
        _CATEGORY,
        "const auto {{ result }} = {{ op.compute }};",
        "const auto {{ result }} = {{ op.compute | replace('(a_host, b_host)', '(b_host, a_host)') }};",
        "test_ops",
        "ElementwiseOpsTest.SubForward",
    ),
    Mutation(
        "dropped_copy_back",
        _CATEGORY,
        "    {{ call }}.CopyBack({{ name }}_host, {{ name }});\n",
        "    static_cast<void>({{ name }}_host);\n",
        "test_ops",
        "OtherOpsTest.AccumulateGrad",
    ),
    Mutation(
        "output_left_on_the_cpu",
        _SUPPORT,
        "    auto output = std::make_shared<Tensor>(converted->Dims(), dtype, device_);\n"
        "    CopyToDevice(output->DataPtr(), converted->DataPtr(), converted->SizeInBytes(), device_);\n",
        "    auto output = converted;\n",
        "test_ops",
        "ElementwiseOpsTest.AddForward",
    ),
    Mutation(
        "result_of_another_dtype",
        _CATEGORY,
        "{{ call }}.ToDevice({{ result }}, {{ op.output_dtype }});",
        "{{ call }}.ToDevice({{ result }}, {{ 'DataType::kFLOAT32' if op.name == 'ExpForward' else op.output_dtype }});",
        "test_ops",
        "ElementwiseOpsTest.ExpForward",
    ),
    Mutation(
        "wrong_dtype_rule",
        f"{_OPS}/elementwise.yaml",
        "    output_dtype: promote(grad_output, input)\n"
        '    source: "kernels/cpu/elementwise.cc, kernels/cuda/elementwise.cu"\n'
        "    cases:\n"
        "      - {grad_output: [2, 3], input: {shape: [2, 3], low: 0.25, high: 4}}\n\n"
        "  - name: SinForward",
        "    output_dtype: same(grad_output)\n"
        '    source: "kernels/cpu/elementwise.cc, kernels/cuda/elementwise.cu"\n'
        "    cases:\n"
        "      - {grad_output: [2, 3], input: {shape: [2, 3], low: 0.25, high: 4}}\n\n"
        "  - name: SinForward",
        "test_ops",
        "ElementwiseOpsTest.ReciprocalBackward",
    ),
    Mutation(
        "view_offset_dropped",
        f"{_SRC}/kernels/no_op.cc.j2",
        "    return std::make_shared<Tensor>(*tensor, 0, dims);",
        "    return std::make_shared<Tensor>(dims, tensor->Dtype(), tensor->GetDevice());",
        "test_ops",
        "DeviceOpsTest.NoOpsAreViews",
    ),
    Mutation(
        "stride_of_a_reduction_dropped",
        f"{_HOST}/reduction.cc.j2",
        "from[(outer * blocks.size + row) * blocks.inner + inner]",
        "from[(outer * blocks.inner + inner) * blocks.size + row]",
        "test_ops",
        "OtherOpsTest.MeanForward",
    ),
    Mutation(
        "mean_not_divided",
        f"{_HOST}/reduction.cc.j2",
        "return value / static_cast<float>(length);",
        "return length > 0 ? value : 0.0f;",
        "test_ops",
        "OtherOpsTest.MeanForward",
    ),
    Mutation(
        "max_starts_at_zero",
        f"{_HOST}/reduction.cc.j2",
        "input, dim, keep_dim, -std::numeric_limits<float>::infinity(),",
        "input, dim, keep_dim, 0.0f,",
        "test_ops",
        "OtherOpsTest.MaxForward",
    ),
    Mutation(
        "mask_over_leading_dimensions",
        f"{_HOST}/mask.cc.j2",
        "const size_t first = fits_tail ? tail : 0;",
        "const size_t first = tail;",
        "test_ops",
        "LayoutOpsTest.MaskForward",
    ),
    Mutation(
        "one_tensor_copied_for_another",
        _SUPPORT,
        "        if (source == tensor.get() && copied_dtype == dtype) {",
        "        if (copied_dtype == dtype) {",
        "test_ops",
        "ElementwiseOpsTest.MulForward",
    ),
    Mutation(
        "calls_not_counted",
        _SUPPORT,
        "    op.calls.fetch_add(1, std::memory_order_relaxed);\n",
        "",
        "test_ops",
        "RouterTest.StatisticsCountCallsAndBytes",
    ),
    Mutation(
        "bytes_to_the_device_not_counted",
        _SUPPORT,
        "    bytes_to_device_ += converted->SizeInBytes();\n    return output;",
        "    return output;",
        "test_ops",
        "RouterTest.StatisticsCountCallsAndBytes",
    ),
    Mutation(
        "blacklist_ignored",
        _ROUTER,
        "    if (DeviceKernelEnabled(Op::k{{ op.name }}) && {{ op.library_condition }}) {",
        "    if ({{ op.library_condition }}) {",
        "test_ops",
        "RouterTest.BlacklistSendsCastToTheHost",
    ),
    Mutation(
        "strict_mode_only_warns",
        _SUPPORT,
        '        LOG(FATAL) << info_.name << ": the {{ v.snake }} backend has no device kernel for this call, and',
        '        LOG(WARNING) << info_.name << ": the {{ v.snake }} backend has no device kernel for this call, and',
        "test_ops",
        "RouterDeathTest.StrictModeSaysWhichKernelIsMissingAndWhatToDo",
    ),
    Mutation(
        "gradients_of_one_rank_left_out",
        f"{_SRC}/kernels/fallback/comm.cc.j2",
        "            for (double &sum : sums) { sum += *value++; }",
        "            for (double &sum : sums) { sum = *value++; }",
        "test_ops",
        "CommOpsTest.ReduceAddCoalescedAddsUpEachGradient",
    ),
    # --- memory -------------------------------------------------------------------------------------------------------
    Mutation(
        "d2h_not_waited",
        _GUARD,
        "        Copy(dst, src, count, kind, StreamFor(owner, given), true);\n        return;",
        "        Copy(dst, src, count, kind, StreamFor(owner, given), kind == MemcpyKind::kH2D);\n        return;",
        "test_runtime",
        "Memory.DownloadWaitsForTheWorkBefore",
        _DELAYED,
    ),
    Mutation(
        "h2d_not_waited",
        _GUARD,
        "        Copy(dst, src, count, kind, StreamFor(owner, given), true);\n        return;",
        "        Copy(dst, src, count, kind, StreamFor(owner, given), kind == MemcpyKind::kD2H);\n        return;",
        "test_runtime",
        "Memory.UploadHasReadItsSourceWhenItReturns",
        _DELAYED,
    ),
    Mutation(
        "d2h_dropped",
        _GUARD,
        "    Copy(staging.data(), src, count, MemcpyKind::kD2H, StreamFor(source, given), true);\n",
        "",
        "test_runtime",
        "Memory.CopyBetweenDevices",
    ),
    Mutation(
        "owner_of_the_address_ignored",
        _GUARD,
        "    return AllocationTable::Instance().Owner(address).value_or(static_cast<int8_t>(given));",
        "    return address == nullptr ? 0 : given;",
        "test_runtime",
        "Memory.UploadToAnotherDeviceThanTheStreams",
    ),
    Mutation(
        "free_async_at_once",
        _GUARD,
        '        {{ sdk.check("memory.free_async", "dev_ptr", "last_user.handle()") }}',
        '        static_cast<void>(last_user);\n        {{ sdk.check("memory.free", "dev_ptr") }}',
        "test_runtime",
        "Memory.FreeIsOrderedBehindTheWorkBefore",
        _DELAYED,
    ),
    Mutation(
        "copy_of_nothing_needs_addresses",
        _GUARD,
        "ToStream(stream);\n    if (count == 0) {\n        return;\n    }\n",
        "ToStream(stream);\n",
        "test_runtime",
        "Memory.NothingIsANullAddressEverywhere",
    ),
    Mutation(
        "peak_not_reset",
        _GUARD,
        '    {{ sdk.check("memory.pool_reset_peak", "OrdinalOf(index)") }}\n',
        "",
        "test_runtime",
        "Memory.PeakFollowsTheLargestUse",
    ),
    # --- streams and events -------------------------------------------------------------------------------------------
    Mutation(
        "device_not_restored",
        _RUNTIME,
        '    const DeviceScope scope(device_);\n    {{ sdk.check("stream.synchronize", "handle_") }}',
        '    SetCurrentDevice(device_);\n    {{ sdk.check("stream.synchronize", "handle_") }}',
        "test_runtime",
        "Devices.NoCallLeavesAnotherDeviceCurrent",
    ),
    Mutation(
        "wait_dropped",
        _RUNTIME,
        '    {{ sdk.check("stream.wait_event", "stream.handle()", "handle_", "flags") }}\n',
        "    static_cast<void>(flags);\n",
        "test_runtime",
        "Events.WaitHoldsAnotherStreamBack",
    ),
    Mutation(
        "not_ready_is_an_error",
        _VENDOR,
        "    not_ready: [cnrtErrorNotReady, cnrtErrorBusy, CNRT_RET_ERR_BUSY]\n",
        "    not_ready: [cnrtErrorDeviceInvalid]\n",
        "test_runtime",
        "Events.PendingWorkIsNotReady",
    ),
    Mutation(
        "out_of_memory_not_told_apart",
        _VENDOR,
        "    oom: [cnrtErrorNoMem, cnrtErrorSysNoMem, CNRT_RET_ERR_NOMEM]\n",
        "    oom: []\n",
        "test_runtime",
        "MemoryDeathTest.OutOfMemorySaysHowMuchIsFree",
    ),
    Mutation(
        "events_in_microseconds",
        _VENDOR,
        '    - expr: cnrtNotifierElapsedTime(start, end, ms)\n      source: "cnrt.h 6.0.2, 6.14.1"\n',
        '    - expr: cnrtNotifierElapsedTime(start, end, ms)\n      scale: 0.001\n      source: "cnrt.h 6.0.2, 6.14.1"\n',
        "test_runtime",
        "Events.ElapsedTimeIsInMilliseconds",
    ),
    Mutation(
        "swapped_events",
        _GUARD,
        '"ToEvent(start_event).handle()", "ToEvent(stop_event).handle()"',
        '"ToEvent(stop_event).handle()", "ToEvent(start_event).handle()"',
        "test_runtime",
        "Events.ElapsedTimeIsInMilliseconds",
    ),
    Mutation(
        "event_leaked",
        _DEFERRED,
        '        const DeviceScope scope(device);\n        {{ sdk.check("event.destroy", "event") }}',
        "        static_cast<void>(event);\n        static_cast<void>(device);",
        "test_runtime",
        "Events.ManyShortLivedEventsLeaveNothingBehind",
    ),
    Mutation(
        "event_stays_on_its_first_device",
        _RUNTIME,
        "    if (stream.device() != device_) {\n",
        "    if (stream.device() < 0) {\n",
        "test_runtime",
        "Devices.NoCallLeavesAnotherDeviceCurrent",
    ),
    Mutation(
        "stream_given_up_is_waited_for",
        _RUNTIME,
        "{{ v.pascal }}Stream::~{{ v.pascal }}Stream() { ReleaseStream(handle_, device_); }",
        "{{ v.pascal }}Stream::~{{ v.pascal }}Stream() {\n    Synchronize();\n    ReleaseStream(handle_, device_);\n}",
        "test_runtime",
        "Events.StreamMayBeDeletedWithWorkQueued",
        seconds=15,  # it waits for what only it could let go on
    ),
    Mutation(
        "default_stream_made_again",
        _GUARD,
        "Stream *{{ v.pascal }}GuardImpl::GetStream(Device device) const { return &DefaultStream(IndexOf(device)); }",
        "Stream *{{ v.pascal }}GuardImpl::GetStream(Device device) const {\n"
        "    return new {{ v.pascal }}Stream(IndexOf(device));\n"
        "}",
        "test_runtime",
        "Streams.DefaultStreamIsOneForEachDevice",
    ),
    # --- collectives --------------------------------------------------------------------------------------------------
    Mutation(
        "reductions_swapped",
        _CCL,
        "        return {{ ops_known[name] }};",
        "        return {{ ops_known[{'min': 'max', 'max': 'min'}.get(name, name)] }};",
        "test_cncl",
        "Ranks/CnclTest.AllReduceIntoAnotherBuffer/2",
    ),
    Mutation(
        "average_not_divided",
        _AVERAGE,
        "values[i] = static_cast<T>(static_cast<Wide>(values[i]) / wide_divisor);",
        "values[i] = static_cast<T>(static_cast<Wide>(values[i]) / (wide_divisor / wide_divisor));",
        "test_cncl",
        "Ranks/CnclTest.AllReduceIntoAnotherBuffer/2",
    ),
    Mutation(
        "sum_of_16_bit_floats_rounded",
        _AVERAGE,
        "bool IsSummedInFloat(DataType dtype) { return dtype == DataType::kBFLOAT16 || dtype == DataType::kFLOAT16; }",
        "bool IsSummedInFloat(DataType dtype) { return dtype == DataType::kBFLOAT16; }",
        "test_cncl",
        "CnclAverageTest.Float16SumMayLeaveTheRange",
    ),
    Mutation(
        "count_of_all_ranks_in_all_gather",
        _CCL,
        "{{ sdk.check('ccl.all_gather', 'sendbuff', 'recvbuff', 'count', 'type', 'own.handle()', 'queue') }}",
        "{{ sdk.check('ccl.all_gather', 'sendbuff', 'recvbuff', 'count / own.nranks()', 'type', 'own.handle()', 'queue') }}",
        "test_cncl",
        "Ranks/CnclTest.AllGather/2",
    ),
    Mutation(
        "null_send_buffer_of_a_broadcast",
        _CCL,
        "    const void *const source = own.rank() == root ? sendbuff : recvbuff;",
        "    const void *const source = sendbuff;",
        "test_cncl",
        "Ranks/CnclTest.BroadcastNeedsASendBufferOnTheRootOnly/2",
    ),
    Mutation(
        "root_of_a_reduce_mirrored",
        _CCL,
        "'op', 'root', 'comm.handle()', 'queue'",
        "'op', 'comm.nranks() - 1 - root', 'comm.handle()', 'queue'",
        "test_cncl",
        "Ranks/CnclTest.ReduceWritesOnTheRootOnly/2",
    ),
    Mutation(
        "group_of_the_process",
        _CCL,
        "thread_local Group group;",
        "Group group;",
        "test_cncl",
        "Ranks/CnclTest.AGroupBelongsToItsThread/2",
    ),
    Mutation(
        "communicator_leaked",
        f"{_SRC}/ccl/{{ccl}}_common.cc.j2",
        "    {{ sdk.check('ccl.comm_destroy', 'handle') }}",
        "    static_cast<void>(handle);",
        "test_cncl",
        "Ranks/CnclTest.AllGather/2",
    ),
)
