from pathlib import Path

from .program import run


def test_the_demo_ends_with_found_against_true_causes(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    printed = run("demo", "--out", out, "--max-time", "60s", "--sequences", "300").stdout
    assert "Found against true causes" in printed
    assert "eventcargo explain" in printed
    assert (out / "run" / "report.html").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "exists already" in run("demo", "--out", tmp_path, code=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
