"""Objects that print in words show a page in a notebook, whose texts are escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest

import tobitgp as tg


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells, self.text = [], set(), [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


LEAD = ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9", "<0.4", "1.1"]


def fitted(terms):
    rng = np.random.default_rng(1)
    data = {"y": np.maximum(rng.normal(size=60), -0.5), "<i>": rng.normal(size=60), "g": rng.choice(["a", "b"], 60)}
    return tg.fit(f"y ~ {terms} | censor(-0.5)", data)


@pytest.fixture(scope="module")
def res():
    return fitted("`<i>` + g")


ASKED = {
    "check": lambda res: res.check(),
    "contrast": lambda res: res.t_test("`<i>` = 0"),
    "wald": lambda res: res.wald_test("`<i>` = 0, g[T.b] = 0"),
    "anova": lambda res: res.anova(),
    "effects": lambda res: res.marginal_effects(),
    "loo": lambda res: res.loo(rng=1),
    "k-hat": lambda res: res.k_hat(rng=1),
    "bootstrap": lambda res: res.bootstrap(5, rng=1),
    "compare": lambda res: tg.compare({"one": res, "two": fitted("g")}, by="aic"),
    "log-rank": lambda res: tg.survival.logrank_test("Surv(time, event) ~ sex", tg.datasets.load("lung")),
    "non-detects": lambda res: tg.nondetects.summary({"lead": LEAD}, "lead", methods="mle"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_notebook_shows_a_page(res, name):
    found = ASKED[name](res)
    page = Page(found._repr_html_())
    assert page.open == []
    assert page.tags & {"table", "pre"}
    assert "i" not in page.tags


def test_the_pages_have_the_numbers_of_the_objects(res):
    checked = res.check()
    page = Page(checked._repr_html_())
    assert page.cells[1::3] == checked.table.index.tolist()
    assert page.cells[2::3] == checked.table["words"].tolist()
    wald = res.wald_test("`<i>` = 0, g[T.b] = 0")
    assert f"{wald.statistic:.4g}" in Page(wald._repr_html_()).cells
    contrast = res.t_test("`<i>` = 0")
    assert f"{contrast.effect[0]:.4g}" in Page(contrast._repr_html_()).cells
    assert repr(res.k_hat(rng=1)) in Page(res.k_hat(rng=1)._repr_html_()).text
