import re
from html.parser import HTMLParser

import pytest

import tobitgp as tg

ODD = '<script>alert("x")</script> & `y'
VOID = {"meta", "img", "br"}


class Balanced(HTMLParser):
    """Collects tags, text and addresses; refuses tags that do not close."""

    def __init__(self, page):
        super().__init__()
        self.stack, self.tags, self.text, self.addresses = [], [], [], []
        self.feed(page)
        assert not self.stack

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def fits():
    lung, tobin = tg.datasets.load("lung"), tg.datasets.load("tobin")
    odd = tobin.rename(columns={"age": "<b>age</b>"}).assign(g=["<i>a</i>", "b&c"] * 10)
    return {
        "gp": tg.fit("durable ~ gp(age) + quant | censor(0)", tobin, method=tg.EP(hyper="maximize")),
        "tobit": tg.fit("durable ~ `<b>age</b>` + C(g) | censor(0)", odd),
        "mixture": tg.fit("Surv(time, event) ~ mixture(2)", lung, family="weibull"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gp", "tobit", "mixture"])
def test_a_page_stands_by_itself(fits, kind, tmp_path):
    import matplotlib.pyplot as plt

    path, figures = tmp_path / "fit.html", plt.get_fignums()
    fits[kind].report(path)
    text = path.read_text(encoding="utf-8")
    page = Balanced(text)
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.addresses)
    assert len(page.addresses) >= 3
    assert not {"script", "link", "iframe", "b", "i"} & set(page.tags)
    assert "url(" not in text
    assert plt.get_fignums() == figures
    assert [p.name for p in tmp_path.iterdir()] == ["fit.html"]
    shown = re.sub(r"\s+", " ", "".join(page.text))
    assert str(fits[kind].formula) in shown
    assert "Converged: yes" in re.sub(r"\s+", " ", " ".join(page.text))
    assert tg.__version__ in shown


@pytest.mark.slow
def test_names_from_data_are_text(fits, tmp_path):
    path = tmp_path / "fit.html"
    fits["tobit"].report(path, title=ODD)
    page = Balanced(path.read_text(encoding="utf-8"))
    assert ODD in page.text
    assert "<b>age</b>" in page.text
    assert any("b&c" in text for text in page.text)


@pytest.mark.slow
def test_the_same_fit_gives_the_same_page(fits, tmp_path):
    fits["gp"].report(tmp_path / "a.html")
    fits["gp"].report(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("kind", ["gp", "tobit", "mixture"])
def test_a_loaded_fit_says_what_it_cannot_show(fits, kind, tmp_path):
    fits[kind].save(tmp_path / "fit.tgp")
    tg.load(tmp_path / "fit.tgp").report(tmp_path / "fit.htm")
    page = Balanced((tmp_path / "fit.htm").read_text(encoding="utf-8"))
    assert any("no training rows" in text for text in page.text)


def test_places_that_cannot_be_written(fits, tmp_path):
    with pytest.raises(tg.errors.SpecError, match=r"fit\.pdf"):
        fits["gp"].report(tmp_path / "fit.pdf")
    with pytest.raises(tg.errors.DataError, match="nowhere"):
        fits["gp"].report(tmp_path / "nowhere" / "fit.html")
    with pytest.raises(tg.errors.DataError, match="cannot be written"):
        fits["gp"].report(tmp_path / "a\0b.html")
    with pytest.raises(tg.errors.SpecError, match="must be the name of a file"):
        fits["gp"].report(3)
    with pytest.raises(tg.errors.SpecError, match="title=5"):
        fits["gp"].report(tmp_path / "fit.html", title=5)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_page_names_only_what_it_shows(tmp_path):
    data = tg.datasets.simulate_groot_lucas()
    censored, plain = (
        tg.fit(f, data, method=tg.EP(hyper="maximize")) for f in ("y ~ gp(x) | censor(lower)", "y ~ gp(x)")
    )
    texts = []
    for k, res in enumerate((censored, plain)):
        res.report(tmp_path / f"{k}.html")
        texts.append((tmp_path / f"{k}.html").read_text(encoding="utf-8"))
    assert "censored rows" in texts[0]
    assert "ensored rows" not in texts[1]
    assert "surviving" not in texts[1]  # the response is no time
