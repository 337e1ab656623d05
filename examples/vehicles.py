# %% [markdown]
# # Why do turbochargers fail?
# A workshop has three tables: trouble codes of 1,500 vehicles, failures with their dates, and the model
# of each vehicle. They are as such exports are: semicolons, German dates, stray blanks, and codes that
# the workshop itself wrote after the repair. This script goes from these tables to causes. Run it with
# `python examples/vehicles.py`, or open it in an editor that shows `# %%` cells as a notebook.

# %%
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from eventcargo import Cargo, Cohort, ReadConfig

# %% [markdown]
# ## The tables
# Here they are simulated, so the causes are known: a turbocharger fails some days after P0299 if P0045
# was there, too; a gearbox fails after P0741, but only in a Golf. **With your own tables, leave this cell
# out.**


# %%
def write_tables(folder: Path, vehicles: int = 1500) -> None:
    random = np.random.default_rng(0)
    codes, failures, models = [], [], random.choice(["Golf", "Polo", "Passat"], vehicles)
    names = ["P0299", "P0045", "P0741", *(f"B{number}" for number in range(1000, 1040))]
    shares = [0.05] * 3 + [0.85 / 40] * 40
    for number, model in enumerate(models):
        vin, days = f"WVW{number:05}", np.sort(random.uniform(0, 700, 30))
        seen = dict(zip(days, random.choice(names, 30, p=shares), strict=True))
        for day, code in seen.items():
            recent = {other for when, other in seen.items() if day - 20 < when <= day}
            turbo = code in ("P0299", "P0045") and {"P0299", "P0045"} <= recent
            gearbox = code == "P0741" and model == "Golf"
            for part in ["turbocharger"] * turbo + ["gearbox"] * gearbox:
                failed = day + random.uniform(0.1, 8)
                failures.append((vin, failed, part))
                codes.append((vin, failed + 1, f"{part} replaced"))
        codes += [(vin, day, f" {code}" if random.random() < 0.05 else code) for day, code in seen.items()]
    for name, rows, columns in (
        ("codes", codes, ["VIN", "Datum", "Code"]),
        ("failures", failures, ["VIN", "Datum", "Schaden"]),
    ):
        table = pl.DataFrame(rows, columns, orient="row")
        date = pl.datetime(2022, 1, 1) + pl.duration(seconds=pl.col("Datum") * 86_400)
        table = table.with_columns(Datum=date.dt.strftime("%d.%m.%Y %H:%M"))
        table.write_csv(folder / f"{name}.csv", separator=";")
    table = pl.DataFrame({"VIN": [f"WVW{number:05}" for number in range(vehicles)], "model": models})
    table.write_csv(folder / "vehicles.csv", separator=";")


folder = Path(tempfile.mkdtemp())
write_tables(folder)
print((folder / "codes.csv").read_text()[:120])

# %% [markdown]
# ## From tables to causes
# Each failure becomes a sequence: the codes of the 30 days before it. It is compared with vehicles that
# were watched for as long and did not fail. What the workshop wrote after a failure is not read.
# `washout` leaves out the 30 days after a failure: its repair is no cause of the next one.

# %%
layout = {
    "sequence_id": "VIN",
    "time": "Datum",
    "event": "Code",
    "static": folder / "vehicles.csv",
    "reading": ReadConfig(time_format="%d.%m.%Y %H:%M"),
}
cohort = Cohort(label_time="Datum", lookback="30d", washout="30d", normalise=True)
cargo = Cargo(cohort=cohort, preset="fast", steps=5).fit(
    folder / "codes.csv", folder / "failures.csv", label="Schaden", **layout
)
for part in cargo.graph_.labels:
    rule, verdict = cargo.rules_[part], cargo.verdicts_[part]
    print(f"\n{part}")
    print(f"  causes: {', '.join(cargo.graph_.boundary(part))}")
    print(f"  rule: {rule.text if rule else 'none found'}")
    print(f"  {verdict.level}: {verdict.reasons[0]}")

# %% [markdown]
# The workshop's own codes, `turbocharger replaced`, are in no boundary: they come after the failure.
# Without `label_time` they would be the best "causes" of all.
#
# ## What to check first
# How many fewer failures would there be without P0299? The answer says what it assumes.

# %%
for answer in cargo.without("p0299"):
    print(answer.in_words)

# %% [markdown]
# ## Which vehicles are at risk today, and why?
# New tables are read and cut in the same way. Without failures, each vehicle's sequence ends with its
# last code. A warning names the codes that the model has never seen before a failure: those of the
# workshop.

# %%
today = cargo.read(folder / "codes.csv", **layout)
risk = cargo.predict_proba(today).sort("turbocharger", descending=True)
print(risk.head(3).select("sequence_id", pl.col("turbocharger").round(3)))

vehicle = today[risk["sequence_id"][0]]
print(f"What moves the turbocharger of {vehicle.id}:")
for move in cargo.explain(vehicle, ["turbocharger"]).causes("turbocharger", 0.5).iter_rows(named=True):
    print(f"  {move['event']}; without it the risk is {move['without']:.2f}")

# %% [markdown]
# ## The whole picture
# One page for a browser, with all labels, drawings, rules and example vehicles.

# %%
cargo.write_report(folder / "report.html")
print(f"Open {folder / 'report.html'}")
