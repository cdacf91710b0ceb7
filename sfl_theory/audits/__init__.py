"""The ledger: what is known of the claims of the three papers, with evidence."""
