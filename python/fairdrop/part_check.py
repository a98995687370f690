"""Former name of :mod:`fairdrop.extension_check`."""

from fairdrop.extension_check import Finding
from fairdrop.extension_check import check_extensions as check_parts

__all__ = ["Finding", "check_parts"]
