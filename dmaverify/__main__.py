"""`python -m dmaverify`: the command line, for whoever has the interpreter and not the script.

Knows: where the entry point is. Does not know: any command.
Law: it does what the script `dmaverify` does, and nothing else.
"""

from dmaverify.cli import main

if __name__ == "__main__":
    main()
