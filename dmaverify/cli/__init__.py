"""The command line: one module a group of commands; `app` holds the arguments and prints.

Knows: where the entry point is. Does not know: any command.
Law: importing this imports nothing else; start-up is part of the speed.
"""


def main() -> None:
    """Runs the command line; the exit code is that of the process."""
    import sys

    if sys.argv[1:] == ["--version"]:  # asked by editors and scripts, often: without the commands
        from dmaverify import __version__

        sys.stdout.write(f"dmaverify, version {__version__}\n")
        return
    from dmaverify.cli.app import main as run

    run()
