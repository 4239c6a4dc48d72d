// The end of the process, and the environment.
#include <algorithm>

#include <unistd.h>

#include "process_util.h"

namespace fl::sim {
namespace {

class ExitTest : public EngineTest {
protected:
    static std::string Scratch(const std::string &name) {
        return testing::TempDir() + "fl_sim_" + std::to_string(getpid()) + "_" + name;
    }
};

TEST_F(ExitTest, LeaksAreReported) {
    const Outcome outcome = RunChild("", "leak");
    EXPECT_EQ(outcome.code, 0);
    ExpectContains(outcome.output, "3 objects leaked, 2 of process lifetime");
    ExpectContains(outcome.output, "device memory: 1 leaked (1000 bytes), 1 of process lifetime");
    ExpectContains(outcome.output, "1000 bytes, device 0, made by simMalloc");
    ExpectContains(outcome.output, "event: 1 leaked, 0 of process lifetime");
    ExpectContains(outcome.output, "simHandle: 1 leaked");
    ExpectContains(outcome.output, "stream: 0 leaked, 1 of process lifetime");
}

TEST_F(ExitTest, LeaksCanFailTheProcess) {
    EXPECT_EQ(RunChild("FL_SIM_LEAKS=fail", "leak").code, kLeakExitCode);
    const Outcome off = RunChild("FL_SIM_LEAKS=off", "leak");
    EXPECT_EQ(off.code, 0);
    EXPECT_EQ(off.output, "");
}

TEST_F(ExitTest, StaticDestructorsMayUseTheApi) {
    const Outcome outcome = RunChild("FL_SIM_LEAKS=fail", "clean");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.output, "late release done\n");
}

TEST_F(ExitTest, LeakReportAsJson) {
    const std::string path = Scratch("leaks.json");
    EXPECT_EQ(RunChild("FL_SIM_LEAK_REPORT=" + path, "leak").code, 0);
    const std::string json = ReadFile(path);
    ExpectContains(json, "\"leaked\":3,");
    ExpectContains(json, "{\"kind\":\"device memory\",\"leaked\":1,\"process_lifetime\":1,\"bytes\":1000}");
    EXPECT_EQ(RunChild("FL_SIM_LEAK_REPORT=" + path, "clean").code, 0);
    ExpectContains(ReadFile(path), "\"leaked\":0,");
    unlink(path.c_str());
}

TEST_F(ExitTest, UnusedEngineSaysNothing) {
    const Outcome outcome = RunChild("FL_SIM_LEAKS=fail FL_SIM_DEVICES=x", "nothing");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.output, "");
}

TEST_F(ExitTest, Trace) {
    const std::string path = Scratch("trace.json");
    const Outcome outcome = RunChild("FL_SIM_TRACE=" + path, "faulty");
    EXPECT_EQ(outcome.code, 0);
    ExpectContains(outcome.output, "fl-sim: fault: simMemcpy: overflow: 32 bytes");
    const std::string trace = ReadFile(path);
    ExpectContains(trace, "{\"type\":\"call\",\"api\":\"simMalloc\",\"device\":0,");
    ExpectContains(trace, "{\"type\":\"fault\",\"api\":\"simMemcpy\"");
    ExpectContains(trace, "\"result\":\"kInvalidAddress\"");
    ExpectContains(trace, "\"detail\":\"said \\\"so\\\"\"}");
    EXPECT_EQ(std::count(trace.begin(), trace.end(), '\n'), 4);
    EXPECT_EQ(RunChild("FL_SIM_QUIET=1", "faulty").output, "");
    ExpectContains(RunChild("FL_SIM_TRACE=/nonexistent/trace", "faulty").output, "cannot be opened");
    unlink(path.c_str());
}

TEST_F(ExitTest, InjectionFromTheEnvironment) {
    EXPECT_EQ(RunChild("FL_SIM_FAIL=simMalloc:2:oom,simMalloc:4", "injected").output,
              "kSuccess kOutOfMemory kSuccess kInternal \n");
    EXPECT_EQ(RunChild("FL_SIM_FAIL=simMalloc:3+:invalid", "injected").output,
              "kSuccess kSuccess kInvalidValue kInvalidValue \n");
    const Outcome bad = RunChild("FL_SIM_FAIL=simMalloc", "injected");
    ExpectContains(bad.output, "FL_SIM_FAIL='simMalloc' is not a list");
    ExpectContains(bad.output, "kSuccess kSuccess kSuccess kSuccess");
}

TEST_F(ExitTest, Environment) {
    EXPECT_EQ(RunChild("-u FL_SIM_DEVICES -u FL_SIM_MEMORY_MB", "environment").output,
              "devices 2\nmemory 512\nphysical 0\n");
    EXPECT_EQ(RunChild("FL_SIM_DEVICES=3 FL_SIM_MEMORY_MB=16", "environment").output,
              "devices 3\nmemory 16\nphysical 0\n");
    for (const char *bad : {"-1", "65", "x", "2x", " 2", "99999999999999999999999"}) {
        const Outcome outcome = RunChild("FL_SIM_DEVICES='" + std::string(bad) + "'", "environment");
        EXPECT_EQ(outcome.output.substr(0, outcome.output.find('\n')),
                  "fl-sim: FL_SIM_DEVICES='" + std::string(bad) + "' is not a number from 0 to 64; using 2");
        ExpectContains(outcome.output, "devices 2\n");
    }
    ExpectContains(RunChild("FL_SIM_LEAKS=maybe", "leak").output,
                   "FL_SIM_LEAKS='maybe' is not report, fail or off; using report");
}

TEST_F(ExitTest, NoDevices) {
    EXPECT_EQ(RunChild("FL_SIM_DEVICES=0 FL_SIM_QUIET=1", "environment").output,
              "devices 0\nset kNoDevice\nmalloc kNoDevice\n");
}

TEST_F(ExitTest, VisibleDevicesAndProfile) {
    EXPECT_EQ(RunChild("FL_SIM_DEVICES=4 FL_SIM_MEMORY_MB=8 SIM_VISIBLE_DEVICES=2,0", "visible").output,
              "priorities 7..0\ndevices 2\nmemory 8\nphysical 2\n");
    const Outcome bad = RunChild("FL_SIM_DEVICES=2 FL_SIM_MEMORY_MB=8 SIM_VISIBLE_DEVICES=1,5", "visible");
    ExpectContains(bad.output, "SIM_VISIBLE_DEVICES='1,5' names at '5' no further device");
    ExpectContains(bad.output, "devices 1\nmemory 8\nphysical 1\n");
    ExpectContains(RunChild("FL_SIM_QUIET=1 SIM_VISIBLE_DEVICES=", "visible").output, "devices 0\n");
}

TEST_F(ExitTest, ForkedChildren) {
    const Outcome outcome = RunChild("FL_SIM_LEAKS=fail", "fork");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    // Not equal: LeakSanitizer says something of its own about threads in a forked child.
    ExpectContains(outcome.output, "quiet 0 user 7\n");
    EXPECT_EQ(outcome.output.find("fl-sim:"), std::string::npos) << outcome.output;
}

} // namespace
} // namespace fl::sim
