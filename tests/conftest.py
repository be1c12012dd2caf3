"""One Hypothesis profile for everybody: the same examples on every machine, no clock in the verdict.

`HYPOTHESIS_PROFILE=search` looks further with fresh seeds.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test depends on what an earlier run proved, nor on the workflow that runs it; tests of these set them again.
os.environ["DMAVERIFY_NO_CACHE"] = "1"
os.environ.pop("GITHUB_ACTIONS", None)

# As the command line does: trees of terms are made and dropped whole, and looking for cycles in them took a fifth.
gc.set_threshold(1_000_000, 50, 1000)

# Tests start hundreds of processes: each would compile the package again where nothing keeps what the first compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile(
    "ci", max_examples=40, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# It also draws numbers and texts that stand in the modules imported so far: other ones with every order of the tests.
with suppress(ImportError):
    from hypothesis.internal.conjecture import providers

    providers._get_local_constants = lambda: providers._local_constants


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """In a fresh tree one worker after the other reads the tests, so that only the first has them to compile."""
    kept = Path(__file__).parent / "house" / "__pycache__"
    with ExitStack() as held:
        if sys.platform != "win32" and not any(kept.glob("test_*.pyc")):
            from fcntl import LOCK_EX, flock

            flock(held.enter_context(open(__file__, "rb")), LOCK_EX)
        return (yield)


COLLECTED = pytest.StashKey[frozenset[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[COLLECTED] = frozenset(item.nodeid for item in items)


@pytest.fixture(scope="session")
def collected(pytestconfig: pytest.Config) -> frozenset[str]:
    """Ids of all tests that were read, those left out by marks and words among them."""
    return pytestconfig.stash[COLLECTED]


def pytest_collection_finish() -> None:
    """Thousands of collected tests live until the end: no collection of garbage looks at them again."""
    gc.collect()
    gc.freeze()
