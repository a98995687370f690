"""``python -m fairdrop``."""

import sys

from fairdrop.cli import main

sys.exit(main())
