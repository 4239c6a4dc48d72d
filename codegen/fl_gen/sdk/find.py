"""Finds a vendor's SDK on this machine: folders, groups, version, libraries.

The vendor schema says where to look. `--sdk` wins over environment variables, those over default roots. A place that a
person named and that holds no SDK is an error, never a reason to look elsewhere.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.schema.errors import quote

from .items import SdkError

if TYPE_CHECKING:
    from fl_gen.schema.vendor import Group, Vendor

_SEARCH_ENTRIES = 4000  # how many names are looked at for a hint where a missing header might be
_SIMILAR = 3  # folders of a similar name that are looked into
_SEARCH_DEPTH = 4
_INTEGER = re.compile(r"\(?\s*(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*\s*\)?\s*(?:/[/*].*)?$")


@dataclass(frozen=True)
class SdkLocation:
    """An SDK that is there. Paths are absolute; symbolic links are kept, so that they read as people know them.

    `groups_present` are keys of the vendor's groups in their order; `groups_missing` gives for each other group the
    header that was looked for. `libraries` maps each library of a present group to its file, or None. `origin` is what
    named the place: `--sdk`, an environment variable or a default root.
    """

    root: Path
    include_dirs: tuple[str, ...]
    library_dirs: tuple[str, ...]
    groups_present: tuple[str, ...]
    groups_missing: Mapping[str, str]
    version: str | None
    libraries: Mapping[str, str | None]
    origin: str
    roots: tuple[Path, ...] = field(default=())

    @property
    def libraries_found(self) -> tuple[str, ...]:
        return tuple(name for name, path in self.libraries.items() if path is not None)

    @property
    def libraries_missing(self) -> tuple[str, ...]:
        return tuple(name for name, path in self.libraries.items() if path is None)

    def headers(self, vendor: Vendor) -> tuple[str, ...]:
        """The headers of the present groups, in the vendor's order, each once."""
        names = [header for key in self.groups_present for header in vendor.groups[key].headers]
        return tuple(dict.fromkeys(names))


def find_sdk(
    vendor: Vendor,
    explicit: Sequence[Path | str],
    environment: Mapping[str, str] | None = None,
    *,
    memory: Mapping[str, str] | None = None,
) -> SdkLocation:
    """The SDK at `explicit` (one root, or several that together hold it), else where environment or vendor say.

    `memory` are header files by absolute path that need not exist on disk. SdkError, one message, when there is none.
    """
    env = os.environ if environment is None else environment
    files = dict(memory or {})
    if explicit:
        roots = [_root(path, "--sdk", vendor, files) for path in explicit]
        return _located(vendor, roots, "--sdk", files)
    for name in vendor.sdk.environment:
        if env.get(name):
            return _located(vendor, [_root(env[name], name, vendor, files)], name, files)
    for default in vendor.sdk.roots:
        path = Path(os.path.abspath(os.path.expanduser(default)))
        if _include_dirs(vendor, path, files) and not _lacking(vendor, [path], files):
            return _located(vendor, [path], "default root", files)
    places = [f"${name} (not set)" for name in vendor.sdk.environment] + list(vendor.sdk.roots)
    raise SdkError(
        f"no {vendor.sdk.name} SDK found: looked for {_wanted(vendor)} in {', '.join(places)}",
        f"name its folder with --sdk DIR{_or_variable(vendor)}; --sdk sim works without any SDK",
    )


# -- roots ------------------------------------------------------------------------------------------------------------


def _root(named: Path | str, origin: str, vendor: Vendor, files: Mapping[str, str]) -> Path:
    """The absolute folder that a person named; SdkError that says what is wrong with it."""
    text = os.fspath(named)
    what = f"{origin}={text}" if origin != "--sdk" else f"--sdk {text}"
    remedy = f"name the folder that holds {_wanted(vendor)}"
    try:
        text.encode()  # libclang takes UTF-8 only
        path = Path(os.path.abspath(os.path.expanduser(text)))
        if any(file.startswith(f"{path}/") for file in files):
            return path
        mode_is_folder = os.path.isdir(path)
        os.stat(path)
        if not mode_is_folder:
            hint = _root_of_file(path, vendor)
            raise SdkError(f"{what} is a file, not a folder", f"use --sdk {hint}" if hint else remedy)
        with os.scandir(path):
            pass
    except ValueError as error:
        named = f"{origin}{' ' if origin == '--sdk' else '='}{quote(text)}"
        if isinstance(error, UnicodeEncodeError):
            remedy = "rename it, or make a symbolic link to it and name that"
            raise SdkError(f"{named} is not UTF-8, and libclang takes no other path", remedy) from error
        raise SdkError(f"{named} is no path: {error}", remedy) from error
    except FileNotFoundError as error:
        raise SdkError(f"{what} does not exist", _similar(text, vendor) or remedy) from error
    except PermissionError as error:
        raise SdkError(f"{what} cannot be read: permission denied", "allow reading and entering this folder") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SdkError(f"{what} is a symbolic link that leads back to itself", "repair the link") from error
        raise SdkError(f"{what} cannot be read: {error.strerror or error}", remedy) from error
    return path


