"""Speed of both evaluators of the cost: `python tests/bench/cost_speed.py`. No test asserts a time.

Closed form: milliseconds a plan, for a plan that was never priced (nothing kept from others) and again. Simulator:
the first call of this process (which loads or compiles the loop), then requests a second, the best of four.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from dmaverify import api
from dmaverify.cost import nest, rows, sides
from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "dma-engine"
PLANS = ["example-1", "example-2", "example-3-corrected", "example-4-corrected", "example-5", "example-6-corrected"]
ROUNDS = 15


def forget() -> None:
    """Drops what was counted for other plans."""
    for module in (nest, sides, rows):
        for name in vars(module):
            clear = getattr(getattr(module, name), "cache_clear", None)
            if clear is not None and name != "_byte_images":
                clear()


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    programs = {}
    for name in PLANS:
        plan = api.load(str(EXAMPLES / f"{name.removesuffix('-corrected')}.toml"))
        programs[name] = api.program_of(plan, name)
    cost(programs["example-1"])
    sys.stdout.write(f"{'closed form':<24}{'commands':>9}{'first ms':>10}{'again ms':>10}\n")
    for name, commands in programs.items():
        first, again = [], []
        for _ in range(ROUNDS):
            forget()
            first.append(seconds(lambda commands=commands: cost(commands)))  # type: ignore[misc]
            again.append(seconds(lambda commands=commands: cost(commands)))  # type: ignore[misc]
        sys.stdout.write(f"{name:<24}{len(commands):>9}{min(first) * 1e3:>10.2f}{min(again) * 1e3:>10.2f}\n")
    start = seconds(lambda: simulate(programs["example-1"]))
    sys.stdout.write(f"\nsimulator, first call of the process: {start:.2f} s\n")
    sys.stdout.write(f"{'simulator':<24}{'requests':>10}{'seconds':>10}{'M requests/s':>14}\n")
    for name, commands in programs.items():
        best = min(seconds(lambda commands=commands: simulate(commands)) for _ in range(4))  # type: ignore[misc]
        many = simulate(commands).requests
        sys.stdout.write(f"{name:<24}{many:>10,}{best:>10.3f}{many / best / 1e6:>14.2f}\n")


if __name__ == "__main__":
    main()
