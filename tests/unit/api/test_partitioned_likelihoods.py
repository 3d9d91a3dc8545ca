"""Maximum likelihood of partitioned rows is that of the same rows in memory, whatever the parameters of the rows."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from support.cluster import local_client

import tobitgp as tg

SAME, N, GROUP = 1e-10, 600, 200


@pytest.fixture(scope="module")
def rows():
    """Times of which some never end, late entries, intervals, missing values, and a level that is in one part alone."""
    rng = np.random.default_rng(0)
    x, z, g = rng.normal(size=N), rng.normal(size=N), rng.choice(list("abc"), N)
    g[450:460] = "d"
    z[[5, 450]] = np.nan
    t = np.exp(0.5 * x + 0.4 * np.log(rng.exponential(size=N)))
    end, cured = rng.uniform(0.5, 4.0, N), rng.random(N) < 0.25
    event = (t < end) & ~cured
    time = np.where(event, t, end)
    return pd.DataFrame({"x": x, "z": z, "g": g, "time": time, "event": event.astype(int)}).assign(
        entry=np.where(rng.random(N) < 0.3, 0.3 * time, 0.0),
        lo=0.9 * time,
        hi=np.where(event, 1.2 * time, np.inf),
        y=np.maximum(np.exp(0.3 + 0.2 * x + 0.4 * rng.normal(size=N)), 0.5),
        w=rng.integers(1, 3, N) * 1.0,
        s=np.where(rng.random(N) < 0.5, "u", "v"),
        pair=np.arange(N) // 2,
    )


@pytest.fixture(scope="module")
def paths(rows):
    """Subjects of two rows, or of one, some of which lie in two parts: the second row goes on from the first."""
    subject = (np.arange(N) + 1) // 2
    later = np.diff(subject, prepend=-1) == 0
    start = np.where(later, rows["time"].shift(fill_value=0.0), 0.0)
    event = np.where(np.diff(subject, append=N) == 0, 0, rows["event"])
    z = rows["z"].fillna(0.0)
    return rows.assign(
        who=subject, start=start, stop=start + rows["time"], event=event, z=z, w=rows["w"][subject * 2 % N].to_numpy()
    )


EVENT, LATE, BETWEEN = "Surv(time, event)", "Surv(entry, time, event)", "interval(lo, hi)"
KINDS = {
    "cure": (f"{EVENT} ~ x + z + g", {"family": "weibull", "cure": "~ x", "weights": "w"}),
    "cure with a shape": (f"{LATE} ~ x", {"family": "gengamma", "cure": "~ 1"}),
    "cure, spline": (f"{EVENT} ~ x + g", {"family": tg.PH("spline", df=2), "cure": "~ x"}),
    "cure, interval": (f"{BETWEEN} ~ x", {"family": tg.PH("weibull"), "cure": "~ z", "weights": "w"}),
    "spline": (f"{LATE} ~ x + z + g", {"family": tg.PH("spline"), "weights": "w"}),
    "strata": (f"{EVENT} ~ x + z + strata(s)", {"family": tg.PH("spline", df=2)}),
    "weibull": (f"{LATE} ~ x + g", {"family": tg.PH("weibull"), "fixed": {"x": -0.8}}),
    "gompertz": (f"{LATE} ~ x + g", {"family": tg.PH("gompertz"), "weights": "w"}),
    "odds": (f"{BETWEEN} ~ x + g", {"family": tg.PH("spline", df=2, link="odds")}),
    "probit": (f"{BETWEEN} ~ x + z", {"family": tg.PH("spline", df=2, link="probit"), "weights": "w"}),
    "frailty": (f"{EVENT} ~ x + (1 | pair)", {"family": tg.PH("weibull", frailty="gamma")}),
    "box-cox": ("y ~ x + g", {"family": "boxcox", "weights": "w"}),
    "box-cox with sigma": ("y ~ x | censor(0.5)", {"family": "boxcox", "sigma": "~ z"}),
    "shape": (f"{LATE} ~ x + g", {"family": "weibull", "formulas": {"shape": "~ z"}, "weights": "w"}),
    "shape of hazards": (f"{BETWEEN} ~ x + g", {"family": tg.PH("weibull"), "formulas": {"shape": "~ z"}}),
    "sigma and df": ("y ~ x + g", {"family": "student", "formulas": {"sigma": "~ z", "df": "~ 1"}}),
    "subjects": ("Surv(start, stop, event) ~ x + z", {"family": tg.PH("spline", df=2), "id": "who"}),
    "accelerated": ("Surv(start, stop, event) ~ .", {"family": "weibull", "id": "who"}),
}
TIMES = (0.5, 1.0, 2.0)


def chosen(kind, rows, paths):
    data = paths if "id" in KINDS[kind][1] else rows
    return data[["start", "stop", "event", "x", "z", "who"]] if KINDS[kind][0].endswith(".") else data


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Writes rows in several groups that are not held in memory."""
    monkeypatch.setattr("tobitgp.engines.partitions.LIMIT", 0)
    monkeypatch.setattr("tobitgp.data.sources.ROWS", GROUP)

    def write(data):
        data.to_parquet(tmp_path / "rows.parquet", row_group_size=GROUP)
        return tmp_path

    return write


def fit(kind, data, **more):
    formula, options = KINDS[kind]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "2 of 600 rows are dropped")
        warnings.filterwarnings("ignore", "The cured fraction depends on|.*several maxima")
        return tg.fit(formula, data, **({"method": "mle"} | options | more))


