"""Is the tree what fl-gen would make now? Compares and says how to mend it; never touches the disk."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fl_gen import __version__
from fl_gen.output.manifest import MANIFEST_NAME, RECORD_FOLDER, Manifest, ManifestError, digest_file, load
from fl_gen.output.markers import MarkersError, find_markers, walk
from fl_gen.output.plan import Action, Plan, kind_of
from fl_gen.output.policy import Policy
from fl_gen.output.transaction import require_settled
from fl_gen.schema.errors import FlGenError, split_lines
from fl_gen.schema.paths import shell_word, shown
from fl_gen.tasks.regen import orphans
from fl_gen.tasks.render_many import Rendered, render_many
from fl_gen.workflow.generate import input_digests, plan_files
from fl_gen.workflow.project import ProjectFile, above
from fl_gen.workflow.request import Request, is_simulated, tree_of

# kind -> what it means
KINDS = {
    "changed": "is not what fl-gen makes now",
    "missing": "is made by fl-gen, and is not there",
    "stale": "was made by fl-gen, which makes it no more",
    "edited": "was changed by hand",
    "in the way": "stands where fl-gen makes a file, and is not fl-gen's",
    "extra": "is not fl-gen's",
    "marker": "holds a conflict marker",
    "orphan": "was made for a vendor that the project does not name",
    "outdated": "was made from others than those of now",
    "nothing": "is not there: nothing is generated yet",
}
_ACTIONS = {
    Action.CREATE: "missing",
    Action.UPDATE: "changed",
    Action.STALE: "stale",
    Action.EDITED: "edited",
    Action.CONFLICT: "in the way",
}
_FILE_LINES = 80  # of the diff of one file


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: `kind` is one of KINDS, `path` as people know it, for a marker with its line.

    `diff` are the lines from what is on the disk to what fl-gen would write, `cut` says how many more there are. `note`
    says more in words.
    """

    kind: str
    path: str
    diff: tuple[str, ...] = ()
    cut: int = 0
    note: str = ""


@dataclass(frozen=True)
class Mend:
    """A command that mends something: `vendor` stands between its parts, and may be several in one command."""

    before: str
    vendor: str = ""
    after: str = ""


@dataclass(frozen=True)
class VendorCheck:
    """What was found for one vendor. `digests` is the reason why only digests were compared, None when all was rendered
    again. `files` counts what was looked at, `kept` those of them that a person edited and decided to keep; `mend` are
    the commands that mend what was found."""

    vendor: str
    files: int
    findings: tuple[Finding, ...]
    mend: tuple[Mend, ...]
    digests: str | None = None
    kept: int = 0


@dataclass(frozen=True)
class TreeCheck:
    """The outcome for all vendors; `rendered` are the trees that were made to compare with, given a project."""

    vendors: tuple[VendorCheck, ...]
    rendered: tuple[Rendered, ...] = ()

    @property
    def exit_code(self) -> int:
        return 1 if any(one.findings for one in self.vendors) else 0


def check_project(project: ProjectFile, wanted: Sequence[str], cache: Path | None, jobs: int) -> TreeCheck:
    """Check the vendors `wanted` of a project, all when it is empty. Raises FlGenError when there is no verdict."""
    project.require_version()
    require_settled(project.output)
    requests = project.requests(wanted, cache)
    records = {request.vendor: _without_inputs(request) for request in requests}
    made = render_many([one for one in requests if records[one.vendor] is None], jobs)
    rendered = {one.request.vendor: one for one in made}
    checks = []
    for request in requests:
        command = Mend("fl-gen regen ", request.vendor, project.option)
        record = records[request.vendor]
        checks.append(
            _check_rendered(rendered[request.vendor], command)
            if record is None
            else _check_record(request, record[0], command, record[1])
        )
    if not wanted:
        for name in orphans(project.output, project.trees, str(project.project.framework)):
            found = Finding("orphan", shown(project.output / "generated" / name))
            checks.append(VendorCheck(name, 0, (found,), (Mend(f"fl-gen regen --prune{project.option}"),)))
    return TreeCheck(tuple(checks), made)


