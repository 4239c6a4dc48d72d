/* Preloaded into a test: counts the calls that change the disk, and at a chosen one kills the process or lets the call fail.

   Between two such calls the disk does not change, so a kill before each of them is a kill at every system call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_long calls;
static atomic_long target = -1;
static int failure; /* 0: kill */

void fl_arm(long at, int error) {
    calls = 0;
    failure = error;
    target = at;
}

long fl_calls(void) { return calls; }

/* Whether this call is the one that has to fail. Does not return when it is the one to be killed at. */
static int chosen(void) {
    const long now = atomic_fetch_add(&calls, 1);
    if (target < 0 || now != target) {
        return 0;
    }
    if (failure == 0) {
        kill(getpid(), SIGKILL);
        pause();
    }
    errno = failure;
    return 1;
}

#define WRAP(type, name, parameters, arguments)                                                                        \
    type name parameters {                                                                                             \
        static type(*real) parameters;                                                                                 \
        if (real == NULL) {                                                                                            \
            real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                                        \
        }                                                                                                              \
        return chosen() ? (type)-1 : real arguments;                                                                   \
    }

WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
WRAP(int, rmdir, (const char *path), (path))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, unlinkat, (int at, const char *path, int flags), (at, path, flags))
WRAP(int, link, (const char *from, const char *to), (from, to))
WRAP(int, linkat, (int at, const char *from, int to_at, const char *to, int flags), (at, from, to_at, to, flags))
WRAP(int, symlink, (const char *to, const char *path), (to, path))
WRAP(int, symlinkat, (const char *to, int at, const char *path), (to, at, path))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, renameat, (int at, const char *from, int to_at, const char *to), (at, from, to_at, to))
WRAP(int, renameat2, (int at, const char *from, int to_at, const char *to, unsigned flags),
     (at, from, to_at, to, flags))
WRAP(int, chmod, (const char *path, mode_t mode), (path, mode))
WRAP(int, fchmod, (int file, mode_t mode), (file, mode))
WRAP(int, fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags))
WRAP(int, utimensat, (int at, const char *path, const struct timespec times[2], int flags), (at, path, times, flags))
WRAP(int, fsync, (int file), (file))
WRAP(ssize_t, write, (int file, const void *data, size_t size), (file, data, size))
WRAP(ssize_t, pwrite, (int file, const void *data, size_t size, off_t at), (file, data, size, at))

static int opened(const char *name, int flags) { return (flags & (O_CREAT | O_TRUNC)) != 0 && name != NULL && chosen(); }

#define WRAP_OPEN(name)                                                                                                \
    int name(const char *path, int flags, ...) {                                                                       \
        static int (*real)(const char *, int, ...);                                                                    \
        if (real == NULL) {                                                                                            \
            real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);                                           \
        }                                                                                                              \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;                                         \
        va_end(rest);                                                                                                  \
        return opened(path, flags) ? -1 : real(path, flags, mode);                                                     \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)
