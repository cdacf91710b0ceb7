"""Deep models: split networks, their data, and the algorithms that train them."""
