"""The command line: one module a group of commands; `app` holds the arguments, `screen` prints.

Knows: where the entry point is, and the two calls that are made most. Does not know: any command.
Law: importing this imports nothing else; start-up is part of the speed. A call that is recognised here does what `app`
would do with it.
"""

PLAIN = {"--no-cache": "no_cache", "--strict": "strict", "-v": "verbose", "--verbose": "verbose"}


def main() -> None:
    """Runs the command line; the exit code is that of the process."""
    import gc
    import sys

    gc.set_threshold(100_000, 50, 50)  # starting makes many objects and no garbage
    _write_whole()
    words = sys.argv[1:]
    if words == ["--version"]:  # asked by editors and scripts, often: without the commands
        from dmaverify import __version__

        sys.stdout.write(f"dmaverify, version {__version__}\n")
        return
    if words[:1] == ["check"] and all(word in PLAIN or not word.startswith("-") for word in words):
        from dmaverify.cli.screen import check_plainly, ended

        given = {PLAIN[word]: True for word in words if word in PLAIN}
        paths = tuple(word for word in words[1:] if word not in PLAIN)
        sys.exit(ended(lambda: check_plainly({**given, "paths": paths})))
    from dmaverify.cli.app import main as run

    run()


def _write_whole() -> None:
    """What is said is written to its end, and nowhere where there is no output.

    An interpreter that was told not to buffer (PYTHONUNBUFFERED, `-u`) writes once, and drops what a full pipe did not
    take when a signal came in between; one whose output is closed has no stream at all.
    """
    import io
    import os
    import sys

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            whole = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        elif isinstance(getattr(stream, "buffer", None), io.RawIOBase):
            encoding, errors = stream.encoding, stream.errors
            whole = io.TextIOWrapper(io.BufferedWriter(stream.detach()), encoding, errors, line_buffering=True)
        else:
            continue
        setattr(sys, name, whole)
        setattr(sys, f"__{name}__", whole)
