"""Alarms: a JSONL stream of messages of hosts, without sequence ids, and a table of incidents.

An outage follows an OOMKilled; data are lost after high disk latency and then replica lag. Messages such as
"failover executed" follow an incident, some at the very same instant. Offsets of hosts differ.
"""

import csv
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np

from .journey import Journey

Messages = list[tuple[datetime, str]]

FIRST_HOUR = datetime(2024, 3, 1, tzinfo=UTC)
DAYS = 40
NOISE = [f"service {number:02d} restarted" for number in range(30)] + [
    "heartbeat late",
    "certificate renewed",
]

CAUSES = {"outage": {"OOMKilled"}, "data loss": {"disk latency high", "replica lag"}}
POST_OUTCOME = {
    "outage": {"failover executed", "pager: outage acknowledged"},
    "data loss": {"restore from backup started"},
}


def write_alarms(folder: Path, hosts: int = 120, seed: int = 0, later: int = 0) -> Journey:
    """Write alarms.jsonl and incidents.csv, of a time that begins some days `later`."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    stream: list[tuple[datetime, str, str]] = []
    incidents: list[tuple[datetime, str, str]] = []
    for number in range(hosts):
        host, zone = f"host-{number:03d}", timezone(timedelta(hours=int(rng.integers(0, 3))))
        messages = _history(rng)
        happened = _incidents(rng, messages)
        messages += [record for kind, time in happened for record in _records(rng, kind, time)]
        shift = timedelta(days=later)
        stream += [((time + shift).astimezone(zone), host, message) for time, message in messages]
        incidents += [(time + shift, host, kind) for kind, time in happened]
    files = {"alarms": folder / "alarms.jsonl", "incidents": folder / "incidents.csv"}
    rows = [{"host": host, "timestamp": _iso(time), "message": text} for time, host, text in sorted(stream)]
    files["alarms"].write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with files["incidents"].open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["host", "time", "kind"])
        writer.writerows([host, _iso(time), kind] for time, host, kind in sorted(incidents))
    return Journey(files, CAUSES, POST_OUTCOME)


def _history(rng: np.random.Generator) -> Messages:
    rates = dict.fromkeys(NOISE, 4.0) | {"OOMKilled": 5.0, "disk latency high": 16.0, "replica lag": 16.0}
    texts = [text for text, rate in rates.items() for _ in range(rng.poisson(rate))]
    return [(_random_time(rng), text) for text in texts]


def _random_time(rng: np.random.Generator) -> datetime:
    return FIRST_HOUR + timedelta(seconds=int(rng.integers(0, DAYS * 86_400)))


def _incidents(rng: np.random.Generator, messages: Messages) -> list[tuple[str, datetime]]:
    """Incidents 20 minutes to three hours after their cause, or at random."""
    slow = [time for time, text in messages if text == "disk latency high"]
    lag = [time for time, text in messages if text == "replica lag"]
    triggers = [("outage", time) for time, text in messages if text == "OOMKilled"]
    triggers += [
        ("data loss", time)
        for time in lag
        if any(0 < (time - one).total_seconds() < 20 * 3600 for one in slow)
    ]
    happened = [
        (kind, time + timedelta(minutes=int(rng.integers(20, 180))))
        for kind, time in triggers
        if rng.random() < 0.8
    ]
    return happened + [(kind, _random_time(rng)) for kind in CAUSES if rng.random() < 0.2]


def _records(rng: np.random.Generator, kind: str, time: datetime) -> Messages:
    """What is written after an incident; every second one at the very instant."""
    delays = [0 if rng.random() < 0.5 else int(rng.integers(1, 40)) for _ in POST_OUTCOME[kind]]
    return [
        (time + timedelta(minutes=delay), text)
        for delay, text in zip(delays, sorted(POST_OUTCOME[kind]), strict=True)
    ]


def _iso(time: datetime) -> str:
    """ISO 8601 with offset; UTC as Z."""
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
