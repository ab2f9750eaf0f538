"""Take the screenshots of tutorials and README: `.venv/bin/python docs/screenshots.py`.

Builds the demo and the study of the first-study tutorial in a temporary folder, which
takes some minutes.
"""

import io
import os
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ["DEMO"] = "1"
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright runs a loop in this thread

from benchmarks.temporary_site import serve, temporary_site  # noqa: E402
from tests import chromium_build  # noqa: E402

PICTURES = ROOT / "docs" / "tutorials" / "pictures"
WIDTH, HEIGHT, COLOURS = 1120, 760, 128
PASSWORD = "not-a-secret"


def photograph(page: Page, width: int = WIDTH, height: int = HEIGHT) -> Image.Image:
    """Return the upper part of a page."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_load_state("networkidle")
    page.mouse.move(0, 0)
    picture = page.screenshot(animations="disabled")
    return Image.open(io.BytesIO(picture)).convert("RGB")


def save(picture: Image.Image, path: Path) -> None:
    """Store a picture in few colours."""
    small = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    print(path.name, path.stat().st_size // 1000, "kB")


def take(page: Page, name: str, height: int = HEIGHT) -> None:
    """Store the upper part of a page for the tutorials."""
    save(photograph(page, height=height), PICTURES / f"{name}.png")


def open_story(browser: Browser, address: str, annotator) -> Page:
    """Return an annotator's page with the first story after the training."""
    from django.utils import timezone

    agree(annotator, timezone.now())
    page = browser.new_page()
    page.goto(f"{address}/rate/{annotator.invitation.token}/")
    page.locator("main .button.primary").first.click()
    page.wait_for_selector("html.ready")
    return page


def assemble(*panels: tuple[Image.Image, tuple[int, int, int, int]]) -> Image.Image:
    """Return one picture of several, each in its box (left, top, width, height)."""
    whole = Image.new("RGB", (1612, 1012), "#d9d6cd")
    for picture, (left, top, width, height) in panels:
        size = (width, height)
        whole.paste(picture.resize(size, Image.Resampling.LANCZOS), (left, top))
    return whole


def study_of_the_tutorial(data: Path):
    """Import the demo's pictures and plan the study, as the tutorial does."""
    from django.core.management import call_command

    from annotate.models import Study, User

    User.objects.create_superuser("alice", password=PASSWORD)
    outputs = data / "sample" / "outputs"
    call_command("import_outputs", outputs, benchmark="mine", create_stories=True)
    call_command(
        "plan_study",
        "pilot",
        "--benchmark=mine",
        "--template=vistorybench-user-study",
        "--annotators=3",
        "--set=redundancy=2",
        "--manager=alice",
    )
    return Study.objects.get(slug="pilot")


def answer(study, annotators) -> None:
    """Let simulated annotators rate every story."""
    from django.utils import timezone

    from annotate.models import Annotator
    from annotate.responses.bulk import store_judgements
    from fixtures.simulation import simulate

    start = timezone.now() - timedelta(days=2)
    for annotator in annotators:
        agree(annotator, start)
    store_judgements(simulate(study, annotators, seed=1, start=start))
    ids = [annotator.pk for annotator in annotators]
    Annotator.objects.filter(pk__in=ids).update(state="finished", finished_at=start)


def agree(annotator, at) -> None:
    """Store that an annotator has agreed, read and trained."""
    annotator.consented_at = annotator.instructed_at = annotator.trained_at = at
    annotator.consent_version = annotator.study.consent_version
    annotator.save()


def log_in(page: Page, address: str) -> None:
    """Log in as Alice."""
    page.goto(f"{address}/login/")
    page.fill("input[name=username]", "alice")
    page.fill("input[name=password]", PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_url("**/studies/")


def main() -> None:
    """Take every screenshot."""
    PICTURES.mkdir(exist_ok=True)
    with temporary_site() as data:
        from django.core.management import call_command

        from annotate.models import Invitation
        from evalcore.metrics import registry
        from evalcore.models import Worker
        from evalcore.serving import workers
        from fixtures import demo

        demo.build()
        study = study_of_the_tutorial(data)
        with serve() as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium_build.path(), args=chromium_build.ARGS
            )
            page = browser.new_page()
            page.goto(address)
            take(page, "demo")
            log_in(page, address)
            template = "vistorybench-user-study"
            page.goto(f"{address}/setup/mine/?template={template}")
            page.fill("[name=slug]", "pilot2")
            page.fill("[name=annotators]", "3")
            page.fill("[name=redundancy]", "2")
            page.press("[name=redundancy]", "Tab")
            page.wait_for_timeout(2000)
            take(page, "setup")
            call_command("launch", "pilot")
            with tempfile.TemporaryFile("w+") as links:
                call_command("invite", "pilot", stdout=links)
            workers.sign(Worker.Kind.values)  # none runs here, and pages would say so
            page.goto(f"{address}/studies/pilot/annotators/")
            take(page, "annotators", 620)
            first, *others = study.annotators.order_by("name")
            rater = open_story(browser, address, first)
            take(rater, "rating")
            rater.close()
            answer(study, others)
            workers.sign(Worker.Kind.values)
            page.goto(f"{address}/studies/pilot/")
            take(page, "progress", 900)
            answer(study, [first])
            names = ",".join(registry.ready_baselines())
            call_command("score", "mine", metrics=names)
            report = data / "report"
            call_command("report", "pilot", out=report, images="none")
            page.goto((report / "report.html").as_uri())
            take(page, "report", 900)
            report_page = photograph(page, 1280, 800)
            visitors = Invitation.objects.filter(note=demo.VISITOR_NOTE)
            pair, single = (
                open_story(
                    browser,
                    address,
                    visitors.get(annotator__study__slug=slug).annotator,
                )
                for slug in (demo.PAIRWISE, demo.LIKERT)
            )
            workers.sign(Worker.Kind.values)
            page.goto(f"{address}/studies/{demo.CROWD}/")
            whole = assemble(
                (photograph(pair, 1280, 800), (0, 0, 800, 500)),
                (photograph(single, 1120, 1000), (812, 0, 560, 500)),
                (photograph(single, 390, 854), (1384, 0, 228, 500)),
                (photograph(page, 1280, 800), (0, 512, 800, 500)),
                (report_page, (812, 512, 800, 500)),
            )
            save(whole, ROOT / "docs" / "screenshot.png")
            browser.close()


if __name__ == "__main__":
    main()
