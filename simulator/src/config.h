// The engine's configuration, read from the environment once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fl::sim {

enum class LeakMode { kReport, kFail, kOff };

struct Config {
    int devices = 2;
    std::size_t memory_bytes = std::size_t{512} << 20;
    std::uint64_t seed = 1;
    unsigned delay_us = 50;
    unsigned ccl_timeout_ms = 30000;
    LeakMode leaks = LeakMode::kReport;
    std::string leak_report; // path, empty: none
    std::string trace;       // path, empty: none
    std::string failures;    // rules of FL_SIM_FAIL
    bool quiet = false;
};

// Never destroyed.
const Config &GetConfig();

// True in a child made by fork() after the engine was first used: no lock of the engine may be taken there.
bool InForkedChild();

} // namespace fl::sim
