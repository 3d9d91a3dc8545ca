"""Pages and messages use the words of statistics: no metaphors, and none of the words that these replace."""

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
FOLDERS = ("docs", "vignettes", "benchmarks", "datasets")
PAGES = sorted([*CHECKOUT.glob("*.md"), *(page for folder in FOLDERS for page in (CHECKOUT / folder).rglob("*.md"))])
NOT_PROSE = re.compile(
    r"^```.*?^```|^---\n.*?^---|\$\$.*?\$\$|`[^`\n]*`|\$[^$\n]*\$|\]\([^)\n]*\)", re.DOTALL | re.MULTILINE
)

# What is not written: what is.
WORDS = {
    r"\blaws?\b(?! of total)": "distribution",
    r"\bforet(ells?|old)\b": "predict",
    r"\bsettle[sd]?\b": "converge",
    r"\b(hold|holds|held) the truth\b": "cover the truth",
    r"\bnats? left\b": "approximation gap (nats)",
    r"\bside noises?\b": "censoring noise",
    r"\bpictures?\b": "figure",
    r"\bsweeps?\b": "iteration, or pass over the data",
    r"\bown word\b": "leave-one-out",
    r"\b(in|of) pieces\b": "partitions",
    r"\bspreads? of\b": "standard deviation",
    r"\bnot offered\b": "not supported",
    r"\bto be had of\b": "available for",
    r"\b(strangers?|drowned|astray|hangs? together|beyond all measure|leads? nowhere)\b": "the plain word",
    r"\bshall\b": "will, must",
}

# Folders and files of the package whose every text is held to WORDS; one that is cleaned joins them.
HELD = ["api.py", "engines", "errors.py", "files.py", "formula", "inference", "model.py", "options.py", "priors"]
HELD += ["cli", "data", "diagnostics", "metrics", "mixture", "nondetects", "report", "results", "selection"]
HELD += ["sklearn.py", "storage", "survival_model.py"]
# Words that no text of the package has.
NOWHERE = [r"\b(hold|holds|held) the truth\b", r"\bshall\b", r"\b(drowned|astray)\b"]


def texts(path):
    """String constants with a blank in them: docstrings, messages, descriptions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [re.sub(r"`[^`\n]*`", "", text) for text in found if " " in text]


def forbidden(text, words):
    found = ((match, WORDS.get(word)) for word in words for match in re.finditer(word, text, re.IGNORECASE))
    return [(text[max(0, match.start() - 40) : match.end() + 20], instead) for match, instead in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_pages_use_the_words_of_statistics(page):
    assert forbidden(NOT_PROSE.sub(" ", page.read_text(encoding="utf-8")), WORDS) == []


def modules():
    return sorted((CHECKOUT / "tobitgp").rglob("*.py"))


def test_texts_of_the_package_that_are_held_to_the_words():
    held = [p for p in modules() if p.relative_to(CHECKOUT / "tobitgp").parts[0] in HELD]
    assert {p.relative_to(CHECKOUT / "tobitgp").parts[0] for p in held} == set(HELD)
    found = {str(p): bad for p in held if (bad := [item for text in texts(p) for item in forbidden(text, WORDS)])}
    assert found == {}


def test_words_that_no_text_of_the_package_has():
    found = {
        str(p): bad for p in modules() if (bad := [item for text in texts(p) for item in forbidden(text, NOWHERE)])
    }
    assert found == {}


def test_the_words_are_found():
    assert [instead for _, instead in forbidden("The law of it has settled.", WORDS)] == ["distribution", "converge"]
    assert forbidden("The law of total covariance.", WORDS) == []