def assert_same(there, here, new):
    assert here.converged
    for of in (lambda res: res.params, lambda res: res.cov_params(), lambda res: [res.llf, res.llnull, res.bic]):
        np.testing.assert_allclose(of(there), of(here), rtol=SAME, atol=SAME)
    for what in ({"what": "median", "interval": 0.9}, {"what": "quantile", "q": 0.2, "se": True}):
        np.testing.assert_allclose(there.predict(new, **what), here.predict(new, **what), rtol=SAME, atol=SAME)
    if hasattr(here, "predict_survival_function"):
        of_times = [res.predict_survival_function(new, TIMES, interval=0.9) for res in (there, here)]
        np.testing.assert_allclose(*of_times, rtol=SAME, atol=SAME)
    texts = [res.summary().as_text() for res in (there, here)]
    assert texts[0] == texts[1] or "mean over the rows" in texts[1]


@pytest.mark.slow_cases(
    "cure with a shape", "cure, spline", "spline", "frailty", "box-cox", "box-cox with sigma", "subjects"
)
@pytest.mark.parametrize("kind", KINDS)
def test_files_give_the_fit_of_memory(kind, rows, paths, parts):
    data = chosen(kind, rows, paths)
    assert_same(fit(kind, parts(data)), fit(kind, data), data.dropna().head(9))


@pytest.mark.slow_cases("frailty")
@pytest.mark.parametrize("kind", ["cure, spline", "strata", "box-cox", "shape", "frailty", "accelerated"])
def test_dask_frames_give_the_fit_of_memory(kind, rows, paths):
    dd = pytest.importorskip("dask.dataframe")
    data = chosen(kind, rows, paths)
    assert_same(fit(kind, dd.from_pandas(data, npartitions=4)), fit(kind, data), data.dropna().head(9))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cure", "spline", "box-cox with sigma", "subjects"])
def test_a_cluster_gives_the_fit_of_memory(kind, rows, paths):
    data = chosen(kind, rows, paths)
    with local_client() as client:
        assert_same(fit(kind, data, engine=client), fit(kind, data), data.dropna().head(9))


@pytest.mark.slow_cases("spline", "box-cox", "box-cox with sigma")
@pytest.mark.parametrize("kind", ["cure", "spline", "weibull", "box-cox", "box-cox with sigma", "shape", "accelerated"])
def test_sums_over_blocks_of_rows_are_those_of_all(kind, rows, paths, parts, monkeypatch):
    data = chosen(kind, rows, paths)
    whole = fit(kind, data)
    monkeypatch.setattr("tobitgp.engines.tall_matrices.ROWS", 90)
    there, here = fit(kind, parts(data)), fit(kind, data)
    # A search ends where its steps are as small as this; that for a power of rows of several blocks a little earlier.
    for one, other, near in ((here, whole, 1e-7), (there, here, 1e-6 if "box-cox" in kind else SAME)):
        np.testing.assert_allclose(one.params, other.params, rtol=near, atol=near)
        np.testing.assert_allclose(one.cov_params(), other.cov_params(), rtol=near, atol=near)
        assert one.llf == pytest.approx(other.llf, rel=SAME)


def test_robust_covariances_need_the_rows(rows, parts):
    with pytest.raises(tg.errors.SpecError, match="cov_type='HC0' is not available for partitioned data"):
        fit("cure", parts(rows), cov_type="HC0")


def test_subjects_without_a_name_are_those_of_a_file(paths, parts):
    folder = parts(paths.assign(who=paths["who"].where(paths.index != 320)))
    with pytest.raises(tg.errors.DataError, match=r"In .*rows.parquet.*: The column 'who' is missing in 1 rows"):
        fit("subjects", folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cure", "box-cox"])
def test_no_copy_of_the_columns_is_in_memory(kind, parts, tmp_path, monkeypatch):
    rng, n, p = np.random.default_rng(1), 24_000, 60
    X = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    t = np.exp(0.3 * X["x0"] + 0.5 * np.log(rng.exponential(size=n)))
    end, cured = rng.uniform(0.5, 6.0, n), rng.random(n) < 0.3
    event = (t < end) & ~cured
    data = X.assign(y=t, time=np.where(event, t, end), event=event * 1)
    for name, size in (
        ("data.sources.ROWS", 2000),
        ("engines.tall_matrices.ROWS", 2000),
        ("data.prepare.EXAMPLES", 100),
    ):
        monkeypatch.setattr(f"tobitgp.{name}", size)
    formula, options = KINDS[kind]
    response = formula.replace("entry, ", "").split("~")[0]
    options = {"method": "mle"} | {name: value for name, value in options.items() if name != "weights"}
    options = {**options, "cure": "~ 1"} if "cure" in options else options
    options = {**options, "formulas": {"shape": "~ x1"}} if "formulas" in options else options
    data.to_parquet(tmp_path / "rows.parquet", row_group_size=2000)
    tg.fit(f"{response} ~ x0", tmp_path, **options)  # imports what is needed

    def peak(source):
        tracemalloc.start()
        res = tg.fit(f"{response} ~ {' + '.join(X)}", source, **options)
        found = tracemalloc.get_traced_memory()[1] / X.to_numpy().nbytes
        tracemalloc.stop()
        return found, res.llf

    (on_disk, there), (in_memory, here) = peak(tmp_path), peak(data)
    assert there == pytest.approx(here, rel=1e-10)
    assert on_disk < 1.3  # columns of the response and copies of blocks; a copy of all would add 1
    assert in_memory > 3.5
