"""The pytest plugin: plan files as tests, `assert_plan`, `assert_equivalent` and `assert_same` for tests in Python.

Knows: pytest's collection, how a verdict reads.
Does not know: how anything is proved; everything of dmaverify is imported when the first plan is judged.
Law: a test passes only for a verdict that is as the plan expects (without `expect`: proved); unknown and unreadable
fail.

Files named `*.dma.toml` are collected, one test for each transfer, access, gather, scatter and program;
`dmaverify_files` in the ini file names others, kernels (`src/*.rs`, `*.mlir`) among them. The entry point is in
pyproject.toml.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dmaverify.language.expr import Expr
    from dmaverify.plan.plan import Plan
    from dmaverify.plan.settings import Settings
    from dmaverify.prove.options import Options
    from dmaverify.prove.sameness import Sameness
    from dmaverify.verdict import Verdict

PATTERNS = ("*.dma.toml",)
SECTION = "dmaverify"


class PlanFailed(AssertionError):
    """A verdict that is not as expected, or a plan that cannot be read; the message is the report.

    `folded`: the report has a section of its own, so that the message is its first line.
    """

    def __init__(self, report: str, verdicts: Sequence[Verdict] = ()) -> None:
        super().__init__(report)
        self.report = report
        self.verdicts = tuple(verdicts)
        self.folded = False

    def __str__(self) -> str:
        if not self.folded:
            return self.report
        wrong = [f"`{verdict.name}` is {verdict.status.value}" for verdict in self.verdicts]
        return ", ".join(wrong) or self.report.split("\n", 1)[0]


# ---------------------------------------------------------------- for tests in Python


def assert_plan(plan: str | Path, name: str | None = None, *, target: str | None = None) -> tuple[Verdict, ...]:
    """Judges a plan or a kernel: a path, `path::name`, or the text of a plan file (anything with a line break).

    Returns the verdicts. Raises PlanFailed, with the report as message, unless all of them are as expected.

    >>> from dmaverify.testing.plugin import assert_plan
    >>> [verdict.name for verdict in assert_plan("examples/first.toml")]
    ['relayout']
    """
    __tracebackhide__ = True
    verdicts = tuple(_judged(plan, name, target))
    if not verdicts:
        raise PlanFailed(f"{plan} has nothing to check")
    wrong = [verdict for verdict in verdicts if not verdict.as_expected]
    if wrong:
        raise PlanFailed(_rendered(wrong), wrong)
    return verdicts


def assert_equivalent(first: str | Expr, second: str | Expr, axes: Mapping[str, int]) -> Sameness:
    """Two mappings, as text or trees, mean the same at every position.

    `axes` are sizes in elements. Returns the answer. Raises PlanFailed with the smallest difference, and also where the
    solver has no answer.

    >>> from dmaverify.testing.plugin import assert_equivalent
    >>> assert_equivalent("A / 2, A % 2", "A", {"A": 8}).status
    'proved'
    """
    __tracebackhide__ = True
    from dmaverify.prove.move.equiv import equivalent_mappings

    answer = equivalent_mappings(_mapping(first, axes), _mapping(second, axes))
    if answer.status != "proved":
        raise PlanFailed(answer.text(str(first), str(second)))
    return answer


def assert_same(
    first: str | Path, second: str | Path, *, tiers: Sequence[str] = (), target: str | None = None
) -> Sameness:
    """Two transfers copy the same units, two programs leave the same in memory (in `tiers` alone, where some are
    named), or two kernels do the same (with `tiers`: leave the same), or a plan and a kernel: each a `path::name`, or
    the text of a plan with one entry.

    Returns the answer. Raises PlanFailed with the first place where it is not so, and also where there is no answer.

    >>> from dmaverify.testing.plugin import assert_same
    >>> assert_same("examples/equal.toml::whole", "examples/equal.toml::by-rows", tiers=["hbm"]).status
    'proved'
    """
    __tracebackhide__ = True
    from dmaverify.errors import InputError
    from dmaverify.jobs.same_named import same_named
    from dmaverify.language.files import is_text
    from dmaverify.prove.limits import RLIMIT
    from dmaverify.report.text import render_error

    names = ["<plan>" if is_text(str(text)) else str(text) for text in (first, second)]
    try:
        answer, said = same_named(
            names, lambda at: _read((first, second)[at], None, target), rlimit=RLIMIT, tiers=tiers
        )
    except InputError as error:
        raise PlanFailed(render_error(error)) from None
    if answer.status != "proved":
        raise PlanFailed(said)
    return answer


class Asserts:
    """What the fixture `dmaverify` gives."""

    assert_plan = staticmethod(assert_plan)
    assert_equivalent = staticmethod(assert_equivalent)
    assert_same = staticmethod(assert_same)


@pytest.fixture(scope="session")
def dmaverify() -> Asserts:
    """`dmaverify.assert_plan(...)`, `dmaverify.assert_equivalent(...)` and `dmaverify.assert_same(...)`."""
    return Asserts()


def _mapping(text: str | Expr, axes: Mapping[str, int]) -> Expr:
    __tracebackhide__ = True
    from dmaverify.errors import InputError
    from dmaverify.jobs.load import mapping
    from dmaverify.report.text import render_error

    try:
        return mapping(text, axes)
    except InputError as error:
        raise PlanFailed(render_error(error)) from None


def _read(plan: str | Path, name: str | None, target: str | None, *, partly: bool = False) -> Plan:
    __tracebackhide__ = True
    from dmaverify.errors import InputError, errors_of
    from dmaverify.jobs.load import load
    from dmaverify.report.text import render_error

    try:
        return load(plan, name, target=target, symbols=True, partly=partly)
    except InputError as error:
        raise PlanFailed("\n\n".join(render_error(one) for one in errors_of(error))) from None


def _judged(plan: str | Path, name: str | None, target: str | None, options: Options | None = None) -> list[Verdict]:
    __tracebackhide__ = True
    from dmaverify.errors import InputError, errors_of
    from dmaverify.jobs.load import check
    from dmaverify.report.text import render_error

    try:
        return check(plan, name, target=target, options=options)
    except InputError as error:
        raise PlanFailed("\n\n".join(render_error(one) for one in errors_of(error))) from None


def _rendered(verdicts: Iterable[Verdict]) -> str:
    from dmaverify.report.text import render_verdict

    return "\n\n".join(render_verdict(verdict) for verdict in verdicts)


# ---------------------------------------------------------------- plan files as tests


_REFUTED = pytest.StashKey[list["Verdict"]]()
_ASKED = pytest.StashKey[tuple["Options", "str | None", "Settings"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dmaverify", "proof for tensor DMA")
    group.addoption("--dmaverify-target", metavar="TARGET", help="judge plan files by this machine, whatever they say")
    group.addoption("--dmaverify-playback", metavar="FILE", help="write a test that runs what was refuted in numpy")
    parser.addini("dmaverify_files", "patterns of plan files to collect", type="args", default=list(PATTERNS))


def pytest_configure(config: pytest.Config) -> None:
    target = config.getoption("--dmaverify-target")
    if target is None:
        return
    from dmaverify.errors import InputError
    from dmaverify.targets.target import load_target

    try:
        load_target(target)
    except InputError as error:
        raise pytest.UsageError(f"--dmaverify-target: {error.message}; {error.hint}") from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if any(file_path.match(pattern) for pattern in parent.config.getini("dmaverify_files")):
        return PlanFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The diagnostic as a section of its own, and refutations kept for `--dmaverify-playback`."""
    failed = call.excinfo.value if call.excinfo is not None else None
    if not isinstance(failed, PlanFailed):
        return (yield)
    item.config.stash.setdefault(_REFUTED, []).extend(failed.verdicts)
    failed.folded = not isinstance(item, JudgedItem)
    report = yield
    if failed.folded:
        report.sections.append((SECTION, failed.report))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    file = config.getoption("--dmaverify-playback")
    if file is None:
        return
    seen = {(verdict.path, verdict.name): verdict for verdict in config.stash.get(_REFUTED, [])}
    kept = [verdict for (path, _), verdict in seen.items() if path and not path.startswith("<")]
    sent = getattr(config, "workeroutput", None)  # of a process of pytest-xdist, whose session another one ends
    if sent is not None:
        from dmaverify.jobs.record import record_of

        sent[SECTION] = json.dumps(record_of(kept))
        return
    from dmaverify.language.files import write_text
    from dmaverify.testing.playback import playback_text

    write_text(file, playback_text(kept))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a process of pytest-xdist found refuted."""
    if (told := getattr(node, "workeroutput", {}).get(SECTION)) is not None:
        from dmaverify.jobs.record import verdicts_of

        node.config.stash.setdefault(_REFUTED, []).extend(verdicts_of(json.loads(told)))


def _asked(config: pytest.Config) -> tuple[Options, str | None, Settings]:
    """How collected files are judged, and by which machine: as the settings of the project say. Raises PlanFailed."""
    from dmaverify.errors import InputError
    from dmaverify.plan.settings import find_settings
    from dmaverify.prove.options import Options
    from dmaverify.report.text import render_error

    if _ASKED not in config.stash:
        try:
            own = find_settings(config.rootpath)
        except InputError as error:
            raise PlanFailed(render_error(error)) from None
        chosen = Options(
            readings=own.reading, rlimit=own.rlimit, prove=own.prove, timeout=own.timeout or None,
            memory=own.memory or None, cross_check=None if own.execute else 0,
        )  # fmt: skip
        config.stash[_ASKED] = chosen, config.getoption("--dmaverify-target") or own.target, own
    return config.stash[_ASKED]


class PlanFile(pytest.File):
    """A plan file: one test for each entry that is judged; a file of another kind, or that cannot be read, is one test:
    a mistake while tests are collected would end the session before any of the others runs.
    """

    def collect(self) -> Iterable[pytest.Item]:
        try:
            _, target, _ = _asked(self.config)
        except PlanFailed as error:
            raise self.CollectError(str(error)) from None
        plan = None
        with suppress(PlanFailed):  # the test of the file fails with it
            listed = self.path.suffix not in (".toml", ".rs")
            plan = None if listed else _read(self.path, None, target, partly=True)
        if plan is None:
            yield FileItem.from_parent(self, name=self.path.stem)
            return
        if plan.is_kernel:
            yield from self._kernel(plan)
            return
        for one in (*plan.entries, *plan.unread):  # what cannot be read is a test that fails
            yield PlanItem.from_parent(self, name=one.name, plan=plan, line=one.line)

    def _kernel(self, plan: Any) -> Iterable[pytest.Item]:
        """One test for each call of a transfer; all of them are judged when the first one runs."""
        from dmaverify.jobs.load import check

        chosen, *_ = _asked(self.config)
        judged = cache(lambda: {(verdict.name, verdict.line): verdict for verdict in check(plan, options=chosen)})
        for one in plan.sites:
            name = one.names[0] if one.names else f"{one.site.function or 'file'}-{one.site.let or one.site.method}"
            yield KernelItem.from_parent(self, name=name, line=one.site.span.line, judged=judged)


class JudgedItem(pytest.Item):
    """One verdict that is to be as expected. It fails with the report."""

    line = 0

    def verdicts(self) -> Sequence[Verdict]:
        """What decides this test."""
        return ()

    def runtest(self) -> None:
        from dmaverify.jobs.scope import with_expected

        found = with_expected(self.verdicts(), _asked(self.config)[2])
        wrong = [verdict for verdict in found if not verdict.as_expected]
        if wrong or not found:
            raise PlanFailed(_rendered(wrong) or f"{self.name} has no verdict", wrong)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone; anything else that goes wrong keeps its traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, PlanFailed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, max(0, self.line - 1), self.name


class PlanItem(JudgedItem):
    """One entry of a plan: a transfer, access, gather, program or kernel, also for all sizes."""

    def __init__(self, *, plan: Plan, line: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.plan = plan
        self.line = line

    def verdicts(self) -> Sequence[Verdict]:
        from dmaverify.jobs.load import check

        return check(self.plan, self.name, options=_asked(self.config)[0])


class FileItem(JudgedItem):
    """All that is judged of one file: PTO text, or a text of an iDMA engine."""

    def verdicts(self) -> Sequence[Verdict]:
        chosen, target, _ = _asked(self.config)
        return _judged(self.path, None, target, chosen)


class KernelItem(JudgedItem):
    """One call of a transfer in a kernel, judged with all others of its file."""

    def __init__(self, *, line: int, judged: Callable[[], Mapping[tuple[str, int], Verdict]], **rest: Any) -> None:
        super().__init__(**rest)
        self.line = line
        self.judged = judged

    def verdicts(self) -> Sequence[Verdict]:
        found = self.judged().get((self.name, self.line))
        return () if found is None else (found,)
