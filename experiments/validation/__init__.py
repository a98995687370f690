"""The simulator beside exact results, ns-2 and the RFCs."""
