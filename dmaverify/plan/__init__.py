"""Plan files: TOML to transfers, accesses, programs and kernels, with the place of everything.

Knows: the plan format, configuration texts, settings.
Does not know: whether what is written is right.
Law: unknown keys are errors with a suggestion; nothing read is dropped.
"""
