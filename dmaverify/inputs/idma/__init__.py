"""What iDMA is told, in every form that its front-ends and test benches have, read and written.

Knows: `columns` (one request as named numbers), `lists` (burst lists that somebody made), `jobs`, `registers`,
`desc64`, `inst64`, `forms` (the form of a text, found by name).
Does not know: whether what was told is right.
Law: `read(write(d)) == d` for every form, on every descriptor that the form can say.
"""
