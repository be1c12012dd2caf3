"""iDMA: what its engine computes itself, beside the rules and numbers that `encodings/idma` holds as data.

Knows: which module answers which question: `engine` (parameters), `legalizer` and `wire` (bursts), `nd` (strides),
`midends`, `judge` (bursts that somebody else made), `setup` (engines and options of plans).
Does not know: plan files, the prover, printing.
Law: every number that comes from a document or from RTL names its source where it stands.

Source: Benz et al., "A High-performance, Energy-efficient Modular DMA Engine Architecture" ("iDMA paper"); behaviour of
pulp-platform/iDMA v0.7.0.
"""
