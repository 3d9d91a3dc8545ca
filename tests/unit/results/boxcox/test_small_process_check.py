"""What a process after a power transformation does not have, in words."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 40])
def test_check_is_refused_in_words_however_many_rows(n: int) -> None:
    rng = np.random.default_rng(0)
    d = pd.DataFrame({"x": rng.uniform(0, 1, n)})
    d["y"] = np.exp(np.sin(5 * d.x) + 0.3 * rng.normal(size=n))
    res = tg.fit("y ~ gp(x)", d, family=tg.BoxCox(power=0.5), hyper="maximize")
    with pytest.raises(tg.errors.SpecError, match="not available of a process after a power"):
        res.check()
