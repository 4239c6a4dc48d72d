#include "ccl_token.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

constexpr char kMagic[8] = {'F', 'L', 'S', 'I', 'M', 'I', 'D', '1'};
constexpr const char *kNamePrefix = "flsim-";

// What a token begins with; the rest of its bytes is a pattern that depends on the checksum, so that a cut token is
// found.
struct TokenHead {
    char magic[8];
    std::int32_t pid;
    std::uint32_t bytes;
    std::uint64_t start;
    std::uint64_t random[2];
    std::uint64_t checksum; // over everything before it
};
static_assert(sizeof(TokenHead) <= kCclMinTokenBytes);

std::uint64_t Fnv(const void *data, std::size_t bytes) {
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (std::size_t i = 0; i < bytes; ++i) {
        hash = (hash ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001B3u;
    }
    return hash;
}

unsigned char Padding(std::uint64_t checksum, std::size_t index) {
    return static_cast<unsigned char>((checksum >> (index % 8 * 8)) + index);
}

void Random(std::uint64_t *words, std::size_t count) {
    if (getrandom(words, count * sizeof(*words), 0) != static_cast<ssize_t>(count * sizeof(*words))) {
        // Without a random source the clock and the counter still keep the tokens of one process apart.
        static std::uint64_t counter = 0;
        for (std::size_t i = 0; i < count; ++i) {
            words[i]
                = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) + ++counter;
        }
    }
}

} // namespace

std::string TokenKey::ShmName() const {
    char text[96];
    std::snprintf(text, sizeof(text), "/%s%d-%llu-%016llx%016llx", kNamePrefix, pid,
                  static_cast<unsigned long long>(start), static_cast<unsigned long long>(random[0]),
                  static_cast<unsigned long long>(random[1]));
    return text;
}

namespace {

struct ProcessStatus {
    char state = '\0'; // as in /proc/<pid>/stat; 0: cannot be seen
    std::uint64_t start = 0;
};

ProcessStatus ReadStatus(std::int32_t pid) {
    ProcessStatus status;
    const int fd = open(Text("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return status;
    }
    char text[1024];
    const ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (length <= 0) {
        return status;
    }
    text[length] = '\0';
    // Fields 3 (state) and 22 (start), counted from behind the program's name, which may hold anything.
    const char *rest = std::strrchr(text, ')');
    if (rest == nullptr || rest[1] != ' ') {
        return status;
    }
    status.state = rest[2];
    for (int field = 2; rest != nullptr && field < 22; ++field) { rest = std::strchr(rest + 1, ' '); }
    status.start = rest == nullptr ? 0 : std::strtoull(rest, nullptr, 10);
    return status;
}

} // namespace

std::uint64_t ProcessStart(std::int32_t pid) { return ReadStatus(pid).start; }

bool ProcessIsGone(std::int32_t pid, std::uint64_t start) {
    if (kill(pid, 0) != 0 && errno == ESRCH) {
        return true;
    }
    const ProcessStatus now = ReadStatus(pid);
    // A dead process that its parent has not waited for still has a number.
    return now.state == 'Z' || now.state == 'X' || (now.start != 0 && start != 0 && now.start != start);
}

Result ReadToken(const void *token, std::size_t bytes, TokenKey *key) {
    TokenHead head;
    if (token == nullptr || bytes < kCclMinTokenBytes) {
        return Fault(Result::kInvalidValue, "the unique id is null or too short");
    }
    std::memcpy(&head, token, sizeof(head));
    bool good = std::memcmp(head.magic, kMagic, sizeof(kMagic)) == 0 && head.bytes == bytes
             && head.checksum == Fnv(&head, offsetof(TokenHead, checksum));
    for (std::size_t i = sizeof(head); good && i < bytes; ++i) {
        good = static_cast<const unsigned char *>(token)[i] == Padding(head.checksum, i);
    }
    if (!good) {
        return Fault(
            Result::kInvalidValue,
            Text("these ", bytes, " bytes are no unique id of this library, or it was damaged or cut on its way"));
    }
    key->pid = head.pid;
    key->start = head.start;
    key->random[0] = head.random[0];
    key->random[1] = head.random[1];
    if (ProcessIsGone(key->pid, key->start)) {
        return Fault(Result::kIllegalState, Text("stale unique id: process ", key->pid,
                                                 ", which made it, is gone (an id file of an earlier run?)"));
    }
    return Result::kSuccess;
}

void RemoveStaleNames() {
    DIR *const folder = opendir("/dev/shm");
    if (folder == nullptr) {
        return;
    }
    std::vector<std::string> stale;
    while (const dirent *entry = readdir(folder)) {
        int pid = 0;
        unsigned long long start = 0;
        if (std::strncmp(entry->d_name, kNamePrefix, std::strlen(kNamePrefix)) == 0
            && std::sscanf(entry->d_name + std::strlen(kNamePrefix), "%d-%llu-", &pid, &start) == 2
            && ProcessIsGone(pid, start)) {
            stale.push_back(Text("/", entry->d_name));
        }
    }
    closedir(folder);
    for (const std::string &name : stale) {
        shm_unlink(name.c_str()); // somebody else may have been faster
    }
}

Result CclGetUniqueId(void *token, std::size_t bytes) {
    if (token == nullptr || bytes < kCclMinTokenBytes || bytes > UINT32_MAX) {
        return Fault(Result::kInvalidValue, Text("no room for a unique id (", bytes, " bytes)"));
    }
    RemoveStaleNames();
    TokenHead head;
    std::memset(&head, 0, sizeof(head));
    std::memcpy(head.magic, kMagic, sizeof(kMagic));
    head.pid = getpid();
    head.bytes = static_cast<std::uint32_t>(bytes);
    head.start = ProcessStart(head.pid);
    Random(head.random, 2);
    head.checksum = Fnv(&head, offsetof(TokenHead, checksum));
    std::memcpy(token, &head, sizeof(head));
    for (std::size_t i = sizeof(head); i < bytes; ++i) {
        static_cast<unsigned char *>(token)[i] = Padding(head.checksum, i);
    }
    return Result::kSuccess;
}

} // namespace fl::sim
