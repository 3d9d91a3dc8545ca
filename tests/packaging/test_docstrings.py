"""What every public docstring says: parameters, what comes back, errors, an example, units, and where it is from."""

import ast
import builtins
import inspect
import re
import textwrap
from pathlib import Path

import pytest
from support.equations import named_in, tags
from support.public import ANSWERS, OPTIONS, Public, public

import tobitgp as tg
from tobitgp.results.interfaces.statsmodels_names import STATSMODELS_NAMES

docscrape = pytest.importorskip("numpydoc.docscrape", reason="needs numpydoc")

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
OWN = {name for name, kind in vars(tg.errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}

TAGS = {tag for tag, _ in tags()}

NOT_A_NUMBER = r"(BoxCox)?GPResults\.(llf|aic|bic)|MixtureResults\.log_evidence_integrated"
# Kinds of names, by how they end, that compute nothing themselves, and why they need no source.
WITHOUT_SOURCE = {
    r"plot|plot_(terms|survival|hazard|evidence|residuals)": "draw what others compute",
    r"(summary2?|summary_frame|print_summary|to_maketables|to_arviz|default_model_infos)": "show what others compute",
    r"save|report|load|remove_data|fetch|available": "write, read and forget data, or tell of them",
    r"params_?|hyperparameters|components|n_\w+|nobs|counts|fit_history|results_": "read off the fit",
    r"(Regression|BoxCox|BoxCoxGP|Cure|(Vector)?Mixture|CompetingRisks)Results\.df_model": "count parameters",
    r"df_resid|k_constant": "count",
    r"formula|family|model|method|cov(ariance)?_type|use_t|evidence_kind|converged|shape": "words, flags and shapes",
    r"formula_functions|show_versions|metrics\.survival_at|nondetects\.read": "read tables",
    r"residual_tests\.(Check|Finding)|views\.ModelView|Selection": "hold what another made",
    r"Model|Model\.fit|select|SurvivalModel(\.\w+)?|CensoredGPRegressor\.fit": "hand on to fit() and results",
    r"distributions\.\w+\.(pdf|logpdf|cdf|logcdf|sf|logsf|ppf|isf|std|rvs)": "follow from the density of the class",
    r"simulate_(additive|cure|latent|vectors)": "a problem of our own",
    NOT_A_NUMBER: "NaN: a posterior has no such number",
}

# What tells a scale: of the response, of the linear predictor, of logarithms, or that there is none.
SCALE = re.compile(
    r"\b(scales?|units?|nats?|probabilit(y|ies)|shares?|in standard (deviation|error)s|degrees of freedom|chi-squared|"
    r"frequency weights?|number of|how many|0 (and|to) 1|pure numbers?|dimensionless|numerical values?)\b|\[0, 1\]",
    re.IGNORECASE,
)
WITHOUT_UNITS = {
    r"plot\w*": "draw",
    r"summary|to_arviz": "show other answers, in text or by their names",
    r"fit_history|table": "are tables of stages and findings, column by column",
    r"datasets\.(load|fetch)": "have units column by column, in the notes",
    NOT_A_NUMBER: "NaN: a posterior has no such number",
}
NO_SCALE = {"event": "0 or 1", "groups": "labels", "stratify": "labels, or limits in the units of y", "folds": "labels"}
WITHOUT_ERRORS = {
    "tobitgp.errors.FormulaError": "is one",
    "tobitgp.sklearn.CensoredGPRegressor": "settings are looked at when it is fitted, as scikit-learn asks",
    "tobitgp.GPResults": "made by the package from parts that it has checked",
    "tobitgp.RegressionResults": "as GPResults",
    "tobitgp.CureResults": "as GPResults",
    "tobitgp.BoxCoxResults": "as GPResults",
    "tobitgp.BoxCoxGPResults": "as GPResults",
    "tobitgp.MixtureResults": "as GPResults",
    "tobitgp.LatentResults": "as GPResults",
    "tobitgp.UncertainInputResults": "as GPResults",
    "tobitgp.VectorMixtureResults": "as GPResults",
    "tobitgp.MultivariateResults": "as GPResults",
    "tobitgp.HazardResults": "as GPResults",
    "tobitgp.ParametricHazardResults": "as GPResults",
    "tobitgp.CompetingRisksResults": "as GPResults",
}
WITHOUT_EXAMPLE = {
    "tobitgp.SurvivalModel.print_summary": "prints what summary() of the results shows",
    "tobitgp.datasets.fetch": "downloads",
    "tobitgp.RegressionResults.to_marginaleffects": "its package wants an older polars than the tests",
}
PLAIN = re.compile(r"(list|dict|str|int|float|bool)\b")
BY_ANOTHER = re.compile(r"See :meth:`tobitgp\.(\w+)\.(\w+)`")


def sections(name):
    """Docstring by sections."""
    doc = inspect.getdoc(name.function) or ""
    if name.kind == "class":
        return docscrape.ClassDoc(name.function, doc, config={"show_class_members": False})
    return docscrape.FunctionDoc(name.function, doc=doc)


def arguments(name):
    """Names in a signature, stars included; of a method without what it is a method of."""
    try:
        parameters = inspect.signature(name.function).parameters.values()
    except ValueError:
        return []
    own = ("self", "cls", "results", "model") if name.kind == "method" else ("self", "cls")
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(p.kind, "") + p.name for p in parameters if p.name not in own]


