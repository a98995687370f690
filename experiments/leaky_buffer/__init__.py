"""The model of CHOKe beside the simulator."""
