"""Remedies as messages write them: the code in their words, carried out on the call that was advised."""

import re

import tobitgp as tg
from support.methods import with_settings

_BOTH = re.compile(r"^(?P<left>.*?)~(?P<terms>.*?)(?P<rest>\|\s*(?:censor|truncate)\(.*)?$")
_TERMS = r"gp\([^()]*\)|bs\([^()]*\)|tv\([^()]*\)|strata\([^()]+\)"


def with_term(formula, term):
    """The formula with a term more, in place of that of the same column, as the words say."""
    left, terms, rest = _BOTH.match(formula).group("left", "terms", "rest")
    inside = re.match(r"\s*mixture\((\d+), (.*)\)\s*$", terms)
    if inside:
        return (
            f"{left}~ mixture({inside[1]}, {with_term(f'~ {inside[2]}', term).removeprefix('~ ').strip()}) {rest or ''}"
        )
    column = re.match(r"\w+\((`[^`]*`|\w+)", term)[1]
    kept = [part for part in map(str.strip, re.split(r"\+(?![^()]*\))", terms)) if part not in (column, f"C({column})")]
    if term not in kept:
        kept.append(term)
    return f"{left}~ {' + '.join(kept)} {rest or ''}"


def remedies_in(words):
    """Every remedy in words, as ``(code, carry_out)``, the latter of formula, data and options."""
    found = []
    for code in re.findall(r"tg\.select\(\{.*?\}, data, formula=\.\.\..*?\)", words):

        def select(formula, data, options, code=code):
            rest = {name: value for name, value in options.items() if name != "family"}
            inside = code.replace("formula=...", "formula=formula, **rest")
            return eval(inside, {"tg": tg, "data": data, "formula": formula, "rest": rest}).best

        found.append((code, select))
    plain = re.sub(r"tg\.select\(.*?\)|\S*gp\([^()]*\) is too smooth.*", "", words)  # such a term is there
    for name, value in re.findall(r"\b(sigma|family|method)=('[^']*'|tg\.\w+\([^)]*\))", plain):
        if name == "family" and re.search(r"tv\(", plain):
            continue

        def option(formula, data, options, name=name, value=value):
            given = {**options, name: eval(value, {"tg": tg})}
            if value.startswith("tg.PH('spline'"):
                given.pop("method", None)  # of a posterior
            if name == "sigma" and "gp(" in value:
                given |= {"method": tg.EP(hyper="maximize", n_starts=1)}
            return tg.fit(formula, data, **given)

        found.append((f"{name}={value}", option))
    for term in re.findall(_TERMS, re.sub(r"sigma='[^']*'", "", plain)):

        def add(formula, data, options, term=term):
            given = dict(options)
            if term.startswith("gp("):
                given = {**with_settings(given, hyper="maximize", n_starts=1)}
            if term.startswith("tv("):
                given = {"family": "ph", "method": tg.EP(hyper="maximize")}
            return tg.fit(with_term(formula, term), data, **given)

        found.append((term, add))
    for mixture in re.findall(r"mixture\(range\([^)]*\)\)", plain):

        def more(formula, data, options, mixture=mixture):
            return tg.select(re.sub(r"mixture\(.*?\)", mixture, formula), data, by="bic", **options).best

        found.append((mixture, more))
    return sorted(found, key=lambda pair: words.find(pair[0]))
