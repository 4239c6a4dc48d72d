"""Minimal C headers, in memory, for machines without a compiler.

They are made from the macros that clang itself defines for its target, so sizes and ranges are the target's own. They
declare what headers of accelerator runtimes use: types, limits and the commonest functions; a header that needs more
gives an error and so no verdict, never a wrong one.
"""

from __future__ import annotations

from functools import cache

MEMORY_ROOT = "/__fl_gen_headers__"

_EXACT = tuple((sign, bits) for bits in (8, 16, 32, 64) for sign in ("", "u"))

_STDDEF = """\
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#ifndef __cplusplus
typedef __WCHAR_TYPE__ wchar_t;
#endif
typedef struct { long long fl_a __attribute__((__aligned__(8))); long double fl_b; } max_align_t;
#undef NULL
#ifdef __cplusplus
#define NULL __null
#else
#define NULL ((void *)0)
#endif
#define offsetof(t, m) __builtin_offsetof(t, m)
"""
_STDARG = """\
typedef __builtin_va_list va_list;
#define va_start(ap, ...) __builtin_va_start(ap, __VA_ARGS__)
#define va_end(ap) __builtin_va_end(ap)
#define va_arg(ap, type) __builtin_va_arg(ap, type)
#define va_copy(dst, src) __builtin_va_copy(dst, src)
"""
_STDBOOL = """\
#ifndef __cplusplus
#define bool _Bool
#define true 1
#define false 0
#endif
#define __bool_true_false_are_defined 1
"""
_LIMITS = """\
#define CHAR_BIT __CHAR_BIT__
#define SCHAR_MAX __SCHAR_MAX__
#define SCHAR_MIN (-__SCHAR_MAX__ - 1)
#define UCHAR_MAX (__SCHAR_MAX__ * 2 + 1)
#ifdef __CHAR_UNSIGNED__
#define CHAR_MIN 0
#define CHAR_MAX UCHAR_MAX
#else
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX __SCHAR_MAX__
#endif
#define SHRT_MAX __SHRT_MAX__
#define SHRT_MIN (-__SHRT_MAX__ - 1)
#define USHRT_MAX (__SHRT_MAX__ * 2 + 1)
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (__INT_MAX__ * 2U + 1U)
#define LONG_MAX __LONG_MAX__
#define LONG_MIN (-__LONG_MAX__ - 1L)
#define ULONG_MAX (__LONG_MAX__ * 2UL + 1UL)
#define LLONG_MAX __LONG_LONG_MAX__
#define LLONG_MIN (-__LONG_LONG_MAX__ - 1LL)
#define ULLONG_MAX (__LONG_LONG_MAX__ * 2ULL + 1ULL)
#define PATH_MAX 4096
"""
_STRING = """\
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
size_t strlen(const char *);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *strcpy(char *, const char *);
char *strncpy(char *, const char *, size_t);
char *strcat(char *, const char *);
char *strerror(int);
#ifdef __cplusplus
}
#endif
"""
_STDLIB = """\
#include <stddef.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#ifdef __cplusplus
extern "C" {
#endif
void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
void abort(void);
void exit(int);
char *getenv(const char *);
int atoi(const char *);
long strtol(const char *, char **, int);
unsigned long strtoul(const char *, char **, int);
double strtod(const char *, char **);
#ifdef __cplusplus
}
#endif
"""
_STDIO = """\
#include <stdarg.h>
#include <stddef.h>
typedef struct fl_gen_file FILE;
#define EOF (-1)
#ifdef __cplusplus
extern "C" {
#endif
extern FILE *stdin;
extern FILE *stdout;
extern FILE *stderr;
int printf(const char *, ...);
int fprintf(FILE *, const char *, ...);
int snprintf(char *, size_t, const char *, ...);
int sprintf(char *, const char *, ...);
int vsnprintf(char *, size_t, const char *, va_list);
int puts(const char *);
int fflush(FILE *);
FILE *fopen(const char *, const char *);
int fclose(FILE *);
size_t fread(void *, size_t, size_t, FILE *);
size_t fwrite(const void *, size_t, size_t, FILE *);
#ifdef __cplusplus
}
#endif
"""
_MATH = """\
#ifdef __cplusplus
extern "C" {
#endif
double fabs(double); double sqrt(double); double pow(double, double); double exp(double); double log(double);
double ceil(double); double floor(double); float fabsf(float); float sqrtf(float);
#ifdef __cplusplus
}
#endif
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VAL (__builtin_huge_val())
"""
_ASSERT = """\
#undef assert
#define assert(expression) ((void)0)
#ifndef __cplusplus
#define static_assert _Static_assert
#endif
"""
_ERRNO = """\
#ifdef __cplusplus
extern "C"
#endif
int *fl_gen_errno(void);
#define errno (*fl_gen_errno())
#define ENOMEM 12
#define EINVAL 22
#define ERANGE 34
"""
_TIME = """\
#include <stddef.h>
typedef long time_t;
typedef long clock_t;
struct timespec { time_t tv_sec; long tv_nsec; };
struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst; };
#ifdef __cplusplus
extern "C" {
#endif
time_t time(time_t *);
clock_t clock(void);
#ifdef __cplusplus
}
#endif
"""
_SYS_TYPES = """\
#include <stddef.h>
#include <stdint.h>
typedef __PTRDIFF_TYPE__ ssize_t;
typedef int pid_t;
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef unsigned int mode_t;
typedef long off_t;
"""


