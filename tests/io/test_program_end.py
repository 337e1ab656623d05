import subprocess
import sys

PROGRAM = """
import sys
from eventcargo.io.tables import read_events
try:
    read_events("events.jsonl", "labels.csv")
except ValueError as error:
    assert "without any event" in str(error)
    sys.exit(1)
"""


def test_a_program_that_ends_right_after_reading_is_not_aborted(tmp_path):
    """Threads of Arrow may still hold the file at that moment: a Python file would abort most such runs."""
    lines = [f'{{"sequence_id": "s{i}", "time": {t}, "event": "e{t}"}}' for i in range(99) for t in range(9)]
    (tmp_path / "events.jsonl").write_text("\n".join(lines))
    (tmp_path / "labels.csv").write_text("sequence_id,label\ns1,L\nzz,L\n")
    runs = [subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, check=False) for _ in range(6)]
    assert [run.returncode for run in runs] == [1] * 6
