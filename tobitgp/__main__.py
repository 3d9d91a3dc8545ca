"""``python -m tobitgp`` is the command line."""

import sys

from tobitgp.cli import main

if __name__ == "__main__":
    sys.exit(main())
