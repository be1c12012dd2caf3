"""What Hypothesis draws in the suite is the same in every order of the tests."""

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_what_is_drawn_does_not_depend_on_the_modules_that_were_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn() -> list[int]:
        found: list[int] = []

        @settings(max_examples=500)
        @given(st.integers())
        def draw(number: int) -> None:
            found.append(number)

        draw()
        return found

    before = drawn()
    own = tmp_path / "numbers_of_its_own.py"
    own.write_text(f"ALL = {[7_000_001 * n for n in range(1, 200)]}\n")
    spec = importlib.util.spec_from_file_location(own.stem, own)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, own.stem, module)
    assert len(before) == 500
    assert drawn() == before
