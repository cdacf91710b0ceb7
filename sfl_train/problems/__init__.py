"""Client objectives, their draws and their constants."""
