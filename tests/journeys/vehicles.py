"""Vehicles: trouble codes in a messy CSV file, failures with dates, and what the workshop wrote after them.

`;` separates fields, the encoding is cp1252, dates are German, codes have blanks and changing capitals, rows
are repeated. A turbocharger fails after P0299 and P0045 together, a battery after a low-voltage code, a
gearbox after P0741 on one model only; some of each fail without a cause.
"""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from .journey import Journey

Row = tuple[str, datetime, int, str]

FIRST_DAY = datetime(2022, 1, 1)
TIME_FORMAT = "%d.%m.%Y %H:%M"
BACKGROUND = [f"B{number:04d}" for number in range(1000, 1040)]
MODELS = ("Golf 8", "Polo", "Passat")
LOW_VOLTAGE = "P0562 Unterspannung Bordnetz (Zündung)"

CAUSES = {
    "turbo failure": {"P0299", "P0045"},
    "battery failure": {LOW_VOLTAGE},
    "gearbox failure": {"P0741", "Modell=Golf 8"},
}
POST_OUTCOME = {
    "turbo failure": {"workshop: turbocharger replaced"},
    "battery failure": {"workshop: battery replaced"},
    "gearbox failure": {"workshop: gearbox replaced"},
}


def write_vehicles(folder: Path, vehicles: int = 1500, seed: int = 0) -> Journey:
    """Write codes.csv, failures.csv and vehicles.csv."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    records: list[Row] = []
    failures: list[tuple[str, datetime, str]] = []
    models: list[tuple[str, str]] = []
    for number in range(vehicles):
        vin, model = f"WVWZZZ{number:011d}", str(rng.choice(MODELS))
        models.append((vin, model))
        rows = _history(rng, vin)
        for label, day in _failures(rng, rows, model):
            failures.append((vin, day, label))
            workshop = day + timedelta(hours=float(rng.uniform(0, 100)))
            rows += [(vin, workshop, _mileage(rows), name) for name in POST_OUTCOME[label]]
        records += sorted(rows, key=lambda row: row[1])
    files = {name: folder / f"{name}.csv" for name in ("codes", "failures", "vehicles")}
    _write(files["codes"], "VIN;Datum;km;Code", _messy(rng, records))
    _write(files["failures"], "VIN;Datum;Schaden", [f"{v};{_date(t)};{label}" for v, t, label in failures])
    _write(files["vehicles"], "VIN;Modell", [";".join(row) for row in models])
    return Journey(files, CAUSES, POST_OUTCOME)


def _history(rng: np.random.Generator, vin: str) -> list[Row]:
    """Two years of codes, background and causes alike, with the mileage at each."""
    rates = dict.fromkeys(BACKGROUND, 0.6) | {"P0299": 1.5, "P0045": 1.5, LOW_VOLTAGE: 0.4, "P0741": 0.9}
    codes = [code for code, rate in rates.items() for _ in range(rng.poisson(rate))]
    days = rng.uniform(0, 700, len(codes))
    km_per_day, km = rng.uniform(20, 80), rng.uniform(0, 90_000)
    return [
        (vin, FIRST_DAY + timedelta(days=float(day)), int(km + km_per_day * day), code)
        for code, day in zip(codes, days, strict=True)
    ]


def _failures(rng: np.random.Generator, rows: list[Row], model: str) -> list[tuple[str, datetime]]:
    """When the vehicle fails: hours to eight days after a cause, or at random."""
    triggers = _turbo(rows) + [("battery failure", day) for _, day, _, code in rows if code == LOW_VOLTAGE]
    if model == "Golf 8":
        triggers += [("gearbox failure", day) for _, day, _, code in rows if code == "P0741"]
    failed = [
        (label, day + timedelta(hours=float(rng.uniform(2, 200))))
        for label, day in triggers
        if rng.random() < 0.8
    ]
    random = [(label, FIRST_DAY + timedelta(days=float(rng.uniform(30, 700)))) for label in CAUSES]
    return failed + [failure for failure in random if rng.random() < 0.02]


def _turbo(rows: list[Row]) -> list[tuple[str, datetime]]:
    """The later of P0299 and P0045, where they lie at most 20 days apart."""
    first, second = ([day for _, day, _, code in rows if code == name] for name in ("P0299", "P0045"))
    pairs = [(one, other) for one in first for other in second if abs(one - other) < timedelta(days=20)]
    return [("turbo failure", max(pair)) for pair in pairs]


def _mileage(rows: list[Row]) -> int:
    return max((km for _, _, km, _ in rows), default=0)


def _messy(rng: np.random.Generator, records: list[Row]) -> list[str]:
    """Lines with blanks and capitals in some codes; some lines twice."""
    lines = []
    for vin, day, km, code in records:
        kind = rng.random()
        shown = f" {code} " if kind < 0.05 else code.lower() if kind < 0.1 else code
        lines += [f"{vin};{_date(day)};{km};{shown}"] * (2 if rng.random() < 0.02 else 1)
    return lines


def _date(day: datetime) -> str:
    return day.strftime(TIME_FORMAT)


def _write(path: Path, header: str, lines: list[str]) -> None:
    path.write_bytes("\r\n".join([header, *lines, ""]).encode("cp1252"))
