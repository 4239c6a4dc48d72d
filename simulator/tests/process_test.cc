// Collectives between processes.
#include <filesystem>

#include <unistd.h>

#include "process_util.h"

namespace fl::sim {
namespace {

class ProcessTest : public EngineTest {
protected:
    static std::string NewToken(std::size_t bytes = 136) {
        std::vector<unsigned char> token(bytes);
        EXPECT_OK(CclGetUniqueId(token.data(), bytes));
        std::string hex;
        for (const unsigned char byte : token) {
            char text[3];
            std::snprintf(text, sizeof(text), "%02x", byte);
            hex += text;
        }
        return hex;
    }
    // Names that this process' tokens left behind.
    static int NamesLeft() {
        int count = 0;
        for (const auto &entry : std::filesystem::directory_iterator("/dev/shm")) {
            count += entry.path().filename().string().starts_with("flsim-" + std::to_string(getpid()) + "-") ? 1 : 0;
        }
        return count;
    }
    static void RunWorld(int processes, int threads) {
        const std::string token = NewToken();
        std::vector<std::unique_ptr<Child>> children;
        for (int i = 0; i < processes; ++i) {
            children.push_back(std::make_unique<Child>("FL_SIM_LEAKS=fail",
                                                       "ranks " + std::to_string(i) + " " + std::to_string(processes)
                                                           + " " + std::to_string(threads) + " " + token));
        }
        for (const auto &child : children) {
            const Outcome outcome = child->Wait();
            EXPECT_EQ(outcome.code, 0) << outcome.output;
            EXPECT_EQ(outcome.output, "ok\n");
        }
        EXPECT_EQ(NamesLeft(), 0);
    }
};

TEST_F(ProcessTest, TwoProcesses) { RunWorld(2, 1); }
TEST_F(ProcessTest, ThreeProcesses) { RunWorld(3, 1); }
TEST_F(ProcessTest, TwoProcessesWithTwoThreads) { RunWorld(2, 2); }

TEST_F(ProcessTest, MissingProcessTimesOut) {
    const Outcome outcome = RunChild("FL_SIM_CCL_TIMEOUT_MS=300", "join " + NewToken());
    EXPECT_EQ(outcome.code, 0);
    ExpectContains(outcome.output, "join kTimeout");
    ExpectContains(outcome.output, "rank 1 of 2 did not join within 300 ms");
    EXPECT_EQ(NamesLeft(), 0) << "the name is removed also when nobody came";
}

TEST_F(ProcessTest, TokenOfADeadProcess) {
    const Outcome token = RunChild("", "token");
    const Outcome outcome = RunChild("", "join " + token.output);
    ExpectContains(outcome.output, "join kIllegalState");
    ExpectContains(outcome.output, "stale unique id");
}

TEST_F(ProcessTest, ProcessThatDies) {
    const std::string token = NewToken();
    const auto start = std::chrono::steady_clock::now();
    Child survivor("", "join " + token);
    const Outcome dead = RunChild("", "join-and-die " + token);
    EXPECT_EQ(dead.code, 0) << dead.output;
    const Outcome outcome = survivor.Wait();
    ExpectContains(outcome.output, "join kSuccess");
    ExpectContains(outcome.output, "error kRemoteError: the process");
    ExpectContains(outcome.output, "of rank 1 is gone");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20))
        << "found without the timeout of 30 s";
    EXPECT_EQ(NamesLeft(), 0);
}

// A process that is killed while it waits for others leaves a name; the next one that makes an id removes it.
TEST_F(ProcessTest, NamesOfDeadProcessesAreRemoved) {
    const std::string stale = "/dev/shm/flsim-2147480000-1-0000000000000000feedfeedfeedfeed";
    FILE *const file = fopen(stale.c_str(), "w");
    ASSERT_NE(file, nullptr);
    fclose(file);
    NewToken();
    EXPECT_FALSE(std::filesystem::exists(stale));
}

} // namespace
} // namespace fl::sim
