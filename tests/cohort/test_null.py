"""If outcomes fall at random times, nothing may tell cases from controls: the cut must not become a cause."""

import numpy as np
import pytest

from eventcargo.cohort import Cohort, Tables, build_cohort

from .worlds import World, differences

WORLDS = {
    "plain": World(),
    "bursts": World(bursts=3),
    "unequal": World(unequal=True),
    "terminal": World(terminal=True),
    "recurrent": World(recurrent=True),
    "by day": World(by_day=True),
    "all with outcome": World(with_outcome=1.0),
}
SEEDS = range(9)


def test_the_difference_is_seen_where_controls_are_whole_histories() -> None:
    events, outcomes = World().tables(0)
    built = build_cohort(Cohort(label_time="when", controls=0), Tables(events, outcomes))
    whole = Cohort(index="end").build(events)
    assert whole.lengths.mean() > 1.5 * built.data.lengths.mean()


@pytest.mark.parametrize("lookback", ["", "5d"])
@pytest.mark.parametrize("name", WORLDS)
def test_cases_and_controls_of_a_world_without_causes_look_alike(name: str, lookback: str) -> None:
    found = []
    for seed in SEEDS:
        events, outcomes = WORLDS[name].tables(seed)
        cohort = Cohort(label_time="when", lookback=lookback, seed=seed)
        found.append(differences(build_cohort(cohort, Tables(events, outcomes)), events))
    # The mean of nine standard normal variables has a standard deviation of 1/3.
    assert np.abs(np.mean(found, axis=0)).max() < 1.0, np.mean(found, axis=0)
