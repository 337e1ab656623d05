# %% [markdown]
# # Why do hosts go down?
# Alarms of 120 hosts in one stream of JSON lines, and a table of incidents. There are no sequences: the
# stream is cut into windows. Some alarms come before an incident, some are what the failover wrote after
# it; only the first can be causes. Run this with `python examples/alarms.py`, or open it in an editor
# that shows `# %%` cells as a notebook.

# %%
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from eventcargo import Cargo, Cohort

# %% [markdown]
# ## The tables
# Here they are simulated, so the causes are known: an outage follows `OOMKilled`; data are lost some time
# after `replica lag` if `disk latency high` came in the hours before it. **With your own tables, leave
# this cell out.**

# %%
HOUR = 3600


def write_tables(folder: Path, hosts: int = 120, days: int = 30) -> None:
    random = np.random.default_rng(0)
    names = ["OOMKilled", "disk latency high", "replica lag", *(f"{n} restarted" for n in "abcdefghij")]
    shares = [0.08, 0.16, 0.16] + [0.06] * 10
    alarms, incidents = [], []
    for number in range(hosts):
        host, times = f"host-{number:03}", np.sort(random.uniform(0, days * 24 * HOUR, 60))
        seen = list(zip(times, random.choice(names, 60, p=shares), strict=True))
        for time, name in seen:
            slow = any(one == "disk latency high" and time - 12 * HOUR < when < time for when, one in seen)
            if name == "OOMKilled" or (name == "replica lag" and slow):
                failed = time + random.uniform(2, 9) * HOUR
                incidents.append((host, failed, "outage" if name == "OOMKilled" else "data loss"))
                alarms.append((host, failed + 60, "failover executed"))
        alarms += [(host, time, name) for time, name in seen]
    start = pl.datetime(2024, 3, 1, time_zone="UTC")
    for name, rows, column in (("alarms", alarms, "message"), ("incidents", incidents, "kind")):
        table = pl.DataFrame(rows, ["host", "time", column], orient="row").sort("time")
        time = (start + pl.duration(seconds=pl.col("time"))).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        table.with_columns(time=time).write_ndjson(folder / f"{name}.jsonl")


folder = Path(tempfile.mkdtemp())
write_tables(folder)
print("".join((folder / "alarms.jsonl").open().readlines()[:3]))

# %% [markdown]
# ## From a stream to causes
# Every twelve hours a window ends on each host: it shows the alarms of the last 24 hours, and the
# question is whether an incident follows within the next twelve. `exclude` leaves out what the failover
# writes: a window may still show an earlier incident.

# %%
layout = {"sequence_id": "host", "event": "message"}
cohort = Cohort(
    label_time="time",
    index="windows",
    every="12h",
    lookback="24h",
    horizon="12h",
    exclude=("failover *",),
)
cargo = Cargo(cohort=cohort, preset="fast", steps=5).fit(
    folder / "alarms.jsonl", folder / "incidents.jsonl", label="kind", **layout
)
for kind in cargo.graph_.labels:
    rule, verdict = cargo.rules_[kind], cargo.verdicts_[kind]
    print(f"\n{kind}")
    print(f"  causes: {', '.join(cargo.graph_.boundary(kind))}")
    print(f"  rule: {rule.text if rule else 'none found'}")
    print(f"  {verdict.level}: {verdict.reasons[0]}")

# %% [markdown]
# These causes explain a part of the incidents only, and the verdict still is trust: they are real. The
# rest is when a window ends: where the incident came before its end, or the cause after it, the window
# cannot show it.
#
# ## Which window was the most dangerous, and why?

# %%
windows = cargo.read(folder / "alarms.jsonl", folder / "incidents.jsonl", label="kind", **layout)
risk = cargo.predict_proba(windows).sort("data loss", descending=True)
window = windows[risk["sequence_id"][0]]
found = cargo.explain(window, ["data loss"])
print(f"{window.id}: {', '.join(window.events)}")
print(f"P(data loss within twelve hours) = {found.probabilities['data loss']:.2f}")
for sentence in found.in_words("data loss"):
    print(f"  {sentence}")

# %% [markdown]
# ## What to check first
# Alarms repeat, and much may change with the load. How many windows fewer would end in an outage if no
# process ran out of memory? Read the warnings: they say what the number rests on.

# %%
for answer in cargo.without("OOMKilled"):
    print(answer.in_words)
    for warning in answer.warnings:
        print(f"  {warning}")
