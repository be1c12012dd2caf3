"""One call of `check`: its options with the settings of the project, what they name, and what is told of them.

Knows: which setting wins, which files, rules, machines and readings are meant.
Does not know: how anything is decided, the terminal (it returns texts and prints nothing).
Law: an option of the command line wins over a settings file; a name that nothing has raises InputError.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError, did_you_mean
from dmaverify.jobs.judge import FORMATS, Job, output_of, plan_files, readings_of
from dmaverify.prove.limits import MEMORY, RLIMIT, RUN_UNITS, TIMEOUT
from dmaverify.values import dataclass

_WITHOUT = (
    "format_", "target", "workers", "dims", "trace", "rlimit", "timeout", "memory", "prove", "certify", "playback",
    "baseline", "write_baseline", "config", "features", "since",
)  # fmt: skip
_FLAGS = (
    "as_json", "fix", "watch", "no_cache", "locked", "isolated", "show_settings", "show_files", "exit_zero", "strict",
    "statistics", "no_execute", "timings", "stdin", "explain", "verbose",
)  # fmt: skip
NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(_WITHOUT),
    **dict.fromkeys(_FLAGS, False),
    **dict.fromkeys(("paths", "output", "select", "ignore", "reading", "engine", "define", "allow_path"), ()),
    "unknown": "fail",
}
"""What `check` was given where a word of the command line does not say otherwise."""


@dataclass(frozen=True)
class Terminal:
    """What the output is written to: columns, colours, and whether a person reads it."""

    width: int = 100
    colour: bool = False
    person: bool = False


@dataclass(frozen=True)
class CommandOutcome:
    """Texts for standard output and for standard error, and the exit code."""

    out: tuple[str, ...]
    err: tuple[str, ...] = ()
    code: int = 0


@dataclass(frozen=True)
class CheckRequest:
    """One call of `check`, options and settings together."""

    paths: tuple[str, ...]
    show: str
    chosen: bool
    reports: tuple[tuple[str, str], ...]
    target: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    options: Mapping[str, Any]
    workers: int
    settings: Any
    given: Mapping[str, Any]

    @property
    def written(self) -> list[str]:
        """The files that the request asks for."""
        asked = (self.given["write_baseline"], self.given["playback"])
        return [*(file for _, file in self.reports), *(file for file in asked if file is not None)]

    @property
    def beside(self) -> list[str]:
        """The files that are read and not judged: the baseline, unless it is written anew, and the settings."""
        known = None if self.given["write_baseline"] else self.given["baseline"]
        return [file for file in (known, self.given["config"]) if file is not None]

    @property
    def files(self) -> list[tuple[str, str | None]]:
        """The files to check, without those that the settings exclude."""
        return self.chosen_files()[0]

    def chosen_files(self) -> tuple[list[tuple[str, str | None]], list[str]]:
        """The files to check, and what of the folders a file of the project hides: settings, or .gitignore."""
        from dmaverify.plan.settings import matching

        hidden: list[str] = []
        found = plan_files(self.paths, hidden, lists="engine" in self.options)
        asked = {path.partition("::")[0] for path in self.paths}
        left = self.settings.exclude
        out = {(f, n) for f, n in found if f not in asked and left and matching(f, left, self.settings.folder)}
        return [pair for pair in found if pair not in out], [*hidden, *(file for file, _ in sorted(out, key=str))]

    @property
    def jobs(self) -> list[Job]:
        return self.jobs_of(self.files)

    def jobs_of(self, files: Sequence[tuple[str, str | None]]) -> list[Job]:
        return [(path, name, self.target, dict(self.options)) for path, name in files]


# ---------------------------------------------------------------- options and settings


_OF_LINES = (
    "as_json", "stdin", "target", "select", "ignore", "reading", "rlimit", "timeout", "memory", "prove", "no_execute",
    "allow_path", "features", "no_cache", "locked", "isolated",
)  # fmt: skip
_WORDS = {"paths": "a path", "format_": "--format", "workers": "-j"}


def only_of_lines(given: Mapping[str, Any]) -> None:
    """Raises InputError for what `--stdin` has no use for: a line says what it is about, and gets one answer."""
    strange = [name for name, value in given.items() if name not in _OF_LINES and value != NOTHING[name]]
    if strange:
        word = _WORDS.get(strange[0], f"--{strange[0].replace('_', '-')}")
        hint = 'a line names its plan, engine, dims and define itself: {"path": "plan.toml"}'
        raise InputError(f"{word} beside --stdin has no meaning", None, hint)


def set_features(given: Mapping[str, Any]) -> None:
    """Chooses the features of crates, for the processes of `-j` as well."""
    if given["features"]:
        from dmaverify.machines.rngd.rust.cfg import FEATURES

        os.environ[FEATURES] = given["features"]


def options_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """How transfers are judged, by the options of the command line alone (as `--stdin` has it)."""
    return {
        "readings": readings_of(given["reading"]),
        "rlimit": given["rlimit"] or RLIMIT,
        "timeout": TIMEOUT if given["timeout"] is None else given["timeout"] or None,
        "memory": MEMORY if given["memory"] is None else given["memory"] or None,
        "cross_check": 0 if given["no_execute"] else RUN_UNITS,
        "allow": tuple(given["allow_path"]),
        "prove": "full" if given.get("certify") else given["prove"] or "fast",
    }


def request_of(asked: Mapping[str, Any]) -> CheckRequest:
    """Options and the settings of the project as one request. Raises InputError."""
    given = {**NOTHING, **asked}
    set_features(given)
    from dmaverify.plan.settings import Settings, find_settings, read_settings

    if given["config"] and given["isolated"]:
        raise InputError("--config and --isolated contradict each other", None, "give one of them")
    if given["config"]:
        settings = read_settings(given["config"])
    else:
        settings = Settings() if given["isolated"] else find_settings(Path())
    own = options_of(given)
    own["readings"] = {**settings.reading, **own["readings"]}
    own["rlimit"] = given["rlimit"] or settings.rlimit
    for key in ("timeout", "memory"):
        own[key] = (getattr(settings, key) or None) if given[key] is None else own[key]
    own["prove"] = "full" if given["certify"] else given["prove"] or settings.prove
    own["cross_check"] = own["cross_check"] if settings.execute else 0
    if given["engine"] or given["dims"] is not None:
        own |= {"engine": tuple(given["engine"] or ()), "dims": given["dims"]}
    if given["define"]:
        own["defines"] = tuple(given["define"])
    if given["as_json"] and given["format_"] not in (None, "json"):
        raise InputError(f"--json and --format {given['format_']} contradict each other", None, "give one of them")
    said = given["format_"] or settings.format
    if said is not None and said not in FORMATS:
        hint = did_you_mean(said, FORMATS) or f"formats: {', '.join(FORMATS)}"
        raise InputError(f"no format `{said}`", settings.span("format"), hint)
    reports = [output_of(text) for text in given["output"]]
    if not given["output"]:
        reports = [_report_of(settings, text) for text in settings.output]
    return CheckRequest(
        paths=tuple(given["paths"]) or tuple(str(settings.folder / path) for path in settings.paths),
        show="json" if given["as_json"] else said or "full",
        chosen=bool(given["as_json"] or said),
        reports=tuple(reports),
        target=given["target"] or settings.target,
        select=tuple(given["select"]) or settings.select,
        ignore=tuple(given["ignore"]) or settings.ignore,
        options=own,
        workers=given["workers"] or settings.jobs,
        settings=settings,
        given=given,
    )


def _report_of(settings: Any, text: str) -> tuple[str, str]:
    """Format and file of an `output` of the settings. Raises InputError at its place."""
    try:
        name, file = output_of(text)
    except InputError as error:
        raise InputError(error.message.replace("--output ", ""), settings.span("output", text), error.hint) from None
    return name, str(settings.folder / file)


def check_rules(request: CheckRequest) -> None:
    """Raises InputError for a rule that is selected or ignored, here or in the settings, and that nothing has."""
    given, settings = request.given, request.settings
    asked = [("--select", given["select"]), ("--ignore", given["ignore"])]
    asked += [("select", settings.select), ("ignore", settings.ignore)]
    asked += [("per-path-ignore", rules) for rules in settings.per_path_ignore.values()]
    asked += [("per-path-expect", rules) for rules in settings.per_path_expect.values()]
    if any(rules for _, rules in asked):
        from dmaverify.report.rules import check_patterns

        own = list(own_targets(request))
        for said, rules in asked:
            check_patterns(rules, said, own, partial(settings.span, said))


def check_names(request: CheckRequest) -> None:
    """Raises InputError for a machine or a reading, of the command line or the settings, that does not exist."""
    if request.target is not None:
        from dmaverify.targets.target import load_target

        try:
            load_target(request.target)
        except InputError as error:
            if error.span is not None:
                raise
            said, span = ("--target: ", None) if request.given["target"] else ("", request.settings.span("target"))
            raise InputError(f"{said}{error.message}", span, error.hint) from None
    asked: dict[str, str] = request.options["readings"]
    if asked:
        own = list(own_targets(request))
        given = readings_of(request.given["reading"])
        for rule, name in asked.items():
            said, span = ("--reading: ", None) if rule in given else ("", request.settings.span("reading", rule))
            _check_reading(rule, name, own, said, span)


def _check_reading(rule: str, name: str, own: Sequence[Any], said: str, span: Any) -> None:
    from dmaverify.report.rules import names_of

    known = [*names_of("reading"), *(f"{key}={one}" for target in own for key, names in target.readings.items()
                                     for one in names)]  # fmt: skip
    if f"{rule}={name}" in known:
        return
    names = [pair.partition("=")[2] for pair in known if pair.partition("=")[0] == rule]
    if names:
        hint = did_you_mean(name, names) or f"it has {', '.join(dict.fromkeys(names))}"
        raise InputError(f"{said}{rule} has no reading {name!r}", span, hint)
    hint = did_you_mean(rule, {pair.partition("=")[0] for pair in known}) or "`dmaverify targets` lists the readings"
    raise InputError(f"{said}{rule!r} has no readings", span, hint)


def own_targets(request: CheckRequest) -> Iterator[Any]:
    """The machines of the request that do not ship: its `--target`, and those that its plans name by a path."""
    from dmaverify.plan.read import target_names
    from dmaverify.targets.target import available_targets, load_target

    shipped = available_targets()
    if request.target is not None and request.target not in shipped:
        yield load_target(request.target)
    for file in {file for file, _ in request.files if file.endswith(".toml")}:
        for name in target_names(Path(file)):
            if name not in shipped:
                with suppress(InputError):  # said where the plan is read
                    yield load_target(name, Path(file).parent)


def shown_settings(request: CheckRequest) -> dict[str, Any]:
    """The settings in force as data: the file's, with those of the command line over them, and the origin of each."""
    data: dict[str, Any] = request.settings.as_data()
    data |= {
        "paths": list(request.paths),
        "format": request.show,
        "output": [f"{name}={file}" for name, file in request.reports],
        "target": request.target,
        "select": list(request.select),
        "ignore": list(request.ignore),
        "reading": dict(sorted(request.options["readings"].items())),
        "jobs": request.workers,
        "rlimit": request.options["rlimit"],
        "timeout": request.options["timeout"],
        "memory": request.options["memory"],
        "prove": request.options["prove"],
        "execute": bool(request.options["cross_check"]),
        "cache": request.settings.cache and not (request.given["no_cache"] or request.given["locked"]),
        "baseline": baseline_of(request),
    }
    return data | {"from": {key: _origin(request, key) for key in data if key != "settings"}}


