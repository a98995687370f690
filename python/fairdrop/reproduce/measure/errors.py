"""What a measure answers with where there is nothing to measure."""


class MeasureError(ValueError):
    """A measure that the run cannot give."""