def is_answer(name):
    """What a question gives back: nobody calls it with arguments of their own."""
    value = name.value
    made = name.name.startswith(ANSWERS) or name.name == "tobitgp.Selection"
    return made or (isinstance(value, type) and issubclass(value, tuple))


def is_error(name):
    return isinstance(name.value, type) and issubclass(name.value, BaseException)


def forwards_to(name):
    """The method whose docstring this one stands on."""
    found = BY_ANOTHER.match(inspect.getdoc(name.function) or "")
    return None if found is None else getattr(getattr(tg, found[1]), found[2])


def speaks_for_itself(name):
    return forwards_to(name) is None and not is_error(name)


def begins_with_a_sentence(name):
    first, _, rest = (inspect.getdoc(name.function) or "").partition("\n")
    if not first.strip().endswith((".", ":")) or (rest and not rest.startswith("\n")):
        yield f"begins with {first!r}, which is no sentence by itself"


def names_every_parameter(name):
    if name.kind == "property" or not speaks_for_itself(name):
        return
    doc = sections(name)
    written = [p for key in ("Parameters", "Attributes") for p in doc[key]]
    documented = [one.strip() for p in written for one in p.name.split(",")]
    if is_answer(name) and name.kind == "method":
        return
    missing = [argument for argument in arguments(name) if argument not in documented]
    if missing:
        yield f"does not say what {', '.join(missing)} is"
    described = [one.strip() for p in doc["Parameters"] for one in p.name.split(",")]
    strangers = [one for one in described if one not in arguments(name)]
    if strangers:
        yield f"describes {', '.join(strangers)}, which it does not take"
    elif described and described != [a for a in arguments(name) if a in described]:
        yield "describes its parameters in another order"


def describes_every_parameter(name):
    """A type, with the shape of an array, and words unless the type lists what is allowed or the shape says it."""
    doc = sections(name)
    for p in [*doc["Parameters"], *doc["Attributes"]]:
        words = " ".join(p.desc).strip()
        if not p.type and not words.startswith("As "):
            yield f"{p.name} has no type"
        if not words and not p.type.startswith(("{", "(")):
            yield f"{p.name} is not explained"
        if re.search(r"\barrays?\b", p.type) and not re.search(r"\(\w*[,)]|float or array|dict|object", p.type + words):
            wide = " ".join([*doc["Summary"], *doc["Extended Summary"], words])
            if not re.search(r"broadcast|shape", wide):
                yield f"{p.name} is an array without a shape"


def says_what_it_gives(name):
    if name.kind not in ("function", "method") or not speaks_for_itself(name) or is_answer(name):
        return
    given = inspect.signature(name.function).return_annotation
    returns = sections(name)["Returns"]
    if given in (None, "None", inspect.Signature.empty):
        return
    if not returns and not (PLAIN.match(str(given)) and not arguments(name)):
        yield f"has no Returns, and gives {given}"
    for part in returns:
        kind = part.type or part.name
        if re.search(r"Series|DataFrame|array", kind) and not (part.desc or re.search(r"\(\w+,.*\)|matplotlib", kind)):
            yield f"gives a {kind}, of what shape or index it does not say"


