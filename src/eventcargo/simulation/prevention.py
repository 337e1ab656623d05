"""Prevention: the same process with some event types prevented, drawn with the same random numbers.

What a prevented event type would have caused does not happen; everything else is drawn as it would be. So two
simulations of one seed, with and without it, show what the event type really does.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, argument, did_you_mean
from eventcargo.simulation.simulated import Columns, event_names


def prevented_types(names: Sequence[str], n_event_types: int) -> NDArray[np.int64]:
    """The numbers of the event types with these names.

    >>> prevented_types(["E00002"], 10).tolist()
    [2]
    """
    known = {name: number for number, name in enumerate(event_names(n_event_types))}
    for name in names:
        if name not in known:
            meant = did_you_mean(name, list(known))
            raise ConfigError(
                f"{argument('without', name)}: no such event type among {n_event_types:,}"
                + (f"; did you mean {meant}?" if meant else "")
            )
    return np.array([known[name] for name in names], np.int64)


def leave_out(columns: Columns, types: NDArray[np.int64]) -> Columns:
    """The columns without the events of some types; labels stay as they are."""
    if not len(types):
        return columns
    kept = ~np.isin(columns.events, types)
    sequence = np.repeat(np.arange(len(columns.lengths)), columns.lengths)
    lengths = np.bincount(sequence[kept], minlength=len(columns.lengths)).astype(np.int64)
    return Columns(lengths, columns.events[kept], columns.times[kept], columns.carried)