def _root_of_file(path: Path, vendor: Vendor) -> str | None:
    """The root to name instead when a person named one of its headers."""
    for parent in path.parents:
        if not _lacking(vendor, [parent], {}):
            return _without_include(str(parent), vendor)
    return None


def _similar(text: str, vendor: Vendor) -> str | None:
    """The folder beside it that has nearly the name that a person wrote, and holds the SDK."""
    path = Path(os.path.abspath(os.path.expanduser(text)))
    try:
        names = sorted(os.listdir(path.parent))
    except (OSError, ValueError):
        return None
    close = (path.parent / name for name in get_close_matches(path.name, names, _SIMILAR, 0.6))
    found = next((folder for folder in close if os.path.isdir(folder) and not _lacking(vendor, [folder], {})), None)
    return f"did you mean {found}?" if found is not None else None


# -- what is in them --------------------------------------------------------------------------------------------------


def _located(vendor: Vendor, roots: Sequence[Path], origin: str, files: Mapping[str, str]) -> SdkLocation:
    lacking = _lacking(vendor, roots, files)
    if lacking:
        raise _lacking_error(vendor, roots, origin, lacking, files)
    include_dirs = tuple(dict.fromkeys(folder for root in roots for folder in _include_dirs(vendor, root, files)))
    mains = {key: group.headers[0] if group.headers else "" for key, group in vendor.groups.items()}
    present = [key for key, group in vendor.groups.items() if _main(group, include_dirs, files) is not None]
    library_dirs = tuple(
        dict.fromkeys(
            str(root / folder) for root in roots for folder in vendor.sdk.library if os.path.isdir(root / folder)
        )
    )
    libraries = dict.fromkeys(name for key in present for name in vendor.groups[key].libraries)
    return SdkLocation(
        root=roots[0],
        include_dirs=include_dirs,
        library_dirs=library_dirs,
        groups_present=tuple(present),
        groups_missing={key: header for key, header in mains.items() if key not in present},
        version=_version(vendor, include_dirs, files),
        libraries={name: _library(name, library_dirs) for name in libraries},
        origin=origin,
        roots=tuple(roots),
    )


def _include_dirs(vendor: Vendor, root: Path, files: Mapping[str, str]) -> list[str]:
    """The include folders below a root; the root itself when a person named the include folder."""
    found = [str(root / folder) for folder in vendor.sdk.include if _is_folder(root / folder, files)]
    direct = any(_has(str(root), header, files) for group in vendor.groups.values() for header in group.headers[:1])
    return [str(root), *found] if direct and str(root) not in found else found


def _is_folder(path: Path, files: Mapping[str, str]) -> bool:
    return os.path.isdir(path) or any(file.startswith(f"{path}/") for file in files)


def _has(folder: str, header: str, files: Mapping[str, str]) -> bool:
    path = os.path.join(folder, header)
    return path in files or os.path.isfile(path)


def _main(group: Group, include_dirs: Sequence[str], files: Mapping[str, str]) -> str | None:
    """The path of a group's main header, its first; without it the SDK does not have the group."""
    for folder in include_dirs:
        if group.headers and _has(folder, group.headers[0], files):
            return os.path.join(folder, group.headers[0])
    return None


def _lacking(vendor: Vendor, roots: Sequence[Path], files: Mapping[str, str]) -> list[Group]:
    """The required groups whose main header is in none of the roots."""
    folders = [folder for root in roots for folder in _include_dirs(vendor, root, files)]
    required = [group for group in vendor.groups.values() if group.required]
    return [group for group in required if _main(group, folders, files) is None]


def _lacking_error(
    vendor: Vendor, roots: Sequence[Path], origin: str, lacking: Sequence[Group], files: Mapping[str, str]
) -> SdkError:
    headers = ", ".join(group.headers[0] for group in lacking if group.headers)
    looked = [str(root / folder) for root in roots for folder in vendor.sdk.include] + [str(root) for root in roots]
    where = "--sdk" if origin == "--sdk" else f"{origin}"
    message = (
        f"{where} {', '.join(str(root) for root in roots)} is no {vendor.sdk.name} SDK: "
        f"{headers} ({', '.join(group.title for group in lacking)}) is not in {', '.join(dict.fromkeys(looked))}"
    )
    for root in roots:
        for group in lacking:
            found = _search(root, group.headers[0]) if group.headers else None
            if found is not None:
                return SdkError(message, _remedy_of_found(root, group, found, vendor))
    unreadable = [folder for folder in looked if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK)]
    if unreadable:
        return SdkError(message, f"allow reading and entering {', '.join(unreadable)}")
    return SdkError(message, f"name the folder that holds {_wanted(vendor)} with --sdk{_or_variable(vendor)}")


