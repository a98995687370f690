"""Queue disciplines in the Linux kernel beside the simulator."""
