// Entry of every test program: sets the simulator's environment before its first use.
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    // Threads exist in every test: a death test must start a program of its own.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("FL_SIM_DEVICES", "8", 0);
    setenv("FL_SIM_MEMORY_MB", "16", 0);
    setenv("FL_SIM_QUIET", "1", 0);
    const bool wants_timeouts = std::strstr(argv[0], "ccl_error") != nullptr;
    setenv("FL_SIM_CCL_TIMEOUT_MS", wants_timeouts ? "800" : "30000", 0);
    return RUN_ALL_TESTS();
}
