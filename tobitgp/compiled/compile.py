"""``python -m tobitgp.compiled.compile`` compiles the core again."""

import subprocess
import sys
from pathlib import Path

from tobitgp.compiled.build import build

if __name__ == "__main__":
    try:
        print("compiled", *build(Path(__file__).parent))
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"The core was not compiled: {error}. Without it, results are the same, but fits are slower.")
