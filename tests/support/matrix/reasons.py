"""Why a question has no meaning for a fit: facts of the fit, and the mathematics that follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from .fits import Entry


@dataclass(frozen=True)
class Reason:
    """Holds for a fit of which one of the facts in `when` is known and none of those in `unless`."""

    words: str
    when: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def holds(self, entry: Entry) -> bool:
        known = entry.known
        return (not self.when or not known.isdisjoint(self.when)) and known.isdisjoint(self.unless)


POSTERIORS = ("process", "Box-Cox process", "several")

NO_COLUMNS = Reason("No column distinguishes the rows of a mixture.", ("mixture",))
NO_LINE = Reason("A mixture has no location that is linear or a process.", ("mixture",))
NO_SLOPES = Reason("A mixture has no degrees of freedom of residuals.", ("mixture",))
PRIORS_ONLY = Reason("A mixture has priors where a process has hyper-parameters.", ("mixture",))
NO_GAUSSIAN = Reason("A mixture has no Gaussian posterior whose importance weights could be computed.", ("mixture",))
NO_PREDICTED_ROW = Reason(
    "All rows of a mixture have the same prediction, so that no row is compared with its own.", ("mixture",)
)
NO_WORST = Reason("The saturated model of counts of a mixture is not defined.", ("vbcm poisson",))
WHOLE = Reason("Quantiles of counts are whole numbers, which have no interval.", ("counts",))

CAUSES = Reason(
    "The time of the first event has no location that is linear in terms: each cause has a model.", ("causes",)
)
TAILS_OF_CAUSES = Reason(
    "The mean time of the first event depends on the tails of all causes, of which censored rows show nothing.",
    ("causes",),
)
ONE_EVENT = Reason("The interface of lifelines knows one kind of event.", ("causes",))
ONE_CAUSE = Reason("There is only one cause.", (), ("causes",))

NOT_TIMES = Reason("The responses are not times.", ("several",))
NOT_TIME = Reason("The response is not a time.", (), ("time",))
NOT_RIGHT = Reason("The response is not a right-censored time.", (), ("censored times",))
NO_LIMIT = Reason("Times have no detection limit: the follow-up of a new row is unknown.", ("time",), ("limits",))
LATE = Reason("Rows enter late. When others would have been censored is unknown.", ("entry",))
BEYOND = Reason(
    "The hazard after the last observed time is unknown, and the mean depends on it.", ("hazard", "piecewise")
)
CURED_MEAN = Reason("The mean time of a row that may be cured is infinite.", ("cure",))
NOBODY_CURED = Reason("The model has no cured rows.", (), ("cure",))
NO_SCALE = Reason("A hazard has no noise scale.", ("hazard", "piecewise", "parametric", "frailty", "no scale"))
NO_RATIO = Reason("The ratio of two hazards changes with time in this model.", ("no ratio",))

NOT_MAXIMISED = Reason("The question is about a maximised likelihood.", (), ("likelihood",))
NOT_POSTERIOR = Reason("The question is about a posterior or its evidence.", ("likelihood",))
ROBUST = Reason(
    "Robust covariances are for misspecified models, for which the statistic has no chi-squared distribution.",
    ("robust",),
)
CLUSTERS = Reason("The column of clusters is not part of the formula that is cross-validated.", ("robust",))
UNSEEN = Reason("The posterior does not include the responses of new rows.", POSTERIORS)
NOT_PROCESS = Reason("The question is about processes.", (), POSTERIORS)
ONE_CRITERION = Reason(
    "Which row tells most depends on how the variances of several responses are weighed. One of them, `res[response]`, "
    "has suggestions.",
    ("several",),
)
NO_GROUPS = Reason("The model has no groups.", (), ("groups",))

ROWLESS = Reason("The fit keeps no rows of a partitioned data set.", ("no rows",))
SHARED = Reason("Rows of a group share a frailty, so the likelihood is not a product over rows.", ("frailty",))
PATHS = Reason("The rows of a subject are one observation, which conformal intervals cannot divide.", ("subjects",))
PATHS_SCORED = Reason("The rows of a subject are one observation, which the Brier score cannot divide.", ("subjects",))
PATHS_AVERAGED = Reason(
    "A row is a part of the time of a subject. Its covariates after its end are unknown, so that averages over rows "
    "need rows that stand for subjects.",
    ("subjects",),
)
PARTS = Reason(
    "The rows of a subject are parts of one time. One that ends where covariates change is not censored, and an "
    "average over rows has no population.",
    ("start-stop",),
)
ONE_ROW_EACH = Reason("The interface of lifelines reads one row for each subject.", ("subjects",))
CONSTANT = Reason("No subject has covariates that change.", (), ("subjects",))
