"""Questions that many cases of a file ask are asked once: the answers to a script depend on it and its limit alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from unittest import mock

import pytest

from dmaverify.prove.flow.order import order_questions
from dmaverify.prove.limits import RLIMIT
from dmaverify.prove.move import full
from dmaverify.prove.smt import answers_to


@pytest.fixture(autouse=True, scope="module")
def _asked_once() -> Iterator[None]:
    @cache
    def told(script: str, rlimit: int) -> tuple[str, ...]:
        (answers,) = answers_to([script], rlimit)
        return tuple(answers)

    def known(scripts: Iterable[str], rlimit: int = RLIMIT) -> Iterator[list[str]]:
        return (list(told(script, rlimit)) for script in scripts)

    with mock.patch.object(full, "answers_to", known), mock.patch.object(order_questions, "answers_to", known):
        yield
