"""How statements are written and read: terms and LaTeX at once, and the way back."""
