"""One Hypothesis profile for everybody: the same examples on every machine, no clock in the verdict.

`HYPOTHESIS_PROFILE=search` looks further with fresh seeds.
"""

import gc
import os

from hypothesis import HealthCheck, settings

# No test depends on what an earlier run proved, nor on the workflow that runs it; tests of these set them again.
os.environ["DMAVERIFY_NO_CACHE"] = "1"
os.environ.pop("GITHUB_ACTIONS", None)

settings.register_profile(
    "ci", max_examples=40, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Thousands of collected tests live until the end: no collection of garbage looks at them again."""
    gc.collect()
    gc.freeze()