def property_has_an_index(name):
    if name.kind != "property":
        return
    given = str(getattr(name.function, "__annotations__", {}).get("return"))
    doc = inspect.getdoc(name.function) or ""
    if re.search(r"Series|DataFrame|Array", given) and not re.search(r"\bby\b|row|column|\(k,\)|index|>>>", doc):
        yield f"is a {given}, of what shape or index it does not say"


def names_its_errors(name):
    if name.kind == "property" or not speaks_for_itself(name) or is_answer(name):
        return
    documented = [one.strip() for p in sections(name)["Raises"] for one in (p.type or p.name).split(",")]
    for one in documented:
        if one not in OWN and not hasattr(builtins, one):
            yield f"raises {one}, which is no error"
    if arguments(name) and not documented and name.name not in WITHOUT_ERRORS:
        yield "says nothing of bad input"
    lacking = raised(name.function) - set(documented)
    if lacking and "ValueError" not in documented:
        yield f"raises {', '.join(sorted(lacking))} without saying so"


def raised(function):
    """Errors of ours that a function raises itself."""
    target = function.__init__ if isinstance(function, type) else function
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(target)))
    except (OSError, TypeError):
        return set()
    calls = [n.exc.func for n in ast.walk(tree) if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name)} & OWN


def names_its_warnings(name):
    for p in sections(name)["Warns"]:
        kind = p.type or p.name
        if kind not in OWN and not hasattr(builtins, kind):
            yield f"warns of {kind}, which is no warning"


def shows_an_example(name):
    if name.kind == "property" or not speaks_for_itself(name) or is_answer(name) or name.name in WITHOUT_EXAMPLE:
        return
    example = "\n".join(sections(name)["Examples"])
    if ">>>" not in example:
        yield "has no example"
    elif "+SKIP" in example:
        yield "has an example that does not run"


def is_of(kinds, name):
    return any(re.search(rf"\.({kind})$", name.name) for kind in kinds)


def needs_a_source(name):
    """What computes, by itself; parts of an answer have the source of its class."""
    part_of_an_answer = is_answer(name) and name.kind != "class"
    return speaks_for_itself(name) and not part_of_an_answer and not is_of(WITHOUT_SOURCE, name)


def names_its_source(name):
    """Papers and books in a section, or equations of the theory pages."""
    found = sections(name)["References"] or named_in(inspect.getdoc(name.function) or "") & TAGS
    if needs_a_source(name) and not found:
        yield "says not where it is from"


def numbers_in(kind):
    """Whether a type holds numbers; a table among the parameters is data, with units of its own."""
    return re.search(r"\b(floats?|arrays?|Array|Series)\b", kind) and not re.search(r"matplotlib|of (str|bool)", kind)


def gives_numbers(name):
    """What is no class and gives numbers or tables of them, or an answer that it describes as such."""
    if name.kind == "class" or not speaks_for_itself(name) or is_of(WITHOUT_UNITS, name):
        return False
    given = str(getattr(name.function, "__annotations__", {}).get("return"))
    described = [text for part in sections(name)["Returns"] for text in (part.name, part.type)]
    return any(numbers_in(text) or re.fullmatch(r"Any|.*DataFrame.*", text) for text in [given, *described])


def names_its_units(name):
    """Every array and float that is taken, every field of numbers, and what comes back."""
    doc = sections(name)
    for p in [*doc["Parameters"], *doc["Attributes"]]:
        words = " ".join(p.desc)
        elsewhere = re.match(r"As |See ", words) or p.name in NO_SCALE
        if numbers_in(p.type) and not elsewhere and not SCALE.search(f"{p.type} {words}"):
            yield f"says not on what scale {p.name} is"
    returns = [text for part in doc["Returns"] for text in (part.name, part.type, *part.desc)]
    words = " ".join([*doc["Summary"], *doc["Extended Summary"], *returns])
    if gives_numbers(name) and not SCALE.search(words):
        yield "says not on what scale its answer is"


CHECKS = [
    begins_with_a_sentence,
    names_every_parameter,
    describes_every_parameter,
    says_what_it_gives,
    property_has_an_index,
    names_its_errors,
    names_its_warnings,
    shows_an_example,
    names_its_source,
    names_its_units,
]


