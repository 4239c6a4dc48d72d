// Small text helpers of the simulator engine.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

namespace fl::sim {

// The arguments written one after the other.
template <typename... Parts> std::string Text(const Parts &...parts) {
    std::ostringstream stream;
    (stream << ... << parts);
    return stream.str();
}

// `text` as a JSON string with its quotes.
std::string JsonString(std::string_view text);

// Writes all of `text` to a file descriptor with as few calls as possible; errors are ignored (there is nobody to
// tell).
void WriteAll(int fd, std::string_view text);

} // namespace fl::sim
