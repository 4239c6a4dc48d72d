"""The report of an SDK check as SARIF 2.1.0: one run per target, results at the lines of the vendor file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote as percent

from fl_gen.report import sdk_words as words
from fl_gen.report.sdk_json import dumped
from fl_gen.schema.errors import Diagnostic, read_line
from fl_gen.schema.location import Location
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.sdk_values import CheckReport, NoVerdict, OperationCheck, SdkCheck, TargetResult

Json = dict[str, Any]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_WORK, _SHIPPED = "%SRCROOT%", "FL_GEN"  # base folders: where the command runs, and what came with fl-gen


@dataclass(frozen=True)
class Rule:
    """What a kind of result means, at which level it is told, and what to do about it."""

    name: str
    level: str
    short: str
    help: str


# Ids never change their meaning: suppressions refer to them.
RULES: dict[str, Rule] = {
    "sdk-lost": Rule(
        "LostBinding",
        "error",
        "The SDK does not have something that every backend needs.",
        "No candidate of a required operation, status type or success code compiles against this SDK. Look up in its "
        "headers what does the same, and add it to the candidates of the vendor file; the older ones stay.",
    ),
    "sdk-strategy": Rule(
        "StrategyUsed",
        "note",
        "The SDK does not do an operation itself; generated code does something else instead.",
        "No candidate compiles against this SDK, and the operation has a strategy in runtime.yaml. It is right, and "
        "may be slower. If the SDK has a call for it under another name, add a candidate to the vendor file.",
    ),
    "sdk-left-out": Rule(
        "OperationLeftOut",
        "note",
        "The SDK does not do an optional operation, and nothing is done instead.",
        "The backend goes without it. If the SDK has a call for it, add a candidate to the vendor file.",
    ),
    "sdk-missing": Rule(
        "NameNotThere",
        "warning",
        "The SDK has none of the names that the vendor file lists for a type or a status code.",
        "No operation says so: a code of work that is not done yet is then taken for a failure, or one of exhausted "
        "memory for any other. Correct the name, or add the one of this release.",
    ),
    "sdk-deprecated": Rule(
        "DeprecatedCall",
        "warning",
        "A binding uses a call that the SDK's header marks as deprecated.",
        "The next release may drop it. Add a candidate for the call that replaces it; it is preferred as soon as it "
        "compiles.",
    ),
    "sdk-inferred": Rule(
        "InferredFact",
        "note",
        "A binding rests on something that no header and no document of the vendor says.",
        "The compiler has checked names and types. Units, order of arguments of one type and meaning were inferred, as "
        "the source of the candidate says. Check it on the chip, then write certainty: certain.",
    ),
    "sdk-library": Rule(
        "LibraryMissing",
        "warning",
        "A library of a part of the SDK was not found in its library folders.",
        "The headers are there, so code can be generated; it will not link. Install the library, or add its folder to "
        "the library list of the vendor file.",
    ),
    "sdk-group": Rule(
        "PartLeftOut",
        "note",
        "An optional part of the SDK is not there.",
        "Its main header is in none of the include folders: generated code leaves the part out, with its options and "
        "tests. Install it if the backend is to have it; --require makes its absence an error.",
    ),
    "sdk-header": Rule(
        "HeaderError",
        "error",
        "A header of the SDK does not parse: there is no verdict.",
        "One broken or missing header silently changes types elsewhere, so nothing is judged. Complete the SDK, or "
        "name all folders that hold it.",
    ),
    "no-verdict": Rule(
        "NoVerdict",
        "error",
        "The SDK could not be checked.",
        "There is no SDK, a required part of it is missing, or the schemas are not sound; the message says which.",
    ),
}
_ORDER = {rule: index for index, rule in enumerate(RULES)}


def report_sarif(report: CheckReport) -> str:
    """The report as a SARIF log."""
    return dumped(
        {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(result, report.generator) for result in report.results]}
    )


def _run(result: TargetResult, generator: str) -> Json:
    """One target. `check` results when there is a verdict, else a failed invocation that says why."""
    tool, _, version = generator.partition(" ")
    results = list(_results(result.check) if result.check is not None else _stopped(result))
    invocation: Json = {"executionSuccessful": result.no_verdict is None, "exitCode": result.exit_code}
    if result.no_verdict is not None:
        text = result.no_verdict.text
        invocation["toolExecutionNotifications"] = [
            {"descriptor": {"id": "no-verdict"}, "level": "error", "message": {"text": text}}
        ]
    run: Json = {
        "tool": {
            "driver": {
                "name": tool,
                "version": version,
                "semanticVersion": version,
                "rules": [_rule(id_) for id_ in RULES],
                "notifications": [{"id": "no-verdict", "shortDescription": {"text": RULES["no-verdict"].short}}],
            }
        },
        "automationDetails": {"id": f"fl-gen/sdk-check/{result.target}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": _bases(),
        "invocations": [invocation],
        "results": results,
    }
    if result.check is not None:
        run["properties"] = {
            "sdk": result.check.sdk.title,
            "sdkDigest": result.check.sdk.digest,
            "coveragePercent": result.check.coverage.percent,
        }
    return run


def _rule(id_: str) -> Json:
    rule = RULES[id_]
    return {
        "id": id_,
        "name": rule.name,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": f"{rule.short} {rule.help}"},
        "help": {"text": rule.help, "markdown": rule.help},
        "defaultConfiguration": {"level": rule.level},
    }


def _results(check: SdkCheck) -> Iterator[Json]:
    lost = [operation for operation in check.operations if operation.state == "lost"]
    for diagnostic in check.lost:
        # A diagnostic of a lost operation begins with its name; what is left is about status types and codes.
        owner = next((one.name for one in lost if diagnostic.message.startswith(f"{one.name} ")), "status")
        yield _result(
            "sdk-lost", check.vendor, (owner, diagnostic.message), _with_hint(diagnostic),
            diagnostic.location, diagnostic.length, diagnostic,
        )  # fmt: skip
    for one in words.warnings(check):
        yield _result(
            "sdk-missing", check.vendor, (one.message.partition(":")[0],), _with_hint(one), one.location, one.length
        )
    for operation in check.operations:
        yield from _of_operation(check, operation)
    for group in check.groups:
        if not group.present:
            what = "cannot be used" if group.unusable else "is not in this SDK"
            text = "\n".join([f"{group.title} {what}: {words.group_state(group)}", *words.reasons(group.unusable)])
            yield _result("sdk-group", check.vendor, (group.key,), text, group.location)
        for name, path in words.libraries(check, group):
            if path is None:
                text = f"the library {name} of {group.title} was not found; the code will not link"
                yield _result("sdk-library", check.vendor, (name,), text, group.location)


def _of_operation(check: SdkCheck, operation: OperationCheck) -> Iterator[Json]:
    # An operation that the vendor file does not name has the place of its bindings.
    name, length = operation.name, len(operation.name) if operation.rejected else 0
    if operation.state in ("strategy", "left_out"):
        rule = "sdk-strategy" if operation.state == "strategy" else "sdk-left-out"
        reasons = [
            f"{words.one_line(one.code)}: {message.message}"
            for one in operation.rejected
            for message in one.messages[:1]
        ]
        text = f"{name}: {words.instead(operation)}" + "".join(f"\nrefused: {reason}" for reason in reasons)
        related = [message for one in operation.rejected for message in one.messages[:1]]
        yield _result(rule, check.vendor, (name,), text, operation.location, length, None, related)
    chosen = operation.chosen
    if chosen is not None and chosen.deprecated is not None:
        text = f"{name} uses a deprecated call: {chosen.deprecated or 'the header gives no reason'}"
        yield _result("sdk-deprecated", check.vendor, (name, chosen.code), text, chosen.location)
    if chosen is not None and chosen.inferred:
        text = f"{name} rests on an inferred fact: {chosen.source}"
        yield _result("sdk-inferred", check.vendor, (name, chosen.code), text, chosen.location)


def _stopped(result: TargetResult) -> Iterator[Json]:
    """What stopped a check, as far as it has a place in a file."""
    verdict: NoVerdict | None = result.no_verdict
    for diagnostic in verdict.diagnostics if verdict is not None else ():
        rule = "sdk-header" if diagnostic.rule == "sdk-header" else "no-verdict"
        text = _with_hint(diagnostic)
        key = (diagnostic.rule, diagnostic.message)
        yield _result(rule, result.vendor, key, text, diagnostic.location, diagnostic.length, diagnostic)


def _with_hint(diagnostic: Diagnostic) -> str:
    return diagnostic.message + (f"\n{diagnostic.hint}" if diagnostic.hint else "")


def _result(
    rule: str,
    vendor: str,
    key: Sequence[str],
    text: str,
    place: Location,
    length: int = 0,
    diagnostic: Diagnostic | None = None,
    also: Sequence[Diagnostic] = (),
) -> Json:
    """`key` says what the result is about in words that stay when lines move: the fingerprint is made of it."""
    digest = hashlib.sha256("\0".join((rule, vendor, *key)).encode("utf-8", "surrogatepass")).hexdigest()
    result: Json = {
        "ruleId": rule,
        "ruleIndex": _ORDER[rule],
        "level": RULES[rule].level,
        "message": {"text": text},
        "locations": [{"physicalLocation": _physical(place, length)}],
        "partialFingerprints": {"flGenFinding/v1": digest},
    }
    others = [(one.location, one.message, one.length) for one in also]
    if diagnostic is not None:
        others += [(one.location, one.message, 0) for one in diagnostic.related]
    if place.via is not None:
        others.append((place.via, "the base is extended here", 0))
    if others:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(where, size), "message": {"text": said}}
            for number, (where, said, size) in enumerate(others)
        ]
    return result


def _physical(place: Location, length: int = 0) -> Json:
    """File, line and column. Without a length the region goes to the end of its line."""
    region: Json = {"startLine": place.line, "startColumn": place.column}
    if length > 0:
        region["endColumn"] = place.column + length
    line = read_line(place)
    if line is not None:
        region["endColumn"] = min(region.get("endColumn", len(line) + 1), max(len(line) + 1, place.column))
        region["snippet"] = {"text": line}
    return {"artifactLocation": _artifact(place.file), "region": region}


def _artifact(file: str) -> Json:
    """A file below the current folder or among fl-gen's own by a relative URI, any other by a whole one."""
    path = os.path.abspath(file)
    for base, folder in _folders():
        prefix = folder.rstrip("/") + "/"
        if path.startswith(prefix):
            return {"uri": _percent(path[len(prefix) :]), "uriBaseId": base}
    return {"uri": f"file://{_percent(path)}"}


def _folders() -> tuple[tuple[str, str], ...]:
    return (_WORK, os.getcwd()), (_SHIPPED, str(data_dir()))


def _bases() -> Json:
    texts = {_WORK: "where the command ran", _SHIPPED: "the schemas that came with fl-gen"}
    return {
        base: {"uri": Path(folder).as_uri().rstrip("/") + "/", "description": {"text": texts[base]}}
        for base, folder in _folders()
    }


def _percent(path: str) -> str:
    return percent(os.fsencode(path), safe="/-._~+,=@!$&'()*")
