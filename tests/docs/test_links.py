"""Links between pages, also those of the README and of cards, which the build of the site does not check."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
FOLDERS = ("docs", "vignettes", "benchmarks", "datasets")
PAGES = sorted([*CHECKOUT.glob("*.md"), *(page for folder in FOLDERS for page in (CHECKOUT / folder).rglob("*.md"))])
CODE = re.compile(r"^(`{3,}).*?^\1|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|^:link: (\S+)$", re.MULTILINE)


def targets(text):
    """Links of a page that lead to files of the checkout."""
    found = (match[1] or match[2] for match in LINK.finditer(CODE.sub("`x`", text)))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(text):
    """Names of headings as GitHub and MyST make them, and explicit names."""
    fenceless = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#{1,6} (.+)$", fenceless, re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]
    return {*slugs, *re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE), *re.findall(r'id="([^"]+)"', text)}


def broken(page, text):
    for target in targets(text):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if file.suffix == ".html" and not file.exists():
            file = file.with_suffix(".md")
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_lead_somewhere(page):
    assert list(broken(page, page.read_text(encoding="utf-8"))) == []


def test_broken_links_are_found(tmp_path):
    (tmp_path / "other.md").write_text("# A heading: two words\n", encoding="utf-8")
    text = (
        "[a](other.md#a-heading-two-words) [b](other.md#no) [c](none.md)\n:link: other.html\n`[d](e.md)` [f](https://g)"
    )
    assert [found.partition(":")[0] for found in broken(tmp_path / "page.md", text)] == ["other.md#no", "none.md"]
