"""The kernel's TCP beside the simulator's, live and ACK by ACK."""
