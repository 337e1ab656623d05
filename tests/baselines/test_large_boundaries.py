import numpy as np

from eventcargo import EventDataset, EventSequence, find_boundaries
from eventcargo.baselines.find import BaselineConfig


def test_a_boundary_of_more_than_63_members_is_scored() -> None:
    """70 event types that each raise the label's odds: l1-logistic keeps nearly all of them."""
    rng = np.random.default_rng(1)
    present = rng.random((1500, 70)) < 0.5
    carries = present.sum(axis=1) + rng.normal(0, 1.0, 1500) > 35
    data = EventDataset.from_sequences(
        [
            EventSequence(
                f"{row:04}",
                tuple(f"E{column:02}" for column in np.flatnonzero(events)),
                tuple(map(float, range(int(events.sum())))),
                ("bad",) if label else (),
            )
            for row, (events, label) in enumerate(zip(present, carries, strict=True))
        ]
    )
    graph = find_boundaries(data, "l1-logistic")
    assert len(graph.boundary("bad")) > 63
    assert graph.edges["p_value"].is_between(0, 1).all()
    full = find_boundaries(data, "l1-logistic", BaselineConfig(dof="full"))
    assert full.boundaries == graph.boundaries
