# %% [markdown]
# # What precedes acute kidney injury?
# A hospital has records of 2,500 patients: diagnoses, drugs, procedures and laboratory values, each with
# its time; outcomes with their times; and attributes of patients. This script finds what causes an acute
# kidney injury, and shows what goes wrong where sites differ. Run it with `python examples/clinic.py`, or
# open it in an editor that shows `# %%` cells as a notebook.

# %%
from eventcargo import Cargo, Cohort, simulate

# %% [markdown]
# ## The tables
# Here they are simulated, so the causes are known. **With your own data, read your tables instead**; a
# MEDS folder works as it is.

# %%
records = simulate("clinic", subjects=2_500, seed=0)
events, outcomes, patients = records.events, records.outcomes, records.static
print(records)
print(events.head(3))
print(outcomes.head(3))
print(patients.head(3))

# %% [markdown]
# ## From records to causes
# Each outcome becomes a sequence: the records of the 30 days before it. It is compared with patients who
# were under observation for as long and had no outcome. Laboratory values become events such as
# `creatinine >= 2`, and attributes events such as `ward=surgery`.

# %%
layout = {"sequence_id": "subject_id", "event": "code", "static": patients}
cohort = Cohort(
    label_time="time",
    only=("acute kidney injury", "sepsis"),
    lookback="30d",
    washout="30d",
    numeric_value="numeric_value",
)
cargo = Cargo(cohort=cohort, preset="fast", steps=5).fit(events, outcomes, **layout)
for outcome in cargo.graph_.labels:
    rule, verdict = cargo.rules_[outcome], cargo.verdicts_[outcome]
    print(f"\n{outcome}")
    print(f"  causes: {', '.join(cargo.graph_.boundary(outcome))}")
    print(f"  rule: {rule.text if rule else 'none found'}")
    print(f"  {verdict.level}: {verdict.reasons[0]}")

# %% [markdown]
# ## One patient
# What moved the probability of this patient's kidney injury?

# %%
injury = "acute kidney injury"
patient = next(one for one in cargo.read(events, outcomes, **layout) if injury in one.labels)
found = cargo.explain(patient, [injury])
print(f"{patient.id}: {len(patient)} events, P({injury}) = {found.probabilities[injury]:.2f}")
for move in found.causes(injury, 0.5).iter_rows(named=True):
    print(f"  {move['event']}; without it {move['without']:.2f}")

# %% [markdown]
# ## What to check first: do sites differ?
# Sepsis is more frequent at one site, so `site=north` is found as a cause of it. A site is nothing that a
# doctor can change, and it may stand for much that was not recorded. `adjust` compares patients with
# others of their site: the causes that are left do not depend on it.

# %%
within = Cohort(label_time="time", only=("sepsis",), lookback="30d", washout="30d", adjust=("site",))
adjusted = Cargo(cohort=within, preset="fast", steps=5).fit(events, outcomes, **layout)
print(f"sepsis within sites: {', '.join(adjusted.graph_.boundary('sepsis'))}")
