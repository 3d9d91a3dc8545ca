"""What is refused, where the caret stands, and what the message tells to write instead."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tobitgp.errors import FormulaError
from tobitgp.formula import parse_formula

COLUMNS = ["y", "x", "z", "w", "g", "age", "time", "event", "l", "u", "d", "a b"]

# The mark ▲ stands before the character that the caret must point to.
REFUSED = [
    # text that is no formula
    ("▲", "empty"),
    ("   ", "empty"),
    ("▲y", "no '~'"),
    ("▲gp(x)", "no '~'"),
    ("▲~ x", "response is missing"),
    ("y ▲~", "terms are missing"),
    ("y ▲~  ", "write 1"),
    ("y ~ x ▲~ z", "one '~'"),
    ("y ~ x ▲+", "missing after '+'"),
    ("y ~ x + ▲* z", "missing"),
    ("y ~ ▲* z", "missing before"),
    ("y ~ x ▲z", "operator or a comma is missing between 'x' and 'z'"),
    ("y ~ gp(x ▲z)", "comma is missing"),
    ("y ~ gp▲(x", "never closed"),
    ("y ~ x▲)", "closes no"),
    ("y ~ gp(x▲]", "closes no"),
    ("y ~ ▲'x", "never closed"),
    ("y ~ ▲`x", "no partner"),
    ("y ~ ▲``", "no column name"),
    ("y ~ `a``b`", "operator"),
    ("y ~ x ▲# note", "no comments"),
    ("y ~ x▲; z", "One formula"),
    ("y ~ x ▲& z", "multiply comparisons"),
    ("y ~ (x + z)▲^2", "**"),
    ("y ~ x ▲@ z", "a:b"),
    ("y ~ x ▲$ z", "not part of the language"),
    ("y ▲= x", "set off by '~'"),
    ("y ~ 1▲_000", "missing"),
    ("y, ▲z ~ x", "one response"),
    # code
    ("y ~ ▲np.log(x)", "write log(...)"),
    ("log(▲np.abs(y)) ~ x", "write abs(...)"),
    ("y ~ x.▲__class__", "__"),
    ("y ~ gp(x)▲.real", "Attribute access"),
    ("y ~ ▲x.values", "written `x.values`"),
    ("y ~ x▲[0]", "Indexing"),
    ("y ~ gp(x)▲[0]", "Indexing"),
    ("y ~ (▲lambda: x)()", "lambda"),
    ("y ~ [x ▲for x in z]", "for"),
    ("y ~ x ▲if z else w", "if"),
    ("y ~ x ▲or z", "or"),
    ("y ~ ▲not x", "not"),
    ("y ~ ▲__import__('os').system('true')", "__import__"),
    ("y ~ {▲__import__('os').getpid() + x}", "__import__"),
    ("▲open('/etc/passwd') ~ x", "no function 'open'"),
    ("y ~ ▲eval('x')", "no function 'eval'"),
    ("y ~ gp(▲open(x))", "no function 'open'"),
    ("y ~ {▲exec('x')}", "no function 'exec'"),
    ("y ~ (x ▲:= 1)", "assigned"),
    ("y ~ ▲f'{x}'", "prefix 'f'"),
    ("y ~ ▲b'x'", "prefix 'b'"),
    ("y ~ gp(▲*x)", "not part of the language"),
    ("y ~ gp(▲**x)", "written out"),
    ("y ~ x | censor(▲**l)", "written out"),
    ("y ~ log(▲(x, z))", "not part of the language"),
    ("y ~ log(▲[x, z])", "not part of the language"),
    ("y ~ log(▲{x})", "not part of the language"),
    ("y ~ ▲[x]", "not a term"),
    ("y ~ ▲(x, z)", "not a term"),
    ("y ~ {x▲: z}", "is not supported inside"),
    ("y ~ ▲{x, z}", "not a term"),
    ("y ~ log(x)▲(z)", "missing"),
    ("y ~ ▲`log`(x)", "cannot be called"),
    ("y ~ log(x, ▲out=x)", "no named arguments"),
    ("y ~ ▲log(x, x)", "1 argument, not 2"),
    ("y ~ I(▲'a' * 1000000000)", "without quotes"),
    ("y ~ I(1▲j * x)", "missing"),
    ("y ~ I(▲... + x)", "means all other columns"),
    ("y ~ gp(decimal_year(▲x + 1))", "a column of dates"),
    ("y ~ ▲decimal_year()", "1 argument"),
    # bombs
    ("y ~ ▲(x + z + w + g + age + time + l + u)**9", "134,217,728"),
    ("y ~ ▲(x + z)**1000000000", "2**1000000000"),
    ("y ~ ▲((x + z)**9)**9", "at most 10,000"),
    ("y ~ I(2**▲10**10)", "exponent"),
    ("y ~ I(x**(▲10**10))", "exponent"),
    ("y ~ I(▲(9**99)**99)", "Powers of powers"),
    ("2**x**▲1000 ~ x", "exponent"),
    ("y ~ bs(x, df=▲1000000)", "at most 100"),
    ("y ~ bs(x, df=▲10**9)", "plain values"),
    # names
    ("y ~ ▲agee + x", "did you mean 'age'"),
    ("y ~ x + ▲unknown", "the columns are"),
    ("▲Y ~ x", "did you mean 'y'"),
    ("y ~ gp(x, ▲zz)", "no column 'zz'"),
    ("y ~ x | censor(▲limit)", "no column 'limit'"),
    ("y ~ x - ▲agee", "did you mean 'age'"),
    ("y ~ `a b` + ▲`a c`", "did you mean 'a b'"),
    ("y ~ x + ▲y", "response 'y'"),
    ("log(y) ~ gp(▲y)", "response 'y'"),
    ("y ~ ▲'x'", "without quotes"),
    ("y ~ gp(▲'x')", "without quotes"),
    ("y ~ x | censor(▲'l')", "without quotes"),
    # linear terms
    ("y ~ ▲2", "is not a term"),
    ("y ~ ▲2*x", "I(2 * x)"),
    ("y ~ x*▲2", "I(2 * x)"),
    ("y ~ ▲x**2", "I(x**2)"),
    ("y ~ ▲log(x)**2", "I(log(x)**2)"),
    ("y ~ (x + z)**▲w", "whole number"),
    ("y ~ (x + z)**▲0", "whole number"),
    ("y ~ (x + z)**▲0.5", "whole number"),
    ("y ~ ▲x > 1", "I(x > 1)"),
    ("y ~ ▲x % 2", "I("),
    ("y ~ z + (▲1 + x)*w", "0 and 1 are separate terms"),
    ("y ~ x:▲-z", "I(-x)"),
    ("y ~ ▲pi", "number and no term"),
    ("y ~ x + ▲I(2)", "names no column"),
    ("y ~ x:▲{2 * pi}", "names no column"),
    ("y ~ x ▲in z", "in"),
    ("y ~ ▲logg(x)", "did you mean 'log'"),
    ("y ~ C(g, ▲Foo)", "contrast"),
    ("y ~ ▲Sum(g)", "inside C()"),
    ("y ~ ▲contr.sum(g)", "C(g, Sum)"),
    ("y ~ bs(x, ▲dff=3)", "no argument 'dff'"),
    ("y ~ bs(x, df=▲z)", "plain values"),
    ("y ~ ▲bs()", "needs a column"),
    ("y ~ where(▲1 < x < 2, x, z)", "chained"),
    ("y ~ ▲offset(x, z)", "one expression"),
    ("y ~ z - ▲offset(x)", "offset(-x)"),
    ("y ~ log(▲offset(x))", "must be a term"),
    ("y ~ (x + ▲.z)", "missing after"),
    ("y ~ log(▲.)", "is not supported inside a call"),
    # processes
    ("y ~ ▲gp()", "at least one input"),
    ("y ~ gp(x, kernel=▲'matern53')", "matern52"),
    ("y ~ gp(x, kernel=▲'zzz')", "rbf, matern12, matern32, matern52"),
    ("y ~ gp(x, kernel=▲rbf)", "in quotes"),
    ("y ~ gp(x, ▲kernal='rbf')", "did you mean 'kernel'"),
    ("y ~ gp(x, ard=▲1)", "True or False"),
    ("y ~ gp(x, name=▲z)", "in quotes"),
    ("y ~ gp(x, name=▲' ')", "in quotes"),
    ("y ~ gp(x, by=▲'g')", "without quotes"),
    ("y ~ gp(x, by=▲pi)", "`pi`"),
    ("y ~ gp(x, by=▲log(g))", "one column by its name"),
    ("y ~ gp(x, by=▲C(g))", "write g without C()"),
    ("y ~ gp(x, by=▲x)", "an input of the same process"),
    ("y ~ gp(log(x), z, by=▲x)", "an input of the same process"),
    ("y ~ gp(x, by=▲y)", "response 'y'"),
    ("y ~ gp(x, by=▲gg)", "no column 'gg'"),
    ("y ~ gp(x, period=▲z)", "a positive number"),
    ("y ~ gp(x, period=▲-12)", "a positive number"),
    ("y ~ gp(x, period=▲inf)", "a positive number"),
    ("y ~ gp(x, period=▲1e308 * 10)", "a positive number"),
    ("y ~ gp(x, period=▲'7')", "a positive number"),
    ("y ~ gp(x, period=▲open('f'))", "a positive number"),
    ("y ~ gp(x, kernel='linear', period=▲3)", "periodic kernel, not linear"),
    ("y ~ gp(x, ▲z, period=3)", 'gp(x, kernel="periodic"):gp(z)'),
    ("y ~ gp(x, ▲z, kernel='periodic')", 'gp(x, kernel="periodic"):gp(z)'),
    ("y ~ gp(x, ▲k=10)", "method=tg.EP(inducing=20)"),
    ("y ~ gp(x) + ▲gp(x)", 'name="short"'),
    ("y ~ gp(x, name='a') + gp(z, name=▲'a')", "choose another"),
    ("y ~ gp(x, ▲x)", "twice"),
    ("y ~ gp(▲1)", "names no column"),
    ("y ~ z - ▲gp(x)", "cannot be taken out"),
    # products
    ("y ~ ▲z*gp(x)", "z:gp(x)"),
    ("y ~ w + ▲gp(x)/z", "gp(x) + gp(x):z"),
    ("y ~ ▲gp(x)**2", "gp(x):gp(z)"),
    ("y ~ ▲(gp(x) + z)**2", "gp(x):gp(z)"),
    ("y ~ (▲gp(x) + z):w", "write the products out"),
    ("y ~ ▲z*w:gp(x)", "'*' cannot be combined"),
    ("y ~ ▲gp(x):z*w", "'*' cannot be combined"),
    ("y ~ ▲gp(x) % 2", "multiplied by ':'"),
    ("y ~ w - ▲z:gp(x)", "cannot be taken out"),
    ("y ~ w + (▲z - gp(x))", "Remove the brackets"),
    ("y ~ w + (▲gp(x) - z)", "Remove the brackets"),
    ("y ~ ▲-z:gp(x)", "I(-x)"),
    ("y ~ gp(x):▲.", "Write the columns out"),
    ("y ~ gp(x):▲2", "names no column"),
    ("y ~ gp(x):▲pi", "names no column"),
    ("y ~ gp(x):▲'z'", "without quotes"),
    ("y ~ gp(x):▲open(z)", "no function 'open'"),
    ("y ~ gp(x):▲bs(z)", "among the linear terms"),
    ("y ~ gp(x):▲offset(z)", "must be a term"),
    ("y ~ gp(x):▲C(g, Sum)", "nothing else"),
    ("y ~ gp(x):C(▲z + w)", "one column by its name"),
    ("y ~ gp(x):C(g):▲C(w)", "one group"),
    ("y ~ gp(x, by=g):▲C(g)", "one group"),
    ("y ~ gp(x, by=g):▲gp(z, by=w)", "one group"),
    ("y ~ gp(x):C(▲x)", "an input of the same process"),
    ("y ~ gp(x):▲gp(`x`)", "twice in one product"),
    ("y ~ z:▲z:gp(x)", "twice in one product"),
    ("y ~ gp(x, name='a'):▲gp(z, name='b')", "one name"),
    ("y ~ gp(x):gp(z) + ▲gp(x):gp(z)", 'name="short"'),
    ("y ~ gp(x) + gp(z, name=▲'gp(x)'):w", "choose another"),
    ("y ~ ▲re(g):gp(x)", "gp(x, by=g)"),
    ("y ~ gp(x):▲s(z, bs='gp')", 'gp(z, kernel="matern32")'),
    ("y ~ gp(x):▲hsgp(z, w)", "gp(z, w, ard=False)"),
    ("y ~ gp(▲scale(x))", "standardises"),
    ("y ~ gp(▲C(g))", "among the linear terms"),
    ("y ~ gp(x▲:z)", "is not supported inside"),
    ("y ~ gp(▲x | z)", "is not supported here"),
    ("y ~ log(▲gp(x))", "must be a term"),
    # groups
    ("y ~ ▲re()", "re(g)"),
    ("y ~ re(▲log(g))", "one column by its name"),
    ("y ~ re(▲C(g))", "without C()"),
    ("y ~ re(▲'g')", "without quotes"),
    ("y ~ re(g, ▲w)", "(1 | g:w)"),
    ("y ~ re(g, ▲by=w)", "gp(x, by=g)"),
    ("y ~ re(g, name=▲w)", "in quotes"),
    ("y ~ re(▲gg)", "did you mean"),
    ("y ~ re(▲y)", "response 'y'"),
    ("y ~ x - ▲re(g)", "cannot be taken out"),
    ("y ~ log(▲re(g))", "must be a term"),
    ("y ~ ▲re(g)*x", "added by '+'"),
    ("y ~ re(g) + ▲re(g)", "eave one of them out"),
    ("y ~ re(g) + (▲1 | g)", "eave one of them out"),
    ("y ~ gp(x, name=▲'z') + z", "choose another"),
    ("y ~ log(z) + gp(x, name=▲'log(z)')", "choose another"),
    ("y ~ gp(x, name=▲'Intercept')", "choose another"),
    ('y ~ re(g, name=▲"offset") + offset(z)', "choose another"),
    ("y ~ (▲0 | g)", "as in (1 + z | g)"),
    ("y ~ (▲True | g)", "1 is the intercept, and 0 removes it"),
    ("y ~ (1 + ▲gp(x) | g)", "gp(x, by=g)"),
    ("y ~ (1 + ▲offset(x) | g)", "as in (1 + z | g)"),
    ("y ~ (1 + ▲. | g)", "Write the columns out"),
    ("y ~ (1 | g/▲g)", "eave one of them out"),
    ("y ~ (1 | g:▲g)", "eave one of them out"),
    ("y ~ (1 | ▲g*w)", "(1 | g) + (1 | w) + (1 | g:w)"),
    ("y ~ (1 | ▲g + w)", "(1 | g) + (1 | w)"),
    ("y ~ (1 | ▲z | g)", "(1 | g)"),
    ("y ~ (1 | ▲C(g))", "without C()"),
    ("y ~ (1 | ▲log(g))", "one column by its name"),
    ("y ~ (1 | ▲1)", "one column by its name"),
    ("y ~ x ▲|| censor(0)", "as in (z || g)"),
    ("y ~ (▲1 | g):z", "gp(x, by=g)"),
    ("y ~ x:(▲1 | g)", "gp(x, by=g)"),
    ("y ~ (x | ▲censor(0))", "outside brackets"),
    ("y ~ 1 | ▲g", "(1 | g) in brackets"),
    # other programs' spellings
    ("y ~ ▲s(x)", "write gp(x)"),
    ("y ~ s(x, bs=▲'cr')", "bs(x, df=5)"),
    ("y ~ s(x, bs=▲'re')", "re(x)"),
    ("y ~ s(x, bs=▲'cc')", 'kernel="periodic"'),
    ("y ~ ▲s(bs='gp')", "at least one input"),
    ("y ~ s(x, bs='gp', m=▲1)", "3 matern32"),
    ("y ~ s(x, bs='gp', m=▲[3, 2])", "3 matern32"),
    ("y ~ s(x, bs='gp', k=▲z)", "plain values"),
    ("y ~ s(x, bs='gp', k=▲open('f'))", "plain values"),
    ("y ~ s(x, bs='gp', ▲sp=1)", "no argument 'sp'"),
    ("y ~ s(x, ▲x, bs='gp')", "twice"),
    ("y ~ gp(x) + ▲s(x, bs='gp')", 'gp(x, kernel="matern32", name="short")'),
    ("y ~ hsgp(x, cov=▲'Periodic')", "Matern52"),
    ("y ~ hsgp(x, share_cov=▲False)", "by= shares them"),
    ("y ~ hsgp(x, iso=▲1)", "True or False"),
    ("y ~ hsgp(x, m=[1, ▲z])", "plain values"),
    ("y ~ hsgp(x, ▲name='a')", "no argument 'name'"),
    ("y ~ mixture(▲0)", "whole number of at least 1"),
    ("y ~ mixture(▲-1)", "whole number of at least 1"),
    ("y ~ mixture(▲2.5)", "whole number of at least 1"),
    ("y ~ mixture(▲True)", "whole number of at least 1"),
    ("y ~ mixture(▲x)", "whole number of at least 1"),
    ("y ~ ▲mixture()", "number of components"),
    ("y ~ mixture(2, ▲3)", "one number, range or name"),
    ("y ~ mixture(▲'vb')", 'mixture("dp", max_components=10)'),
    ("y ~ mixture(2, max_components=▲3)", 'needs mixture("dp")'),
    ("y ~ mixture('dp', max_components=▲0)", "whole number of at least 1"),
    ("y ~ mixture(▲range(7))", "at least 1 only"),
    ("y ~ mixture(▲range(3, 1))", "at least 1 only"),
    ("y ~ mixture(▲range(5, -2, -1))", "at least 1 only"),
    ("y ~ mixture(▲range(1, 999999999999999999999))", "up to 100"),
    ("y ~ mixture(▲range(x))", "takes whole numbers"),
    ("y ~ mixture(▲range(1, 9, 0))", "takes whole numbers"),
    ("y ~ mixture(2) + ▲z", "write mixture(2, z)."),
    ("y ~ ▲1 + mixture(2)", "Leave 1 out"),
    ("y ~ mixture(2) + ▲gp(x)", "Leave gp(x) out"),
    ("y ~ mixture(2) + ▲offset(x)", "Leave offset(x) out"),
    ("y ~ mixture(2) + ▲mixture(3)", "must be the only term"),
    ("y ~ ▲mixture(2):x", "must be a term"),
    ("y ~ log(▲mixture(2))", "must be a term"),
    ("y ~ -▲mixture(2)", "taken out"),
    ("▲mixture(2) ~ x", "must be a term"),
    # censoring and response
    ("y ~ x | ▲z", "sigma='~ z'"),
    ("y ~ x | censor(0) | ▲z + w", "sigma='~ z + w'"),
    ("y ~ x | ▲2", "Only censor(...)"),
    ("y ~ x | ▲log(z)", "Only censor(...)"),
    ("y ~ x | ▲censr(0)", "did you mean 'censor'"),
    ("y ~ x | ▲cens(z)", "censor(lower, upper)"),
    ("y ~ x | ▲truncate()", "needs an end"),
    ("y ~ x | truncate(0, 1, ▲2)", "two ends"),
    ("y ~ x | truncate(0) | ▲truncate(1)", "more than one"),
    ("Surv(l, time, event) ~ x | ▲truncate(0)", "already says where rows enter"),
    ("y ~ x + ▲truncate(0)", "last part"),
    ("y ~ x | ▲trunc(0)", "truncate(lower, upper)"),
    ("y ~ x | ▲nondetect(d)", "censor(nondetect=flag)"),
    ("y ~ x | ▲mixture(2)", "Only censor(...)"),
    ("y ~ x | ▲weights(w)", "weights="),
    ("y ~ x | censor(0) | ▲censor(1)", "more than one"),
    ("y ~ x | ▲censor()", "needs a limit"),
    ("y ~ x | censor(0, 1, ▲2)", "two limits"),
    ("y ~ x | censor(0, ▲lower=1)", "lower= is given twice"),
    ("y ~ x | censor(lower=0, ▲lower=4)", "lower= is given twice"),
    ("y ~ x | truncate(lower=0, ▲lower=4)", "lower= is given twice"),
    ("interval(lo=l, ▲lo=y, hi=y) ~ x", "lo= is given twice"),
    ("y ~ gp(x, period=3, ▲period=4)", "period= is given twice"),
    ("y ~ mixture(2, max_components=3, ▲max_components=4)", "max_components= is given twice"),
    ("y ~ bs(x, df=4, ▲df=6)", "df= is given twice"),
    ("y ~ bs(x, 4, ▲df=6)", "df= is given twice"),
    ("y ~ C(g, Treatment(reference='a', ▲reference='b'))", "reference= is given twice"),
    ("y ~ x | ▲censor(0, event=d)", "together"),
    ("y ~ x | censor(▲uper=1)", "did you mean 'upper'"),
    ("y ~ x | censor(▲type='left')", "no type="),
    ("y ~ x | ▲censor(status=d, event=d)", "each says which rows"),
    ("y ~ x | ▲censor(event=d, lower=0)", "together"),
    ("y ~ x | censor(l, nondetect=d, upper=▲2)", "needs a lower limit: censor(limit, nondetect=flag)"),
    ("▲Cen(y) ~ x", "Cen(y, flag)"),
    ("Cen(y, d, ▲type='left') ~ x", "it has: obs, censored"),
    ("log(▲Cen(y, d)) ~ x", "must be the whole response"),
    ("Cen(y, d) ~ x | ▲censor(l)", "leave out '| censor(...)'"),
    ("y ~ x | censor(▲l, status=d)", "no lower limit"),
    ("y ~ x | censor(status=▲'lower')", '"left" or -1'),
    ("y ~ x | censor(status=▲3)", '"interval" or 2'),
    ("y ~ x | censor(nondetect=▲1)", "names a column"),
    ("y ~ x | censor(event=▲inf)", "backticks"),
    ("y ~ x | censor(status=d, upper=▲2)", "names a column"),
    ("y ~ x | censor(▲nan)", "NaN is not a limit"),
    ("y ~ x | censor(0, ▲Inf)", "write inf"),
    ("y ~ x | censor(event=▲1)", "names a column"),
    ("y ~ x + ▲censor(0)", "last part"),
    ("Surv(time, event) ~ x | ▲censor(0)", "already says"),
    ("▲Surv(time) ~ x", "Surv(time, event)"),
    ("Surv(l, time, event, ▲d) ~ x", "too many"),
    ("▲Surv(l, u, type='counting') ~ x", "Surv(entry, time, event)"),
    ("Surv(l, u, ▲event, type='interval2') ~ x", 'Surv(lo, hi, type="interval2")'),
    ("Surv(time, event, type=▲'lef') ~ x", "did you mean 'left'"),
    ("Surv(time, event, type=▲left) ~ x", '"interval2"'),
    ("Surv(time, ▲1) ~ x", "names a column"),
    ("Surv(time, ▲evnt=d) ~ x", "did you mean 'event'"),
    ("Surv(l, u, type='interval2') ~ x | ▲censor(0)", "Surv(...) already says"),
    ("interval(l, u) ~ x | ▲censor(0)", "interval(...) already says"),
    ("interval(l, u) ~ x + ▲u", "response 'u'"),
    ("▲interval(l) ~ x", "-inf or inf"),
    ("interval(l, u, ▲d) ~ x", "two ends"),
    ("▲interval(0, 1) ~ x", "names no column"),
    ("▲cbind(l, u) ~ x", "interval(lo, hi)"),
    # words of other programs
    ("y | ▲cens(d) ~ x", "censor(status=s, upper=y2)"),
    ("y | ▲cens(d, u) + trunc(lb = 0) ~ x", "censor(status=s, upper=y2)"),
    ("y | ▲trunc(lb = 0) ~ x", "truncate(lower, upper)"),
    ("y | ▲weights(w) ~ x", "Pass weights= to the fit"),
    ("y | ▲z ~ x", "'|' is not supported in the response"),
    ("y | ▲cos(d) ~ x", "'|' is not supported in the response"),
    ("▲weighted(y, w) ~ x", "Pass weights= to the fit"),
    ("Surv(time, event) ~ x + ▲strata(g)", "sigma='~ C(g)'"),
    ("Surv(time, event) ~ x + ▲cluster(g)", "cov_kwds={'groups': 'g'}"),
    ("Surv(time, event) ~ x + ▲frailty(g)", "re(g)"),
    ("Surv(time, event) ~ ▲pspline(x)", "gp(x)"),
    ("y ~ ▲mo(x)", "C(x)"),
    ("y ~ gp(x, z, ▲iso=False)", "ard=False"),
    ("y ~ gp(x, ▲c=5/4)", "no boundary"),
    ("y ~ s(z, bs=▲'cc')", "gp(z, period=12)"),
    ("y ~ s(z, bs=▲'cp')", 'gp(z, kernel="periodic")'),
    ("y ~ s(g, bs=▲'re')", "re(g)"),
    ("log(▲Surv(time, event)) ~ x", "must be the whole response"),
    ("y ~ ▲Surv(time, event)", "must be the whole response"),
    ("log(▲interval(l, u)) ~ x", "must be the whole response"),
    ("y | ▲cens(d) ~ x", "censor(lower, upper)"),
    ("▲cens(y) ~ x", "censor(lower, upper)"),
    ("▲1 ~ x", "names no column"),
    ("▲gp(y) ~ x", "must be a term"),
    ("▲y:z ~ x", "products are written a * b"),
]


@pytest.mark.parametrize(("marked", "words"), REFUSED)
def test_refused_at_the_place_with_a_remedy(marked, words):
    formula = marked.replace("▲", "")
    with pytest.raises(FormulaError) as caught:
        parse_formula(formula, COLUMNS)
    assert words in str(caught.value)
    if "▲" in marked:
        assert caught.value.position == marked.index("▲")


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ " + "(" * 5000 + "x" + ")" * 5000,
        "y ~ " + "log(" * 5000 + "x" + ")" * 5000,
        "y ~ I(" + "-" * 900 + "x)",
        "y ~ " + "+".join(["x"] * 9000),
        "y ~ I(" + "+".join(["x"] * 900) + ")",
        "y ~ " + "*".join(f"a{i}" for i in range(900)),
        "y ~ " + ":".join(f"a{i}" for i in range(900)),
        "y ~ x" + "**2" * 900,
        "y ~ gp(x, period=" + "-" * 900 + "1)",
        "y ~ " + ":".join(f"gp(a{i})" for i in range(900)),
        "y ~ " + ":".join(["x"] * 900) + ":gp(z)",
        "y ~ (" + "1 | " * 900 + "g)",
        "y ~ (" + " + ".join(["1"] * 900) + " | g)",
        "y ~ " + "*".join(["gp(x)"] * 900),
        "y ~ I(" + "2**" * 900 + "2)",
        "y ~ x | " + " | ".join(["censor(0)"] * 900),
        "y ~ " + "9" * 5000,
        "y ~ " + "x" * 30_000,
        "y ~ " + "not " * 4000 + "x",
        "y ~ " + "[" * 900,
        "y ~ '" + "a" * 10_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_formulas_are_refused_at_once(formula):
    start = time.process_time()
    with pytest.raises(FormulaError):
        parse_formula(formula)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("formula", [None, 3, ["y ~ x"], b"y ~ x"])
def test_formulas_are_text(formula):
    with pytest.raises(FormulaError, match="A formula is text"):
        parse_formula(formula)


def test_columns_that_the_dot_cannot_name():
    for columns in (["y", 3], ["y", "a`b"], ["y", ("a", "b")]):
        with pytest.raises(FormulaError, match="ename it"):
            parse_formula("y ~ .", columns)
    with pytest.raises(FormulaError, match="none is left"):
        parse_formula("y ~ .", ["y"])


def test_odd_columns_that_are_not_used_do_not_matter():
    assert parse_formula("y ~ x", ["y", "x", 3, ("a", "b"), None]).plain == ("x",)


def test_caret_in_a_formula_of_several_lines():
    with pytest.raises(FormulaError) as caught:
        parse_formula("y ~ x\n  + zz", ["y", "x"])
    _, formula, caret = str(caught.value).split("\n")
    assert formula[caret.index("^")] == "z"


TEXTS = "y x µ `a ~ + - * ** / : | ( ) [ ] { } , = == < . 1 0 2.5 1e9 't' gp( censor( C( log( bs( offset( Surv( kernel="
CALLS = (
    "interval( truncate( status= type= decimal_year( f( upper= 'interval2' re( s( hsgp( by= period= name= 'gp' bs= m="
)
WHOLE = "gp(x) gp(z,by=g) C(g) re(g) (1|g) s(x,bs='gp') hsgp(z)"
PIECES = st.sampled_from(
    [
        *TEXTS.split(),
        *CALLS.split(),
        *WHOLE.split(),
        "None",
        "lambda",
        "`",
        "@",
        "\x00",
        "ﬁ",
        "²",
        "٣",
        "__x",
        " ",
        "\n",
        "\u2028",
        "`a b`",
    ]
)


def refusal(formula):
    """The error of a formula, None where it is read."""
    try:
        parse_formula(formula, COLUMNS, {"f": abs})
    except FormulaError as error:
        return error


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=25))
def test_any_text_is_read_or_refused_with_a_place(partitions):
    for formula in ("y ~ " + "".join(partitions), "".join(partitions) + " ~ x", "y ~ x | " + "".join(partitions)):
        error = refusal(formula)
        assert error is None or 0 <= error.position <= len(formula)


def test_a_long_formula_is_shown_around_the_place():
    terms = " + ".join(["x"] * 400)
    with pytest.raises(FormulaError) as caught:
        parse_formula(f"y ~ {terms} +\n agee + {terms}", COLUMNS)
    _, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^") :].startswith("agee")
    assert (shown.strip()[:3], shown[-3:]) == ("...", "...")
    assert len(shown) < 160
