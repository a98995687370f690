"""The sender that gains most, or harms most, under each discipline."""
