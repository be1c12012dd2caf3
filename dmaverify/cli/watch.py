"""`check --watch`: again, whenever anything that was read changes.

Knows: what a check read and looked for, which files lie beside that.
Does not know: how anything is checked, the terminal.
Law: each check is one of the settings, files and folders that are there when it begins; what a check writes itself
(reports, a redirected screen) asks for no other one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from dmaverify.cli.check import Tick, check_once
from dmaverify.cli.request import CheckRequest, CommandOutcome, Terminal, own_targets, present, request_of
from dmaverify.errors import InputError, errors_of
from dmaverify.language.asked import FILE, TEXT, asking

MOST_WATCHED = 5000
"""Files of a folder, besides those that are named or were read."""


def stamps(request: CheckRequest, read: Collection[str] = ()) -> dict[str, tuple[int, int]]:
    """When each file changed last, and how long it is: of the request, of all that was `read`, and of what may be
    spoken of beside them (kernels, crates, engines, machines, settings), but of nothing that the check writes.
    """
    from dmaverify.jobs.revisions import KEPT
    from dmaverify.jobs.walk import files_below

    found = {}
    named = {name for name, _ in present(request)}
    folders = {Path(name).resolve().parent for name in named}
    with suppress(InputError):  # said by the check itself
        folders |= {one.folder for one in own_targets(request)}
    own = {folder for folder in folders if not any(other in folder.parents for other in folders)}
    screens, reports = _screens(), {os.path.realpath(file) for file in request.written}
    beside = (path for folder in own for path in islice(files_below(folder, KEPT), MOST_WATCHED))
    for file in {*named, *read, *map(str, beside)}:
        with suppress(OSError, ValueError):
            stat = os.stat(file)
            if (stat.st_dev, stat.st_ino) not in screens and os.path.realpath(file) not in reports:
                found[file] = (stat.st_mtime_ns, stat.st_size)
    return found


def _screens() -> set[tuple[int, int]]:
    """The files that standard output and errors are, where they are sent into one."""
    found = set()
    for number in (1, 2):
        with suppress(OSError):
            stat = os.fstat(number)
            found.add((stat.st_dev, stat.st_ino))
    return found


def watched(
    request: CheckRequest, terminal: Terminal, ticks: Callable[[int], Tick], wait: Callable[[], None]
) -> Iterator[CommandOutcome]:
    """One outcome now and one after every change of a file; what cannot be read is an outcome too. Ends never."""
    from dmaverify.report.text import render_error

    read: set[str] = set()
    while True:
        before = stamps(request, read)
        with asking() as asked:
            try:
                request = request_of(request.given)
                before = stamps(request, read)
                outcome = check_once(request, terminal, ticks)
            except InputError as error:
                told = (render_error(one, width=terminal.width, colour=terminal.colour) for one in errors_of(error))
                outcome = CommandOutcome((), tuple(told), 2)
        read |= {path for kind, path, _ in asked if kind in (TEXT, FILE)}
        now = stamps(request, read)
        before = now if request.given["fix"] else {file: now[file] for file in read if file in now} | before
        yield outcome
        while stamps(request, read) == before:
            wait()
