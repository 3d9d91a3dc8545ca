"""Random questions to random models of every kind: raw errors, endless fits, leaked warnings, unexplained NaNs.

python tests/fuzz.py 1000               seeds 0 to 999
python tests/fuzz.py 100 --first 5000   seeds 5000 to 5099
python tests/fuzz.py --seeds 17 204     some again, with the models

Prints each fault with the seed of its model, and counts at the end.
"""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.random_runs import run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, nargs="?", default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--errors", action="store_true", help="print the errors that are clear, too")
    parser.add_argument("--seeds", type=int, nargs="+")
    chosen = parser.parse_args()
    seeds = chosen.seeds or range(chosen.first, chosen.first + chosen.number)
    count, began = Counter(), time.monotonic()
    for seed in seeds:
        start = time.process_time()
        outcome = run(seed)
        took = time.process_time() - start
        count.update(models=1, refused=outcome.refused, answers=outcome.answers, errors=outcome.errors)
        count.update(faults=len(outcome.faults), faulty=bool(outcome.faults))
        for fault in outcome.faults:
            print(f"{seed}: {fault}", flush=True)
        for message in outcome.messages if chosen.errors else ():
            print(f"{seed}: error: {message}", flush=True)
        if outcome.faults or chosen.seeds or took > 20.0:
            print(f"{seed}: {took:.1f} s: {outcome.model}", flush=True)
    print(f"{dict(count)} in {(time.monotonic() - began) / 60:.1f} minutes")
    return int(count["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
