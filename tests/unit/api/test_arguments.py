"""Arguments that other programs have: the error says what is written here."""

import inspect

import pytest

import tobitgp as tg
from tobitgp.options import ELSEWHERE

FORMULA = "durable ~ age | censor(0)"


@pytest.fixture(scope="module")
def tobin():
    return tg.datasets.load("tobin")


def test_the_words_are_for_arguments_that_there_are_not():
    assert not set(ELSEWHERE) & set(inspect.signature(tg.fit).parameters)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_an_argument_of_another_program_is_refused_with_what_to_write(name, tobin):
    for call in (tg.fit, tg.Model):
        with pytest.raises(TypeError) as caught:
            call(FORMULA, tobin, **{name: 1})
        assert str(caught.value).endswith(f"unexpected keyword argument {name!r}; {ELSEWHERE[name]}")


def test_what_the_words_say_is_taken(tobin):
    data = tobin.assign(g=list("abcde") * 4, m=0.1)
    for option in ({"cov_type": "HC0"}, {"cov_type": "cluster", "cov_kwds": {"groups": "g"}}, {"sigma": "~ C(g)"}):
        assert tg.fit(FORMULA, data, **option).converged


def test_a_misspelt_argument_is_named_beside_the_nearest(tobin):
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected keyword argument 'metod'; did you mean 'method'\?"):
        tg.fit(FORMULA, tobin, metod="ep")
    with pytest.raises(TypeError, match=r"Model.fit\(\) got .*'dist'; write family='weibull'"):
        tg.Model(FORMULA, tobin).fit(dist="weibull")
    with pytest.raises(TypeError, match=r"Model\.__init__\(\) got an unexpected keyword argument 'zzz'$"):
        tg.Model(FORMULA, tobin, zzz=1)


def test_other_doors_say_the_same(tobin):
    with pytest.raises(tg.errors.SpecError, match="write family='weibull'"):
        tg.cross_validate(FORMULA, tobin, dist="weibull")
    with pytest.raises(TypeError, match="write cov_type='HC0'"):
        tg.SurvivalModel("age", robust=True).fit(tg.datasets.load("lung"), "time", "event")


def test_the_signature_stays():
    assert next(iter(inspect.signature(tg.fit).parameters)) == "formula"
    assert "family" in inspect.signature(tg.Model).parameters
