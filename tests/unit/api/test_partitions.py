"""Fits to partitioned data, here and on a cluster, are those of the same rows in memory."""

import gc
import os
import time

import numpy as np
import pandas as pd
import pytest
from support.cluster import local_client, separate_cluster

import tobitgp as tg

FORMULA = "y ~ z + gp(x) + re(g) | censor(-0.5, 1.2)"
SAME = 1e-8
SHORT, QUICK = "y ~ gp(x) | censor(-0.5, 1.2)", tg.VI(hyper="maximize")


@pytest.fixture(scope="module")
def client():
    with local_client() as client:
        yield client


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(5), 2400
    x, z, g = rng.uniform(0, 10, n), rng.normal(size=n), rng.choice(list("abcde"), n)
    y = np.sin(x) + 0.3 * z + 0.2 * (g == "a") + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "g": g, "y": np.clip(y, -0.5, 1.2), "w": rng.integers(1, 3, n) * 1.0})


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    """Fits to more rows than the sample go the way of large data."""
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 500)


def assert_same_fit(there, here, new):
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=SAME)
    assert there.elbo == pytest.approx(here.elbo, abs=SAME)
    np.testing.assert_allclose(there.params, here.params, atol=SAME)
    np.testing.assert_allclose(there.bse, here.bse, atol=SAME)
    for options in ({"se": True}, {"what": "observed", "interval": 0.9}):
        np.testing.assert_allclose(there.predict(new, **options), here.predict(new, **options), atol=SAME)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_files_give_the_fit_of_memory(frame, tmp_path, method, monkeypatch):
    here = tg.fit(FORMULA, frame, method=method)
    for i in range(3):
        frame.iloc[800 * i : 800 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    assert_same_fit(tg.fit(FORMULA, tmp_path, method=method), here, frame.head(20))
    monkeypatch.setattr("tobitgp.engines.partitions.LIMIT", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert_same_fit(tg.fit(FORMULA, tmp_path, method=method), here, frame.head(20))
    assert not list(tmp_path.glob("tobitgp-*"))


@pytest.mark.slow
def test_features_that_stay_are_those_of_memory(frame, tmp_path, monkeypatch):
    """Beyond a sample features stay while parameters move, wherever files end."""
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 120)
    here = tg.fit(FORMULA, frame)
    assert any("fixed features" in stage for stage in here.fit_history["stage"])
    for i, rows in enumerate((slice(0, 701), slice(701, 1500), slice(1500, None))):
        frame.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
    assert_same_fit(tg.fit(FORMULA, tmp_path), here, frame.head(20))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_files_without_rows_or_with_hardly_any_change_nothing(frame, tmp_path, method, monkeypatch):
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 120)
    here = tg.fit(FORMULA, frame, method=method)
    assert any("fixed features" in stage for stage in here.fit_history["stage"])
    for i, rows in enumerate((slice(0, 0), slice(0, 1200), slice(1200, 1201), slice(0, 0), slice(1201, None))):
        frame.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
    assert_same_fit(tg.fit(FORMULA, tmp_path, method=method), here, frame.head(20))


def test_all_rows_induce_though_a_sample_is_searched(frame, tmp_path):
    data = frame.assign(x=frame["x"].round(1))
    data.to_parquet(tmp_path / "rows.parquet", row_group_size=900)
    here, there = (tg.fit(FORMULA, rows, method=tg.EP(inducing=None)) for rows in (data, tmp_path))
    assert_same_fit(there, here, data.head(20))


