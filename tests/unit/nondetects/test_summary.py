"""Tables hold what the methods give, say what the share of non-detects calls for, and name what is wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.nondetects import cases, frame

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects import summary

LEAD = {"lead": ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9", "<0.4", "1.1"]}


def test_numbers_of_r(case):
    reference, y, censored = case
    probabilities = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95]
    found = summary({"y": y, "c": censored}, "y", "c", percentiles=probabilities, bootstrap=200)
    frame = found.summary_frame().loc["y"]
    assert (frame["n"] == reference["n"]).all()
    assert (frame["nondetects"] == reference["n_censored"]).all()
    means = [reference["km"]["mean_efron"], reference["ros"]["mean"], reference["mle"]["mean"]]
    sds = [reference["km"]["sd_efron"], reference["ros"]["sd"], reference["mle"]["sd"]]
    np.testing.assert_allclose(frame["mean"], means, rtol=1e-8)
    np.testing.assert_allclose(frame["sd"], sds, rtol=1e-8)
    columns = [f"p{100 * p:g}" for p in probabilities]
    np.testing.assert_allclose(frame.loc["ros", columns].astype(float), reference["ros"]["quantiles_type7"], rtol=1e-12)
    km = dict(zip(reference["km"]["nada_quantile_probs"], reference["km"]["nada_quantiles"], strict=True))
    wanted = [np.nan if km[p] is None else km[p] for p in probabilities]
    np.testing.assert_array_equal(frame.loc["km", columns].astype(float), wanted)
    limits = reference["mle"]["envstats"]["two-sided profile.likelihood"]["limits"]
    np.testing.assert_allclose(frame.loc["mle", ["lower", "upper"]].astype(float), limits, rtol=1e-8)
    assert (frame["lower"] < frame["mean"]).all()
    assert (frame["upper"] > frame["mean"]).all()


def test_the_table_in_words():
    text = repr(summary(LEAD, "lead", methods=["km", "mle"], percentiles=[0.1, 0.5], bootstrap=200))
    assert text.split("\n")[0].strip() == "Summary of lead with non-detects"
    assert "0.4, 1, 2" in text
    assert "<0.4" in text
    assert "choice: Kaplan-Meier, since under 50% are non-detects." in text
    assert "BCa bootstrap, 200 resamples" in text
    assert "profile likelihood" in text
    frame = summary(LEAD, "lead", methods="km", percentiles=[0.1, 0.5]).summary_frame()
    assert np.isnan(frame.loc[("lead", "km"), "p10"])
    assert frame.loc[("lead", "km"), "below"] == 0.4


def test_spellings_of_the_response():
    y, c = [1.0, 2.0, 3.0, 2.0, 4.0], [1, 0, 0, 1, 0]
    text = ["<1", "2", "3", "<2", "4"]
    by_flag, by_text = (summary(*given, bootstrap=200) for given in (({"y": y, "c": c}, "y", "c"), ({"y": text}, "y")))
    pd.testing.assert_frame_equal(by_flag.summary_frame(), by_text.summary_frame())
    data = {"y": y, "c": c}
    summary(data, "y", "c", bootstrap=200)
    assert data == {"y": [1.0, 2.0, 3.0, 2.0, 4.0], "c": [1, 0, 0, 1, 0]}


def test_groups_are_summarised_one_by_one(columns):
    data = pd.DataFrame(columns["cuzn"])
    with pytest.warns(UserWarning, match="1 of 118 rows is dropped"):
        found = summary(data.set_index("zone", drop=False), "zn", "zn_censored", by="zone", methods=["km", "mle"])
    assert [group.name for group in found.groups] == ["AlluvialFan", "BasinTrough"]
    one = data[data["zone"] == "BasinTrough"].dropna()
    alone = summary(one, "zn", "zn_censored", methods=["km", "mle"]).summary_frame()
    pd.testing.assert_frame_equal(found.summary_frame().loc["BasinTrough"], alone.loc["zn"])
    assert repr(found).count("choice: ") == 1
    assert "AlluvialFan, BasinTrough: choice" in repr(found)
    assert "AlluvialFan: Left out: 1 row without a value" in repr(found)


def test_the_choice_by_the_share_of_nondetects():
    def choice(below):
        y = np.r_[np.full(below, 1.0), np.linspace(1.5, 4.0, 20 - below)]
        return summary({"y": y, "c": np.arange(20) < below}, "y", "c", methods="mle").groups[0].choice

    assert choice(0).startswith("ordinary statistics")
    assert choice(9).startswith("Kaplan-Meier")
    assert choice(10).startswith("ROS or MLE")
    assert choice(16).startswith("ROS or MLE")
    assert choice(17).startswith("percentiles above the highest limit")


def test_above_eighty_percent_only_what_is_above_the_limits():
    found = summary({"y": ["<1"] * 17 + ["<0.2", "1.5", "2.5"]}, "y")
    group = found.groups[0]
    frame = found.summary_frame().loc["y"]
    assert frame.index.tolist() == ["km", "mle"]
    assert frame[["mean", "sd", "lower", "upper", "p10", "p75"]].isna().all().all()
    assert frame.loc["km", "p95"] == 1.5
    assert (frame["below"] == 1.0).all()
    share, low, high = group.exceedance
    assert share == 0.1
    np.testing.assert_allclose([low, high], [stats.beta.ppf(0.025, 2, 19), stats.beta.ppf(0.975, 3, 18)], rtol=1e-9)
    text = " ".join(str(found.summary()).split())
    assert "share above the highest limit, 1: 0.1 (0.0123 to 0.317, Clopper-Pearson)" in text
    assert "ROS is left out" in text


def test_notes():
    few = summary({"y": ["<1"] * 6 + ["1.5", "2.5", "0.8", "<9"]}, "y", bootstrap=200).groups[0].notes
    assert few == (
        "With so few detects prefer ROS or Kaplan-Meier to MLE.",
        "ROS leaves out 1 non-detects above the largest detect.",
    )
    y = np.exp(2.0 * stats.norm.ppf(np.arange(1, 20) / 20))
    complete = summary({"y": y}, "y", bootstrap=200)
    assert "Every value is detected" in str(complete)
    (skew,) = complete.groups[0].notes
    assert "s = 1.7" in skew
    bounds = summary(LEAD, "lead", methods="km", km_tail="bounds").groups[0].methods[0]
    assert np.isnan(bounds.mean)
    assert bounds.lower < bounds.upper
    two = summary({"y": ["<1", "2", "3"]}, "y", methods="km").groups[0].methods[0]
    assert np.isnan(two.lower)
    assert two.mean == pytest.approx(2.0)


def test_families():
    frame = summary(LEAD, "lead", methods="mle", family="gamma").summary_frame()
    assert frame.loc[("lead", "mle"), "mean"] == pytest.approx(
        tg.nondetects.upper_confidence_limit(LEAD["lead"], of="mle", family="gamma").estimate
    )


def test_bad_input_is_named():
    for given, error, words in (
        ({"methods": ["half"]}, SpecError, r"methods=\['half'\]: must be one or more of 'km', 'ros', 'mle'"),
        ({"methods": []}, SpecError, r"methods=\[\]"),
        ({"methods": 3}, SpecError, "methods=3"),
        ({"by": ["sit"]}, DataError, "no such column"),
        (
            {"percentiles": [95]},
            SpecError,
            r"percentiles=95: percentiles must be one or more probabilities strictly between 0 and 1.*0\.95",
        ),
        ({"confidence": 95}, SpecError, "confidence=95"),
        ({"bootstrap": 3}, SpecError, "bootstrap=3"),
        ({"family": "cauchy"}, SpecError, "family='cauchy'"),
        ({"km_tail": "zero"}, SpecError, "km_tail='zero'"),
        ({"by": "sit"}, DataError, "by='sit': the data have no such column"),
        ({"censored": "nd"}, DataError, "censored='nd': the data have no such column"),
    ):
        with pytest.raises(error, match=words):
            summary(LEAD, "lead", **given)
    hostile = {"y": [1.0, 2.0, 3.0], "g": ["a\x1b[2J"] * 3}
    assert "\x1b" not in str(summary(hostile, "y", by="g", methods="mle", percentiles=0.5))
    with pytest.raises(DataError, match="'y' has one distinct detected value in 2 rows"):
        summary({"y": ["<2", "5"]}, "y")
    with pytest.raises(DataError, match="response=0: must be the name of a column"):
        summary(pd.DataFrame({0: [1.0, 2.0]}), 0)
    with pytest.raises(DataError, match="several columns named 'g'"):
        summary(pd.DataFrame([["1", 0, 0]], columns=["y", "g", "g"]), "y", by="g")
    with pytest.raises(DataError, match=r"'y' is 0 or below in row 0\."):
        summary({"y": [0.0, 1.0, 2.0], "c": [1, 0, 0]}, "y", "c")
    with pytest.raises(SpecError, match="right-censored"):
        summary({"y": ["<1", "2", ">3", "5"]}, "y")
    assert summary({"y": ["<1", "2", ">3", "5"]}, "y", methods="mle").groups[0].nondetects == 1


def test_a_well_without_detects_has_its_row():
    data = {"y": ["<1", "2", "3", "1.5", "<2", "<1", "<2", "4"], "well": list("aaaabbbc")}
    found = summary(data, "y", by="well", methods=["km", "mle"], percentiles=[0.5], bootstrap=200)
    frame = found.summary_frame()
    assert frame["mean"].notna().tolist() == [True, True, False, False, False, False]
    assert frame.loc["b", "below"].tolist() == [2.0, 2.0]
    assert frame.loc["c", ["p50", "below"]].isna().all(axis=None)
    share, low, high = found.groups[1].exceedance
    assert (share, low) == (0.0, 0.0)
    assert high == pytest.approx(1.0 - 0.025 ** (1.0 / 3.0))
    assert "fewer than two distinct detects" in found.groups[1].choice
    assert "b: Kaplan-Meier" in str(found)


def test_what_is_asked_twice_is_said_once():
    found = summary(LEAD, "lead", methods=["mle", "mle"], percentiles=[0.5, 0.5])
    assert len(found.groups[0].methods) == 1
    assert found.percentiles == (0.5,)
    assert "MLE lognormal" in str(found)


@pytest.mark.slow
def test_very_many_rows_have_the_limits_of_normal_means():
    rng = np.random.default_rng(1)
    y = np.exp(rng.normal(size=6000))
    data = {"y": np.maximum(y, 0.5), "c": y < 0.5}
    frame = summary(data, "y", "c").summary_frame().loc["y"]
    assert frame["interval"].tolist() == ["Student's", "", "profile likelihood"]
    assert frame.loc["km", "lower"] < np.exp(0.5) < frame.loc["km", "upper"]


def test_two_columns_of_groups_as_nada():
    """NADA's Kaplan-Meier quantiles, and means as EnvStats has them, of three samples in one table."""
    samples = {("pyrene", "she"): "she_pyrene", ("arsenic", "oahu"): "oahu_arsenic", ("arsenic", "21"): "arsenic21"}
    parts = []
    for (kind, place), name in samples.items():
        rows = frame(name).set_axis(["y", "c"], axis=1)
        parts.append(rows.assign(kind=pd.Categorical([kind] * len(rows), ["pyrene", "arsenic"]), place=place))
    found = summary(pd.concat(parts), "y", "c", ["kind", "place"], "km", [0.5, 0.9], bootstrap=200)
    table = found.summary_frame()
    assert table.index.names == ["kind", "place", "method"]
    assert [group.name for group in found.groups] == ["pyrene / she", "arsenic / 21", "arsenic / oahu"]
    for key, name in samples.items():
        known, line = cases()[f"{name.removeprefix('she_').removesuffix('_arsenic')}_summary"], table.loc[(*key, "km")]
        assert (line["n"], line["nondetects"]) == (known["n"], known["n_censored"])
        assert line["mean"] == pytest.approx(known["km"]["mean_efron"], rel=1e-9)
        quantiles = dict(zip(known["km"]["nada_quantile_probs"], known["km"]["nada_quantiles"], strict=True))
        assert line["p90"] == pytest.approx(quantiles[0.9])
    assert "pyrene / she" in str(found)
