"""Real data sets that are downloaded: where each comes from, and what it must look like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tobitgp.datasets.tidy import (
    BEIJING_STATIONS,
    keep,
    tidy_affairs,
    tidy_beijing,
    tidy_deepsurv,
    tidy_flchain,
    tidy_housing,
)

GITHUB = "https://raw.githubusercontent.com"
DEEPSURV = f"{GITHUB}/jaredleekatzman/DeepSurv/41eed003e5b892c81e7855e400861fa7a2d9da4f/experiments/data"
BEIJING = f"{GITHUB}/Peiris94-dev/Beijing-Multi-Site-Air-Quality-Analysis/0aa46c055fcca7da49ebac9329435ffe674b74c3"

GBSG = ("hormon", "size_cat", "meno", "age", "nodes", "pgr", "er")
METABRIC_GENES = ("mki67", "egfr", "pgr", "erbb2")
METABRIC_CODES = ("hormone_treatment", "radiotherapy", "chemotherapy", "er_positive")
SUPPORT_CODES = ("sex", "race", "num_comorbidity", "diabetes", "dementia", "cancer")
SUPPORT_MEASURES = ("meanbp", "hrt", "resp", "temp", "sod", "wbc", "crea")


@dataclass(frozen=True)
class Source:
    """Where a data set comes from."""

    tables: dict[str, str]  # files of the cache
    urls: tuple[str, ...]  # what is published
    tidy: Callable[[Sequence[bytes]], list[bytes]]  # from the published files to the tables, both as bytes
    raw_sha256: str | None = None  # of the published file, where it is known
    installed: str | None = None  # the same file below ``site-packages`` where some package has it
    needs: str | None = None  # package that ``tidy`` imports and tobitgp does not depend on


SOURCES: dict[str, Source] = {
    "affairs": Source(
        tables={"affairs.csv": "e84bceca7868eb2f3cb8a06d20a98f52ddf4b04ce6aac86470628959c3f01736"},
        urls=(f"{GITHUB}/statsmodels/statsmodels/v0.14.2/statsmodels/datasets/fair/fair_pt.csv",),
        tidy=tidy_affairs,
        raw_sha256="44a840ec1f826b91135cd0e929daeb5d11a1194b7b54e5f7d34c05d20ab2d426",
        installed="statsmodels/datasets/fair/fair_pt.csv",
    ),
    "beijing_so2": Source(
        tables={"beijing_so2.csv.gz": "edd06c2fbcee53bbfeb11b3761b20074e8c52f7ecf7ed4a6a3cad47510000de6"},
        urls=tuple(f"{BEIJING}/PRSA_Data_{station}_20130301-20170228.csv" for station in BEIJING_STATIONS),
        tidy=tidy_beijing,
    ),
    "credit_risk": Source(
        tables={"credit_risk.csv": "cffb351096de15138867f8ccb7f11a5177966277a05d4ee998e61f90d7baf717"},
        urls=(
            f"{GITHUB}/square/pysurvival/841b9bc6ce700ba8898d2a1488aa9cd25ee7a8e6/pysurvival/datasets/credit_risk.csv",
        ),
        tidy=keep,
        raw_sha256="cffb351096de15138867f8ccb7f11a5177966277a05d4ee998e61f90d7baf717",
    ),
    "flchain": Source(
        tables={"flchain.csv": "6c470d451a7ca2af36170515611d5025608ef723ab60f1fb8de65ba3b7588f81"},
        urls=(
            f"{GITHUB}/sebp/scikit-survival/f5a9b0a7d0f324d73825ee1c5e8e4676f6ddff01/sksurv/datasets/data/flchain.arff",
        ),
        tidy=tidy_flchain,
        raw_sha256="bf2600ec437dd19071f73bdad82de681780457d1141ec36ed551b0026e6e5773",
        installed="sksurv/datasets/data/flchain.arff",
    ),
    "gbsg": Source(
        tables={
            "gbsg_train.csv": "3f0fca6f70d34620a31b253c7d2ab71b11a54c3e399f4b8568ecce8a7288f2d5",
            "gbsg_test.csv": "dc2145f385b825a53207f61fcc224f588c16dbd2cf2f114061b3df5727edcf56",
        },
        urls=(f"{DEEPSURV}/gbsg/gbsg_cancer_train_test.h5",),
        tidy=partial(tidy_deepsurv, covariates=GBSG, whole=GBSG),
        needs="h5py",
    ),
    "housing": Source(
        tables={"boston_housing.csv": "67f9ee024ce636351aad9209b80c7984d6959345069ce00277bda7df8163e703"},
        urls=(f"{GITHUB}/selva86/datasets/c943fa8851270387c44d26efb0f9c0aac1559e11/BostonHousing.csv",),
        tidy=tidy_housing,
    ),
    "metabric": Source(
        tables={
            "metabric_train.csv": "dd8d448539949ad3f4e80bad43801479e1c1701cd9e369a91f51b755bd10918b",
            "metabric_test.csv": "c91a987a39afcdca516549c3c2f4735590870c98b1fc8bb604ff68388bf2d98d",
        },
        urls=(f"{DEEPSURV}/metabric/metabric_IHC4_clinical_train_test.h5",),
        tidy=partial(
            tidy_deepsurv, covariates=(*METABRIC_GENES, *METABRIC_CODES, "age_at_diagnosis"), whole=METABRIC_CODES
        ),
        needs="h5py",
    ),
    "support": Source(
        tables={
            "support_train.csv": "e103e22f251a73409bb1adb23188cf5c48c5cd2c3f28ee3c83db30d8ee7ed8fb",
            "support_test.csv": "241132c39d7d09939b202fd05998ef293282cbbe97ce52cb1aa7428b9ebc5160",
        },
        urls=(f"{DEEPSURV}/support/support_train_test.h5",),
        tidy=partial(tidy_deepsurv, covariates=("age", *SUPPORT_CODES, *SUPPORT_MEASURES), whole=SUPPORT_CODES),
        needs="h5py",
    ),
}
