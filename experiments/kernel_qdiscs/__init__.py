"""The queue disciplines of the Linux kernel, compiled for this machine, beside those of the library."""
