"""What an iDMA program costs.

Knows: `law` (cycles of bursts), `price` (cycles of commands as named terms), `sweep` (utilization over fragments).
Does not know: plan files, pictures.
Law: a number that is not the measured law of a coupled AXI back-end is marked as a bound.
"""
