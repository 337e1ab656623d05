"""Rules on the arrangement of events: what whole runs find of them, and how well they tell fresh sequences.

The regimes `state`, `switch` and `window`, and `mixed`, which has twelve kinds of rules at once. Settings
were chosen on seeds from 100 on; `fresh.py` has what is measured and the variants of a run.
Run: `.venv/bin/python -m benchmarks.accuracy.arrangements [--seeds ...] [--cases ...] [--variants ...]`
"""

from eventcargo.simulation import REGIMES, simulate

from benchmarks.accuracy.fresh import KnownCase, run_script

CASES = ("state", "switch", "window", "mixed")


def load(regime: str, seed: int) -> KnownCase:
    """A regime with half as many sequences again, which are fresh."""
    n = REGIMES[regime].config().sequences * 3 // 2
    made = simulate(regime, sequences=n, seed=seed)
    # without noise the same seed gives the same sequences: their labels are what the rules say
    true = simulate(regime, sequences=n, seed=seed, label_noise=0.0).data.label_matrix().toarray() > 0
    return KnownCase.cut(made.data, made.truth, made.rules, true)


if __name__ == "__main__":
    run_script("arrangements", __doc__, CASES, load)
