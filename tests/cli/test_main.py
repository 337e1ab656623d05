import subprocess
import sys

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
