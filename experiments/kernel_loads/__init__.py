"""Linux queue disciplines in a guest beside the simulator, on many loads."""
