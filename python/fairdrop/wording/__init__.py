"""What a reader sees of names, numbers and units; reports, figures and the command line all take them from here."""
