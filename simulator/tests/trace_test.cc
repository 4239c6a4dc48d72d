// API calls: counts, fault injection, last error, the record of faults.
#include "test_util.h"

namespace fl::sim {
namespace {

class TraceTest : public EngineTest {
protected:
    static Result CallMe() {
        return Call("simTestApi", [] { return Result::kSuccess; });
    }
};

TEST_F(TraceTest, CountsCalls) {
    const std::uint64_t before = ApiCallCount("simTestApi");
    EXPECT_OK(CallMe());
    EXPECT_OK(CallMe());
    EXPECT_EQ(ApiCallCount("simTestApi"), before + 2);
    EXPECT_EQ(ApiCallCount("neverCalled"), 0u);
}

TEST_F(TraceTest, InjectsTheNthCall) {
    ASSERT_OK(SetFailures("other:1,simTestApi:2:oom"));
    EXPECT_OK(CallMe());
    EXPECT_EQ(CallMe(), Result::kOutOfMemory);
    EXPECT_OK(CallMe());
    ASSERT_OK(SetFailures("simTestApi:2+:not_ready"));
    EXPECT_OK(CallMe());
    EXPECT_EQ(CallMe(), Result::kNotReady);
    EXPECT_EQ(CallMe(), Result::kNotReady);
    ASSERT_OK(SetFailures("simTestApi:1,simTestApi:3:invalid"));
    EXPECT_EQ(CallMe(), Result::kInternal);
    EXPECT_OK(CallMe());
    EXPECT_EQ(CallMe(), Result::kInvalidValue);
    ASSERT_OK(SetFailures(""));
    EXPECT_OK(CallMe());
    EXPECT_EQ(FaultCount(), 0u) << "injected faults are no misuse";
}

TEST_F(TraceTest, InjectedCallDoesNotRun) {
    ASSERT_OK(SetFailures("simTestApi:1"));
    bool ran = false;
    EXPECT_EQ(Call("simTestApi",
                   [&] {
                       ran = true;
                       return Result::kSuccess;
                   }),
              Result::kInternal);
    EXPECT_FALSE(ran);
}

TEST_F(TraceTest, BadRules) {
    for (const char *rules :
         {"x", "x:", ":1", "x:0", "x:-1", "x:1:bad", "x:1++", "x:1,,y:1", "x:99999999999999999999", "x:1 "}) {
        EXPECT_EQ(SetFailures(rules), Result::kInvalidValue) << rules;
    }
    ASSERT_OK(SetFailures("simTestApi:1"));
    EXPECT_EQ(SetFailures("x"), Result::kInvalidValue);
    EXPECT_EQ(CallMe(), Result::kInternal) << "a bad text changes nothing";
    EXPECT_EQ(fl_sim_set_failures("x:"), 1);
    EXPECT_EQ(fl_sim_set_failures(nullptr), 0);
}

TEST_F(TraceTest, LastErrorOfTheThread) {
    TakeLastError();
    Call("simTestApi", [] { return Result::kNotReady; });
    EXPECT_EQ(PeekLastError(), Result::kSuccess);
    Call("simTestApi", [] { return Result::kOutOfMemory; });
    EXPECT_OK(CallMe());
    EXPECT_EQ(PeekLastError(), Result::kOutOfMemory);
    std::thread([] { EXPECT_EQ(PeekLastError(), Result::kSuccess); }).join();
    EXPECT_EQ(TakeLastError(), Result::kOutOfMemory);
    EXPECT_EQ(TakeLastError(), Result::kSuccess);
}

TEST_F(TraceTest, FaultNamesTheApiAlsoWhenItRunsLater) {
    const ScopedStream stream;
    void *memory = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    {
        Gate gate(stream);
        EXPECT_OK(Call("simMemsetAsync", [&] { return MemsetAsync(memory, 0, 64, stream); }));
        EXPECT_OK(Call("simFree", [&] { return Free(memory); }));
    }
    EXPECT_EQ(StreamSynchronize(stream), Result::kInvalidAddress);
    ExpectFault("simMemsetAsync: use after free");
    EXPECT_EQ(fl_sim_fault_count(), 1u);
    char text[16];
    EXPECT_EQ(fl_sim_last_fault(text, sizeof(text)), LastFault().size());
    EXPECT_STREQ(text, LastFault().substr(0, 15).c_str());
    ClearFaults();
    EXPECT_EQ(LastFault(), "");
}

TEST_F(TraceTest, ResultTexts) {
    for (int i = 0; i <= static_cast<int>(Result::kInternal); ++i) {
        EXPECT_STRNE(ResultName(static_cast<Result>(i)), "unknown result");
        EXPECT_STRNE(ResultText(static_cast<Result>(i)), "unknown result");
    }
    EXPECT_STREQ(ResultName(static_cast<Result>(999)), "unknown result");
}

} // namespace
} // namespace fl::sim
