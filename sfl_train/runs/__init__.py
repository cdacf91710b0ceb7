"""Run folders: what a run is, what came out, and how it goes on after a stop."""
