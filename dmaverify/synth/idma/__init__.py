"""From a move to iDMA descriptors.

Knows: `search` (descriptors of a move).
Does not know: plan files, command lines.
Law: what is handed out was proved by `check_transfer` as it prints.
"""
