"""Tables of the reference, made from what the program says of itself."""
