"""Our baselines against pyCausalFS 0.23 on random tables: the same sets, and how much faster.

pyCausalFS is GPL software from PyPI, installed by the extra `bench` and only called here. Same test (G2),
same degrees of freedom (`dof="full"`), no small-sample rule, alpha 0.01. The target is the last column.
Run: `.venv/bin/python -m benchmarks.accuracy.pycausalfs [--quick]`
"""

import argparse
import multiprocessing
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from eventcargo.baselines.iamb import iamb
from eventcargo.baselines.pc import PcdByPcd, cmb, hiton_pc, mb_by_mb, mmpc
from eventcargo.statistics.g2 import IndependenceTest

from benchmarks.record import provenance, save

ALPHA = 0.01
ROWS = 2000
KINDS = ("independent", "chained", "sparse")
TIMEOUT = 900  # seconds for one run of pyCausalFS


def make_table(kind: str, columns: int, seed: int) -> np.ndarray:
    """A 0/1 table whose last column is a noisy rule on three of the others."""
    rng = np.random.default_rng([seed, columns, KINDS.index(kind)])
    n = ROWS
    if kind == "sparse":
        table = rng.random((n, columns)) < np.clip(2.0 / np.arange(4, columns + 4), 0.02, 0.4)
    else:
        table = rng.random((n, columns)) < 0.4
    if kind == "chained":
        for column in range(1, columns):
            table[:, column] = np.where(rng.random(n) < 0.5, table[:, column], table[:, column - 1])
    a, b, c = rng.choice(min(columns, 30), 3, replace=False)
    rule = (
        (table[:, a] | table[:, b]) & ~table[:, c]
        if kind == "sparse"
        else table[:, a] & table[:, b] & table[:, c]
    )
    flipped = rule ^ (rng.random(n) < 0.02)
    return np.column_stack([table, flipped]).astype(int)


def ours(method: str, table: np.ndarray) -> list[int]:
    """Our answer, from the raw table: building the engine is part of the time."""
    test = IndependenceTest(sp.csr_array(table), dof="full", min_rows_per_dof=0)
    target = test.event(table.shape[1] - 1)
    if method == "pcd-by-pcd":
        return sorted(PcdByPcd(test, ALPHA)(target))
    solve = {"iamb": iamb, "cmb": cmb, "mb-by-mb": mb_by_mb}[method]
    return sorted(solve(test, target, ALPHA))


def theirs(method: str, table: np.ndarray) -> list[int]:
    """pyCausalFS's boundary (IAMB) or parents and children (the others)."""
    from pyCausalFS.CBD.MBs.IAMB import IAMB
    from pyCausalFS.LSL.MBs.CMB.CMB import CMB
    from pyCausalFS.LSL.MBs.MBbyMB import MBbyMB
    from pyCausalFS.LSL.MBs.PCDbyPCD import PCDbyPCD

    target = table.shape[1] - 1
    if method == "iamb":
        return sorted(int(x) for x in IAMB(table, target, ALPHA, True)[0])
    solve = {"cmb": CMB, "mb-by-mb": MBbyMB, "pcd-by-pcd": PCDbyPCD}[method]
    return sorted(int(x) for x in solve(table, target, ALPHA, True)[2])


def _worker(pipe: "multiprocessing.connection.Connection", method: str, table: np.ndarray) -> None:
    started = time.perf_counter()
    found = theirs(method, table)
    pipe.send((found, time.perf_counter() - started))


def theirs_timed(method: str, table: np.ndarray) -> tuple[list[int] | None, float]:
    """Their answer and seconds, or None and the limit when it takes longer."""
    ours_end, theirs_end = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_worker, args=(theirs_end, method, table))
    process.start()
    answer = ours_end.recv() if ours_end.poll(TIMEOUT) else (None, float(TIMEOUT))
    process.terminate()
    process.join()
    return answer


def ours_timed(method: str, table: np.ndarray) -> tuple[list[int], float]:
    """Our answer and the median seconds of five runs."""
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        found = ours(method, table)
        seconds.append(time.perf_counter() - started)
    return found, float(np.median(seconds))


