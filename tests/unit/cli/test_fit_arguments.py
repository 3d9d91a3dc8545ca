"""Every argument of `tobitgp.fit` as an option of the command: kinds of fits, families, weights and methods."""

import inspect
import io
import shlex

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from support.matrix.data import rows

import tobitgp as tg
from tobitgp.cli import _parser, main
from tobitgp.cli.command_options import FAMILIES_WITH_SETTINGS
from tobitgp.likelihoods import FAMILIES

# Arguments whose values are objects of Python, and one that is another name of two others.
PYTHON_ONLY = {"functions", "priors", "engine", "vcov"}
LINE, TIMES, CAUSES = "left ~ z + arm | censor(limit)", "Surv(time, event) ~ z", "Surv(first, cause) ~ z"
BOTH = "mvbind(r1, r2) ~ z | censor(limit, limit)"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path, found = tmp_path_factory.mktemp("data") / "rows.csv", rows()
    why = found["cause"].map({0: "alive", 1: "relapse", 2: "death"})
    days = pd.date_range("2020-01-01", periods=len(found), freq="30D").strftime("%Y-%m-%d")
    found.assign(share=np.linspace(0.5, 2.0, len(found)), why=why, day=days).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def frame(table):
    return pd.read_csv(table)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_every_argument_is_an_option():
    (commands,) = (action for action in _parser()._actions if hasattr(action, "choices") and action.choices)
    known = {action.dest for action in commands.choices["fit"]._actions}
    missing = set(inspect.signature(tg.fit).parameters) - known - PYTHON_ONLY
    assert missing == {"progress"}  # which --quiet turns off


FITS = {
    **{
        name: (LINE if not family.log_time else TIMES, f"--family {name}", {"family": name})
        for name, family in FAMILIES.items()
        if name != "student"
    },
    "boxcox": ("pos ~ z", "--family boxcox", {"family": "boxcox"}),
    "boxcox of zeros": ("zero ~ z | censor(0)", '--family "BoxCox(power=0.5)"', {"family": tg.BoxCox(power=0.5)}),
    "student": (LINE, "--family student --fixed df=4", {"family": "student", "fixed": {"df": 4.0}}),
    "known df": (LINE, '--family "Student(df=4)"', {"family": tg.Student(df=4)}),
    "known Q": (TIMES, '--family "tg.GenGamma(1)"', {"family": tg.GenGamma(1)}),
    "piecewise": (TIMES, "--family \"PH('piecewise', bands=[1, 2])\"", {"family": tg.PH("piecewise", bands=[1, 2])}),
    "negative binomial": (
        "count ~ mixture(1)",
        '--family "NegativeBinomial(2)"',
        {"family": tg.NegativeBinomial(2)},
    ),
    "frequencies": (LINE, "--weights w", {"weights": "w"}),
    "sampling weights": (
        LINE,
        "--weights w --cov-type HC1 --cov-kwds weights=sampling",
        {"weights": "w", "cov_type": "HC1", "cov_kwds": {"weights": "sampling"}},
    ),
    "frequencies by name": (
        LINE,
        "--weights w --cov-type HC0 --cov-kwds weights=frequency",
        {"weights": "w", "cov_type": "HC0", "cov_kwds": {"weights": "frequency"}},
    ),
    "precisions": (LINE, "--var-weights share", {"var_weights": "share"}),
    "clusters": (
        LINE,
        "--weights w --cov-type cluster --cov-kwds groups=g --cov-kwds groups=arm --cov-kwds weights=sampling "
        "--cov-kwds use_correction=True",
        {
            "weights": "w",
            "cov_type": "cluster",
            "cov_kwds": {"groups": ["g", "arm"], "weights": "sampling", "use_correction": True},
        },
    ),
    "cluster": (LINE, "--cluster g", {"cov_type": "cluster", "cov_kwds": {"groups": "g"}}),
    "shape": (
        TIMES,
        '--family weibull --formulas "shape=~ z"',
        {"family": "weibull", "formulas": {"shape": "~ z"}},
    ),
    "cure": ("Surv(ctime, cevent) ~ z", '--family weibull --cure "~ 1"', {"family": "weibull", "cure": "~ 1"}),
    "damping": (
        LINE,
        '--method "EP(damping=0.9)" --hyper maximize',
        {"method": tg.EP(damping=0.9, hyper="maximize")},
    ),
    "seed": ("low2 ~ mixture(2)", "--rng 3", {"rng": 3}),
    "causes": (CAUSES, "--family weibull", {"family": "weibull"}),
    "family of each cause": (
        CAUSES,
        "--family 1=weibull --family \"2=PH('spline', df=1)\"",
        {"family": {1: "weibull", 2: tg.PH("spline", df=1)}},
    ),
    "causes in words": (
        "Surv(first, why, censored='alive') ~ z",
        "--family relapse=weibull --family death=lognormal",
        {"family": {"relapse": "weibull", "death": "lognormal"}},
    ),
    "hazards of causes": (CAUSES, "--family ph --baseline piecewise", {"family": tg.PH("piecewise")}),
    "several": (BOTH, "--hyper maximize", {"method": tg.EP(hyper="maximize")}),
    "rescor": (BOTH, "--rescor --hyper maximize", {"rescor": True, "method": tg.EP(hyper="maximize")}),
    "latent": (
        "mvbind(r1, r2, left, z) ~ gp(latent(1)) | censor(r1=limit, r2=limit)",
        '--method "VI(max_iter=30)"',
        {"method": tg.VI(max_iter=30)},
    ),
}


