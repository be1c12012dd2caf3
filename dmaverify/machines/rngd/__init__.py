"""FuriosaAI RNGD: what is read beside plan files.

Knows: Rust kernels (`rust/`).
Does not know: how a transfer is judged.
Law: every transfer of a kernel becomes a transfer of the plan, or is reported.
"""
