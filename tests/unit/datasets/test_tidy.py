import gzip
import hashlib
import io

import numpy as np
import pytest
from support.datasets import publish_beijing, publish_deepsurv, publish_housing, published_by, save_as_r, table_of

from tobitgp.datasets.downloads import (
    SOURCES,
    tidy_affairs,
    tidy_beijing,
    tidy_deepsurv,
    tidy_flchain,
    tidy_housing,
    tidy_pce,
)

PUBLISHED = {
    "affairs": lambda: [published_by("statsmodels")],
    "flchain": lambda: [published_by("sksurv")],
    "housing": publish_housing,
    "gbsg": lambda: publish_deepsurv("gbsg"),
    "metabric": lambda: publish_deepsurv("metabric"),
    "support": lambda: publish_deepsurv("support"),
    "beijing_so2": publish_beijing,
    "choptank_discharge": lambda: [table_of("Choptank_eList.RData")],
    "choptank_nitrate": lambda: [table_of("Choptank_eList.RData")],
    "colorado_soils": lambda: [table_of("CoGeochemData.rda")],
    "pce": lambda: [table_of("PCE.RData")],
}
"""affairs, choptank, colorado_soils, flchain and pce are the published files; others have their shape and numbers."""


def test_every_parser_but_the_idle_one_is_tried():
    assert {name for name, source in SOURCES.items() if source.tidy is not list} == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_becomes_the_table_byte_for_byte(name):
    raw = PUBLISHED[name]()
    source = SOURCES[name]
    if source.raw_sha256 is not None:
        assert hashlib.sha256(raw[0]).hexdigest() == source.raw_sha256
    tables = source.tidy(raw)
    for (file, expected), table in zip(source.tables.items(), tables, strict=True):
        content = gzip.decompress(table) if file.endswith(".gz") else table
        assert hashlib.sha256(content).hexdigest() == expected, file


def test_housing_as_published():
    raw = b"""\
"crim","zn","indus","chas","nox","rm","age","dis","rad","tax","ptratio","b","lstat","medv"
0.00632,18,2.31,"0",0.538,6.575,65.2,4.09,1,296,15.3,396.9,4.98,24
0.08829,12.5,7.87,"0",0.524,6.012,66.6,5.5605,5,311,15.2,395.6,12.43,22.9
1.46336,0,19.58,"1",0.605,7.489,90.8,1.9709,5,403,14.7,374.43,1.73,50

"""
    (table,) = tidy_housing([raw])
    assert table.decode().splitlines() == [
        "crim,zn,indus,chas,nox,rm,age,dis,rad,tax,ptratio,b,lstat,medv",
        "0.00632,18.0,2.31,0,0.538,6.575,65.2,4.09,1,296,15.3,396.9,4.98,24.0",
        "0.08829,12.5,7.87,0,0.524,6.012,66.6,5.5605,5,311,15.2,395.6,12.43,22.9",
        "1.46336,0.0,19.58,1,0.605,7.489,90.8,1.9709,5,403,14.7,374.43,1.73,50.0",
    ]


def test_beijing_as_published():
    """Rows of Dongsi: two before the window, one without nitrogen dioxide, one with interpolated values."""
    header = (
        '"No","year","month","day","hour","PM2.5","PM10","SO2","NO2","CO","O3","TEMP","PRES","DEWP","RAIN","wd","WSPM",'
        '"station"\n'
    )
    first = """\
12091,2014,7,17,18,187,187,12,55,2900,133,27.7,1002.3,22.9,0,"N",1.3,"Dongsi"
12216,2014,7,22,23,NA,NA,NA,NA,NA,NA,25.3,1001.8,17,0,"E",0.5,"Dongsi"
16398,2015,1,13,5,169,181,48,NA,4100,5,-4.7,1028.7,-8.8,0,"NE",1.3,"Dongsi"
16456,2015,1,15,15,443,449,46,156,5800,6,0,1019,-7.1,0,"E",2,"Dongsi"
16515,2015,1,18,2,159,164.9,67,106.6,3200,2,-1,1019,-13.6,0,"ENE",1,"Dongsi"
"""
    second = """\
16057,2014,12,30,0,9,9,83.6808,9,300,9,1,1020,-9,0,NA,0.4,"Made up"
16058,2014,12,30,1,9,9,NA,9,300,9,1,1020,-9,0,"N",0.4,"Made up"
16059,2014,12,30,2,9,9,2,9,300,9,NA,1020,-9,0,"N",0.4,"Made up"
16060,2014,12,30,3,9,9,2,9,300,9,1,1020,-9,0,"N",NA,"Made up"
"""
    (packed,) = tidy_beijing([(header + rows).encode() for rows in (first, second)])
    assert gzip.decompress(packed).decode().splitlines() == [
        "station,hour_index,so2,temp_c,wspm",
        "0,16397,48,-4.7,1.3",
        "0,16455,46,0,2",
        "0,16514,67,-1,1",
        "1,16056,83.7,1,0.4",
    ]


