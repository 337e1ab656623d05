"""Why did this alarm go off? The events of one minute on a lathe, and which of them moved it (CausRCA).

Learns from all recorded minutes, then explains one in which the alarm went off.
Run: `python examples/explain_one_alarm.py FOLDER [ALARM]`, a folder with events.csv.gz and labels.csv.gz;
half a minute. Without ALARM it is the first one of the hydraulic level.
"""

import sys
from pathlib import Path

from eventcargo import Cargo, read_events


def main(folder: Path, alarm: str = "Hyd_A_700205") -> None:
    data = read_events(folder / "events.csv.gz", folder / "labels.csv.gz")
    cargo = Cargo(preset="fast", max_time="5m", steps=5).fit(data)
    minute = next(sequence for sequence in data if alarm in sequence.labels)
    found = cargo.explain(minute, [alarm])
    print(f"{minute.id}: {len(minute)} events, alarms {', '.join(minute.labels)}")
    print(f"P({alarm}) given these events is {found.probabilities[alarm]:.2f}; what moved it:")
    for move in found.causes(alarm, 0.1).iter_rows(named=True):  # by more than 0.1 nats
        print(f"  {move['event']} after {move['time']:.0f} s; without it {move['without']:.2f}")
    print(f"In all minutes with this alarm: {', '.join(cargo.graph_.boundary(alarm)) or 'no cause found'}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *sys.argv[2:3])