_OPTION_OF = {"format": "format_", "jobs": "workers", "execute": "no_execute", "cache": "no_cache"}


def _origin(request: CheckRequest, key: str) -> str:
    """Where a setting comes from: `command line`, `FILE:LINE` or `default`."""
    given, settings = request.given, request.settings
    asked = [given.get(_OPTION_OF.get(key, key))]
    asked += {"cache": [given["locked"]], "format": [given["as_json"]], "prove": [given["certify"]]}.get(key, [])
    if any(value not in (None, (), False) for value in asked):
        return "command line"
    return f"{settings.origin}:{settings.lines[key]}" if key in settings.lines else "default"


def shown_files(request: CheckRequest) -> str:
    """Every file that is checked, and every one that is left, with the reason."""
    from dmaverify.jobs.walk import walked

    taken = dict.fromkeys(file for file, _ in present(request))
    seen = {one.path: one for path in request.paths if Path(path).is_dir() for one in walked(path)}
    lines = [f"{file}  ({seen[file].why})" if file in seen else file for file in taken]
    for path, one in sorted(seen.items()):
        if path not in taken:
            lines.append(f"left out: {path}  ({'is excluded by the settings' if one.taken else one.why})")
    return "\n".join(lines)


def baseline_of(request: CheckRequest) -> str | None:
    if request.given["baseline"]:
        return str(request.given["baseline"])
    own = request.settings.baseline
    return str(request.settings.folder / own) if own else None


def present(request: CheckRequest) -> list[tuple[str, str | None]]:
    """The files of a request; none where they cannot be named."""
    try:
        return request.files
    except InputError:
        return []
