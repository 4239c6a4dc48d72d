"""The declaration of `interface.yaml`, and its loader."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from . import checkout
from . import framework_parts as parts
from .framework import Interface
from .scalars import (
    CXX_TYPE,
    DOC,
    HEADER,
    IDENTIFIER,
    IDENTIFIER_REF,
    NAME,
    OPERATION_REF,
    QUALIFIED,
    REMARK,
    TITLE,
    VENDOR_PATTERN,
    WORD,
    Bool,
    Choice,
    Int,
    Str,
)
from .spec import Field, ListOf, Nullable, Record, Spec, validate
from .yaml_loader import load

_HEADER_REF = HEADER.with_location()
_SIGNATURE = Str("a C++ signature", "[A-Za-z0-9_:<>,&* ()]+", "return type, name and parameters")
_TARGET = Str("a CMake target", "[A-Za-z0-9_:.+-]+")
_CMAKE_WORD = Str("a CMake word", "[A-Za-z_][A-Za-z0-9_]*")
_CMAKE_FILE = Str(HEADER.what, HEADER.pattern, HEADER.hint)
_FOLDER = Str(
    "a folder of the tree", "\\.|[A-Za-z0-9_][A-Za-z0-9_./+-]*", "relative to the tree, or . for the tree itself"
)
_CMAKE_VERSION = Str("a version", "[0-9]+(?:\\.[0-9]+)*", 'in quotes, as "3.28"')
_INITIALISER = Str("an initialiser")


def _list(what: str, build: Callable[..., Any], fields: dict[str, tuple[Spec, str]], title: str) -> ListOf:
    """A list of records in which every key is required."""
    return ListOf(_record(what, build, fields, title))


def _record(what: str, build: Callable[..., Any], fields: dict[str, tuple[Spec, str]], title: str) -> Record:
    return Record(what, build, {key: Field(spec, doc) for key, (spec, doc) in fields.items()}, title=title)


_DOC = (REMARK, "what people should know about it")
_IN_HEADER = (_HEADER_REF, "the header that declares it, one of `headers`")
_IN_NAMESPACE = (QUALIFIED, "the namespace that it is declared in")

_PARAMS = ListOf(Record("a parameter", parts.Param, {
    "name": Field(IDENTIFIER, "its name"),
    "type": Field(CXX_TYPE, "its exact C++ type"),
    "default": Field(_INITIALISER, "its default argument", None),
}, title="parameter"))  # fmt: skip
_NAMESPACES = _list("a namespace", parts.Namespace, {
    "role": (WORD, "the role that it plays"),
    "name": (QUALIFIED, "its C++ name"),
}, "namespace")  # fmt: skip
_HEADERS = _list("a header", parts.Header, {
    "path": (HEADER, "as it is written in an #include"),
    "rendered": (Bool(), "true: the contract's copy is made from this file"),
    "provides": (ListOf(QUALIFIED, unique=True), "names that a generated file may use after including it"),
    "doc": _DOC,
}, "header")  # fmt: skip
_DTYPES = _list("a dtype", parts.DType, {
    "name": (WORD, "its name in schemas"),
    "text": (WORD, "its name in the framework's messages"),
    "enumerator": (IDENTIFIER, "its enumerator of DataType"),
    "bytes": (Int(1, 16), "its size"),
    "cpp": (CXX_TYPE, "its storage type on the host"),
    "category": (Choice(("bool", "unsigned", "signed", "float")), "what kind of number it is"),
}, "dtype")  # fmt: skip
_ENUMS = _list("an enum", parts.Enum, {
    "name": (IDENTIFIER, "its name"),
    "scope": (QUALIFIED, "the namespace or class that it is declared in"),
    "header": _IN_HEADER,
    "underlying": (CXX_TYPE, "its underlying type"),
    "values": (ListOf(_record("an enum value", parts.EnumValue, {
        "name": (IDENTIFIER, "its name"),
        "value": (Int(), "its number"),
        "doc": _DOC,
    }, "enum_value"), at_least=1), "its enumerators"),
    "to_string": (Nullable(IDENTIFIER), "function that returns an enumerator's name, or null"),
    "to_string_unknown": (Nullable(Str("a text")), "what it does with another value: fatal, or the text it returns"),
    "certainty": (Choice(("stated", "inferred")), "whether the numbers were read or concluded"),
    "doc": _DOC,
}, "enum")  # fmt: skip
_STRUCTS = _list("a struct", parts.Struct, {
    "name": (IDENTIFIER, "its name"),
    "namespace": _IN_NAMESPACE,
    "header": _IN_HEADER,
    "fields": (_list("a struct's field", parts.StructField, {
        "name": (IDENTIFIER, "its name"),
        "type": (CXX_TYPE, "its type"),
        "init": (Nullable(_INITIALISER), "its initialiser, or null"),
        "doc": _DOC,
    }, "struct_field"), "its members, in order"),
    "doc": _DOC,
}, "struct")  # fmt: skip
_METHODS = _list("a method", parts.Method, {
    "name": (NAME, "canonical name in snake_case"),
    "cpp": (IDENTIFIER, "its C++ name"),
    "group": (DOC, "heading in the header"),
    "returns": (CXX_TYPE, "return type"),
    "params": (_PARAMS, "parameters in order"),
    "const": (Bool(), "whether it is const"),
    "pure": (Bool(), "whether it is pure virtual"),
    "default": (Choice(("none", "nothing", "fatal")), "body of the base class: none (pure), nothing (empty) or fatal"),
    "used_by": (ListOf(DOC), "callers in the framework; empty: only backend code"),
    "operations": (ListOf(OPERATION_REF, unique=True), "operations of runtime.yaml that do the work"),
    "doc": (DOC, "meaning, ownership, waiting"),
}, "method")  # fmt: skip
_CLASSES = _list("a class", parts.Class, {
    "name": (IDENTIFIER, "its C++ name"),
    "canonical": (NAME, "its name in snake_case"),
    "namespace": _IN_NAMESPACE,
    "header": _IN_HEADER,
    "role": (Choice(("handle", "interface")), "handle: empty polymorphic base; interface: virtual methods to override"),
    "registry": (Nullable(IDENTIFIER_REF), "where implementations are kept, or null"),
    "macro": (Nullable(IDENTIFIER_REF), "how an implementation is registered, or null"),
    "optional": (Bool(), "true: a backend may leave the whole class out"),
    "methods": (_METHODS, "its virtual methods"),
    "doc": _DOC,
}, "class")  # fmt: skip
_REGISTRIES = _list("a registry", parts.Registry, {
    "name": (IDENTIFIER, "its name"),
    "namespace": _IN_NAMESPACE,
    "header": _IN_HEADER,
    "value": (IDENTIFIER_REF, "the class that it keeps"),
    "accessor": (IDENTIFIER, "the free function that gives an implementation"),
    "fatal": (ListOf(DOC), "when it aborts"),
    "doc": _DOC,
}, "registry")  # fmt: skip
_MACROS = _list("a macro", parts.Macro, {
    "name": (IDENTIFIER, "its name"),
    "args": (_list("a macro's argument", parts.MacroArgument, {
        "name": (IDENTIFIER, "its name"),
        "doc": _DOC,
    }, "macro_argument"), "its arguments"),
    "scope": (Choice(("namespace", "file")), "where it may stand"),
    "header": _IN_HEADER,
    "terminated": (Bool(), "true: its expansion ends the declaration"),
    "doc": _DOC,
}, "macro")  # fmt: skip
_REGISTRATION = _record("the registration", parts.Registration, {
    "struct": (IDENTIFIER, "the struct that a backend fills"),
    "namespace": _IN_NAMESPACE,
    "header": _IN_HEADER,
    "fields": (_list("a registration field", parts.RegistrationField, {
        "name": (IDENTIFIER, "its name"),
        "type": (CXX_TYPE, "its type"),
        "required": (Bool(), "whether it must be set"),
        "doc": _DOC,
    }, "registration_field"), "its members"),
    "functions": (_list("a function", parts.Function, {
        "name": (IDENTIFIER, "its name"),
        "returns": (CXX_TYPE, "return type"),
        "params": (_PARAMS, "parameters in order"),
        "doc": _DOC,
    }, "function"), "its functions"),
    "checks": (_list("a registration check", parts.RegistrationCheck, {
        "order": (Int(1), "1, 2, 3, …"),
        "message": (DOC, "stable part of the text that it aborts with"),
        "doc": _DOC,
    }, "registration_check"), "what is checked, in order"),
    "entry_point": (_record("the entry point", parts.EntryPoint, {
        "signature": (_SIGNATURE, "its C++ signature"),
        "header": (HEADER, "the backend's header that declares it"),
        "doc": _DOC,
    }, "entry_point"), "the backend's function that a program calls"),
}, "registration")  # fmt: skip
_DISPATCH = ListOf(_record("a dispatcher call", parts.DispatchCall, {
    "type": (IDENTIFIER, "the class"),
    "method": (IDENTIFIER, "the method"),
    "role": (
        Choice(("register", "lookup", "call", "call_found")),
        "what it does with a kernel's key: register, lookup, call, or call_found: calls what a lookup gave",
    ),
}, "dispatch_call"), at_least=1)  # fmt: skip
_KERNELS = _record("the kernel rules", parts.KernelRules, {
    "macro": (IDENTIFIER_REF, "the macro that registers a kernel"),
    "map_header": (_HEADER_REF, "header that maps dtypes to types"),
    "params_header": (_HEADER_REF, "header of the parameter structs"),
    "required": (ListOf(IDENTIFIER_REF, unique=True), "kernels that registration demands"),
    "abi": (_list("an ABI rule", parts.AbiRule, {
        "name": (WORD, "its name"),
        "doc": (DOC, "the rule"),
    }, "abi_rule"), "rules of the type-erased dispatcher"),
    "dispatch": (_DISPATCH, "methods of the kernel table that take a kernel by name"),
}, "kernel_rules")  # fmt: skip
_CMAKE = _record("the CMake interface", parts.CMake, {
    "minimum": (_CMAKE_VERSION, "oldest CMake that the framework accepts"),
    "targets": (_list("a target", parts.CMakeTarget, {
        "name": (_TARGET, "its name"),
        "kind": (Choice(("static", "interface", "shared")), "what it is"),
        "doc": _DOC,
    }, "cmake_target"), "targets that a backend links"),
    "options": (_list("an option", parts.CMakeOption, {
        "name": (_CMAKE_WORD, "its name"),
        "default": (Str("a CMake value"), "its value when nobody sets it"),
        "doc": _DOC,
    }, "cmake_option"), "options of the framework"),
    "functions": (_list("a CMake function", parts.CMakeFunction, {
        "name": (_CMAKE_WORD, "its name"),
        "file": (_CMAKE_FILE, "the file that defines it"),
        "positional": (ListOf(_CMAKE_WORD), "positional arguments"),
        "options": (ListOf(_CMAKE_WORD), "keywords without a value"),
        "one_value": (ListOf(_CMAKE_WORD), "keywords with one value"),
        "multi_value": (ListOf(_CMAKE_WORD), "keywords with several values"),
        "doc": _DOC,
    }, "cmake_function"), "functions that a backend calls"),
}, "cmake")  # fmt: skip

_SOURCE_SUFFIX = Str("a file name suffix", "\\.[A-Za-z0-9_+]+", "a dot and letters, as .cc")
_DEFINE = Str(
    "a macro definition", "[A-Za-z_][A-Za-z0-9_]*(\\([A-Za-z0-9_, .]*\\))?(=.*)?", "NAME, NAME=text or NAME(x)=text"
)
_CHECKOUT = _record("a checkout", checkout.Checkout, {
    "include": (ListOf(_FOLDER, at_least=1), "include folders of the tree"),
    "system": (ListOf(_FOLDER), "folders below a system's include folder that are include folders too"),
    "sources": (ListOf(_FOLDER, at_least=1), "folders whose files register or call kernels"),
    "suffixes": (ListOf(_SOURCE_SUFFIX, at_least=1), "of C++ sources"),
    "headers": (ListOf(_SOURCE_SUFFIX), "of headers"),
    "device_suffixes": (ListOf(_SOURCE_SUFFIX), "of sources in a dialect for devices"),
    "defines": (ListOf(_DEFINE), "macros that the framework is compiled with"),
    "device_defines": (ListOf(_DEFINE), "macros that take the words of the dialect away"),
    "needs": (_list("a needed header", checkout.Requirement, {
        "header": (HEADER, "as it is written in an #include"),
        "package": (TITLE, "what to install for it"),
    }, "needed_header"), "headers of others without which the tree cannot be read"),
    "stand_ins": (_list("a stand-in", checkout.StandIn, {
        "header": (HEADER, "as it is written in an #include"),
        "text": (Str("C++ text"), "what is read in its place, on one line"),
    }, "stand_in"), "for headers that a machine may lack; others that it lacks are taken as empty"),
}, "checkout")  # fmt: skip

_NAME_RULE = _record("the name rule", parts.NameRule, {
    "pattern": (Str("a regular expression"), "pattern of a backend's name"),
    "reserved": (ListOf(WORD), "names that no backend may have"),
    "doc": _DOC,
}, "name_rule")  # fmt: skip

SPEC = Record(
    "an interface file",
    Interface,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "framework": Field(Str("a framework name", VENDOR_PATTERN), "its name as fl-gen spells it"),
        "display_name": Field(TITLE, "its name as people write it"),
        "source": Field(DOC, "the public tree that the facts come from"),
        "device_type": Field(IDENTIFIER, "enumerator of Device::DeviceType that backends register for"),
        "namespaces": Field(_NAMESPACES, "C++ namespaces by role"),
        "headers": Field(_HEADERS, "headers that generated code includes"),
        "dtypes": Field(_DTYPES, "element types"),
        "enums": Field(_ENUMS, "enumerations"),
        "structs": Field(_STRUCTS, "plain aggregates"),
        "classes": Field(_CLASSES, "classes that a backend subclasses"),
        "registries": Field(_REGISTRIES, "where implementations are kept"),
        "macros": Field(_MACROS, "registration macros"),
        "registration": Field(_REGISTRATION, "how a backend makes itself known"),
        "name_rule": Field(_NAME_RULE, "what a backend may be called"),
        "kernels": Field(_KERNELS, "how kernels are registered"),
        "cmake": Field(_CMAKE, "what a backend's build files may use"),
        "checkout": Field(_CHECKOUT, "how `fl-gen framework check` reads a source tree of the framework", None),
    },
    title="interface",
)


def load_interface(path: str | os.PathLike[str], name: str | None = None) -> Interface:
    """The interface of a file. Raises SchemaError with everything that is wrong with it, taken by itself."""
    interface: Interface = validate(SPEC, load(path, name), "an interface file")
    return interface
