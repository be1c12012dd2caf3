"""What steps and instructions touch: in which iterations, on which ways, with what known of the symbols there.

Knows: steps, events, loops and branches around them; the solver's answers about symbols.
Does not know: order, what any analysis asks of the accesses.
Law: what is not followed is said to be open, never left out.
"""