def _remedy_of_found(root: Path, group: Group, folder: str, vendor: Vendor) -> str:
    """What to do about a header that is in `folder`: name another root, or the header with its folder."""
    header = group.headers[0]
    for include in sorted(vendor.sdk.include, key=len, reverse=True):
        if folder.startswith(f"{root / include}/"):
            below = os.path.relpath(folder, root / include)
            others = [f"{below}/{name}" for name in group.headers if _has(folder, name, {})]
            kept = [name for name in group.headers if not _has(folder, name, {})]
            written = ", ".join([*others, *kept])
            return f"{header} is in {folder}: write groups.{group.key}.headers: [{written}] in the vendor file"
    return f"{header} is in {folder}: use --sdk {_without_include(folder, vendor)}"


def _search(root: Path, header: str) -> str | None:
    """The include folder below `root` that holds `header`, looked for not too long; links are not followed."""
    seen = 0
    waiting = [(str(root), 0)]
    while waiting:
        folder, depth = waiting.pop(0)
        try:
            with os.scandir(folder) as scan:
                folders = sorted(entry.path for entry in scan if entry.is_dir(follow_symlinks=False))
        except OSError:
            continue
        seen += len(folders) + 1
        if _has(folder, header, {}):
            return folder
        if depth < _SEARCH_DEPTH and seen < _SEARCH_ENTRIES:
            waiting += [(path, depth + 1) for path in folders]
    return None


def _without_include(folder: str, vendor: Vendor) -> str:
    """The root of an include folder; of several that fit the one from which most of the SDK can be seen."""
    for include in sorted(vendor.sdk.include, key=len, reverse=True):
        if folder.endswith(f"/{include}"):
            return folder[: -len(include) - 1]
    return folder


def _wanted(vendor: Vendor) -> str:
    required = [group.headers[0] for group in vendor.groups.values() if group.required and group.headers]
    include = vendor.sdk.include[0] if vendor.sdk.include else "include"
    return ", ".join(f"{include}/{header}" for header in required)


def _or_variable(vendor: Vendor) -> str:
    return f" or {vendor.sdk.environment[0]}" if vendor.sdk.environment else ""


# -- libraries and version --------------------------------------------------------------------------------------------


def _library(name: str, folders: Sequence[str]) -> str | None:
    """The file of a library: the name that a linker takes, else one with a version behind it."""
    for folder in folders:
        for file in (f"lib{name}.so", f"lib{name}.dylib", f"lib{name}.a"):
            if os.path.isfile(os.path.join(folder, file)):
                return os.path.join(folder, file)
        try:
            versioned = sorted(file for file in os.listdir(folder) if file.startswith(f"lib{name}.so."))
        except OSError:
            continue
        if versioned:
            return os.path.join(folder, versioned[-1])
    return None


def _version(vendor: Vendor, include_dirs: Sequence[str], files: Mapping[str, str]) -> str | None:
    """major.minor.patch from the macros that the vendor schema names; None without them."""
    macros = vendor.sdk.version
    if macros is None:
        return None
    text = _read(macros.header, include_dirs, files)
    if text is None:
        return None
    numbers: list[int] = []
    for name in (macros.number,) if macros.number else (macros.major, macros.minor, macros.patch):
        if name is None:
            break
        value = _macro(name, text)
        if value is None and re.search(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}\b", text, re.MULTILINE):
            from .headers import macro_value  # an expression: only the compiler can tell

            value = macro_value(name, [macros.header], include_dirs, memory=files)
        if value is None:
            break
        numbers.append(value)
    if macros.number and numbers:
        rest, numbers = numbers[0], []
        for divisor in macros.divisors:
            numbers.append(rest // divisor)
            rest %= divisor
    return ".".join(str(number) for number in numbers) or None


def _macro(name: str, text: str) -> int | None:
    """The value of a macro that is defined once, as a plain integer."""
    found = re.findall(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}[ \t]+(.*)$", text, re.MULTILINE)
    match = _INTEGER.match(found[0].strip()) if len(found) == 1 else None
    return int(match.group(1), 0 if match.group(1)[:2] in ("0x", "0X") else 10) if match else None


def _read(header: str, include_dirs: Sequence[str], files: Mapping[str, str]) -> str | None:
    for folder in include_dirs:
        path = os.path.join(folder, header)
        if path in files:
            return files[path]
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                return stream.read()
        except OSError:
            continue
    return None
