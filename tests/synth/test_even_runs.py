"""Places at even distances as loops: the same places, in the same order, in as few runs as neighbours allow."""

import random
from itertools import product

import pytest

from dmaverify.program.even_runs import EvenRun, Place, gathered, joined


def places_of(run: EvenRun) -> list[Place]:
    """The places of a run, the outermost level slowest."""
    turns = product(*(range(count) for count, _ in reversed(run.levels)))
    steps = [step for _, step in reversed(run.levels)]
    return [
        tuple(a + sum(n * s[i] for n, s in zip(at, steps, strict=True)) for i, a in enumerate(run.at)) for at in turns
    ]


@pytest.mark.parametrize("way", [joined, gathered])
def test_what_is_joined_are_the_places_that_were_given_in_their_order(way) -> None:
    fewer = 0
    for seed in range(200):
        rng = random.Random(seed)
        given = [(rng.choice((0, 4, 8, 12)) + 16 * n, rng.choice((0, 4)) + 8 * n) for n in range(rng.randint(0, 12))]
        kinds = [rng.choice((1, 1, 1, 2)) for _ in given]
        made = way([EvenRun(place, of=kind) for place, kind in zip(given, kinds, strict=True)])
        assert [place for run in made for place in places_of(run)] == given, seed
        assert [run.of for run in made for _ in places_of(run)] == kinds, seed
        fewer += len(made) < len(given)
    assert fewer > 100


def test_a_nest_of_levels_is_one_run_and_one_place_more_is_another() -> None:
    nest = EvenRun((7, 9), ((3, (1, 4)), (2, (10, 0)), (5, (100, 64))))
    assert list(gathered([EvenRun(place) for place in places_of(nest)])) == [nest]
    more = (*places_of(nest), (0, 0))
    assert list(gathered([EvenRun(place) for place in more])) == [nest, EvenRun((0, 0))]
