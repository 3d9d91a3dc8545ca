"""A fit of any kind from a file, with the results of its kind."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.training_summary import constant_column
from tobitgp.errors import DataError, SpecError, TobitGPError
from tobitgp.files import ordinary
from tobitgp.formula.functions import NamedFunctions
from tobitgp.kinds.mixture import MixtureParts
from tobitgp.kinds.power_process import PowerProcessParts
from tobitgp.kinds.process import ProcessParts
from tobitgp.results.competing.competing_parts import CompetingParts
from tobitgp.results.competing.competing_results import CompetingRisksResults
from tobitgp.results.hazards.hazard_parts import HazardParts
from tobitgp.results.hazards.hazard_results import HazardResults
from tobitgp.results.latent.latent_parts import LatentParts
from tobitgp.results.latent.latent_results import LatentResults
from tobitgp.results.likelihood.kinds import RESULTS as LIKELIHOOD
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts
from tobitgp.results.multivariate.multivariate_results import MultivariateResults
from tobitgp.results.process.boxcox_process_results import BoxCoxGPResults
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.results import Results
from tobitgp.results.uncertain.uncertain_parts import UncertainParts
from tobitgp.results.uncertain.uncertain_results import UncertainInputResults
from tobitgp.results.vectors.vector_parts import VectorParts
from tobitgp.results.vectors.vector_results import VectorMixtureResults
from tobitgp.storage.archive import MalformedError, read_arrays, read_document
from tobitgp.storage.classes import fit_codec
from tobitgp.storage.codec import Surroundings, check_used
from tobitgp.storage.stored_fit import FORMAT, VERSION, _path, _version

# What answers questions about what a fit was made of and found: **a kind of fit is a line here**.
RESULTS: dict[type, Callable[[Any], Any]] = {
    **LIKELIHOOD,
    PowerProcessParts: BoxCoxGPResults,
    CompetingParts: CompetingRisksResults,
    HazardParts: HazardResults,
    LatentParts: LatentResults,
    MixtureParts: MixtureResults,
    MultivariateParts: MultivariateResults,
    ProcessParts: GPResults.from_parts,
    UncertainParts: UncertainInputResults,
    VectorParts: VectorMixtureResults,
}


def results_of(parts: Any) -> Any:
    """Results of what a fit was made of and found, which are tried."""
    if type(parts) not in RESULTS:
        raise MalformedError(f"it is of the unknown kind {type(parts).__name__!r:.60}")
    return tried(RESULTS[type(parts)](parts))


def tried(results: Any) -> Any:
    """Ask what needs every array once: parts that do not belong together fail here rather than later."""
    state, facts = getattr(results.parts, "state", None), getattr(results.parts, "facts", None)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of is for those who ask
        repr(results), results.summary_frame(), results.fit_history, getattr(results, "cov_params", dict)()
        if state is None or facts is None or not (facts.columns or not state.levels):
            return results
        filled = {name: constant_column(state, x, name, x.example, 1) for name, x in facts.columns.items()}
        row = pd.DataFrame(filled, index=pd.RangeIndex(1))
        try:
            found = results.predict(row, se=True)
            found = results.predict(row, "latent") if "latent" in results._whats else None
        except TobitGPError:
            return results  # a row put together from several may lie where the model says nothing
    if found is not None and not np.isfinite(np.asarray(found, dtype=float)).all():
        raise MalformedError("its numbers give no finite prediction")
    return results


Loaded = Results | MultivariateResults | CompetingRisksResults | LatentResults | VectorMixtureResults


MAX_CAUSE = 400


_NAMES = {"format", "version", "written_by", "fit"}


def load(path: str | os.PathLike[str], functions: NamedFunctions = None) -> Loaded:
    """Load a fit from a file that was written by ``res.save()``.

    The file contains data, never code. It is checked completely, and anything unknown in it raises an error.

    Parameters
    ----------
    path : str or path
        Name of the file.
    functions : mapping of str to callable, optional
        Your functions that the formula calls; files do not contain them.

    Returns
    -------
    GPResults, RegressionResults or results of another kind
        The saved results, without training rows: predictions require ``new=``.

    Raises
    ------
    DataError
        If there is no such file, or this version of tobitgp cannot read it.
    SpecError
        If the formula calls functions that are not given.

    Examples
    --------
    >>> import tempfile
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     res.save(f"{folder}/durable.tgp")
    ...     again = tg.load(f"{folder}/durable.tgp")
    >>> again
    RegressionResults: durable ~ age | censor(0)
      gaussian, method mle: 7 rows exact, 13 left-censored, 0 dropped
      log likelihood -29.23, converged
    """
    place = _path(path)
    try:
        if not ordinary(place):
            raise OSError("it is a device or a pipe; give the name of a file")
        with place.open("rb") as file, zipfile.ZipFile(file) as archive:
            document = read_document(archive, os.fstat(file.fileno()).st_size)
            _check_head(document)
            arrays, used = read_arrays(archive), set[int]()
        parts = fit_codec().decode(
            document["fit"], arrays, used, Surroundings(functions=functions, results_of=results_of)
        )
        check_used(arrays, used)
        results: Loaded = results_of(parts)
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from error
    except OSError as error:
        raise DataError(f"{place} cannot be read: {error.strerror or error}.") from error
    except zipfile.BadZipFile as error:
        raise DataError(f"{place} is not a saved tobitgp fit, or the file is damaged: {_cause(error)}.") from error
    except Exception as error:
        raise DataError(f"{place} cannot be loaded: {_cause(error)}.") from error
    return results


def _cause(error: Exception) -> str:
    """Text of an error, truncated, since some errors quote the file."""
    return (str(error) or type(error).__name__)[:MAX_CAUSE].rstrip(".")


def _check_head(document: Any) -> None:
    """Raise an error for a document that is not a fit, or was written by another version."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise MalformedError("it is not a saved tobitgp fit")
    version, writer = document.get("version"), document.get("written_by")
    if type(version) is not int or version < 1 or not isinstance(writer, str):
        raise MalformedError("it does not say in which version of the format it is written")
    if version > VERSION:
        raise MalformedError(
            f"it was written by a newer tobitgp ({writer!r:.40}, format {version}); "
            f"this one, {_version()}, reads format {VERSION}: install a newer one"
        )
    if version < VERSION:
        raise MalformedError(
            f"it was written by an earlier tobitgp ({writer!r:.40}, format {version}), and this one, {_version()}, "
            f"reads format {VERSION}: fit the model again and save it, or load the file with the version that wrote it"
        )
    if set(document) != _NAMES:
        raise MalformedError(f"it has not exactly the fields {', '.join(sorted(_NAMES))}")
