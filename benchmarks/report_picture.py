"""The picture of the report in the documentation: the overview and a label of the demo, in real Chromium.

Makes the demo's run in a temporary folder, or takes the report of a run that is there. Needs Chromium and the
extra dev (Playwright, Pillow comes with matplotlib). Takes a minute and a half, nearly all of it the demo.
Run: `.venv/bin/python -m benchmarks.report_picture [--report RUN/report.html] [--out docs/report.png]`
"""

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

WIDTH, HEIGHT, MARGIN = 1120, 1280, 24
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=None, help="page to show; default: a new demo's")
    parser.add_argument("--label", default="L008", help="label to show beside the overview")
    parser.add_argument("--out", type=Path, default=Path("docs/report.png"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = options.report or demo(Path(folder) / "demo")
        views = shots(page.absolute().as_uri(), ["", f"#label={options.label}"])
    picture = side_by_side(views)
    picture.quantize(128).save(options.out, optimize=True)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


def demo(folder: Path) -> Path:
    """The report of a new demo."""
    subprocess.run([sys.executable, "-m", "eventcargo", "demo", "--out", str(folder)], check=True)
    return folder / "run" / "report.html"


def shots(address: str, routes: list[str]) -> list[Image.Image]:
    """The beginning of some views of a page."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        views = [shot(page, address + route) for route in routes]
        browser.close()
    return views


def shot(page: Page, address: str) -> Image.Image:
    page.goto("about:blank")
    page.goto(address)
    page.locator("section").first.wait_for()
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def side_by_side(views: list[Image.Image]) -> Image.Image:
    """Views beside each other, with a margin between them."""
    width = sum(view.width for view in views) + MARGIN * (len(views) + 1)
    picture = Image.new("RGB", (width, views[0].height + 2 * MARGIN), "#e9ebee")
    for at, view in enumerate(views):
        picture.paste(view, (MARGIN + at * (view.width + MARGIN), MARGIN))
    return picture


if __name__ == "__main__":
    main()
