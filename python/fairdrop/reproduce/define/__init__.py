"""What a figure, table or claim of a paper is, and how it is read from its file."""
