"""The parts of an unknown SDK: which names belong to which group, what their calls return, which types they take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from fl_gen.schema.runtime import Runtime
from fl_gen.schema.vocabulary import TypePhrases, Vocabulary
from fl_gen.sdk.model import Declared, Function, Sdk
from fl_gen.tasks.draft_model import Cluster, Constant, Status, Surface, TypeDraft
from fl_gen.tasks.draft_words import Words, pieces

_FEWEST = 3  # functions that a cluster of names has at least
_LIKE = 0.8  # likeness from which on a function speaks for its cluster
_LIKE_STEP = 0.7  # likeness of a function to a step of a recipe
_SHARE = {"runtime": 0.15, "blas": 0.4, "ccl": 0.3}  # of a group's operations that its cluster has at least
_TYPE_LEAST = 0.75
_UNUSED_LIKE = 0.9  # likeness of a type's name that no function is known to take
_POINTER_TYPE = re.compile(r"\(?\s*(?:struct\s+)?((\w+)\s*\*+)\s*\)?")
_QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|enum|union|class|__restrict|restrict)\b")


def base_of(type_: str) -> str:
    """The name in a type: `const ncclUniqueId *` -> ncclUniqueId."""
    return _QUALIFIERS.sub("", type_.split("[")[0]).replace("*", "").replace("&", "").strip()


def make_surface(sdk: Sdk, variables: Mapping[str, Constant]) -> Surface:
    """Group functions by the first piece of their names, and gather every integer constant."""
    by_prefix: dict[str, list[Function]] = {}
    for function in sdk.functions.values():
        parts = pieces(function.name)
        if (
            parts
            and not function.template
            and not function.name.startswith("_")
            and function.availability != "unavailable"
        ):
            by_prefix.setdefault(parts[0], []).append(function)
    constants: dict[str, Constant] = dict(variables)
    for enum in (*sdk.enums.values(), *sdk.anonymous_enums):
        for one in enum.values:
            constants[one.name] = Constant(one.name, one.value, one.at, enum.name)
    aliases: dict[str, str] = {}
    for macro in sdk.macros.values():
        if macro.text in sdk.functions:
            aliases.setdefault(macro.text, macro.name)
        if macro.value is not None and macro.name not in constants:
            constants[macro.name] = Constant(macro.name, macro.value, macro.at)
    clusters = {prefix: Cluster(prefix, tuple(functions)) for prefix, functions in by_prefix.items()}
    macro_types = {
        macro.name: match.group(1)
        for macro in sdk.macros.values()
        if (match := _POINTER_TYPE.fullmatch(macro.text))
        and (match.group(2) == "void" or match.group(2) in sdk.records)
    }
    return Surface(sdk, clusters, constants, aliases, macro_types)


def given(function: Function) -> str:
    """The type of the one object that a function gives for one number; empty for any other function."""
    outs = [base_of(param.type) for param in function.params if param.type.rstrip().endswith("*")]
    numbers = [param for param in function.params if param.canonical in ("int", "unsigned int")]
    return outs[0] if len(outs) == len(numbers) == 1 and len(function.params) == 2 else ""


class Survey:
    """Answers about an SDK's surface in terms of the vocabulary."""

    def __init__(self, surface: Surface, vocabulary: Vocabulary, runtime: Runtime) -> None:
        self.surface = surface
        self.vocabulary = vocabulary
        self.runtime = runtime
        self.words = Words(vocabulary)
        self._likeness: dict[tuple[str, str], float] = {}
        self._name_words: dict[str, Counter[str]] = {}

    def name_words(self, name: str) -> Counter[str]:
        """The words of a name without its first piece."""
        found = self._name_words.get(name)
        if found is None:
            found = self._name_words[name] = self.words.words(pieces(name)[1:])
        return found

    def likeness(self, function: Function, operation: str) -> float:
        """How well a function's name says that it does an operation, from 0 to 1."""
        key = (function.name, operation)
        if key not in self._likeness:
            phrases = self.vocabulary.operations.get(operation)
            if phrases is None:
                return 0.0
            words = self.name_words(self.surface.aliases.get(function.name, function.name))
            found = self.words.best_call(words, phrases.phrases)
            if any(all(word in words for word in self.words.phrase(apart)) for apart in phrases.apart):
                found *= 0.5
            self._likeness[key] = found
        return self._likeness[key]

    def contested(self, function: Function, operation: str) -> float:
        """By how much a function's name is more like another operation of the same group than like this one."""
        group = self.runtime.operations[operation].group
        own = self.likeness(function, operation)
        others = [name for name, one in self.runtime.operations.items() if one.group == group and name != operation]
        return max((self.likeness(function, other) - own for other in others), default=0.0)

    def objects(self, prefixes: Sequence[str]) -> frozenset[str]:
        """Types that a function gives for an ordinal, which does not go where one is taken though it may compile."""
        found = set()
        for recipe in self.vocabulary.recipes.values():
            for prefix in prefixes:
                for function in self.surface.clusters[prefix].functions:
                    score = self.words.likeness(self.name_words(function.name), self.words.phrase(recipe.handle))
                    type_ = given(function)
                    if score >= _LIKE_STEP and type_ in self.surface.sdk.typedefs:
                        found.add(type_)
        return frozenset(found)

    def groups(self) -> dict[str, tuple[str, ...]]:
        """The prefixes of each group that the SDK has: the one that speaks for it first, then its kin."""
        shares: list[tuple[float, str, str]] = []
        for key in self.vocabulary.groups:
            operations = [name for name, one in self.runtime.operations.items() if one.group == key]
            operations = [name for name in operations if name in self.vocabulary.operations]
            for cluster in self.surface.clusters.values():
                if len(cluster.functions) < _FEWEST or not operations:
                    continue
                hits = [max(self.likeness(f, one) for f in cluster.functions) for one in operations]
                share = sum(hit for hit in hits if hit >= _LIKE) / len(operations)
                if share >= _SHARE.get(key, 0.3):
                    shares.append((share + 0.01 * self._hinted(key, cluster.prefix), key, cluster.prefix))
        found: dict[str, tuple[str, ...]] = {}
        for _, key, prefix in sorted(shares, key=lambda one: (-one[0], one[1], one[2])):
            if key not in found and not any(prefix == taken[0] for taken in found.values()):
                found[key] = (prefix,)
        for key, (prefix,) in list(found.items()):
            taken = {one[0] for one in found.values()}
            kin = [other for other in self.surface.clusters if other not in taken and _kin(prefix, other)]
            found[key] = (prefix, *sorted(kin))
        return found

    def _hinted(self, key: str, prefix: str) -> bool:
        return any(hint in prefix for hint in self.vocabulary.groups[key].hints)

    # -- statuses -----------------------------------------------------------------------------------------------------

    def status(self, prefixes: Sequence[str]) -> Status | None:
        """What most functions of a group return, with its codes."""
        functions = [f for prefix in prefixes[:1] for f in self.surface.clusters[prefix].functions]
        votes: Counter[str] = Counter()
        for function in functions:
            result = base_of(function.returns)
            if result == function.returns and result not in ("void", "bool", "float", "double", "size_t"):
                votes[result] += 1
        if not votes:
            return None
        type_ = max(
            votes,
            key=lambda name: (votes[name], self.words.best(self._type_words(name), self.vocabulary.statuses.type)),
        )
        canonical = self.surface.canonical(type_)
        codes = self._codes(type_, canonical, prefixes)
        phrases = self.vocabulary.statuses
        success = self._code(codes, phrases.success, 1, 0.5, zero=True) or self._code(codes, ("0",), 1, 0, zero=True)
        text = self._text(type_, canonical, prefixes, success[0] if success else "0")
        declared = self.surface.sdk.enums.get(canonical) or self.surface.sdk.typedefs.get(type_)
        return Status(
            type=type_,
            canonical=canonical,
            success=success[0] if success else "0",
            not_ready=tuple(self._code(codes, phrases.not_ready, 2, 0.75)),
            oom=tuple(self._code(codes, phrases.oom, 3, 0.8)),
            text=text,
            at=str(declared.at) if declared is not None else "",
        )

    def _codes(self, type_: str, canonical: str, prefixes: Sequence[str]) -> list[Constant]:
        enum = self.surface.sdk.enums.get(canonical) or self.surface.sdk.enums.get(type_)
        if enum is not None:
            return [self.surface.constants[one.name] for one in enum.values if one.name in self.surface.constants]
        # Codes of a plain integer: macros, constants and enumerators whose names begin as the group's functions do. An
        # enum that functions take is about something else.
        roots = set(prefixes) | {prefix.removesuffix("rt") for prefix in prefixes}
        taken = {base_of(param.type) for function in self.surface.sdk.functions.values() for param in function.params}
        taken |= {self.surface.canonical(name) for name in taken}
        return [
            one
            for one in self.surface.constants.values()
            if one.value is not None and one.enum not in taken and pieces(one.name)[:1] and pieces(one.name)[0] in roots
        ]

    def _code(
        self, codes: Sequence[Constant], phrases: Sequence[str], most: int, least: float, zero: bool = False
    ) -> list[str]:
        scored = []
        for at, one in enumerate(codes):
            if zero and one.value != 0:
                continue
            score = self.words.best(self.name_words(one.name), phrases)
            if score >= least:
                scored.append((-score, at, one))
        found: dict[int | None, str] = {}
        for _, _, one in sorted(scored, key=lambda item: item[:2]):
            found.setdefault(one.value, one.name)
        return list(found.values())[:most]

    def _text(self, type_: str, canonical: str, prefixes: Sequence[str], success: str) -> str:
        """An expression over `status` that gives its words, by the best function for it."""
        best: tuple[float, str] | None = None
        for prefix in prefixes:
            for function in self.surface.clusters[prefix].functions:
                if re.sub(r"\s", "", function.canonical_returns) != "constchar*":
                    continue
                score = self.words.best(self.name_words(function.name), self.vocabulary.statuses.text)
                if len(function.params) == 1 and function.params[0].type in (type_, canonical):
                    code = f"{function.name}(status)"
                    score += 1.0
                elif not function.params and score >= 0.4:
                    said = f'status == {success} ? "success" : {function.name}()'
                    code = f'[](const char *words) {{ return words != nullptr ? words : "no text"; }}({said})'
                else:
                    continue
                if best is None or score > best[0]:
                    best = (score, code)
        return best[1] if best is not None else f'(status == {success} ? "success" : "error")'

    # -- types --------------------------------------------------------------------------------------------------------

    def _type_words(self, name: str) -> Counter[str]:
        parts = list(pieces(name)[1:])
        if parts and parts[-1] == "t":
            parts.pop()
        return self.words.words(parts)

    def types(self, groups: Mapping[str, tuple[str, ...]]) -> dict[str, TypeDraft]:
        """The SDK's type for each portable type of its groups: by its name, and by which functions take one."""
        found: dict[str, TypeDraft] = {}
        scored: list[tuple[float, str, str]] = []
        for name, portable in self.runtime.types.items():
            phrases = self.vocabulary.types.get(name)
            if portable.group not in groups or phrases is None:
                continue
            prefixes = groups[portable.group]
            if phrases.shape == "function":
                found[name] = self._host_function(name, prefixes, phrases.used_by)
                continue
            votes = self._votes(prefixes, phrases.used_by)
            for candidate in (*self.surface.sdk.type_names(), *self.surface.macro_types):
                score = self._type_score(candidate, phrases, votes, prefixes)
                if score > _TYPE_LEAST:
                    scored.append((score, name, candidate))
        # The best pairs first: one type of the SDK stands for one portable type of a group.
        taken: set[tuple[str, str]] = set()
        for _, name, candidate in sorted(scored, key=lambda one: (-one[0], one[1], one[2])):
            group = self.runtime.types[name].group
            if name not in found and (group, candidate) not in taken:
                taken.add((group, candidate))
                found[name] = TypeDraft(name, candidate, self.surface.canonical(candidate), self._declared(candidate))
        return {name: found[name] for name in self.runtime.types if name in found}

    def _votes(self, prefixes: Sequence[str], operations: Sequence[str]) -> Counter[str]:
        votes: Counter[str] = Counter()
        for operation in operations:
            best: tuple[float, Function] | None = None
            for prefix in prefixes:
                for function in self.surface.clusters[prefix].functions:
                    score = self.likeness(function, operation)
                    if score > 0.55 and (best is None or score > best[0]):
                        best = (score, function)
            if best is not None:
                votes.update({base_of(param.type) for param in best[1].params})
                # What a macro stands for is all that is left of it here.
                votes.update({_unspaced(param.canonical) for param in best[1].params if "*" in param.canonical})
        return votes

    def _type_score(self, name: str, wanted: TypePhrases, votes: Counter[str], prefixes: Sequence[str]) -> float:
        likeness = self.words.best(self._type_words(name), wanted.phrases)
        canonical = self.surface.canonical(name)
        is_enum = canonical in self.surface.sdk.enums or name in self.surface.sdk.enums
        if (
            likeness < 0.5
            or (wanted.shape == "bytes" and canonical.endswith("*"))
            or (wanted.shape == "handle" and is_enum)
        ):
            return 0.0
        # A struct may be taken under the name of a typedef that is a pointer to it.
        pointers = [one.name for one in self.surface.sdk.typedefs.values() if one.canonical == f"{name} *"]
        most = max((count for one, count in votes.items() if "*" not in one), default=1)
        macro = self.surface.macro_types.get(name)
        spelled = [_unspaced(macro), f"{_unspaced(macro)}*"] if macro is not None else []
        used = max(votes[one] for one in (name, *pointers, *spelled)) / most
        if not used and likeness < _UNUSED_LIKE:
            return 0.0
        own = bool(pieces(name)) and any(_kin(prefix, pieces(name)[0]) for prefix in prefixes)
        fits = 0.1 if wanted.shape == "enum" and is_enum else 0.0
        alias = 0.05 if macro is not None or name in self.surface.sdk.typedefs else 0.0
        return 0.6 * likeness + 0.5 * used + (0.15 if own else 0.0) + fits + alias

    def _host_function(self, portable: str, prefixes: Sequence[str], operations: Sequence[str]) -> TypeDraft:
        votes = self._votes(prefixes, operations)
        for name in sorted(votes, key=lambda one: (-votes[one], one)):
            typedef = self.surface.sdk.typedefs.get(name)
            if typedef is not None and re.sub(r"\s", "", typedef.canonical) == "void(*)(void*)":
                return TypeDraft(portable, name, typedef.canonical, typedef.at)
        return TypeDraft(portable, "void (*)(void *)", "void (*)(void *)", None)

    def _declared(self, name: str) -> Declared | None:
        sdk = self.surface.sdk
        one = sdk.typedefs.get(name) or sdk.enums.get(name) or sdk.records.get(name) or sdk.macros.get(name)
        return one.at if one is not None else None


def _unspaced(type_: str) -> str:
    return type_.replace(" ", "")


def _kin(prefix: str, other: str) -> bool:
    """Whether two prefixes are of one family: one begins with the other (acl, aclrt)."""
    shorter, longer = sorted((prefix, other), key=len)
    return len(shorter) >= 2 and longer.startswith(shorter)
