#pragma once

#include <mccl.h>
#include <mcr/mc_runtime_api.h>

#include "glog/logging.h"

#define CHECK_MACA(call)                                                                                               \
    do {                                                                                                               \
        const mcError_t status = (call);                                                                               \
        CHECK(status == mcSuccess) << mcGetErrorString(status);                                                        \
    } while (0)

#define CHECK_MCCL(call)                                                                                               \
    do {                                                                                                               \
        const mcclResult_t status = (call);                                                                            \
        CHECK(status == mcclSuccess) << mcclGetErrorString(status);                                                    \
    } while (0)
