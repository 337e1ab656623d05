import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from eventcargo import __version__
from eventcargo.cli import COMMANDS

from .program import run


def test_help_lists_every_command() -> None:
    printed = run("--help").stdout
    assert all(name in printed for name in COMMANDS)


def test_every_command_has_help_of_its_own() -> None:
    for name in COMMANDS:
        assert "Usage: " in run(name, "--help").stdout


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['eventcargo', '--help']\n"
        "from eventcargo.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'scipy', 'polars', 'pyarrow', 'sklearn', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version_is_printed() -> None:
    assert run("--version").stdout.strip() == f"eventcargo {__version__}"


def test_an_unknown_command_is_a_usage_error() -> None:
    assert "frobnicate" in run("frobnicate", code=2).stderr


def test_a_missing_argument_is_a_usage_error() -> None:
    assert "events" in run("validate", code=2).stderr.lower()


def test_an_interrupt_is_told_and_leaves_no_graph(fleet: Path, tmp_path: Path) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    tables = (fleet / "events.parquet", "--labels", fleet / "labels.parquet")
    with patch("eventcargo.baselines.search.edge_evidence", stop):
        said = run("baseline", "iamb", *tables, "--out", tmp_path / "g.csv", code=130).stderr
    assert "interrupted" in said
    assert list(tmp_path.iterdir()) == []