def test_archives_do_not_tell_when_they_were_packed():
    raw = [b"year,month,day,hour,SO2,TEMP,WSPM\n2015,1,1,0,2,1,1\n"]
    assert tidy_beijing(raw)[0][4:8] == bytes(4)


def test_single_precision_is_written_in_the_shortest_form_that_gives_it_back():
    h5py = pytest.importorskip("h5py")
    buffer = io.BytesIO()
    values = np.array([[0.1, 2], [1e4, 0], [1 / 3, 1]], dtype="float32")
    with h5py.File(buffer, "w") as file:
        for split in ("train", "test"):
            group = file.create_group(split)
            group["x"], group["t"], group["e"] = values, np.array([59.597534, 84, 0], "float32"), np.array([1, 0, 1])
    train, test = tidy_deepsurv([buffer.getvalue()], covariates=("a", "code"), whole=("code",))
    assert train.decode().splitlines() == [
        "a,code,time,event",
        "0.1,2,59.597534,1",
        "10000.0,0,84.0,0",
        "0.33333334,1,0.0,1",
    ]
    assert test == train


@pytest.mark.parametrize(
    ("published", "written"), [("no,85,dead,Neoplasms", "0,85,1,Neoplasms"), ("yes,0,alive,?", "1,0,0,")]
)
def test_words_of_flchain_become_codes(published, written):
    names = ["sample.yr", "mgus", "futime", "death", "chapter"]
    head = "@relation flchain\n" + "".join(f"@attribute {name} numeric\n" for name in names) + "@data\n"
    (table,) = tidy_flchain([f"{head}1997,{published}\n".encode()])
    assert table.decode() == f"sample_yr,mgus,time,event,chapter\n1997,{written}\n"


def test_affairs_in_words():
    names = "identifier,constant,sex,age,nmarried,nchildren,religious,education,occupation,rate_marriage,naffairs"
    (table,) = tidy_affairs([f"{names}\n4,1.0,0,27.0,4.0,1,4,14.0,6,4,12.0\n".encode()])
    assert table.decode().splitlines()[1] == "12,female,27.0,4.0,yes,4,14,6,4"


def test_pce_as_published():
    """R 3.6 and later draw ``set.seed(123); sample(5, 4)`` as 3, 2, 5, 4."""
    raw = save_as_r(
        "data.PCE.censored",
        {
            "site_no": ["USGS-1", "USGS-2", "MN040-3", "USGS-4", "USGS-5"],
            "startDate": [10959.0, 10960.0, 10961.0, 10962.0, 10963.0],
            "left_censored": [False, True, False, True, False],
            "lon": [-86.1465556, -86.0, -97.5, -98.0, -99.0],
            "lat": [32.3775, 32.4, 30.25, 30.5, 31.0],
            "well_depth": [41.4, float("nan"), 28.75, 86.8, 42.0],
            "CountyName": ["Montgomery County", "Montgomery County", "Lamb County", "Lamb County", "Doña Ana County"],
            "StateName": ["Alabama", "Alabama", "Texas", "Texas", "New Mexico"],
            "Units": ["ug/l", None, "ug/l", None, "ug/l"],
            "result_va": [0.011, float("nan"), 0.02, float("nan"), 120.0],
            "detection_level": [float("nan"), 0.1, 0.027, 0.058, 0.5],
        },
    )
    train, test = (gzip.decompress(table).decode().splitlines() for table in tidy_pce([raw]))
    header = "site,day,lon,lat,well_depth,county,state,pce,limit,censored"
    assert train == [
        header,
        "USGS-2,10960,-86.0,32.4,,Montgomery County,Alabama,0.1,0.1,1",
        "MN040-3,10961,-97.5,30.25,28.75,Lamb County,Texas,0.02,0.027,0",
        "USGS-4,10962,-98.0,30.5,86.8,Lamb County,Texas,0.058,0.058,1",
        "USGS-5,10963,-99.0,31.0,42.0,Doña Ana County,New Mexico,120.0,0.5,0",
    ]
    assert test == [header, "USGS-1,10959,-86.1465556,32.3775,41.4,Montgomery County,Alabama,0.011,,0"]
