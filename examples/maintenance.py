"""Why machine components fail: 25,000 machine months of errors, repairs and failures (Azure PdM).

Prints for every component the events that lead to its failure, the rule they follow and whether to trust it.
Run: `python examples/maintenance.py FOLDER`, a folder with events.csv.gz and labels.csv.gz; half a minute.
"""

import sys
from pathlib import Path

from eventcargo import Cargo, read_events


def main(folder: Path) -> None:
    data = read_events(folder / "events.csv.gz", folder / "labels.csv.gz")
    print(data)
    cargo = Cargo(preset="fast", max_time="5m", steps=5).fit(data)
    for component in cargo.graph_.labels:
        rule, verdict = cargo.rules_[component], cargo.verdicts_[component]
        print(f"\n{component}")
        print(f"  causes: {', '.join(cargo.graph_.boundary(component)) or 'none found'}")
        print(f"  rule: {rule.text if rule else 'none found'}")
        print(f"  {verdict.level}: {verdict.reasons[0]}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
