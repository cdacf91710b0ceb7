"""What makes the pages of the site that are made from the code."""
