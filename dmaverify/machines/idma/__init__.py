"""iDMA: what its engine computes itself, beside the rules and numbers that `encodings/idma` holds as data.

Knows: which module answers which question. The engine: `engine` (parameters), `legalizer` and `wire` (bursts), `nd`
(strides), `midends`, `judge` (bursts that somebody else made), `setup` (engines and options of plans). Its texts:
`columns` (one request as named numbers), `lists` (burst lists), `jobs`, `registers`, `desc64`, `inst64`, `forms` (the
form of a text, found by name), `check`. Its cost: `law` (cycles of bursts), `price` (cycles of commands as named
terms), `sweep` (utilization over fragments). Its synthesis: `search` (descriptors of a move).
Does not know: printing, the command line.
Law: `read(write(d)) == d` for every form, on every descriptor that the form can say; a cost that is not the measured
law of a coupled AXI back-end is marked as a bound; a synthesized descriptor was proved as it prints.
Law: every number that comes from a document or from RTL names its source where it stands.

Source: Benz et al., "A High-performance, Energy-efficient Modular DMA Engine Architecture" ("iDMA paper"); behaviour of
pulp-platform/iDMA v0.7.0.
"""