@pytest.mark.slow_cases("latent", "several", "rescor")
@pytest.mark.filterwarnings("ignore:The search for latent coordinates did not converge")
@pytest.mark.parametrize("name", FITS)
def test_the_command_prints_the_summary_of_the_fit(name, frame, table, capsys):
    formula, words, options = FITS[name]
    assert main(["fit", formula, str(table), "--quiet", *shlex.split(words)]) == 0
    printed = capsys.readouterr().out.strip()
    assert printed == str(tg.fit(formula, frame, **options).summary()).strip()


OF_FILES = {
    "causes": (
        "Surv(first, why, censored='alive') ~ decimal_year(day)",
        "--family weibull",
        "Competing risks",
        "--what median --interval 0.9",
        {"what": "median", "interval": 0.9},
    ),
    "several": (
        "mvbind(r1, r2) ~ decimal_year(day) | censor(limit, limit)",
        "--hyper maximize",
        "several responses",
        "--what observed --interval 0.9",
        {"what": "observed", "interval": 0.9},
    ),
    "boxcox": (
        "zero ~ z | censor(0)",
        "--family boxcox",
        "Box-Cox",
        "--what prob --above 1",
        {"what": "prob", "above": 1.0},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_FILES)
def test_fits_are_saved_drawn_checked_reported_summarised_and_predict(name, table, tmp_path, capsys):
    formula, words, title, asked, options = OF_FILES[name]
    fit, picture, page = (tmp_path / each for each in ("fit.tgp", "fit.png", "fit.html"))
    written = ["--save", str(fit), "--plot", str(picture), "--report", str(page)]
    assert main(["fit", formula, str(table), "--quiet", "--check", *shlex.split(words), *written]) == 0
    printed = capsys.readouterr()
    assert title in printed.out
    assert "[ ok ]" in printed.out
    assert printed.err == ""
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "<h2>Diagnostics</h2>" in page.read_text(encoding="utf-8")
    assert main(["summary", str(fit)]) == 0
    assert capsys.readouterr().out.strip() in printed.out
    assert main(["predict", str(fit), str(table), *shlex.split(asked)]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    frame = pd.read_csv(table, parse_dates=["day"])
    expected = pd.DataFrame(tg.load(fit).predict(frame, **options))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


BAD = {
    "no call": (LINE, '--family "Student("', "--family Student(: must be a name, or a call with numbers or texts"),
    "a name in a call": (LINE, '--family "Student(df=z)"', "e.g. Student(df=4)"),
    "no such family": (LINE, '--family "Normal(3)"', "Choose one of Student, GenGamma"),
    "no such setting": (LINE, '--family "Student(nu=3)"', "unexpected keyword argument 'nu'"),
    "no such value": (LINE, '--family "Student(df=-1)"', "df"),
    "no such setting of a method": (LINE, '--method "EP(dampen=1)"', "tg.EP has no such setting"),
    "two families": (LINE, "--family student --family logistic", "a family is given already"),
    "family of no cause": (LINE, "--family 1=student", "requires competing risks"),
    "a cause is missing": (CAUSES, "--family 1=weibull", "family= by cause lacks 2"),
    "a cause twice": (CAUSES, "--family 1=ph --family 1=ph", "1 is given twice"),
    "baseline of another": (TIMES, "--family weibull --df 2", "--df requires --family ph"),
    "no value": (LINE, "--cov-kwds weights", "--cov-kwds weights: must have the form NAME=VALUE"),
    "no such weights": (LINE, "--cov-type HC0 --cov-kwds weights=odd", "'frequency', 'sampling'"),
    "no such correction": (LINE, "--cluster g --cov-kwds use_correction=odd", "must be True or False"),
    "two covariances": (LINE, "--cluster g --cov-type HC0", "--cov-type HC0 cannot be combined"),
    "no tilde": (TIMES, "--family weibull --formulas shape=z", "write formulas={'shape': '~ z'}"),
    "one response": (LINE, "--rescor", "rescor=True requires several responses"),
    "no such column": ("mvbind(r1, q2) ~ z", "", "no column 'q2'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line(name, table, capsys):
    formula, words, said = BAD[name]
    assert main(["fit", formula, str(table), "--quiet", *shlex.split(words)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tobitgp: ")
    assert said in error
    assert "Traceback" not in error


def test_help_names_every_family_with_settings(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert all(name in shown for name in [*FAMILIES_WITH_SETTINGS, *FAMILIES, "boxcox", "ph"])
