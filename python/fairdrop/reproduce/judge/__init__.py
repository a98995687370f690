"""Whether claims hold: predicates on the rows, verdicts, and the document that says so."""