def _without_inputs(request: Request) -> tuple[Manifest, str] | None:
    """What a tree records of itself, and why no more is known of it: its SDK or the PyTorch that it is for is not on
    this machine, as in many a CI.

    None when it can be made again, or was never made: then they are needed.
    """
    from fl_gen.schema.catalog import Catalog
    from fl_gen.sdk.items import SdkError
    from fl_gen.workflow.sdks import find_sdk_of

    manifest = load(request.generated)
    if manifest is None:
        return None
    lost = _no_wheel(request, manifest)
    if lost is not None:
        return manifest, lost
    if is_simulated(request.sdk):
        return None
    catalog = Catalog(request.schema_dirs)
    try:
        find_sdk_of(replace(request, sdk_place=None), catalog.vendor(request.vendor), catalog)
    except SdkError as error:
        return manifest, error.message.removeprefix("--sdk ")
    return None


def _no_wheel(request: Request, manifest: Manifest) -> str | None:
    """That the PyTorch that a tree is for is not on this machine, nor another."""
    if request.framework != "torch":
        return None
    from fl_gen.workflow.torch import no_wheel

    return no_wheel(request, manifest.inputs.get("torch", ""))


def check_manifests(base: Request, wanted: Sequence[str], licence: Path | None = None) -> TreeCheck:
    """Check the trees below `base.output`, without a project, by what their manifests say.

    `base` has what the command line says about SDK, schemas, templates and licence, whose file is `licence`. Raises
    FlGenError.
    """
    root = base.output / "generated"
    require_settled(base.output)
    names = list(wanted) or list(orphans(base.output, ()))
    if not names:
        raise FlGenError(
            f"there is no fl-gen.yaml here, and no tree of fl-gen's in {shown(root)}\n"
            f"  = {above()}name the project with --config, or the folder that holds generated/ with --output"
        )
    if base.sdk and len(names) > 1:
        raise FlGenError(f"--sdk {base.sdk[0]}: whose SDK is it?\n  = name one vendor: {', '.join(names)}")
    checks = []
    for name in names:
        manifest = load(root / name)
        if manifest is None:
            raise ManifestError(
                f"{shown(root / name)}: there is no {MANIFEST_NAME}\n  = fl-gen backend {name} makes one"
            )
        if tree_of(manifest.vendor, manifest.framework) != name:
            place = shown(root / name / MANIFEST_NAME)
            raise ManifestError(
                f"{place}:1:1: this is the manifest of {manifest.vendor}, in the folder of {name}\n"
                "  = move the folder away and generate again"
            )
        request = replace(base, vendor=manifest.vendor, framework=manifest.framework)
        checks.append(_by_manifest(request, manifest, licence))
    return TreeCheck(tuple(checks))


def _by_manifest(request: Request, manifest: Manifest, licence: Path | None) -> VendorCheck:
    """One vendor without a project: rendered again when the manifest tells all that is needed for that."""
    request = replace(request, formatted=manifest.inputs.get("clang-format") != "none")
    if not request.sdk and manifest.sdk.get("simulated"):
        version = manifest.sdk.get("version")
        request = replace(request, sdk=(f"sim:{version}" if version else "sim",))
    command = _backend_command(request, licence)
    unknown = list(_unknown(request, manifest))
    if not unknown:
        return _check_rendered(render_many([request])[0], command)
    command = Mend(" ".join([command.before, *(option for _, option in unknown)]))
    return _check_digests(request, manifest, command, unknown[0][0])


