"""Pages are in plain English and pages and messages use the words of statistics; each list names what to write."""

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
FOLDERS = ("docs", "vignettes", "benchmarks", "datasets")
PAGES = sorted([*CHECKOUT.glob("*.md"), *(page for folder in FOLDERS for page in (CHECKOUT / folder).rglob("*.md"))])
# Code, formulas, targets of links and tags; inline code is matched first and leaves a name, or "~", in backticks.
NOT_PROSE = re.compile(
    r"`(?P<code>[^`\n]+)`|^(?P<fence>`{3,}|:{3,}(?=\{toctree)).*?^(?P=fence)|^---\n.*?^---|\$\$.*?\$\$|\$[^$\n]*\$"
    r"|\]\([^)\n]*\)|</?\w[^>\n]*>|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
LONG_SENTENCE = 25  # words

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

# Of pages alone, beside WORDS.
PLAIN = {
    r"\brefus(e[sd]?|ing|als?)\b": "is not supported, raises an error, is invalid",
    r"\b(do|does|did) not go (together|with)\b": "cannot be combined (with)",
    r"\b(go|goes|went|gone|going) with\b": "works with, requires, belongs to",
    r"(?<!there )\b(is|are|was|were) no (?!longer\b|more\b|less\b|better\b|worse\b|larger\b|smaller\b)\w+": "is not a",
    r", as `[^`]+`(?=[,;:)]|\.\s| or `)": "such as, for example",
    r"(^|[.!?] )(?-i:Of) (a|an|the|all|these|those|every|each)\b(?![^.]*(\d|\bhalf\b|\bmost\b))": "the subject first",
    r"(?<!the )\b(left|right) of `~`": "on the left-hand (right-hand) side of",
    r"\b(stands?|stood) (?!for\b|out\b)": "is, appears, is written",
    r"\brooms?\b": "subpackage, module, space",
    r"\bkin\b|\bits like\b": "related",
    r"\bserve[sd]?\b(?! as\b)": "is adequate, is enough, is for",
    r"(?<!the )\brest(s|ed)? on\b": "depends on, is based on",
    r"\b(tells?|told) (of|apart|the|about)\b|\btelling apart\b": "is informative about, distinguishes, shows",
    r"\b(un)?told (unless|otherwise|what|which|how)\b|\bunless told\b": "by default, specified",
    r"\basked (of|for|about)\b": "requested; predictions, quantities",
    r"\bhad by\b|\b(is|are|was|were|can|to) be had\b": "is available with",
    r"\bin (the )?place of\b": "instead of",
    r"\bof (its|their|one's|ones?|his|her) own\b": "its own, separate",
    r"\bbeside\b": "next to, as well as, in addition to, relative to",
    r"\bwhat (is|was|were|are) (seen|known) of\b": "the observed information about",
    r"\b(which|that) it is not\b|\bthat it is one\b": "the noun",
    r"\b(anybody|nobody|somebody|everybody|whoever)\b": "anyone, no one, everyone",
    r"\bsays? (by itself|so)\b": "indicates, reports it",
    r"\bwords of (other programs|brms|mgcv|lme4|survreg|statsmodels)\b|\bstatsmodels' words\b": "syntax, names",
    r"\b(robust|sandwich|bootstrap) errors?\b": "standard errors",
    r"\bKaplan and Meier('s)?\b|\bcurves? of Kaplan\b": "Kaplan-Meier",
    r"\bnamed otherwise\b": "different names",
    r"\bhand(s|ed|ing)? on\b": "export, pass",
    r"\btaken for\b": "treated as",
    r"\bout of the question\b": "rejected",
    r"\bnumbers happen\b|\bonce will do\b": "the plain sentence",
    r"\bin possession of\b": "with",
    r"\bhowever the\b": "all ways in which",
    r"\bthe latter\b": "the noun",
    r"\bper cent\b": "%",
    r"(?<![\w.\d\-/])\.\d": "0.5: a digit before the point",
}

ALL = {**WORDS, **PLAIN}
NUMBERS = "0.5: a digit before the point"  # in the code of messages a point begins a format
OF_MESSAGES = {word: instead for word, instead in PLAIN.items() if instead != NUMBERS}
# Of messages alone, beside PLAIN.
REQUIREMENTS = {r"\b(is|are) needed\b": "must be, requires, give"}

# Folders and files of the package whose every text is held to WORDS; one that is cleaned joins them.
HELD = ["api.py", "engines", "errors.py", "files.py", "formula", "inference", "model.py", "options.py", "priors"]
HELD += ["cli", "data", "diagnostics", "metrics", "mixture", "nondetects", "report", "results", "selection"]
HELD += ["lifelines", "sklearn.py", "storage", "survival", "survival_model"]
# Words that no text of the package has.
NOWHERE = [r"\b(hold|holds|held) the truth\b", r"\bshall\b", r"\b(drowned|astray)\b"]

# Built-in errors hold causes that a message quotes, attributes have Python's own form, users never see assertions.
QUOTED = ("AssertionError", "AttributeError", "FileNotFoundError", "MalformedError", "OSError")
QUOTED += ("TypeError", "ValueError")
BEGINS = re.compile(r"[A-Z\"'{]|--|[\w.]+[=(]")  # a capital, a value, an option, or ``argument=value:``
ENDS = re.compile(r"[.?}]\s*$")


def texts(path):
    """String constants with a blank in them: docstrings, messages, descriptions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [re.sub(r"`[^`\n]*`", "", text) for text in found if " " in text]


def messages(path):
    """String constants with a blank in them that are no docstrings: errors, warnings, findings, notes and labels."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return [node.value for node in found if isinstance(node.value, str) and " " in node.value.strip()]


def docstrings(path):
    """Docstrings of a module, its classes and functions, each paragraph on one line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    texts = [node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [re.sub(r"(?<=\S)\n[ ]*(?=\S)", " ", prose(text)) for text in texts]


def literal(node):
    """The text of a message with braces for what is inserted; None if it is not literal."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def raised(path):
    """Literal texts given to ``raise`` and ``warn``, but for errors that hold causes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        text = literal(call.args[0])
        error = isinstance(node, ast.Raise) and name[:1].isupper() and name not in QUOTED
        if text is not None and (error or name == "warn"):
            yield text


def is_sentence(text):
    return bool(BEGINS.match(text) and ENDS.search(text))


def forbidden(text, words):
    flags = re.IGNORECASE | re.MULTILINE
    found = ((match, ALL.get(word)) for word in words for match in re.finditer(word, text, flags))
    return [(text[max(0, match.start() - 40) : match.end() + 20], instead) for match, instead in found]


def prose(page):
    """The page with a name for each code, formula and link target."""
    return NOT_PROSE.sub(lambda m: "`~`" if m["code"] == "~" else "`x`" if m["code"] else " x ", page)


def sentences(page):
    """Sentences of paragraphs and lists; not those of headings, tables and directives."""
    lines = [line for line in prose(page).splitlines() if not line.lstrip().startswith(("|", "#", ":", "!["))]
    found = re.split(r"(?<=[.!?:])\s+|\n\s*[*\-] |\n\n", "\n".join(lines))
    return [sentence for sentence in found if len(sentence.split()) > 2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_pages_are_in_plain_english(page):
    found = forbidden(prose(page.read_text(encoding="utf-8")), ALL)
    assert not found, "\n".join(f"...{text!r}: write {instead!r}" for text, instead in found)


@pytest.mark.parametrize("pages", [[CHECKOUT / "README.md"], sorted((CHECKOUT / "docs" / "guide").glob("*.md"))])
def test_sentences_of_readme_and_guide_are_short(pages):
    found = [sentence for page in pages for sentence in sentences(page.read_text(encoding="utf-8"))]
    long = [sentence for sentence in found if len(sentence.split()) > LONG_SENTENCE]
    assert len(found) > 20
    assert 20 * len(long) <= len(found), long


def modules():
    return sorted((CHECKOUT / "tobitgp").rglob("*.py"))


@pytest.mark.slow
def test_texts_of_the_package_that_are_held_to_the_words():
    held = [p for p in modules() if p.relative_to(CHECKOUT / "tobitgp").parts[0] in HELD]
    assert {p.relative_to(CHECKOUT / "tobitgp").parts[0] for p in held} == set(HELD)
    found = {str(p): bad for p in held if (bad := [item for text in texts(p) for item in forbidden(text, WORDS)])}
    assert found == {}


@pytest.mark.slow
def test_words_that_no_text_of_the_package_has():
    found = {
        str(p): bad for p in modules() if (bad := [item for text in texts(p) for item in forbidden(text, NOWHERE)])
    }
    assert found == {}


@pytest.mark.slow
def test_messages_are_in_plain_english():
    found = {
        str(p): bad
        for p in modules()
        if (bad := [item for text in messages(p) for item in forbidden(text, OF_MESSAGES)])
    }
    assert len(OF_MESSAGES) == len(PLAIN) - 1
    assert found == {}


@pytest.mark.slow
def test_docstrings_are_in_plain_english():
    found = {
        str(p): bad
        for p in modules()
        if (bad := [item for text in docstrings(p) for item in forbidden(text, OF_MESSAGES)])
    }
    assert found == {}


@pytest.mark.slow
def test_errors_and_warnings_are_sentences():
    found = {str(p): bad for p in modules() if (bad := [text for text in raised(p) if not is_sentence(text)])}
    assert found == {}


def test_sentences_are_told_from_pieces(tmp_path):
    path = tmp_path / "one.py"
    path.write_text('raise DataError(f"x={1}: must be 2.")\nraise OSError("a cause")\nwarn(f"the {x} is lost")\n')
    assert [is_sentence(text) for text in raised(path)] == [True, False]


@pytest.mark.slow
def test_messages_say_what_must_be():
    found = [(p.name, item) for p in modules() for text in messages(p) for item in forbidden(text, REQUIREMENTS)]
    assert found == []


def test_requirements_are_found():
    assert forbidden("x: a number is needed.", REQUIREMENTS)
    assert not forbidden("It needed one.", REQUIREMENTS)


def test_messages_are_read_without_docstrings(tmp_path):
    path = tmp_path / "one.py"
    path.write_text('"""It stands here."""\nraise ValueError(f"x={1}: cure= goes with {2}", "nobody")\n')
    assert [instead for text in messages(path) for _, instead in forbidden(text, OF_MESSAGES)] == [
        "works with, requires, belongs to"
    ]


def test_the_words_are_found():
    assert [instead for _, instead in forbidden("The law of it has settled.", WORDS)] == ["distribution", "converge"]
    assert forbidden("The law of total covariance.", WORDS) == []


def test_plain_english_is_told_from_idiom():
    idiom = "The response stands left of `~`, as `y ~ x`. It is no number, and .5 rests on what is known of it."
    found = {instead for _, instead in forbidden(prose("Of the counts. " + idiom), PLAIN)}
    assert len(found) == 8
    plain = "It stands for 0.5. There is no limit, and it is no longer `y`, as `check()` reports; see [`~`](a.md#its)."
    assert forbidden(prose(plain + " Version 1.2.3, `.5`, $.5$, [this](page.md#of-its-own)."), ALL) == []


def test_long_sentences_are_counted():
    page = "# Title\n\n" + "word " * 26 + ".\n\n* One two three.\n* Four five six: seven eight nine.\n\n| a b c d |\n"
    assert [len(s.split()) > LONG_SENTENCE for s in sentences(page)] == [True, False, False, False]
