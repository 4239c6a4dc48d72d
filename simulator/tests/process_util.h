// Starts the child program with an environment of its own.
#pragma once

#include <cstdio>

#include <sys/wait.h>

#include "test_util.h"

namespace fl::sim {

struct Outcome {
    int code = -1;
    std::string output; // stdout and stderr
};

class Child {
public:
    Child(const std::string &environment, const std::string &arguments)
        // FL_SIM_QUIET is set for the tests themselves; children speak unless told otherwise.
        : pipe_(
            popen(("env -u FL_SIM_QUIET " + environment + " '" FL_SIM_CHILD "' " + arguments + " 2>&1").c_str(), "r")) {
        EXPECT_NE(pipe_, nullptr);
    }
    Outcome Wait() {
        Outcome outcome;
        char text[4096];
        std::size_t length = 0;
        while ((length = fread(text, 1, sizeof(text), pipe_)) > 0) { outcome.output.append(text, length); }
        const int status = pclose(pipe_);
        outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        return outcome;
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

private:
    FILE *pipe_;
};

inline Outcome RunChild(const std::string &environment, const std::string &arguments) {
    return Child(environment, arguments).Wait();
}

inline void ExpectContains(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

inline std::string ReadFile(const std::string &path) {
    std::string content;
    if (FILE *const file = fopen(path.c_str(), "r")) {
        char text[4096];
        std::size_t length = 0;
        while ((length = fread(text, 1, sizeof(text), file)) > 0) { content.append(text, length); }
        fclose(file);
    }
    return content;
}

} // namespace fl::sim
