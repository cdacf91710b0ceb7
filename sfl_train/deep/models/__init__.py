"""Networks as sequences of named blocks; a cut is an index into the sequence."""