def _unknown(request: Request, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Why a tree cannot be rendered again, and the option that is missing for it; nothing if it can."""
    if manifest.overlays and not (request.schema_dirs or request.template_dirs):
        kinds = {one.kind for one in manifest.overlays}
        options = [
            *(["--schemas FOLDER"] if "schema" in kinds else []),
            *(["--templates FOLDER"] if kinds - {"schema"} else []),
        ]
        reason = f"it is made with overlays ({manifest.overlays[0].path}): give --schemas and --templates"
        yield reason, " ".join(options)
    if "licence" in manifest.inputs and request.licence is None:
        yield "it is made with a licence header: give --licence", "--licence FILE"
    if manifest.framework == "torch":
        from fl_gen.workflow.torch import other_wheel

        other = other_wheel(request, manifest.inputs.get("torch", ""))
        if other is not None:
            yield other, ""
    if request.sdk:
        return
    from fl_gen.schema.catalog import Catalog
    from fl_gen.workflow.sdks import find_sdk_of

    catalog = Catalog(request.schema_dirs)
    try:
        find_sdk_of(request, catalog.vendor(request.vendor), catalog)
    except FlGenError:
        variables = " or ".join(catalog.vendor(request.vendor).sdk.environment)
        yield "its SDK is not here: give --sdk" + (f", or set {variables}" if variables else ""), "--sdk SDK"


def _backend_command(request: Request, licence: Path | None) -> Mend:
    """The command that makes the tree of a request."""
    words = ["fl-gen", "backend", request.vendor]
    for option, values in (
        ("--sdk", request.sdk),
        ("--schemas", request.schema_dirs),
        ("--templates", request.template_dirs),
    ):
        for value in values:
            words += [option, str(value)]
    if licence is not None:
        words += ["--licence", str(licence)]
    if request.framework != Request(request.vendor).framework:
        words += ["--framework", request.framework]
    if not request.formatted:
        words.append("--no-format")
    if request.output != Path():
        words += ["-o", str(request.output)]
    return Mend(" ".join(map(shell_word, words)))


def _check_rendered(one: Rendered, command: Mend) -> VendorCheck:
    request = one.request
    if not os.path.lexists(request.generated):
        return VendorCheck(request.vendor, 0, (Finding("nothing", shown(request.generated)),), (command,))
    markers = find_markers([request.generated, request.backends])
    try:
        plan = plan_files(request, one.files)
    except MarkersError:
        plan = plan_files(request, one.files, Policy.OVERWRITE)  # which looks past them; nothing is written here
    marked = {place.rpartition(":")[0] for place in markers}
    findings = [Finding("marker", place) for place in markers]
    for entry in plan.entries:
        kind, path = _ACTIONS.get(entry.action), shown(plan.folder / entry.path)
        if kind is None or (kind == "edited" and path in marked):
            continue
        if entry.path == MANIFEST_NAME and len(plan.paths(*_ACTIONS)) > 1:
            continue  # it changes with every other file
        if entry.path == MANIFEST_NAME and kind == "changed":
            note = _other_record(plan.folder, one.manifest)
            findings.append(Finding(kind, path, note=note))
            continue
        shows = kind in ("changed", "edited", "in the way") and entry.path in one.files
        diff, cut = _diff(plan.folder / entry.path, path, one.files[entry.path]) if shows else ((), 0)
        findings.append(Finding(kind, path, diff, cut))
    findings += _extra(request, plan)
    kept = len(plan.paths(Action.KEPT))
    mend = tuple(_mend(findings, command))
    return VendorCheck(request.vendor, len(one.files), tuple(findings), mend, kept=kept)


def _other_record(folder: Path, now: Manifest) -> str:
    """In words, what the manifest on the disk records that a regenerate would not: its lines are digests."""
    then = load(folder)
    if then is None:
        return ""
    names = _differing(then.inputs, now.inputs)
    names += ["SDK"] if dict(then.sdk) != dict(now.sdk) else []
    names += ["generator"] if then.generator != now.generator else []
    # An overlay that is equal to what it lies over changes nothing else.
    names += ["overlays"] if not names and then.overlays != now.overlays else []
    return f"it records other inputs ({', '.join(names)}), which make the same files" if names else ""


def _differing(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [key for key in sorted({*then, *now}) if then.get(key) != now.get(key)]


def _check_record(request: Request, manifest: Manifest, command: Mend, reason: str) -> VendorCheck:
    """A tree of a project whose SDK or PyTorch is not here: its digests, and those of what else made it."""
    found = _check_digests(request, manifest, command, reason)
    release = manifest.inputs.get("torch") if _no_wheel(request, manifest) is not None else None
    names = _differing(manifest.inputs, input_digests(request, release=release))
    names += ["generator"] if manifest.generator != __version__ else []
    if not names:
        return found
    outdated = Finding("outdated", shown(request.generated), note=", ".join(names))
    needs = "its SDK" if release is None else "its SDK and PyTorch"
    again = replace(command, after=f"{command.after}    # on a machine that has {needs}")
    return replace(found, findings=(*found.findings, outdated), mend=(*found.mend, again))


def _check_digests(request: Request, manifest: Manifest, command: Mend, reason: str) -> VendorCheck:
    markers = find_markers([request.generated, request.backends])
    findings = [Finding("marker", place) for place in markers]
    for path, record in sorted(manifest.files.items()):
        on_disk = request.generated / path
        if not os.path.lexists(on_disk):
            findings.append(Finding("missing", shown(on_disk)))
        elif kind_of(on_disk) != "file":
            findings.append(Finding("in the way", shown(on_disk)))
        elif record.edit is None and digest_file(on_disk) != record.sha256:
            findings.append(Finding("edited", shown(on_disk)))
    known = {*manifest.files, MANIFEST_NAME}
    findings += [Finding("extra", shown(request.generated / path)) for path in _files(request.generated, known)]
    return VendorCheck(request.vendor, len(manifest.files), tuple(findings), tuple(_mend(findings, command)), reason)


def _extra(request: Request, plan: Plan) -> Iterator[Finding]:
    known = {entry.path for entry in plan.entries}
    for path in _files(request.generated, known):
        yield Finding("extra", shown(request.generated / path))


def _files(folder: Path, known: set[str]) -> Iterator[str]:
    """What is below a folder and is no file of fl-gen's, sorted; a folder that is a link counts as one."""
    found = []
    for root, names, files in walk(folder):
        relative = Path(root).relative_to(folder)
        if relative == Path():
            names[:] = [name for name in names if name != RECORD_FOLDER]
        links = [name for name in names if (Path(root) / name).is_symlink()]
        found += [(relative / name).as_posix() for name in [*files, *links]]
    return iter(sorted(set(found) - known))


def _diff(on_disk: Path, name: str, new: str) -> tuple[tuple[str, ...], int]:
    """The unified diff from a file to its new text, at most _FILE_LINES of it, and how many lines more there are."""
    try:
        old = on_disk.read_bytes().decode("utf-8", "replace")
    except OSError:
        return (), 0
    names = (f"{name} (on disk)", f"{name} (fl-gen)")
    lines = list(difflib.unified_diff(_lines(old), _lines(new), *names, lineterm=""))
    return tuple(lines[:_FILE_LINES]), max(0, len(lines) - _FILE_LINES)


def _lines(text: str) -> list[str]:
    lines = list(split_lines(text))
    return lines[:-1] if not lines[-1] else [*lines[:-1], lines[-1] + "  (no line end)"]


def _mend(findings: Sequence[Finding], command: Mend) -> Iterator[Mend]:
    """The commands that mend what was found, in an order that works."""
    kinds = {finding.kind for finding in findings}
    for finding in findings:
        if finding.kind == "marker":
            file, _, line = finding.path.rpartition(":")
            yield Mend(f"${{EDITOR:-vi}} +{line} {shell_word(file)}    # resolve the conflict")
        elif finding.kind == "extra":
            yield Mend(f"rm {shell_word(finding.path)}    # or move it to backends/")
    if kinds & {"edited", "in the way"}:
        how = " --merge    # keeps both; --keep keeps the edit alone, --overwrite drops it"
        yield replace(command, after=command.after + how)
    elif kinds & {"changed", "missing", "stale"}:
        yield command
