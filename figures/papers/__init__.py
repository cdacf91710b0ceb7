"""The figures and tables of the three papers, declared; nothing here computes."""

from figures.papers import dachille2024, han2024, huang2023, theory_tables

FIGURES = (
    *han2024.FIGURES,
    *theory_tables.FIGURES,
    *huang2023.FIGURES,
    *dachille2024.FIGURES,
)
BY_KEY = {figure.key: figure for figure in FIGURES}