@pytest.fixture(scope="module")
def once():
    """Every public docstring once, by the first name that has it."""
    found = {}
    for name in public():
        found.setdefault(name.function, name)
    return list(found.values())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_public_docstring(check, once):
    assert [f"{name.name} {wrong}" for name in once for wrong in check(name)] == []


def test_exceptions_are_public_names(once):
    names = {name.name for name in once}
    assert names.issuperset(WITHOUT_ERRORS.keys() | WITHOUT_EXAMPLE.keys())
    for kind in [*WITHOUT_SOURCE, *WITHOUT_UNITS]:
        assert any(re.search(rf"\.({kind})$", name) for name in names), kind


def test_forwarding_methods_take_the_same_arguments(once):
    forwarded = [(name, forwards_to(name)) for name in once if forwards_to(name) is not None]
    assert forwarded
    for name, other in forwarded:
        ours, theirs = (list(inspect.signature(of).parameters.values())[1:] for of in (name.function, other))
        if name.name.startswith(
            ("tobitgp.MultivariateResults.", "tobitgp.LatentResults.", "tobitgp.VectorMixtureResults.")
        ):
            ours = [p for p in ours if p.name != "response"]
        assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs], name.name


def test_the_reference_shows_every_public_name():
    listed = set()
    whole = set()
    for page in REFERENCE.glob("*.md"):
        for block in re.findall(r"```\{eval-rst\}(.*?)```", page.read_text(encoding="utf-8"), flags=re.S):
            module = re.search(r"currentmodule:: (\S+)", block)
            prefix = "" if module is None else f"{module[1]}."
            entries = {prefix + entry for entry in re.findall(r"^   ~?([\w.]+)$", block, flags=re.M)}
            listed |= entries
            whole |= entries if "whole.rst" in block else set()
    names = {name.name for name in public()}
    foreign = {*STATSMODELS_NAMES, "tidy", "glance", "augment"} & {name.rpartition(".")[2] for name in listed}
    once = {name for name in names if name.rpartition(".")[2] in foreign and "Results." in name}  # of all kinds
    shown = listed | once | {name for name in names if name.rpartition(".")[0] in whole}
    assert sorted(names - shown) == []
    assert sorted(listed - names) == []


def bad(x, y=1):
    """Says nothing

    of itself.

    Parameters
    ----------
    z : array
        It.

    Warns
    -----
    Wolf

    .. math:: a
    """
    raise tg.errors.SpecError("no")


def test_the_checks_can_fail():
    def give(x: int) -> float:
        """Give one.

        Parameters
        ----------
        x

        Raises
        ------
        Fire
        """
        return float(x)

    class Holder:
        @property
        def table(self) -> "DataFrame":  # noqa: F821
            """Something."""

    names = [
        Public("bad", bad, "function"),
        Public("give", give, "function"),
        Public("Holder.table", Holder.table, "property"),
    ]
    failed = {check for check in CHECKS for name in names if list(check(name))}
    assert set(CHECKS) == failed


def without(name, words):
    """The name with its docstring less some words."""

    def stub():
        pass

    stub.__doc__ = re.sub(words, "", inspect.getdoc(name.function))
    stub.__annotations__ = getattr(name.function, "__annotations__", {})
    return Public(name.name, stub, name.kind)


def test_a_source_taken_out_is_missed(once):
    source = re.compile(r"References\n-+\n(?:.+\n?)*|\([A-Z]{2,3}\d+\)")
    asked = [name for name in once if needs_a_source(name) and name.kind != "class"]
    assert len(asked) > 70
    assert [name.name for name in asked if not list(names_its_source(without(name, source)))] == []


def test_a_tag_that_no_page_has_is_no_source():
    name = next(name for name in public() if name.name == "tobitgp.GPResults.elbo")
    assert list(names_its_source(name)) == []
    assert list(names_its_source(without(name, r"(?<=SIT)7")))
    assert list(names_its_source(Public(name.name, without(name, r"(?<=SIT)(?=7)").function, "property"))) == []


def test_units_taken_out_are_missed(once):
    asked = [name for name in once if gives_numbers(name)]
    assert len(asked) > 110
    assert [name.name for name in asked if not list(names_its_units(without(name, SCALE)))] == []


def test_options_have_no_methods_for_users():
    shown = {name.name.rpartition(".")[0] for name in public() if name.kind in ("method", "property")}
    assert shown.isdisjoint(f"tobitgp.{option}" for option in OPTIONS)
