"""The models of COLLAR beside the simulator."""
