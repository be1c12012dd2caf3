"""Which code a build has: `#[cfg(...)]` over the features of a crate.

Knows: `feature = "x"`, `not`, `all`, `any`; the default features of a Cargo.toml and those that are asked for.
Does not know: Rust syntax beyond attributes, targets, other crates.
Law: what is no question of features counts as there, so that nothing is left out for what is not known; of two items
of one name that hang on something else, none is known. Statements for tests alone are no part of a kernel.
"""

from __future__ import annotations

import os
import re
from itertools import combinations
from pathlib import Path

from dmaverify.machines.rngd.rust.library import manifest_of, said_in

FEATURES = "DMAVERIFY_FEATURES"
"""Features beside the defaults, with commas between; `--features` sets it, for other processes too."""
TEST = "cfg test"  # among features: the build is one of tests
MOST_NAMES = 4  # features of one condition that another build may change
_CONFIGURES = re.compile(r"\bcfg_attr\b.*\bcfg\s*\(", re.DOTALL)
_TOKEN = re.compile(r'\s*(?:(feature)\s*=\s*"([^"]*)"|(\w+)\s*(\()|(\w+)(?:\s*=\s*"[^"]*")?|([(),]))')


def asked_features() -> str:
    """The features that are asked for, as text."""
    return os.environ.get(FEATURES, "")


def features_of(package: Path | None, toggled: frozenset[str] = frozenset()) -> frozenset[str]:
    """The features of a package: the default ones and those that are asked for, with what these bring along. Those
    that are `toggled` are there if they would not be, and the other way round.
    """
    plain = _with_theirs(package, frozenset()) if toggled else frozenset()
    return _with_theirs(package, toggled - plain) - (toggled & plain)


def _with_theirs(package: Path | None, more: frozenset[str]) -> frozenset[str]:
    wanted = [name for name in re.split(r"[,\s]+", asked_features()) if name]
    declared: dict[str, list[str]] = {}
    if package is not None:
        told = said_in(manifest_of(package) or {}, "features")
        every = told.items() if isinstance(told, dict) else ()
        declared = {name: [str(one) for one in brings] for name, brings in every if isinstance(brings, list)}
    pending, found = [*declared.get("default", []), *wanted, *sorted(more)], set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += declared.get(name, [])
    return frozenset(found)


def other_build(attribute: str, features: frozenset[str]) -> frozenset[str]:
    """The fewest features to change so that code below an attribute is built, or is not; none where none do."""
    names = sorted(set(re.findall(r'feature\s*=\s*"([^"]*)"', attribute)))[:MOST_NAMES]
    for count in range(1, len(names) + 1):
        for chosen in combinations(names, count):
            if built(attribute, features ^ frozenset(chosen)) is not built(attribute, features):
                return frozenset(chosen)
    return frozenset()


def holds(condition: str, features: frozenset[str]) -> bool | None:
    """What `cfg!(condition)` is; None where it asks for more than features."""
    return _predicate(condition, 0, features)[0] if "feature" in condition else None


def built(attribute: str, features: frozenset[str], testing: bool = False) -> bool | None:
    """Whether code below an attribute is part of the build; None where that hangs on more than features and `test`."""
    inside = re.match(r"#!?\[\s*cfg\s*\((.*)\)\s*\]\s*$", attribute, re.DOTALL)
    if inside is None:
        return None if _CONFIGURES.search(attribute) else True
    return _predicate(inside[1], 0, features | ({TEST} if testing else set()))[0]


def configured(attribute: str, features: frozenset[str]) -> bool:
    """Whether code below an attribute is part of a build, of the tests or not."""
    return any(built(attribute, features, testing) is not False for testing in (False, True))


def _predicate(text: str, at: int, features: frozenset[str]) -> tuple[bool | None, int]:
    """The value of one predicate and where it ends; None for what is not known here."""
    token = _TOKEN.match(text, at)
    if token is None:
        return None, len(text)
    at = token.end()
    if token[1]:
        return token[2] in features, at
    if not token[4]:
        return (TEST in features if token[5] == "test" else None), at
    parts: list[bool | None] = []
    while at < len(text):
        following = _TOKEN.match(text, at)
        if following is None:
            at = len(text)
        elif following[6] == ")":
            at = following.end()
            break
        elif following[6]:
            at = following.end()
        else:
            value, at = _predicate(text, at, features)
            parts.append(value)
    return _joined(token[3], parts), at


def _joined(word: str, parts: list[bool | None]) -> bool | None:
    if word == "not":
        return None if not parts or parts[0] is None else not parts[0]
    if word == "all":
        return False if False in parts else None if None in parts else True
    if word == "any":
        return True if True in parts else None if None in parts else False
    return None