def explain(method: str, table: np.ndarray, mine: list[int], other: list[int]) -> str:
    """Why the two sets differ, checked against the parts pyCausalFS is made of."""
    from pyCausalFS.CBD.MBs.HITON.HITON_PC import HITON_PC
    from pyCausalFS.CBD.MBs.MMMB.MMMB import MMMB
    from pyCausalFS.CBD.MBs.MMMB.MMPC import MMPC

    test = IndependenceTest(sp.csr_array(table), dof="full", min_rows_per_dof=0)
    t = table.shape[1] - 1
    target = test.event(t)
    alone = test(target)
    odd = sorted(set(mine) ^ set(other))
    if method == "cmb":
        same = sorted(HITON_PC(table, t, ALPHA, True)[0]) == sorted(hiton_pc(test, target, ALPHA))
        return f"columns {odd}: HITON-PC itself {'agrees' if same else 'DIFFERS'}; orientation changed links"
    same = sorted(MMPC(table, t, ALPHA, True)[0]) == sorted(mmpc(test, target, ALPHA))
    if method == "pcd-by-pcd":
        ends = {x: t in mmpc(test, test.event(x), ALPHA) for x in odd}
        return (
            f"columns {odd}: MMPC of the target {'agrees' if same else 'DIFFERS'}; is the target in MMPC of "
            f"the column: {ends}"
        )
    boundary = MMMB(table, t, ALPHA, True)[0]
    facts = {
        x: {"in its MMMB of the target": x in boundary, "p alone": round(float(alone.p_value[x]), 3)}
        for x in odd
    }
    return (
        f"columns {odd}: MMPC of the target {'agrees' if same else 'DIFFERS'}; {facts}; pyCausalFS "
        "decides links again when its queue reaches other nodes, and orientation draws arrows between "
        "nodes that are not linked"
    )


def compare(method: str, kind: str, columns: int, seed: int) -> dict[str, object]:
    table = make_table(kind, columns, seed)
    found, seconds = ours_timed(method, table)
    expected, their_seconds = theirs_timed(method, table)
    row: dict[str, object] = {
        "method": method,
        "kind": kind,
        "columns": columns,
        "seed": seed,
        "ours": found,
        "theirs": expected,
        "same": expected is not None and found == expected,
        "seconds_ours": seconds,
        "seconds_theirs": their_seconds,
        "ratio": their_seconds / seconds,
    }
    if expected is not None and found != expected:
        row["why"] = explain(method, table, found, expected)
    mark = "same" if row["same"] else ("TIMEOUT" if expected is None else "differs")
    print(
        f"{method:12} {kind:12} {columns:5} columns  seed {seed}  {mark:8} "
        f"{their_seconds:8.2f} s / {seconds:7.4f} s = {row['ratio']:8.0f}",
        flush=True,
    )
    return row


def plan(quick: bool) -> list[tuple[str, str, int, int]]:
    """Which comparisons to make: 24 tables for every method, larger ones where pyCausalFS can finish."""
    largest = {"iamb": 1000, "cmb": 400, "mb-by-mb": 200, "pcd-by-pcd": 200}
    tables = [
        (kind, columns, seed) for columns in (50, 100) for kind in KINDS for seed in range(1 if quick else 3)
    ]
    if not quick:
        tables += [(kind, columns, 0) for columns in (200, 400, 1000) for kind in KINDS]
    return [(method, *table) for table in tables for method, most in largest.items() if table[1] <= most]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="six small tables only")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = [compare(*case) for case in plan(options.quick)]
    for row in rows:
        if "why" in row:
            print(f"differs: {row['method']} {row['kind']} {row['columns']} seed {row['seed']}: {row['why']}")
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        print(f"{method}: {sum(bool(row['same']) for row in mine)} of {len(mine)} the same")
    path = save(
        "pycausalfs", {**provenance([0, 1, 2]), "rows": ROWS, "alpha": ALPHA, "cases": rows}, options.out
    )
    print(f"written to {path}")


if __name__ == "__main__":
    main()