def test_files_are_removed_when_a_fit_fails(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr("tobitgp.engines.partitions.LIMIT", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(tg.errors.SpecError, match="names 'sgma'"):
        tg.fit(FORMULA, tmp_path / "rows.parquet", fixed={"sgma": 1.0})
    assert not list(tmp_path.glob("tobitgp-*"))


@pytest.mark.slow
def test_a_model_keeps_its_partitions_as_long_as_it_is_open(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("tobitgp.engines.partitions.LIMIT", 0)
    frame.to_parquet(tmp_path / "rows.parquet")
    with tg.Model(FORMULA, tmp_path) as model:
        first, second = (model.fit(method=tg.Laplace(hyper="maximize")) for _ in range(2))
    assert second.log_evidence == first.log_evidence
    with pytest.raises(tg.errors.SpecError, match="Fit within the with statement"):
        model.fit(method="laplace")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dask", "frame", "files"])
def test_a_cluster_gives_the_fit_of_memory(frame, client, form, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    before = set(client.futures)
    here = tg.fit(FORMULA, frame, weights="w")
    if form == "files":
        frame.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    doubled = dd.from_pandas(pd.concat([frame, frame.assign(g="dropped")]), npartitions=6, sort=False)
    data = {"dask": doubled[doubled["g"] != "dropped"], "frame": frame, "files": tmp_path}[form]
    assert_same_fit(tg.fit(FORMULA, data, weights="w", engine=client), here, frame.head(20))
    gc.collect()
    assert set(client.futures) <= before


@pytest.mark.slow
def test_a_worker_lost_in_mid_fit_changes_only_the_time(frame):
    dd = pytest.importorskip("dask.dataframe")
    here = tg.fit(FORMULA, frame)
    with local_client() as client:
        data, stages = dd.from_pandas(frame, npartitions=4), []

        def watch(stage, evaluations, value):
            if stage == "run 1" and not stages:
                os.kill(next(iter(client.run(os.getpid).values())), 9)
            stages.append(stage)

        there = tg.fit(FORMULA, data, progress=watch)
    assert "run 1" in stages
    assert_same_fit(there, here, frame.head(20))


def delay_calls(seconds):
    """Run on a worker: every call takes so much longer."""
    from tobitgp.engines import partitions

    call, partitions.delayed = partitions._call, 0

    def _call(*args):
        partitions.delayed += 1
        time.sleep(seconds)
        return call(*args)

    partitions._call = _call


def delayed_calls():
    from tobitgp.engines import partitions

    return partitions.delayed


@pytest.mark.slow
def test_a_slow_worker_changes_only_the_time(frame):
    dd = pytest.importorskip("dask.dataframe")
    here = tg.fit(SHORT, frame, method=QUICK)
    with local_client() as client:
        data, slow = dd.from_pandas(frame, npartitions=3), list(client.nthreads())[:1]
        client.run(delay_calls, 0.02, workers=slow)
        there = tg.fit(SHORT, data, method=QUICK)
        assert client.run(delayed_calls, workers=slow)[slow[0]] > 20
    assert_same_fit(there, here, frame.head(20))


@pytest.mark.slow
def test_a_killed_scheduler_ends_the_fit_with_one_error(frame, tmp_path):
    """And with the workers, and the same fit on another cluster is as in memory."""
    dd = pytest.importorskip("dask.dataframe")
    data, killed = dd.from_pandas(frame, npartitions=3), []
    with separate_cluster(tmp_path) as (client, scheduler, workers):

        def watch(stage, evaluations, value):
            if stage == "run 1" and not killed:
                scheduler.kill()
                killed.append(time.monotonic())

        with pytest.raises(tg.errors.ClusterError, match="is lost: its scheduler does not answer"):
            tg.fit(SHORT, data, method=QUICK, progress=watch)
        assert time.monotonic() - killed[0] < 40
        with pytest.raises(tg.errors.SpecError, match="client that is c"):
            tg.fit(SHORT, data, engine=client)
        for worker in workers:
            worker.wait(timeout=40)
    here = tg.fit(SHORT, frame, method=QUICK)
    with local_client():
        assert_same_fit(tg.fit(SHORT, data, method=QUICK), here, frame.head(20))


def partitioned(kind, data, folder, monkeypatch):
    """The rows in files that are not held in memory, as a dask DataFrame, or in a plain frame."""
    if kind == "dask":
        return pytest.importorskip("dask.dataframe").from_pandas(data, npartitions=4)
    for i in range(3):
        data.iloc[800 * i : 800 * (i + 1)].to_parquet(folder / f"{i}.parquet")
    monkeypatch.setattr("tobitgp.engines.partitions.LIMIT", 0)
    return folder


@pytest.mark.parametrize("kind", ["files", "dask", "cluster"])
@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ z + bs(x, knots=[5.0]) + C(g) | censor(-0.5, 1.2)", {"weights": "w"}),
        ("y ~ z + x + g | censor(upper=1.2) | truncate(-0.5)", {"sigma": "~ z"}),
        ("Surv(t, e) ~ z + g", {"family": "weibull", "var_weights": "w"}),
        ("y ~ z + x | censor(-0.5, 1.2)", {"fixed": {"z": 0.3, "sigma": 0.6}}),
    ],
)
def test_maximum_likelihood_of_partitions_is_that_of_memory(
    request, frame, tmp_path, monkeypatch, kind, formula, options
):
    data = frame[frame["y"] > -0.5] if "truncate" in formula else frame
    data = data.assign(t=np.exp(data["y"]), e=(data["y"] < 1.2).astype(int))
    engine = request.getfixturevalue("client") if kind == "cluster" else None
    source = data if engine else partitioned(kind, data, tmp_path, monkeypatch)
    here = tg.fit(formula, data, method="mle", **options)
    there = tg.fit(formula, source, method="mle", engine=engine, **options)
    np.testing.assert_allclose(there.params, here.params, atol=SAME)
    np.testing.assert_allclose(there.bse, here.bse, atol=SAME)
    np.testing.assert_allclose([there.llf, there.llnull, there.bic], [here.llf, here.llnull, here.bic], atol=SAME)
    for asked in ({"se": True}, {"what": "median", "interval": 0.9}):
        np.testing.assert_allclose(there.predict(data.head(9), **asked), here.predict(data.head(9), **asked), atol=SAME)


def test_partitions_without_a_maximum_say_so(frame, tmp_path):
    frame.assign(y=1.2).to_parquet(tmp_path / "0.parquet")
    with pytest.warns(tg.errors.ConvergenceWarning, match="partitioned data has no maximum"):
        tg.fit("y ~ z | censor(upper=1.2)", tmp_path, method="mle")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["files", "dask", "cluster"])
@pytest.mark.parametrize("method", ["vbcm", "svbcm", "em"])
def test_mixtures_of_partitions_are_those_of_memory(request, frame, tmp_path, monkeypatch, kind, method):
    engine = request.getfixturevalue("client") if kind == "cluster" else None
    source = frame if engine else partitioned(kind, frame, tmp_path, monkeypatch)
    numbers = 1 if method == "em" else "range(1, 3)"  # maximum likelihood lets a second component shrink to a point
    formula, asked = f"y ~ mixture({numbers}) | censor(upper=1.2)", {"weights": "w", "method": method, "rng": 1}
    here, there = tg.fit(formula, frame, **asked), tg.fit(formula, source, engine=engine, **asked)
    np.testing.assert_allclose(there.params, here.params, atol=SAME)
    np.testing.assert_allclose(there.bse, here.bse, atol=SAME)
    np.testing.assert_allclose(there.predictive.cdf(frame["y"]), here.predictive.cdf(frame["y"]), atol=SAME)
    np.testing.assert_allclose(
        there.predict_survival_function(times=[0.5]), here.predict_survival_function(times=[0.5])
    )
    assert str(there.summary().tables[2]) == str(here.summary().tables[2])
    with pytest.raises(tg.errors.SpecError, match="holds no training rows"):
        there.residuals()


@pytest.mark.slow
def test_rows_that_no_mixture_takes_are_named_with_their_file(frame, tmp_path):
    frame.to_parquet(tmp_path / "0.parquet")
    frame.assign(y=2.5).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(tg.errors.DataError, match=r"In 0\.parquet: Counts are whole numbers of at least 0: rows 0, 1"):
        tg.fit("y ~ mixture(2)", tmp_path, family="poisson")


@pytest.mark.slow
def test_windows_of_a_mixture_in_files_are_those_of_a_frame(frame, tmp_path):
    low = float(frame["y"].quantile(0.2))
    rows = frame[frame["y"] > low]
    for i in (0, 1):
        rows[i::2].to_parquet(tmp_path / f"{i}.parquet")
    formula, method = f"y ~ mixture(1) | truncate({low})", tg.EMCM()
    there, here = (tg.fit(formula, data, method=method) for data in (tmp_path, rows))
    assert there.llf == pytest.approx(here.llf, rel=1e-10)
    np.testing.assert_allclose(there.bse, here.bse, rtol=1e-6)


@pytest.mark.parametrize("formula", ["y ~ z | censor(-0.5, 1.2)", "y ~ mixture(2) | censor(-0.5, 1.2)"])
def test_weights_that_are_no_frequencies_are_named_as_in_memory(frame, tmp_path, formula):
    data = frame.head(300).assign(w=1.0)
    data.loc[[150, 299], "w"] = 0.5, 0.25
    for i in range(3):
        data.iloc[100 * i : 100 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    texts = []
    for read in (data, tmp_path):
        with pytest.warns(UserWarning, match=r"2 weights are not whole numbers, e\.g\. 0\.5\.") as told:
            tg.fit(formula, read, weights="w")
        texts.append([str(warning.message) for warning in told])
    assert texts[0] == texts[1]
    assert "298.75 observations" in texts[0][0]