@cache
def builtin_files() -> dict[str, str]:
    """The headers that belong to a compiler: path in memory -> text."""
    return _placed(
        {
            "stddef.h": _STDDEF,
            "stdarg.h": _STDARG,
            "stdbool.h": _STDBOOL,
            "limits.h": _LIMITS,
            "stdint.h": _stdint(),
            "float.h": _float(),
            "iso646.h": "",
            "stdalign.h": "#ifndef __cplusplus\n#define alignas _Alignas\n#define alignof _Alignof\n#endif\n",
            "stdnoreturn.h": "#ifndef __cplusplus\n#define noreturn _Noreturn\n#endif\n",
        }
    )


@cache
def library_files() -> dict[str, str]:
    """Headers of a C library, and the <c...> form of both kinds: path in memory -> text."""
    return _placed(
        {
            "inttypes.h": _inttypes(),
            "string.h": _STRING,
            "strings.h": "#include <string.h>\n",
            "memory.h": "#include <string.h>\n",
            "malloc.h": "#include <stdlib.h>\n",
            "stdlib.h": _STDLIB,
            "stdio.h": _STDIO,
            "math.h": _MATH,
            "assert.h": _ASSERT,
            "errno.h": _ERRNO,
            "time.h": _TIME,
            "sys/types.h": _SYS_TYPES,
            "cstddef": _std("stddef.h", "size_t", "ptrdiff_t")
            + "namespace std { typedef decltype(nullptr) nullptr_t; enum class byte : unsigned char {}; }\n",
            "cstdint": _std("stdint.h", *_integer_types()),
            "cinttypes": _std("inttypes.h"),
            "cstdarg": _std("stdarg.h", "va_list"),
            "cstdbool": _std("stdbool.h"),
            "climits": _std("limits.h"),
            "cfloat": _std("float.h"),
            "cstring": _std("string.h", "size_t", "memcpy", "memmove", "memset", "memcmp", "strlen", "strcmp"),
            "cstdlib": _std("stdlib.h", "size_t", "malloc", "calloc", "realloc", "free", "abort", "exit", "getenv"),
            "cstdio": _std("stdio.h", "FILE", "printf", "fprintf", "snprintf", "fopen", "fclose"),
            "cmath": _std("math.h", "fabs", "sqrt", "pow", "exp", "log", "ceil", "floor"),
            "cassert": "#include <assert.h>\n",
            "cerrno": "#include <errno.h>\n",
            "ctime": _std("time.h", "time_t", "time"),
        }
    )


def _placed(files: dict[str, str]) -> dict[str, str]:
    guarded = {}
    for name, text in files.items():
        again = name in ("assert.h", "cassert")  # these are meant to be read more than once
        guarded[f"{MEMORY_ROOT}/{name}"] = text if again else f"#pragma once\n{text}"
    return guarded


def _std(header: str, *names: str) -> str:
    uses = " ".join(f"using ::{name};" for name in names)
    return f"#include <{header}>\n" + (f"namespace std {{ {uses} }}\n" if names else "")


def _integer_types() -> list[str]:
    exact = [f"{sign}int{bits}_t" for sign, bits in _EXACT]
    return [*exact, "intptr_t", "uintptr_t", "intmax_t", "uintmax_t"]


def _stdint() -> str:
    lines = []
    for sign, bits in _EXACT:
        upper = sign.upper()
        lines.append(f"typedef __{upper}INT{bits}_TYPE__ {sign}int{bits}_t;")
        lines.append(f"typedef __{upper}INT_LEAST{bits}_TYPE__ {sign}int_least{bits}_t;")
        lines.append(f"typedef __{upper}INT_FAST{bits}_TYPE__ {sign}int_fast{bits}_t;")
        lines.append(f"#define {upper}INT{bits}_MAX __{upper}INT{bits}_MAX__")
        if not sign:
            lines.append(f"#define INT{bits}_MIN (-__INT{bits}_MAX__ - 1)")
        # The suffix macro may be empty; pasting needs one more level of expansion.
        lines.append(f"#define {upper}INT{bits}_C(v) FL_GEN_PASTE(v, __{upper}INT{bits}_C_SUFFIX__)")
    for name in ("intptr", "uintptr", "intmax", "uintmax"):
        lines.append(f"typedef __{name.upper()}_TYPE__ {name}_t;")
        lines.append(f"#define {name.upper()}_MAX __{name.upper()}_MAX__")
    lines.append("#define SIZE_MAX __SIZE_MAX__")
    lines.append("#define PTRDIFF_MAX __PTRDIFF_MAX__")
    paste = ["#define FL_GEN_PASTE_(a, b) a##b", "#define FL_GEN_PASTE(a, b) FL_GEN_PASTE_(a, b)"]
    return "\n".join([*paste, *lines]) + "\n"


def _inttypes() -> str:
    lines = ["#include <stdint.h>"]
    for bits in (8, 16, 32, 64):
        lines += [f"#define PRI{c}{bits} __INT{bits}_FMT{c}__" for c in "di"]
        lines += [f"#define PRI{c}{bits} __UINT{bits}_FMT{c}__" for c in "ouxX"]
    return "\n".join(lines) + "\n"


def _float() -> str:
    names = ("DIG", "MANT_DIG", "MAX_EXP", "MIN_EXP", "MAX", "MIN", "EPSILON")
    kinds = ("FLT", "DBL", "LDBL")
    lines = [f"#define {kind}_{name} __{kind}_{name}__" for kind in kinds for name in names]
    lines += [f"#define {kind}_TRUE_MIN __{kind}_DENORM_MIN__" for kind in kinds]
    lines += ["#define FLT_RADIX __FLT_RADIX__", "#define DECIMAL_DIG __DECIMAL_DIG__"]
    return "\n".join(lines) + "\n"
